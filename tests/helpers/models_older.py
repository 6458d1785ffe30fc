"""Small models of the decoders between GPT-2 and Llama, in the keys of their configs."""
from __future__ import annotations

import torch
import transformers as hf

from tests.helpers.model_sizes import GPT2, GROUPED, SIZES

GPT_NEO = dict(vocab_size=61, hidden_size=24, num_layers=2, num_heads=3, max_position_embeddings=40, window_size=6,
               attention_types=[[["global", "local"], 1]])
BLOOM = dict(vocab_size=61, hidden_size=24, n_layer=2, n_head=4, seq_length=40)
GPTJ = dict(vocab_size=61, n_embd=32, n_layer=2, n_head=4, n_positions=40, rotary_dim=4)
FALCON = dict(vocab_size=61, hidden_size=24, num_hidden_layers=2, num_attention_heads=4, max_position_embeddings=40)
MPT = dict(vocab_size=61, d_model=24, n_layers=2, n_heads=4, max_seq_len=40)

CASES: dict[str, tuple[type, dict]] = {
    "gpt-neo": (hf.GPTNeoConfig, GPT_NEO),
    "gpt-neo untied, relu": (hf.GPTNeoConfig,
                             GPT_NEO | dict(attention_types=[[["local"], 2]], tie_word_embeddings=False,
                                            activation_function="relu", intermediate_size=50)),
    "bloom": (hf.BloomConfig, BLOOM),
    # heads that are no power of two have slopes from two series
    "bloom untied, six heads": (hf.BloomConfig, BLOOM | dict(n_head=6, tie_word_embeddings=False)),
    "starcoder2": (hf.Starcoder2Config, GROUPED | dict(sliding_window=5)),
    "starcoder2 untied, without biases": (hf.Starcoder2Config,
                                          GROUPED | dict(use_bias=False, tie_word_embeddings=False, head_dim=10)),
    "stablelm": (hf.StableLmConfig, GROUPED | dict(hidden_size=32, use_qkv_bias=True)),
    "stablelm tied, in parallel": (hf.StableLmConfig,
                                   SIZES | dict(num_key_value_heads=4, use_parallel_residual=True,
                                                tie_word_embeddings=True,
                                                rope_parameters=dict(rope_type="default", rope_theta=500.0,
                                                                     partial_rotary_factor=1.0))),
    "stablelm with a norm for each head": (hf.StableLmConfig,
                                           GROUPED | dict(hidden_size=32, qk_layernorm=True, layer_norm_eps=0.1,
                                                          use_parallel_residual=True)),
    "gpt-j": (hf.GPTJConfig, GPTJ),
    "gpt-j tied, wholly turned": (hf.GPTJConfig, GPTJ | dict(rotary_dim=8, n_inner=50, tie_word_embeddings=True,
                                                             activation_function="relu")),
    "falcon": (hf.FalconConfig, FALCON),
    "falcon with two norms": (hf.FalconConfig,
                              FALCON | dict(new_decoder_architecture=True, num_kv_heads=2, bias=True,
                                            tie_word_embeddings=False, ffn_hidden_size=50)),
    "falcon with two norms in one": (hf.FalconConfig,
                                     FALCON | dict(new_decoder_architecture=True, num_kv_heads=2,
                                                   num_ln_in_parallel_attn=1)),
    "falcon in sequence": (hf.FalconConfig, FALCON | dict(parallel_attn=False, multi_query=False, bias=True)),
    "falcon with alibi": (hf.FalconConfig,
                          FALCON | dict(alibi=True, parallel_attn=False, multi_query=False, bias=True)),
    "falcon with alibi, six heads": (hf.FalconConfig, FALCON | dict(alibi=True, num_attention_heads=6,
                                                                    tie_word_embeddings=False)),
    "mpt": (hf.MptConfig, MPT), "mpt untied, six heads": (hf.MptConfig,
                                                          MPT | dict(n_heads=6, tie_word_embeddings=False)),
    "gpt-bigcode": (hf.GPTBigCodeConfig, GPT2),
    "gpt-bigcode untied, many keys": (hf.GPTBigCodeConfig,
                                      GPT2 | dict(multi_query=False, tie_word_embeddings=False, n_inner=50,
                                                  scale_attn_weights=False, activation_function="relu")),
    "codegen": (hf.CodeGenConfig, GPTJ),
    "codegen tied, wholly turned": (hf.CodeGenConfig, GPTJ | dict(n_embd=64, n_head=8, rotary_dim=8, n_inner=50,
                                                                  tie_word_embeddings=True)),
}

