"""Small Hugging Face models that read pictures as well as text."""
from __future__ import annotations

import transformers as hf

from tests.helpers.models_newer import BASES, GEMMA, MIXED

VISION = dict(model_type="siglip_vision_model", hidden_size=8, intermediate_size=12, num_hidden_layers=1,
              num_attention_heads=2, image_size=8, patch_size=4)
SLOWED = dict(full_attention=dict(rope_type="linear", factor=8.0, rope_theta=1000.0))
PICTURES = dict(vision_config=VISION, mm_tokens_per_image=4, image_token_index=58, boi_token_index=59,
                eoi_token_index=60)
CASES: dict[str, tuple[type, dict]] = {
    "gemma3 with pictures": (hf.Gemma3Config, PICTURES | dict(
        text_config=GEMMA | dict(layer_types=MIXED, rope_parameters=BASES | SLOWED))),
    "gemma3 with pictures, untied": (hf.Gemma3Config, PICTURES | dict(
        tie_word_embeddings=False, text_config=GEMMA | dict(sliding_window_pattern=2, tie_word_embeddings=False,
                                                            attention_bias=True))),
}
GAINS = {"gemma3": 24 ** -0.5}
LEFT_OUT = ("vision_tower.", "multi_modal_projector.")
# the config.json of gemma-3-4b-it and gemma-3-27b-it as they were published, with smaller sizes: what is not said is
# the default of Gemma3TextConfig, which the test shrinks by the same names
_GEMMA_3 = dict(
    architectures=["Gemma3ForConditionalGeneration"], boi_token_index=255_999, eoi_token_index=256_000,
    eos_token_id=[1, 106], image_token_index=262_144, initializer_range=0.02, mm_tokens_per_image=4,
    model_type="gemma3", torch_dtype="bfloat16", transformers_version="4.50.0.dev0",
    vision_config=VISION | dict(vision_use_head=False))
PUBLISHED = {
    "gemma-3-4b-it": _GEMMA_3 | dict(text_config=dict(
        hidden_size=24, intermediate_size=40, model_type="gemma3_text", num_hidden_layers=7,
        rope_scaling=dict(factor=8.0, rope_type="linear"), sliding_window=6)),
    "gemma-3-27b-it": _GEMMA_3 | dict(text_config=dict(
        head_dim=8, hidden_size=24, intermediate_size=40, model_type="gemma3_text", num_attention_heads=4,
        num_hidden_layers=7, num_key_value_heads=2, query_pre_attn_scalar=168,
        rope_scaling=dict(factor=8.0, rope_type="linear"), sliding_window=6)),
}


def unused(model: hf.PreTrainedModel) -> int:
    """Numbers of a model's part for pictures."""
    return sum(p.numel() for name, p in model.named_parameters() if name.removeprefix("model.").startswith(LEFT_OUT))
