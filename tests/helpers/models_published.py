"""The config.json of models as they were published, with smaller sizes."""
_SIZES = dict(vocab_size=61, hidden_size=24, num_attention_heads=4, num_key_value_heads=2, intermediate_size=40,
              max_position_embeddings=40, attention_dropout=0.0, initializer_range=0.02, use_cache=True)
_GEMMA = _SIZES | dict(
    attention_bias=False, head_dim=8, hidden_activation="gelu_pytorch_tanh", rms_norm_eps=1e-6, bos_token_id=2,
    eos_token_id=1, pad_token_id=0, query_pre_attn_scalar=256, torch_dtype="bfloat16")
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
}
