"""A config.json in the format of transformers, read field by field for ModelConfig; features that our Transformer lacks
are refused by name.
"""
from collections.abc import Sequence

from core.huggingface.errors import PretrainedError
from core.huggingface.positions import yarn
from core.model.config import MOST_LAYERS

ACTIVATIONS = {"gelu": "gelu", "gelu_python": "gelu", "gelu_new": "gelu_tanh", "gelu_pytorch_tanh": "gelu_tanh",
               "gelu_fast": "gelu_tanh", "relu": "relu", "silu": "swish", "swish": "swish"}
GATED = {"gelu": "geglu", "gelu_tanh": "geglu_tanh", "swish": "swiglu"}
# the fields of each kind of rotary positions that make up ModelConfig.rotary_scaling; a dynamic one slows nothing in
# texts of up to max_position_embeddings tokens, which is n_context, and YaRN slows each pair by a factor of its own
ROTARY_SCALING = {
    "default": (), "linear": ("factor",), "dynamic": (), "yarn": (),
    "llama3": ("factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings")}
MASK_OF = {"full_attention": "causal", "sliding_attention": "sliding-window"}      # transformers' layer_types


class Fields:
    """A config.json, read field by field; a field that is missing or has the wrong type raises PretrainedError."""

    def __init__(self, values: dict) -> None:
        self.values = values

    def get(self, name: str, default=None):
        value = self.values.get(name)
        return default if value is None else value

    def whole(self, *names: str, default: int | None = None) -> int:
        """A whole number, from the first of the names that is present."""
        value = next((self.values[name] for name in names if self.values.get(name) is not None), default)
        if type(value) is not int:
            raise PretrainedError("config", f"config.json gives no whole number for "
                                            f"{names[0]}{'' if value is None else f', but {value!r}'}. Fetch the "
                                            f"original file again.")
        return value

    def layers(self, *names: str, default: int | None = None) -> int:
        """A number of blocks, at most MOST_LAYERS."""
        value = self.whole(*names, default=default)
        if value > MOST_LAYERS:
            raise PretrainedError("config", f"config.json asks for {value} layers under {names[0]}, and this program "
                                            f"goes to {MOST_LAYERS}. Fetch the original file again.")
        return value

    def number(self, name: str, default: float) -> float:
        value = self.get(name, default)
        if not isinstance(value, (int, float)) or isinstance(value, bool):
            raise PretrainedError("config", f"config.json gives no number for {name}, but {value!r}. Fetch the "
                                            f"original file again.")
        return float(value)

    def activation(self, name: str, default: str, gated: bool = False) -> str:
        value = self.get(name, default)
        curve = ACTIVATIONS.get(value)
        curve = GATED.get(curve) if gated else curve
        if curve is None:
            raise unsupported(f"the activation {value!r}{' with a gate' if gated else ''}")
        return curve

    def refuse(self, **supported) -> None:
        """Raise PretrainedError for a field that is present with another value than the supported one."""
        for name, value in supported.items():
            if self.get(name, value) != value:
                raise unsupported(f"{name} = {self.get(name)!r}")

    def token(self, name: str, vocab_size: int) -> int | None:
        """A token id, the first if there are several; None if there is none, or it is not in the vocabulary."""
        value = self.get(name)
        value = value[0] if isinstance(value, list) and value else value
        return value if isinstance(value, int) and 0 <= value < vocab_size else None


def unsupported(feature: str) -> PretrainedError:
    return PretrainedError("architecture", f"This model's config.json asks for {feature}, which this program cannot "
                                           f"do. Choose another model of the family.")


def ends(f: Fields, vocab_size: int, begin: str = "bos_token_id") -> dict[str, int | None]:
    """The tokens that end a text and begin one."""
    return dict(end_of_text=f.token("eos_token_id", vocab_size), begin_of_text=f.token(begin, vocab_size))


def rotary(f: Fields, d_k: int, fraction: float = 1.0) -> dict:
    """Base, rotated width and scaling of rotary positions, in the format since 2025 (rope_parameters) or the older one.
    """
    rope = f.get("rope_parameters") or f.get("rope_scaling") or {}
    if not isinstance(rope, dict):
        raise PretrainedError("config", f"config.json gives rotary positions as {rope!r}, and not as a table. Fetch "
                                        f"the original file again.")
    kind = rope.get("rope_type") or rope.get("type") or "default"
    if kind not in ROTARY_SCALING:
        raise unsupported(f"rotary positions of the kind {kind!r}")
    if missing := [name for name in ROTARY_SCALING[kind] if not isinstance(rope.get(name), (int, float))]:
        raise PretrainedError("config", f"config.json gives no {missing[0]} for its rotary positions. Fetch the "
                                        f"original file again.")
    longest = f.get("max_position_embeddings")
    original = f.get("original_max_position_embeddings", rope.get("original_max_position_embeddings", longest))
    # fields in the table override those beside it
    f = Fields(f.values | {name: value for name, value in rope.items() if value is not None})
    base = f.get("rope_theta", f.get("rotary_emb_base", 10_000.0))
    width = int(d_k * f.get("partial_rotary_factor", f.get("rotary_pct", fraction)))
    slowed = yarn(rope, width, float(base), original, longest) if kind == "yarn" else {}
    return dict(positions="rotary", rotary_base=float(base), d_rotary=0 if width == d_k else width,
                rotary_scaling=tuple(float(rope[name]) for name in ROTARY_SCALING[kind])) | slowed


def window(f: Fields) -> dict:
    """The mask: causal, or a sliding window in all blocks, or in some of them, as layer_types or max_window_layers say.

    A window that the longest text fits in is none.
    """
    size = f.get("sliding_window") if f.get("use_sliding_window", True) else None
    if size is None or size >= f.whole("max_position_embeddings"):
        return {}
    kinds = f.get("layer_types")
    if kinds is None and "max_window_layers" in f.values:
        kinds = ["sliding_attention" if layer >= f.whole("max_window_layers") else "full_attention"
                 for layer in range(f.layers("num_hidden_layers"))]
    return masks(kinds or ["sliding_attention"], f.whole("sliding_window"))


def masks(kinds: Sequence[str], size: int) -> dict:
    """The mask of each block from transformers' layer_types, with a window of so many keys; causal, where it has none.
    """
    if unknown := [kind for kind in kinds if kind not in MASK_OF]:
        raise unsupported(f"blocks of the type {unknown[0]!r}")
    names = tuple(MASK_OF[kind] for kind in kinds)
    if len(set(names)) > 1:
        return dict(block_masks=names, window=size)
    return dict(mask="sliding-window", window=size) if names[0] == "sliding-window" else {}
