"""config.json files as they were published, with their oddities, for small models: of every family at least one."""
from __future__ import annotations

COMMON = dict(torch_dtype="float16", transformers_version="4.31.0", use_cache=True, initializer_range=0.02)
LLAMA = COMMON | dict(vocab_size=61, hidden_size=24, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
                      intermediate_size=40, max_position_embeddings=40, hidden_act="silu", rms_norm_eps=1e-5,
                      bos_token_id=1, eos_token_id=2, tie_word_embeddings=False)
BERT = dict(vocab_size=61, hidden_size=24, num_hidden_layers=2, num_attention_heads=4, intermediate_size=40,
            max_position_embeddings=40, hidden_act="gelu", hidden_dropout_prob=0.1, attention_probs_dropout_prob=0.1,
            initializer_range=0.02, type_vocab_size=2, layer_norm_eps=1e-12)
T5 = dict(model_type="t5", vocab_size=61, d_model=24, d_kv=8, d_ff=40, num_layers=2, num_decoder_layers=2, num_heads=4,
          relative_attention_num_buckets=8, dropout_rate=0.1, layer_norm_epsilon=1e-6, initializer_factor=1.0,
          is_encoder_decoder=True, decoder_start_token_id=0, eos_token_id=1, pad_token_id=0, n_positions=512,
          output_past=True, use_cache=True)
