"""config.json files of well-known models with their published sizes, those beside the smallest above all, and the keys
that such files hold besides. Written from public knowledge of them, not copied: numbers that no test reads may differ.
"""
from __future__ import annotations

GPT2 = dict(
    model_type="gpt2", architectures=["GPT2LMHeadModel"], activation_function="gelu_new", attn_pdrop=0.1,
    bos_token_id=50256, embd_pdrop=0.1, eos_token_id=50256, initializer_range=0.02, layer_norm_epsilon=1e-5, n_ctx=1024,
    n_positions=1024, resid_pdrop=0.1, summary_activation=None, summary_first_dropout=0.1, summary_proj_to_labels=True,
    summary_type="cls_index", summary_use_proj=True, vocab_size=50257,
    task_specific_params={"text-generation": {"do_sample": True, "max_length": 50}})
# what the larger ones have besides, of the first program that converted them
CONVERTED = dict(n_special=0, predict_special_tokens=True)
PASSED = ("n_special = 0", "predict_special_tokens = True")
LLAMA = dict(
    model_type="llama", architectures=["LlamaForCausalLM"], attention_bias=False, attention_dropout=0.0, bos_token_id=1,
    eos_token_id=2, hidden_act="silu", initializer_range=0.02, rms_norm_eps=1e-5, rope_scaling=None,
    tie_word_embeddings=False, torch_dtype="bfloat16", transformers_version="4.40.0", use_cache=True, pretraining_tp=1)
LLAMA3_ROPE = dict(factor=8.0, high_freq_factor=4.0, low_freq_factor=1.0, original_max_position_embeddings=8192,
                   rope_type="llama3")
NEOX = dict(
    model_type="gpt_neox", architectures=["GPTNeoXForCausalLM"], bos_token_id=0, eos_token_id=0, hidden_act="gelu",
    initializer_range=0.02, layer_norm_eps=1e-5, max_position_embeddings=2048, rotary_emb_base=10000, rotary_pct=0.25,
    tie_word_embeddings=False, torch_dtype="float16", use_cache=True, use_parallel_residual=True)
OPT = dict(
    model_type="opt", architectures=["OPTForCausalLM"], _remove_final_layer_norm=False, activation_dropout=0.0,
    activation_function="relu", attention_dropout=0.0, bos_token_id=2, dropout=0.1, eos_token_id=2, init_std=0.02,
    layerdrop=0.0, max_position_embeddings=2048, pad_token_id=1, torch_dtype="float16", use_cache=True)
QWEN = dict(
    attention_dropout=0.0, bos_token_id=151643, eos_token_id=151645, hidden_act="silu", initializer_range=0.02,
    rms_norm_eps=1e-6, rope_theta=1e6, sliding_window=32768, max_window_layers=28, torch_dtype="bfloat16",
    use_cache=True, use_sliding_window=False, vocab_size=151936)
BERT = dict(
    model_type="bert", architectures=["BertForMaskedLM"], attention_probs_dropout_prob=0.1,
    gradient_checkpointing=False, hidden_act="gelu", hidden_dropout_prob=0.1, initializer_range=0.02,
    layer_norm_eps=1e-12,
    max_position_embeddings=512, pad_token_id=0, position_embedding_type="absolute", type_vocab_size=2, use_cache=True,
    vocab_size=30522)
T5 = dict(
    model_type="t5", architectures=["T5ForConditionalGeneration"], d_kv=64, decoder_start_token_id=0, dropout_rate=0.1,
    eos_token_id=1, initializer_factor=1.0, is_encoder_decoder=True, layer_norm_epsilon=1e-6, pad_token_id=0,
    relative_attention_num_buckets=32, vocab_size=32128)
GEMMA = dict(
    attention_bias=False, attention_dropout=0.0, bos_token_id=2, eos_token_id=1, pad_token_id=0, head_dim=256,
    initializer_range=0.02, rms_norm_eps=1e-6, rope_theta=10000.0, torch_dtype="bfloat16", use_cache=True,
    vocab_size=256000)


