"""Small Hugging Face decoders of the families since 2024."""
from __future__ import annotations

import transformers as hf

from tests.helpers.model_sizes import GROUPED

MIXED = ["sliding_attention", "full_attention", "sliding_attention"]
GEMMA = GROUPED | dict(num_hidden_layers=3, head_dim=8, query_pre_attn_scalar=6, sliding_window=5)
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
}
# what makes a model's random embeddings of length √d once more where it lengthens them
GAINS = {"gemma2": 24 ** -0.5, "gemma3_text": 24 ** -0.5}