PUBLISHED: dict[str, dict] = {
    "gpt2": dict(
        model_type="gpt2", architectures=["GPT2LMHeadModel"], activation_function="gelu_new", attn_pdrop=0.1,
        bos_token_id=50256, embd_pdrop=0.1, eos_token_id=50256, initializer_range=0.02, layer_norm_epsilon=1e-5,
        n_ctx=40, n_embd=24, n_head=4, n_layer=2, n_positions=40, resid_pdrop=0.1, summary_activation=None,
        summary_first_dropout=0.1, summary_proj_to_labels=True, summary_type="cls_index", summary_use_proj=True,
        task_specific_params={"text-generation": {"do_sample": True, "max_length": 50}}, vocab_size=61),
    "opt": dict(
        model_type="opt", _name_or_path="opt-125m", _remove_final_layer_norm=False, activation_dropout=0.0,
        activation_function="relu", architectures=["OPTForCausalLM"], attention_dropout=0.0, bos_token_id=2,
        do_layer_norm_before=True, dropout=0.1, eos_token_id=2, ffn_dim=40, hidden_size=24, init_std=0.02,
        layerdrop=0.0, max_position_embeddings=40, num_attention_heads=3, num_hidden_layers=2, pad_token_id=1,
        prefix="</s>", torch_dtype="float16", transformers_version="4.21.0.dev0", use_cache=True, vocab_size=61,
        word_embed_proj_dim=24),
    "pythia": COMMON | dict(
        model_type="gpt_neox", architectures=["GPTNeoXForCausalLM"], bos_token_id=0, eos_token_id=0, hidden_act="gelu",
        hidden_size=32, intermediate_size=40, layer_norm_eps=1e-5, max_position_embeddings=40, num_attention_heads=4,
        num_hidden_layers=2, rotary_emb_base=10000, rotary_pct=0.25, tie_word_embeddings=False,
        use_parallel_residual=True, vocab_size=61),
    "llama": LLAMA | dict(
        model_type="llama", architectures=["LlamaForCausalLM"], attention_bias=False, attention_dropout=0.0,
        mlp_bias=False, pretraining_tp=1, rope_scaling=None, rope_theta=10000.0),
    "llama 3.2": LLAMA | dict(
        model_type="llama", architectures=["LlamaForCausalLM"], head_dim=6, tie_word_embeddings=True,
        eos_token_id=[2, 3, 4], rope_theta=500.0, rope_scaling=dict(
            factor=8.0, high_freq_factor=4.0, low_freq_factor=1.0, original_max_position_embeddings=16,
            rope_type="llama3")),
    "smollm2": LLAMA | dict(
        model_type="llama", is_llama_config=True, rope_interleaved=False, rope_scaling=None, rope_theta=100000,
        tie_word_embeddings=True, **{"transformers.js_config": {"kv_cache_dtype": {"q4f16": "float16"}}}),
    "mistral": LLAMA | dict(
        model_type="mistral", architectures=["MistralForCausalLM"], rope_theta=10000.0, sliding_window=8),
    "qwen2.5": LLAMA | dict(
        model_type="qwen2", architectures=["Qwen2ForCausalLM"], attention_dropout=0.0, max_window_layers=2,
        rope_theta=1000000.0, sliding_window=8, tie_word_embeddings=True, use_mrope=False, use_sliding_window=False),
    "qwen3": LLAMA | dict(
        model_type="qwen3", architectures=["Qwen3ForCausalLM"], attention_bias=False, attention_dropout=0.0, head_dim=8,
        max_window_layers=2, rope_scaling=None, rope_theta=1000000, sliding_window=None, tie_word_embeddings=True,
        use_sliding_window=False),
    "gemma": {name: value for name, value in LLAMA.items() if name != "tie_word_embeddings"} | dict(
        model_type="gemma", architectures=["GemmaForCausalLM"], attention_bias=False, attention_dropout=0.0,
        head_dim=8, hidden_act="gelu", hidden_activation=None, num_key_value_heads=1, pad_token_id=0, rope_scaling=None,
        rope_theta=10000.0),
    "phi": COMMON | dict(
        model_type="phi", architectures=["PhiForCausalLM"], attention_dropout=0.0, bos_token_id=None, embd_pdrop=0.0,
        eos_token_id=None, hidden_act="gelu_new", hidden_size=32, intermediate_size=40, layer_norm_eps=1e-5,
        max_position_embeddings=40, num_attention_heads=4, num_hidden_layers=2, num_key_value_heads=None,
        partial_rotary_factor=0.5, qk_layernorm=False, resid_pdrop=0.0, rope_scaling=None, rope_theta=10000.0,
        tie_word_embeddings=False, vocab_size=61),
    "bert": BERT | dict(
        model_type="bert", architectures=["BertForMaskedLM"], gradient_checkpointing=False, pad_token_id=0,
        position_embedding_type="absolute", directionality="bidi", pooler_fc_size=768, pooler_num_attention_heads=12,
        pooler_num_fc_layers=3, pooler_size_per_head=128, pooler_type="first_token_transform"),
    "roberta": BERT | dict(
        model_type="roberta", architectures=["RobertaForMaskedLM"], bos_token_id=0, eos_token_id=2,
        layer_norm_eps=1e-5, max_position_embeddings=42, pad_token_id=1, type_vocab_size=1),
    "distilbert": dict(
        model_type="distilbert", activation="gelu", architectures=["DistilBertForMaskedLM"], attention_dropout=0.1,
        dim=24, dropout=0.1, hidden_dim=40, initializer_range=0.02, max_position_embeddings=40, n_heads=4, n_layers=2,
        pad_token_id=0, qa_dropout=0.1, seq_classif_dropout=0.2, sinusoidal_pos_embds=False, tie_weights_=True,
        vocab_size=61),
    "t5": T5 | dict(architectures=["T5ForConditionalGeneration"], feed_forward_proj="relu",
                    task_specific_params={"summarization": {"num_beams": 4}}),
    "flan-t5": T5 | dict(architectures=["T5ForConditionalGeneration"], feed_forward_proj="gated-gelu",
                         dense_act_fn="gelu_new", is_gated_act=True, tie_word_embeddings=False),
}
PUBLISHED["opt-350m"] = PUBLISHED["opt"] | dict(
    _name_or_path="opt-350m", do_layer_norm_before=False, num_attention_heads=4, transformers_version="4.20.0.dev0",
    word_embed_proj_dim=12)