def _gpt2(width: int, heads: int, layers: int, **more) -> dict:
    return GPT2 | dict(n_embd=width, n_head=heads, n_layer=layers) | more


def _stack(width: int, heads: int, layers: int, d_ff: int, **more) -> dict:
    return dict(hidden_size=width, num_attention_heads=heads, num_hidden_layers=layers, intermediate_size=d_ff) | more


# name -> its config.json, and what of it is passed over
MODELS: dict[str, tuple[dict, tuple[str, ...]]] = {
    "gpt2": (_gpt2(768, 12, 12), ()),
    "gpt2-medium": (_gpt2(1024, 16, 24, **CONVERTED), PASSED),
    "gpt2-large": (_gpt2(1280, 20, 36, **CONVERTED), PASSED),
    "gpt2-xl": (_gpt2(1600, 25, 48, output_past=True, **CONVERTED), PASSED),
    "DialoGPT-medium": (_gpt2(1024, 16, 24, **CONVERTED, task_specific_params={"conversational": {"max_length": 1000}}),
                        PASSED),
    "distilgpt2": (_gpt2(768, 12, 6, _num_labels=1, id2label={"0": "LABEL_0"}, label2id={"LABEL_0": 0}), ()),
    "opt-1.3b": (OPT | dict(hidden_size=2048, num_attention_heads=32, num_hidden_layers=24, ffn_dim=8192, prefix="</s>",
                            do_layer_norm_before=True, word_embed_proj_dim=2048, vocab_size=50272), ()),
    "opt-350m": (OPT | dict(hidden_size=1024, num_attention_heads=16, num_hidden_layers=24, ffn_dim=4096, prefix="</s>",
                            do_layer_norm_before=False, word_embed_proj_dim=512, vocab_size=50272), ()),
    "galactica-1.3b": (OPT | dict(
        hidden_size=2048, num_attention_heads=32, num_hidden_layers=24, ffn_dim=8192, activation_function="gelu",
        bos_token_id=0, do_layer_norm_before=True, enable_bias=True, layer_norm_elementwise_affine=True,
        learned_embeddings=True, scale_embeddings=False, word_embed_proj_dim=2048, vocab_size=50000),
        ("learned_embeddings = True", "scale_embeddings = False")),
    "pythia-1.4b": (NEOX | _stack(2048, 16, 24, 8192, vocab_size=50304), ()),
    "pythia-12b": (NEOX | _stack(5120, 40, 36, 20480, vocab_size=50688), ()),
    "gpt-neox-20b": (NEOX | _stack(6144, 64, 44, 24576, vocab_size=50432, attention_probs_dropout_prob=0,
                                   hidden_dropout_prob=0, hidden_act="gelu_fast"), ()),
    "Llama-2-7b-hf": (LLAMA | _stack(4096, 32, 32, 11008, num_key_value_heads=32, max_position_embeddings=4096,
                                     vocab_size=32000), ()),
    "Yarn-Llama-2-7b-64k": (LLAMA | _stack(
        4096, 32, 32, 11008, num_key_value_heads=32, max_position_embeddings=65536, vocab_size=32000,
        auto_map={"AutoConfig": "configuration_llama.LlamaConfig"}, rope_scaling=dict(
            factor=16.0, finetuned=True, original_max_position_embeddings=4096, type="yarn")),
        ("finetuned = True (of its rotary positions)",)),
    "Llama-3.1-8B-Instruct": (LLAMA | _stack(
        4096, 32, 32, 14336, num_key_value_heads=8, max_position_embeddings=131072, vocab_size=128256, mlp_bias=False,
        bos_token_id=128000, eos_token_id=[128001, 128008, 128009], rope_theta=500000.0, rope_scaling=LLAMA3_ROPE), ()),
    "Llama-3.2-3B": (LLAMA | _stack(
        3072, 24, 28, 8192, num_key_value_heads=8, head_dim=128, max_position_embeddings=131072, vocab_size=128256,
        mlp_bias=False, bos_token_id=128000, eos_token_id=128001, rope_theta=500000.0, tie_word_embeddings=True,
        rope_scaling=LLAMA3_ROPE | dict(factor=32.0)), ()),
    "TinyLlama-1.1B-Chat-v1.0": (LLAMA | _stack(2048, 32, 22, 5632, num_key_value_heads=4, vocab_size=32000,
                                                max_position_embeddings=2048, rope_theta=10000.0), ()),
    "SmolLM2-1.7B-Instruct": (LLAMA | _stack(
        2048, 32, 24, 8192, num_key_value_heads=32, vocab_size=49152, max_position_embeddings=8192, rope_theta=130000,
        tie_word_embeddings=True, pad_token_id=2, **{"transformers.js_config": {"kv_cache_dtype": {"q4": "float16"}}}),
        ()),
    "SmolLM2-135M-Instruct, from a GGUF": (LLAMA | _stack(
        576, 9, 30, 1536, num_key_value_heads=3, vocab_size=49152, max_position_embeddings=8192, head_dim=64,
        tie_word_embeddings=True, _model_name_or_path="Smollm2 135M 8k Lc100K Mix1 Ep2",
        rope_parameters=dict(rope_theta=100000.0, rope_type="default")), ()),
    "Falcon3-7B-Base": (LLAMA | _stack(
        3072, 12, 28, 23040, num_key_value_heads=4, head_dim=256, vocab_size=131072, max_position_embeddings=32768,
        mlp_bias=False, activation="swiglu", bos_token_id=11, eos_token_id=11, rope_theta=1000042, rms_norm_eps=1e-6),
        ("activation = 'swiglu'",)),
    "Mistral-7B-v0.1": (LLAMA | _stack(
        4096, 32, 32, 14336, model_type="mistral", architectures=["MistralForCausalLM"], num_key_value_heads=8,
        vocab_size=32000, max_position_embeddings=32768, rope_theta=10000.0, sliding_window=4096), ()),
    "Mistral-7B-Instruct-v0.3": (LLAMA | _stack(
        4096, 32, 32, 14336, model_type="mistral", architectures=["MistralForCausalLM"], num_key_value_heads=8,
        vocab_size=32768, max_position_embeddings=32768, rope_theta=1e6, sliding_window=None), ()),
    "Qwen2.5-7B-Instruct": (QWEN | _stack(
        3584, 28, 28, 18944, model_type="qwen2", architectures=["Qwen2ForCausalLM"], num_key_value_heads=4,
        max_position_embeddings=32768, tie_word_embeddings=False, use_mrope=False, vocab_size=152064), ()),
    "Qwen3-4B": (QWEN | _stack(
        2560, 32, 36, 9728, model_type="qwen3", architectures=["Qwen3ForCausalLM"], num_key_value_heads=8, head_dim=128,
        attention_bias=False, max_position_embeddings=40960, rope_scaling=None, sliding_window=None,
        max_window_layers=36, tie_word_embeddings=True), ()),
    "gemma-7b": (GEMMA | _stack(3072, 16, 28, 24576, model_type="gemma", architectures=["GemmaForCausalLM"],
                                num_key_value_heads=16, max_position_embeddings=8192, hidden_act="gelu_pytorch_tanh",
                                hidden_activation=None, rope_scaling=None), ()),
    "gemma-2-9b": (GEMMA | _stack(
        3584, 16, 42, 14336, model_type="gemma2", architectures=["Gemma2ForCausalLM"], num_key_value_heads=8,
        max_position_embeddings=8192, attn_logit_softcapping=50.0, final_logit_softcapping=30.0,
        cache_implementation="hybrid", hidden_act="gelu_pytorch_tanh", hidden_activation="gelu_pytorch_tanh",
        query_pre_attn_scalar=256, sliding_window=4096, sliding_window_size=4096),
        ("sliding_window_size = 4096",)),
    "phi-2": (_stack(
        2560, 32, 32, 10240, model_type="phi", architectures=["PhiForCausalLM"], attention_dropout=0.0,
        bos_token_id=50256, embd_pdrop=0.0, eos_token_id=50256, hidden_act="gelu_new", initializer_range=0.02,
        layer_norm_eps=1e-5, max_position_embeddings=2048, num_key_value_heads=32, partial_rotary_factor=0.4,
        qk_layernorm=False, resid_pdrop=0.1, rope_scaling=None, rope_theta=10000.0, tie_word_embeddings=False,
        torch_dtype="float16", use_cache=True, vocab_size=51200), ()),
    "bert-large-uncased": (BERT | _stack(1024, 16, 24, 4096), ()),
    "bert-base-chinese": (BERT | _stack(
        768, 12, 12, 3072, vocab_size=21128, directionality="bidi", pooler_fc_size=768, pooler_num_attention_heads=12,
        pooler_num_fc_layers=3, pooler_size_per_head=128, pooler_type="first_token_transform"), ()),
    "all-MiniLM-L6-v2": (BERT | _stack(384, 12, 6, 1536, architectures=["BertModel"]), ()),
    "roberta-large": (BERT | _stack(
        1024, 16, 24, 4096, model_type="roberta", architectures=["RobertaForMaskedLM"], bos_token_id=0, eos_token_id=2,
        layer_norm_eps=1e-5, max_position_embeddings=514, pad_token_id=1, type_vocab_size=1, vocab_size=50265), ()),
    "xlm-roberta-large": (BERT | _stack(
        1024, 16, 24, 4096, model_type="xlm-roberta", architectures=["XLMRobertaForMaskedLM"], bos_token_id=0,
        eos_token_id=2, layer_norm_eps=1e-5, max_position_embeddings=514, output_past=True, pad_token_id=1,
        type_vocab_size=1, vocab_size=250002), ()),
    "distilbert-base-multilingual-cased": (dict(
        model_type="distilbert", architectures=["DistilBertForMaskedLM"], activation="gelu", attention_dropout=0.1,
        dim=768, dropout=0.1, hidden_dim=3072, initializer_range=0.02, max_position_embeddings=512, n_heads=12,
        n_layers=6, output_past=True, pad_token_id=0, qa_dropout=0.1, seq_classif_dropout=0.2,
        sinusoidal_pos_embds=False, tie_weights_=True, vocab_size=119547), ()),
    "electra-large-generator": (BERT | _stack(
        256, 4, 24, 1024, model_type="electra", architectures=["ElectraForMaskedLM"], embedding_size=1024,
        summary_activation="gelu", summary_last_dropout=0.1, summary_type="first", summary_use_proj=True), ()),
    "t5-base": (T5 | dict(
        d_model=768, d_ff=3072, num_heads=12, num_layers=12, n_positions=512, output_past=True,
        task_specific_params={"summarization": {"early_stopping": True, "prefix": "summarize: "}}), ()),
    "flan-t5-large": (T5 | dict(
        d_model=1024, d_ff=2816, num_heads=16, num_layers=24, num_decoder_layers=24, n_positions=512,
        dense_act_fn="gelu_new", feed_forward_proj="gated-gelu", is_gated_act=True, output_past=True,
        relative_attention_max_distance=128, tie_word_embeddings=False), ()),
    "mt5-base": (T5 | dict(
        model_type="mt5", architectures=["MT5ForConditionalGeneration"], d_model=768, d_ff=2048, num_heads=12,
        num_layers=12, num_decoder_layers=12, feed_forward_proj="gated-gelu", output_past=True,
        tie_word_embeddings=False, tokenizer_class="T5Tokenizer", vocab_size=250112), ()),
    "bart-large": (dict(
        model_type="bart", architectures=["BartModel"], activation_dropout=0.1, activation_function="gelu",
        add_bias_logits=False, add_final_layer_norm=False, attention_dropout=0.1, bos_token_id=0,
        classif_dropout=0.1, classifier_dropout=0.0, d_model=1024, decoder_attention_heads=16, decoder_ffn_dim=4096,
        decoder_layerdrop=0.0, decoder_layers=12, decoder_start_token_id=2, dropout=0.1, early_stopping=True,
        encoder_attention_heads=16, encoder_ffn_dim=4096, encoder_layerdrop=0.0, encoder_layers=12, eos_token_id=2,
        forced_bos_token_id=0, forced_eos_token_id=2, gradient_checkpointing=False, init_std=0.02,
        is_encoder_decoder=True, max_position_embeddings=1024, no_repeat_ngram_size=3, normalize_before=False,
        num_beams=4, num_hidden_layers=12, pad_token_id=1, scale_embedding=False, use_cache=True, vocab_size=50265),
        ()),
    "bloom-1b7": (dict(
        model_type="bloom", architectures=["BloomForCausalLM"], apply_residual_connection_post_layernorm=False,
        attention_dropout=0.0, attention_softmax_in_fp32=True, bias_dropout_fusion=True, bos_token_id=1,
        eos_token_id=2, hidden_dropout=0.0, hidden_size=2048, initializer_range=0.02, layer_norm_epsilon=1e-5,
        masked_softmax_fusion=True, n_head=16, n_inner=None, n_layer=24, offset_alibi=100, pad_token_id=3,
        pretraining_tp=2, seq_length=4096, skip_bias_add=True, skip_bias_add_qkv=False, slow_but_exact=False,
        unk_token_id=0, use_cache=True, vocab_size=250880), ()),
    "gpt-neo-1.3B": (dict(
        model_type="gpt_neo", architectures=["GPTNeoForCausalLM"], activation_function="gelu_new", attention_dropout=0,
        attention_layers=["global", "local"] * 12, attention_types=[[["global", "local"], 12]], bos_token_id=50256,
        embed_dropout=0, eos_token_id=50256, gradient_checkpointing=False, hidden_size=2048, initializer_range=0.02,
        intermediate_size=None, layer_norm_epsilon=1e-5, max_position_embeddings=2048, num_heads=16, num_layers=24,
        resid_dropout=0, summary_activation=None, summary_first_dropout=0.1, summary_proj_to_labels=True,
        summary_type="cls_index", summary_use_proj=True, use_cache=True, vocab_size=50257, window_size=256), ()),
    "gpt-j-6b": (dict(
        model_type="gptj", architectures=["GPTJForCausalLM"], activation_function="gelu_new", attn_pdrop=0.0,
        bos_token_id=50256, embd_pdrop=0.0, eos_token_id=50256, gradient_checkpointing=False, initializer_range=0.02,
        layer_norm_epsilon=1e-5, n_embd=4096, n_head=16, n_inner=None, n_layer=28, n_positions=2048, resid_pdrop=0.0,
        rotary=True, rotary_dim=64, scale_attn_weights=True, summary_activation=None, summary_first_dropout=0.1,
        summary_proj_to_labels=True, summary_type="cls_index", summary_use_proj=True, tie_word_embeddings=False,
        tokenizer_class="GPT2Tokenizer", use_cache=True, vocab_size=50400), ()),
    "starcoder2-7b": (dict(
        model_type="starcoder2", architectures=["Starcoder2ForCausalLM"], attention_dropout=0.1, bos_token_id=0,
        embedding_dropout=0.1, eos_token_id=0, hidden_act="gelu_pytorch_tanh", hidden_size=4608,
        initializer_range=0.018042, intermediate_size=18432, layer_norm_epsilon=1e-5, max_position_embeddings=16384,
        mlp_type="default", norm_epsilon=1e-5, norm_type="layer_norm", num_attention_heads=36, num_hidden_layers=32,
        num_key_value_heads=4, residual_dropout=0.1, rope_theta=1000000, sliding_window=4096, use_bias=True,
        use_cache=True, vocab_size=49152), ()),
}
