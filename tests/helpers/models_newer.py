"""Small Hugging Face decoders of the families since 2024."""
from __future__ import annotations

import transformers as hf

from tests.helpers.model_sizes import GROUPED, SIZES

MIXED = ["sliding_attention", "full_attention", "sliding_attention"]
GEMMA = GROUPED | dict(num_hidden_layers=3, head_dim=8, query_pre_attn_scalar=6, sliding_window=5)
PADDED = dict(pad_token_id=0)
YARN = dict(rope_type="yarn", factor=4.0, original_max_position_embeddings=20, rope_theta=50.0)
LONG = dict(rope_type="longrope", short_factor=[1.0, 1.5, 2.5, 4.0], long_factor=[2.0, 4.0, 8.0, 16.0])
BASES = dict(sliding_attention=dict(rope_type="default", rope_theta=50.0))
CASES: dict[str, tuple[type, dict]] = {
    "gemma3": (hf.Gemma3TextConfig, GEMMA | dict(layer_types=MIXED, rope_parameters=BASES | dict(
        full_attention=dict(rope_type="linear", factor=4.0, rope_theta=1000.0)))),
    "gemma3 untied, with biases and caps": (hf.Gemma3TextConfig, GEMMA | dict(
        sliding_window_pattern=2, tie_word_embeddings=False, attention_bias=True, final_logit_softcapping=5.0,
        query_pre_attn_scalar=8, hidden_activation="silu")),
    "gemma3 of one base": (hf.Gemma3TextConfig, GEMMA | dict(sliding_window=64, rope_theta=50.0, layer_types=MIXED,
                                                             rope_local_base_freq=50.0)),
    "gemma2": (hf.Gemma2Config, GEMMA | dict(attn_logit_softcapping=1.5, final_logit_softcapping=5.0)),
    "gemma2 untied, without caps": (hf.Gemma2Config, GEMMA | dict(
        layer_types=MIXED[::-1], tie_word_embeddings=False, attn_logit_softcapping=None, final_logit_softcapping=None,
        query_pre_attn_scalar=8, attention_bias=True)),
    "smollm3": (hf.SmolLM3Config, GROUPED | PADDED | dict(num_hidden_layers=3, no_rope_layer_interval=3,
                                                          rope_theta=50.0)),
    "smollm3 untied, with windows and biases": (hf.SmolLM3Config, GROUPED | PADDED | dict(
        num_hidden_layers=3, no_rope_layers=[0, 1, 0], use_sliding_window=True, sliding_window=5, mlp_bias=True,
        attention_bias=True, tie_word_embeddings=False)),
    "smollm3 without positions": (hf.SmolLM3Config, GROUPED | PADDED | dict(no_rope_layers=[0, 0], head_dim=10)),
    "olmo2": (hf.Olmo2Config, GROUPED | dict(rope_theta=50.0)),
    "olmo2 tied, with biases": (hf.Olmo2Config, GROUPED | dict(tie_word_embeddings=True, attention_bias=True,
                                                               head_dim=10, hidden_act="gelu")),
    "olmo": (hf.OlmoConfig, GROUPED | PADDED), "olmo tied, with biases": (hf.OlmoConfig, SIZES | PADDED | dict(
        tie_word_embeddings=True, attention_bias=True, rope_parameters=YARN)),
    "phi3": (hf.Phi3Config, GROUPED | PADDED | dict(sliding_window=5, original_max_position_embeddings=40)),
    "phi3 tied, for long texts": (hf.Phi3Config, GROUPED | PADDED | dict(
        hidden_size=40, max_position_embeddings=160, original_max_position_embeddings=40, tie_word_embeddings=True,
        rope_parameters=LONG | dict(partial_rotary_factor=0.8))),
    "llama in yarn": (hf.LlamaConfig, GROUPED | dict(rope_parameters=YARN)),
    "qwen3 in yarn": (hf.Qwen3Config, GROUPED | dict(head_dim=8, rope_parameters=YARN | dict(
        attention_factor=0.7, beta_fast=2.0, beta_slow=0.5, truncate=False))),
    "llama in dynamic ntk": (hf.LlamaConfig, GROUPED | dict(rope_parameters=dict(
        rope_type="dynamic", factor=4.0, rope_theta=50.0))),
    "granite": (hf.GraniteConfig, GROUPED | dict(
        embedding_multiplier=2.0, attention_multiplier=0.3, residual_multiplier=0.4, logits_scaling=3.0)),
    "granite tied, with biases": (hf.GraniteConfig, GROUPED | dict(
        tie_word_embeddings=True, attention_bias=True, mlp_bias=True)),
    "cohere": (hf.CohereConfig, GROUPED | dict(logit_scale=0.5)),
    "cohere untied, with biases": (hf.CohereConfig, SIZES | dict(
        attention_bias=True, tie_word_embeddings=False, logit_scale=1.0, rope_theta=50.0)),
    "cohere with a norm for each head": (hf.CohereConfig, GROUPED | dict(
        use_qk_norm=True, layer_norm_eps=0.1, head_dim=10, logit_scale=0.5, tie_word_embeddings=True)),
    "cohere2": (hf.Cohere2Config, GROUPED | dict(num_hidden_layers=3, sliding_window=5, logit_scale=0.5,
                                                 sliding_window_pattern=3)),
    "cohere2 untied, with biases": (hf.Cohere2Config, GROUPED | dict(
        num_hidden_layers=3, sliding_window=5, layer_types=MIXED[::-1], attention_bias=True, tie_word_embeddings=False,
        logit_scale=1.0, rope_parameters=dict(rope_type="linear", factor=2.0, rope_theta=50.0))),
}
# what makes a model's random embeddings of length √d once more where it lengthens them
GAINS = {"gemma2": 24 ** -0.5, "gemma3_text": 24 ** -0.5}
