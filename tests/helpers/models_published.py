"""The config.json of models as they were published, with smaller sizes."""
_SIZES = dict(vocab_size=61, hidden_size=24, num_attention_heads=4, num_key_value_heads=2, intermediate_size=40,
              max_position_embeddings=40, attention_dropout=0.0, initializer_range=0.02, use_cache=True)
_GEMMA = _SIZES | dict(
    attention_bias=False, head_dim=8, hidden_activation="gelu_pytorch_tanh", rms_norm_eps=1e-6, bos_token_id=2,
    eos_token_id=1, pad_token_id=0, query_pre_attn_scalar=256, torch_dtype="bfloat16")
_PHI3 = _SIZES | dict(
    architectures=["Phi3ForCausalLM"], model_type="phi3", attention_bias=False, bos_token_id=1, embd_pdrop=0.0,
    hidden_act="silu", num_hidden_layers=2, original_max_position_embeddings=40, resid_pdrop=0.0, rms_norm_eps=1e-5,
    rope_theta=10_000.0, tie_word_embeddings=False, torch_dtype="bfloat16", transformers_version="4.45.0",
    auto_map=dict(AutoConfig="configuration_phi3.Phi3Config", AutoModelForCausalLM="modeling_phi3.Phi3ForCausalLM"))
PUBLISHED: dict[str, dict] = {
    "gemma-3-1b": _GEMMA | dict(
        architectures=["Gemma3ForCausalLM"], model_type="gemma3_text", num_hidden_layers=5, sliding_window=6,
        attn_logit_softcapping=None, final_logit_softcapping=None, cache_implementation="hybrid",
        eos_token_id=[1, 26], rope_local_base_freq=10_000, rope_scaling=None, rope_theta=1_000_000,
        sliding_window_pattern=3, transformers_version="4.50.0.dev0"),
    "gemma-3-270m": _GEMMA | dict(
        architectures=["Gemma3ForCausalLM"], model_type="gemma3_text", num_hidden_layers=4, sliding_window=6,
        _sliding_window_pattern=4, layer_types=["sliding_attention"] * 3 + ["full_attention"],
        attn_logit_softcapping=None, final_logit_softcapping=None, rope_local_base_freq=10_000.0,
        rope_scaling=dict(factor=8.0, rope_type="linear"), rope_theta=1_000_000.0, use_bidirectional_attention=False,
        transformers_version="4.55.0.dev0"),
    "gemma-2-2b": _GEMMA | dict(
        architectures=["Gemma2ForCausalLM"], model_type="gemma2", num_hidden_layers=3, sliding_window=6,
        attn_logit_softcapping=50.0, final_logit_softcapping=30.0, cache_implementation="hybrid",
        hidden_act="gelu_pytorch_tanh", rope_theta=10_000.0, transformers_version="4.42.4"),
    "SmolLM3-3B": _SIZES | dict(
        architectures=["SmolLM3ForCausalLM"], model_type="smollm3", attention_bias=False, bos_token_id=None,
        eos_token_id=17, hidden_act="silu", layer_types=["full_attention"] * 4, max_window_layers=28, mlp_bias=False,
        no_rope_layer_interval=4, no_rope_layers=[1, 1, 1, 0], num_hidden_layers=4, pad_token_id=4, pretraining_tp=2,
        rms_norm_eps=1e-6, rope_scaling=None, rope_theta=5_000_000.0, sliding_window=None, torch_dtype="bfloat16",
        use_sliding_window=False, transformers_version="4.54.0.dev0"),
    "OLMo-2-0425-1B": _SIZES | dict(
        architectures=["Olmo2ForCausalLM"], model_type="olmo2", attention_bias=False, eos_token_id=60,
        hidden_act="silu", num_hidden_layers=2, pad_token_id=58, rms_norm_eps=1e-6, rope_scaling=None,
        rope_theta=500_000, tie_word_embeddings=False, torch_dtype="float32", transformers_version="4.47.0"),
    "OLMo-1B-hf": _SIZES | dict(
        architectures=["OlmoForCausalLM"], model_type="olmo", attention_bias=False, clip_qkv=None, eos_token_id=50,
        hidden_act="silu", num_hidden_layers=2, num_key_value_heads=4, pad_token_id=1, pretraining_tp=1,
        rope_scaling=None, rope_theta=10_000.0, tie_word_embeddings=True, torch_dtype="float32",
        transformers_version="4.40.0.dev0"),
    "Phi-3-mini-4k": _PHI3 | dict(
        num_key_value_heads=4, max_position_embeddings=40, rope_scaling=None, sliding_window=6, eos_token_id=50,
        pad_token_id=50),
    "Phi-3.5-mini": _PHI3 | dict(
        num_key_value_heads=4, max_position_embeddings=320, eos_token_id=50, pad_token_id=50, sliding_window=600,
        rope_scaling=dict(type="longrope", short_factor=[1.0, 1.1, 1.3], long_factor=[1.1, 5.0, 40.0])),
    "Phi-4-mini": _PHI3 | dict(
        hidden_size=40, max_position_embeddings=320, eos_token_id=59, pad_token_id=59, partial_rotary_factor=0.6,
        sliding_window=600, tie_word_embeddings=True, full_attn_mod=1, interpolate_factor=1, lm_head_bias=False,
        mlp_bias=False, rope_scaling=dict(type="longrope", short_factor=[1.0, 1.5, 2.0], long_factor=[1.0, 8.0, 64.0])),
    "granite-3.3-2b": _SIZES | dict(
        architectures=["GraniteForCausalLM"], model_type="granite", attention_bias=False, attention_dropout=0.0,
        attention_multiplier=0.015625, bos_token_id=0, embedding_multiplier=12.0, eos_token_id=0, hidden_act="silu",
        logits_scaling=8.0, mlp_bias=False, num_hidden_layers=2, pad_token_id=0, residual_multiplier=0.22,
        rms_norm_eps=1e-5, rope_scaling=None, rope_theta=10_000_000.0, tie_word_embeddings=True,
        torch_dtype="bfloat16", transformers_version="4.49.0"),
    "c4ai-command-r-v01": _SIZES | dict(
        architectures=["CohereForCausalLM"], model_type="cohere", attention_bias=False, bos_token_id=5, eos_token_id=60,
        hidden_act="silu", layer_norm_eps=1e-5, logit_scale=0.0625, model_max_length=131_072, num_hidden_layers=2,
        pad_token_id=0, rope_theta=8_000_000.0, torch_dtype="float16",
        transformers_version="4.38.2", use_qk_norm=False),
    "c4ai-command-r-plus": _SIZES | dict(
        architectures=["CohereForCausalLM"], model_type="cohere", attention_bias=False, bos_token_id=5, eos_token_id=60,
        hidden_act="silu", layer_norm_eps=1e-5, logit_scale=0.8333333333333334, model_max_length=131_072,
        num_hidden_layers=2, pad_token_id=0, rope_theta=75_000_000.0, torch_dtype="float16",
        transformers_version="4.40.0.dev0", use_qk_norm=True),
    "c4ai-command-r7b": _SIZES | dict(
        _sliding_window_pattern=4, architectures=["Cohere2ForCausalLM"], model_type="cohere2", attention_bias=False,
        bos_token_id=5, eos_token_id=60, head_dim=6, hidden_act="silu", layer_norm_eps=1e-5, layer_switch=4,
        logit_scale=0.25, num_hidden_layers=4, order_of_interleaved_layers="local_attn_first", pad_token_id=0,
        position_embedding_type="rope_gptj", rope_scaling=None, rope_theta=50_000, rotary_pct=1.0, sliding_window=6,
        sliding_window_pattern=4, torch_dtype="bfloat16", use_embedding_sharing=True, use_gated_activation=True,
        use_parallel_block=True, use_parallel_embedding=False, use_qk_norm=False, transformers_version="4.48.0.dev0"),
    "Qwen2.5-7B, for long texts": _SIZES | dict(
        architectures=["Qwen2ForCausalLM"], model_type="qwen2", bos_token_id=43, eos_token_id=45, hidden_act="silu",
        max_window_layers=28, num_hidden_layers=2, rms_norm_eps=1e-6, rope_theta=1_000_000.0, sliding_window=131_072,
        tie_word_embeddings=False, torch_dtype="bfloat16", use_sliding_window=False,
        rope_scaling=dict(factor=4.0, original_max_position_embeddings=20, type="yarn")),
}
