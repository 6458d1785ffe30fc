"""Small mixtures of experts of every family."""
import transformers as hf

from tests.helpers.model_sizes import GROUPED

YARN = dict(rope_type="yarn", rope_theta=1000.0, factor=4.0, beta_fast=8.0, beta_slow=1.0, truncate=False,
            original_max_position_embeddings=10)
MIXTRAL = GROUPED | dict(num_local_experts=4, num_experts_per_tok=2)
QWEN2 = GROUPED | dict(num_experts=5, num_experts_per_tok=2, moe_intermediate_size=12,
                       shared_expert_intermediate_size=20)
QWEN3 = GROUPED | dict(head_dim=8, num_experts=6, num_experts_per_tok=3, moe_intermediate_size=12)
OLMOE = GROUPED | dict(num_experts=5, num_experts_per_tok=2)
GPT_OSS = GROUPED | dict(head_dim=8, num_local_experts=4, num_experts_per_tok=2, sliding_window=5,
                         rope_parameters=YARN)

CASES: dict[str, tuple[type, dict]] = {
    "mixtral": (hf.MixtralConfig, MIXTRAL),
    "mixtral tied, with a window": (hf.MixtralConfig, MIXTRAL | dict(tie_word_embeddings=True, sliding_window=6,
                                                                     head_dim=8, hidden_act="gelu_new")),
    "qwen2-moe": (hf.Qwen2MoeConfig, QWEN2),
    "qwen2-moe with dense blocks": (hf.Qwen2MoeConfig, QWEN2 | dict(
        num_hidden_layers=3, decoder_sparse_step=2, norm_topk_prob=True, tie_word_embeddings=True)),
    "qwen2-moe with windows": (hf.Qwen2MoeConfig, QWEN2 | dict(
        num_hidden_layers=3, use_sliding_window=True, sliding_window=6, max_window_layers=2, mlp_only_layers=[0],
        qkv_bias=False)),
    "qwen3-moe": (hf.Qwen3MoeConfig, QWEN3 | dict(norm_topk_prob=True)),
    "qwen3-moe tied": (hf.Qwen3MoeConfig, QWEN3 | dict(mlp_only_layers=[1], tie_word_embeddings=True,
                                                       attention_bias=True, use_sliding_window=True,
                                                       sliding_window=6)),
    "olmoe": (hf.OlmoeConfig, OLMOE),
    "olmoe tied": (hf.OlmoeConfig, OLMOE | dict(tie_word_embeddings=True, norm_topk_prob=True, attention_bias=True)),
    "gpt-oss": (hf.GptOssConfig, GPT_OSS),
    "gpt-oss tied": (hf.GptOssConfig, GPT_OSS | dict(
        num_hidden_layers=3, tie_word_embeddings=True, attention_bias=False,
        rope_parameters=dict(rope_type="default", rope_theta=500.0))),
}

# config.json and the names of weights as the hub has them, with small sizes
PUBLISHED = {
    "Mixtral-8x7B-v0.1": dict(
        architectures=["MixtralForCausalLM"], attention_dropout=0.0, bos_token_id=1, eos_token_id=2, hidden_act="silu",
        hidden_size=24, initializer_range=0.02, intermediate_size=40, max_position_embeddings=40, model_type="mixtral",
        num_attention_heads=4, num_experts_per_tok=2, num_hidden_layers=2, num_key_value_heads=2, num_local_experts=4,
        output_router_logits=False, rms_norm_eps=1e-05, rope_theta=1000000.0, router_aux_loss_coef=0.02,
        sliding_window=None, tie_word_embeddings=False, torch_dtype="bfloat16", transformers_version="4.36.0.dev0",
        use_cache=True, vocab_size=61),
    "Qwen1.5-MoE-A2.7B": dict(
        architectures=["Qwen2MoeForCausalLM"], attention_dropout=0.0, bos_token_id=60, eos_token_id=60,
        hidden_act="silu", hidden_size=24, initializer_range=0.02, intermediate_size=40, max_position_embeddings=40,
        max_window_layers=21, model_type="qwen2_moe", num_attention_heads=4, num_hidden_layers=2,
        num_key_value_heads=4, rms_norm_eps=1e-06, rope_theta=1000000.0, sliding_window=32768,
        tie_word_embeddings=False, torch_dtype="bfloat16", transformers_version="4.39.0.dev0", use_cache=True,
        use_sliding_window=False, vocab_size=61, decoder_sparse_step=1, moe_intermediate_size=12,
        shared_expert_intermediate_size=48, num_experts_per_tok=4, num_experts=6, norm_topk_prob=False,
        output_router_logits=False, router_aux_loss_coef=0.001),
    "Qwen3-30B-A3B": dict(
        architectures=["Qwen3MoeForCausalLM"], attention_bias=False, attention_dropout=0.0, bos_token_id=59,
        decoder_sparse_step=1, eos_token_id=60, head_dim=16, hidden_act="silu", hidden_size=24,
        initializer_range=0.02, intermediate_size=72, max_position_embeddings=40, max_window_layers=48,
        mlp_only_layers=[], model_type="qwen3_moe", moe_intermediate_size=12, norm_topk_prob=True,
        num_attention_heads=4, num_experts=8, num_experts_per_tok=4, num_hidden_layers=2, num_key_value_heads=2,
        output_router_logits=False, rms_norm_eps=1e-06, rope_scaling=None, rope_theta=1000000.0,
        router_aux_loss_coef=0.001, sliding_window=None, tie_word_embeddings=False, torch_dtype="bfloat16",
        transformers_version="4.51.0", use_cache=True, use_sliding_window=False, vocab_size=61),
    "OLMoE-1B-7B-0924": dict(
        architectures=["OlmoeForCausalLM"], attention_bias=False, attention_dropout=0.0, clip_qkv=None,
        eos_token_id=50, hidden_act="silu", hidden_size=24, initializer_range=0.02, intermediate_size=12,
        max_position_embeddings=40, model_type="olmoe", norm_topk_prob=False, num_attention_heads=4, num_experts=8,
        num_experts_per_tok=3, num_hidden_layers=2, num_key_value_heads=4, output_router_logits=False,
        pad_token_id=1, rms_norm_eps=1e-05, rope_scaling=None, rope_theta=10000.0, router_aux_loss_coef=0.01,
        tie_word_embeddings=False, torch_dtype="bfloat16", transformers_version="4.43.0.dev0", use_cache=True,
        vocab_size=61),
    "gpt-oss-20b-bf16": dict(
        architectures=["GptOssForCausalLM"], attention_bias=True, attention_dropout=0.0, eos_token_id=60,
        experts_per_token=2, head_dim=8, hidden_act="silu", hidden_size=24, initial_context_length=10,
        initializer_range=0.02, intermediate_size=24, layer_types=["sliding_attention", "full_attention"],
        max_position_embeddings=40, model_type="gpt_oss", num_attention_heads=4, num_experts_per_tok=2,
        num_hidden_layers=2, num_key_value_heads=2, num_local_experts=4, output_router_logits=False,
        pad_token_id=57, rms_norm_eps=1e-05,
        rope_scaling=dict(beta_fast=32.0, beta_slow=1.0, factor=4.0, original_max_position_embeddings=10,
                          rope_type="yarn", truncate=False),
        rope_theta=150000, router_aux_loss_coef=0.9, sliding_window=6, swiglu_limit=7.0, tie_word_embeddings=False,
        torch_dtype="bfloat16", transformers_version="4.55.0.dev0", use_cache=True, vocab_size=61),
}