# config.json as the hub has it, with small numbers: the layouts from before transformers 5
PUBLISHED: dict[str, dict] = {
    "TinyStories": dict(
        _name_or_path="EleutherAI/gpt-neo-125M", activation_function="gelu_new", architectures=["GPTNeoForCausalLM"],
        attention_dropout=0, attention_layers=["global", "local"], attention_types=[[["global", "local"], 1]],
        bos_token_id=60, embed_dropout=0, eos_token_id=60, gradient_checkpointing=False, hidden_size=24,
        initializer_range=0.02, intermediate_size=None, layer_norm_epsilon=1e-05, max_position_embeddings=40,
        model_type="gpt_neo", num_heads=3, num_layers=2, resid_dropout=0, summary_activation=None,
        summary_first_dropout=0.1, summary_proj_to_labels=True, summary_type="cls_index", summary_use_proj=True,
        torch_dtype="float32", transformers_version="4.28.1", use_cache=True, vocab_size=61, window_size=8),
    "BLOOM": dict(
        apply_residual_connection_post_layernorm=False, architectures=["BloomForCausalLM"], attention_dropout=0.0,
        attention_softmax_in_fp32=True, bias_dropout_fusion=True, bos_token_id=1, eos_token_id=2, pad_token_id=3,
        unk_token_id=0, hidden_dropout=0.0, initializer_range=0.02, layer_norm_epsilon=1e-05,
        masked_softmax_fusion=True, model_type="bloom", n_embed=24, n_inner=None, n_layer=2, num_attention_heads=4,
        offset_alibi=100, pretraining_tp=2, seq_length=40, skip_bias_add=True, skip_bias_add_qkv=False,
        transformers_version="4.20.0", use_cache=True, vocab_size=61),
    "StarCoder2": dict(
        architectures=["Starcoder2ForCausalLM"], attention_dropout=0.1, bos_token_id=0, embedding_dropout=0.1,
        eos_token_id=0, hidden_act="gelu_pytorch_tanh", hidden_size=24, initializer_range=0.018042,
        intermediate_size=40, layer_norm_epsilon=1e-05, max_position_embeddings=40, mlp_type="default",
        model_type="starcoder2", norm_epsilon=1e-05, norm_type="layer_norm", num_attention_heads=4,
        num_hidden_layers=2, num_key_value_heads=2, residual_dropout=0.1, rope_theta=999999.4420358813,
        sliding_window=8, torch_dtype="bfloat16", transformers_version="4.39.0", use_bias=True, use_cache=True,
        vocab_size=61),
    "StableLM 2": dict(
        architectures=["StableLmForCausalLM"], attention_dropout=0.0, bos_token_id=60, eos_token_id=60,
        hidden_act="silu", hidden_dropout=0.0, hidden_size=32, initializer_range=0.02, intermediate_size=40,
        layer_norm_eps=1e-05, max_position_embeddings=40, model_type="stablelm", num_attention_heads=4,
        num_hidden_layers=2, num_key_value_heads=4, partial_rotary_factor=0.25, qk_layernorm=False, rope_scaling=None,
        rope_theta=10000, tie_word_embeddings=False, torch_dtype="float16", transformers_version="4.38.0",
        use_cache=True, use_parallel_residual=False, use_qkv_bias=True, vocab_size=61),
    "GPT-J": dict(
        activation_function="gelu_new", architectures=["GPTJForCausalLM"], attn_pdrop=0.0, bos_token_id=60,
        embd_pdrop=0.0, eos_token_id=60, gradient_checkpointing=False, initializer_range=0.02,
        layer_norm_epsilon=1e-05, model_type="gptj", n_embd=32, n_head=4, n_inner=None, n_layer=2, n_positions=40,
        resid_pdrop=0.0, rotary=True, rotary_dim=4, scale_attn_weights=True, summary_activation=None,
        summary_first_dropout=0.1, summary_proj_to_labels=True, summary_type="cls_index", summary_use_proj=True,
        task_specific_params={"text-generation": {"do_sample": True, "max_length": 50, "temperature": 1.0}},
        tie_word_embeddings=False, tokenizer_class="GPT2Tokenizer", transformers_version="4.18.0.dev0", use_cache=True,
        vocab_size=61),
    "Falcon 7B": dict(
        alibi=False, apply_residual_connection_post_layernorm=False, architectures=["FalconForCausalLM"],
        attention_dropout=0.0, auto_map={"AutoConfig": "configuration_falcon.FalconConfig"}, bias=False,
        bos_token_id=11, eos_token_id=11, hidden_dropout=0.0, hidden_size=24, initializer_range=0.02,
        layer_norm_epsilon=1e-05, model_type="falcon", multi_query=True, new_decoder_architecture=False,
        num_attention_heads=4, num_hidden_layers=2, parallel_attn=True, torch_dtype="bfloat16",
        transformers_version="4.27.4", use_cache=True, vocab_size=61),
    "Falcon 40B": dict(
        alibi=False, apply_residual_connection_post_layernorm=False, architectures=["FalconForCausalLM"],
        attention_dropout=0.0, bias=False, bos_token_id=11, eos_token_id=11, hidden_dropout=0.0, hidden_size=24,
        initializer_range=0.02, layer_norm_epsilon=1e-05, model_type="falcon", new_decoder_architecture=True,
        num_attention_heads=4, num_hidden_layers=2, num_kv_heads=2, parallel_attn=True, torch_dtype="bfloat16",
        transformers_version="4.27.4", use_cache=True, vocab_size=61),
    "Falcon 2 11B": dict(
        alibi=False, architectures=["FalconForCausalLM"], attention_dropout=0.0, bias=False, bos_token_id=11,
        eos_token_id=11, ff_factor=4, ffn_hidden_size=96, hidden_dropout=0.0, hidden_size=24, initializer_range=0.02,
        layer_norm_epsilon=1e-05, max_position_embeddings=40, model_type="falcon", multi_query=True,
        new_decoder_architecture=True, num_attention_heads=4, num_hidden_layers=2, num_kv_heads=2,
        num_ln_in_parallel_attn=1, parallel_attn=True, rope_scaling=None, rope_theta=500042.0,
        tie_word_embeddings=False, torch_dtype="bfloat16", transformers_version="4.39.2", use_cache=True,
        vocab_size=61),
    "Falcon RW": dict(
        alibi=True, apply_residual_connection_post_layernorm=False, architectures=["FalconForCausalLM"],
        attention_dropout=0.0, bias=True, bos_token_id=1, eos_token_id=2, hidden_dropout=0.0, hidden_size=24,
        initializer_range=0.02, layer_norm_epsilon=1e-05, model_type="falcon", multi_query=False,
        new_decoder_architecture=False, num_attention_heads=4, num_hidden_layers=2, parallel_attn=False,
        torch_dtype="bfloat16", transformers_version="4.27.4", use_cache=True, vocab_size=61),
    "MPT": dict(
        architectures=["MPTForCausalLM"],
        attn_config=dict(alibi=True, alibi_bias_max=8, attn_impl="torch", attn_pdrop=0,
                         attn_type="multihead_attention", attn_uses_sequence_id=False, clip_qkv=None, prefix_lm=False,
                         qk_ln=False, softmax_scale=None),
        auto_map={"AutoConfig": "configuration_mpt.MPTConfig"}, d_model=24, emb_pdrop=0, embedding_fraction=1.0,
        expansion_ratio=4, init_config=dict(emb_init_std=None, fan_mode="fan_in", name="kaiming_normal_"),
        init_device="cpu", learned_pos_emb=True, logit_scale=None, max_seq_len=40, model_type="mpt", n_heads=4,
        n_layers=2, no_bias=True, norm_type="low_precision_layernorm", resid_pdrop=0,
        tokenizer_name="EleutherAI/gpt-neox-20b", torch_dtype="bfloat16", transformers_version="4.28.1",
        use_cache=False, verbose=0, vocab_size=61),
    "tiny_starcoder": dict(
        activation_function="gelu_pytorch_tanh", architectures=["GPTBigCodeForCausalLM"],
        attention_softmax_in_fp32=True, attn_pdrop=0.1, bos_token_id=0, embd_pdrop=0.1, eos_token_id=0,
        inference_runner=0, initializer_range=0.02, layer_norm_epsilon=1e-05, max_batch_size=None,
        max_sequence_length=None, model_type="gpt_bigcode", multi_query=True, n_embd=24, n_head=3, n_inner=96,
        n_layer=2, n_positions=40, pad_key_length=True, pre_allocate_kv_cache=False, resid_pdrop=0.1,
        scale_attention_softmax_in_fp32=True, scale_attn_weights=True, summary_activation=None,
        summary_first_dropout=0.1, summary_proj_to_labels=True, summary_type="cls_index", summary_use_proj=True,
        torch_dtype="float32", transformers_version="4.28.1", use_cache=True, validate_runner_input=True,
        vocab_size=61),
    "CodeGen": dict(
        activation_function="gelu_new", architectures=["CodeGenForCausalLM"], attn_pdrop=0.0, bos_token_id=1,
        embd_pdrop=0.0, eos_token_id=60, gradient_checkpointing=False, initializer_range=0.02,
        layer_norm_epsilon=1e-05, model_type="codegen", n_ctx=40, n_embd=32, n_head=4, n_inner=None, n_layer=2,
        n_positions=40, resid_pdrop=0.0, rotary_dim=4, scale_attn_weights=True, summary_activation=None,
        summary_first_dropout=0.1, summary_proj_to_labels=True, summary_type="cls_index", summary_use_proj=True,
        task_specific_params={"text-generation": {"do_sample": True, "max_length": 50, "temperature": 1.0}},
        tie_word_embeddings=False, tokenizer_class="GPT2Tokenizer", torch_dtype="float16",
        transformers_version="4.21.0.dev0", use_cache=True, vocab_size=61),
}
PUBLISHED["StableLM 2 12B"] = PUBLISHED["StableLM 2"] | dict(
    num_key_value_heads=2, qk_layernorm=True, torch_dtype="bfloat16", transformers_version="4.40.0",
    use_parallel_residual=True, use_qkv_bias=False)


def add_alibi_once(model: hf.PreTrainedModel) -> None:
    """A Falcon's pass that gives its weights out, "eager", as its fused one ("sdpa") and the published models compute:
    transformers 5.23 has ALiBi in the mask already, and adds it to the products as well.
    """
    def without(module, args, kwargs):
        return args, kwargs | dict(alibi=torch.zeros_like(kwargs["alibi"]))

    for block in model.transformer.h:
        block.self_attention.register_forward_pre_hook(without, with_kwargs=True)
