"""Known models as settings of ModelConfig, for counting and comparing, with the sizes that their papers and public
configs give.
"""
from dataclasses import dataclass, field

from core.model.config import STORIES, ModelConfig


@dataclass(frozen=True)
class Preset:
    """A known model: the fields of its ModelConfig, and its published number of parameters (0: none)."""

    fields: dict = field(hash=False)
    published: float = 0

    @property
    def config(self) -> ModelConfig:
        return ModelConfig.of(**self.fields)


def _first(d: int, h: int, d_ff: int) -> dict:
    """Vaswani et al. 2017, table 3; one vocabulary of about 37,000 pieces for both languages (section 5.1), maps of
    attention without biases.
    """
    return dict(kind="encoder-decoder", vocab_size=37_000, d_model=d, n_layers=6, n_heads=h, d_ff=d_ff, n_context=512,
                norm_placement="post", activation="relu", positions="sinusoidal", attention_bias=False)


def _bert(n_layers: int, d: int, h: int) -> dict:
    return dict(kind="encoder", vocab_size=30_522, d_model=d, n_layers=n_layers, n_heads=h, n_context=512,
                norm_placement="post")


def _gpt2(n_layers: int, d: int, h: int) -> dict:
    return dict(vocab_size=50_257, d_model=d, n_layers=n_layers, n_heads=h, n_context=1024, activation="gelu_tanh")


def _gpt3(n_layers: int, d: int, h: int) -> dict:
    return _gpt2(n_layers, d, h) | dict(n_context=2048)


def _t5(d: int, n_layers: int, h: int, d_ff: int, d_k: int) -> dict:
    return dict(kind="encoder-decoder", vocab_size=32_128, d_model=d, n_layers=n_layers, n_heads=h, d_k=d_k, d_v=d_k,
                d_ff=d_ff, n_context=512, norm="rmsnorm", norm_bias=False, activation="relu", positions="relative",
                relative_max_distance=16, attention_bias=False, mlp_bias=False, scale_scores=False)


def _llama(d: int, n_layers: int, h: int, d_ff: int, n_context: int, n_kv_heads: int = 0) -> dict:
    return dict(vocab_size=32_000, d_model=d, n_layers=n_layers, n_heads=h, n_kv_heads=n_kv_heads, d_ff=d_ff,
                n_context=n_context, norm="rmsnorm", norm_bias=False, activation="swiglu",
                positions="rotary", attention_bias=False, mlp_bias=False, tied_embeddings=False)


_STORIES = {name: getattr(STORIES, name) for name in ("vocab_size", "d_model", "n_layers", "n_heads", "n_context")}

# Sizes: Vaswani et al. 2017; Radford et al. 2018, 2019 (and the released GPT-2 configs); Devlin et al. 2019; Brown et
# al. 2020, table 2.1; Raffel et al. 2020; Touvron et al. 2023a, 2023b; Le Scao et al. 2022 (BLOOM).
PRESETS = {
    "stories": Preset(_STORIES),
    "first-base": Preset(_first(512, 8, 2048), 65e6),
    "first-big": Preset(_first(1024, 16, 4096), 213e6),
    "gpt": Preset(_gpt2(12, 768, 12) | dict(vocab_size=40_478, n_context=512, norm_placement="post"), 117e6),
    "bert-base": Preset(_bert(12, 768, 12), 110e6),
    "bert-large": Preset(_bert(24, 1024, 16), 340e6),
    "gpt2": Preset(_gpt2(12, 768, 12), 124e6),
    "gpt2-medium": Preset(_gpt2(24, 1024, 16), 355e6),
    "gpt2-large": Preset(_gpt2(36, 1280, 20), 774e6),
    "gpt2-xl": Preset(_gpt2(48, 1600, 25), 1.558e9),
    "t5-base": Preset(_t5(768, 12, 12, 3072, 64), 220e6),
    "t5-11b": Preset(_t5(1024, 24, 128, 65_536, 128), 11e9),
    "gpt3-small": Preset(_gpt3(12, 768, 12), 125e6),
    "gpt3-6.7b": Preset(_gpt3(32, 4096, 32), 6.7e9),
    "gpt3": Preset(_gpt3(96, 12_288, 96), 175e9),
    "bloom": Preset(dict(vocab_size=250_880, d_model=14_336, n_layers=70, n_heads=112, n_context=2048,
                         positions="alibi", activation="gelu_tanh"), 176e9),
    "llama-7b": Preset(_llama(4096, 32, 32, 11_008, 2048), 6.7e9),
    "llama-65b": Preset(_llama(8192, 80, 64, 22_016, 2048), 65.2e9),
    "llama2-70b": Preset(_llama(8192, 80, 64, 28_672, 4096, 8), 70e9),
}
