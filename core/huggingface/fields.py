"""A config.json as transformers writes it, read field by field into the words of ModelConfig; what our Transformer does
not do is refused by name.
"""
from core.huggingface.errors import PretrainedError
from core.model.config import MOST_LAYERS

ACTIVATIONS = {"gelu": "gelu", "gelu_python": "gelu", "gelu_new": "gelu_tanh", "gelu_pytorch_tanh": "gelu_tanh",
               "gelu_fast": "gelu_tanh", "relu": "relu", "silu": "swish", "swish": "swish"}
GATED = {"gelu": "geglu", "gelu_tanh": "geglu_tanh", "swish": "swiglu"}
# what each kind of rotary positions gives as ModelConfig.rotary_scaling
ROTARY_SCALING = {
    "default": (), "linear": ("factor",),
    "llama3": ("factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings")}


class Fields:
    """A config.json, read field by field; what is missing or has the wrong type raises PretrainedError."""

    def __init__(self, values: dict) -> None:
        self.values = values

    def get(self, name: str, default=None):
        value = self.values.get(name)
        return default if value is None else value

    def whole(self, *names: str, default: int | None = None) -> int:
        """A whole number, under the first of the names that is there."""
        value = next((self.values[name] for name in names if self.values.get(name) is not None), default)
        if type(value) is not int:
            raise PretrainedError("config", f"config.json gives no whole number for "
                                            f"{names[0]}{'' if value is None else f', but {value!r}'}. Fetch the "
                                            f"original file again.")
        return value

    def layers(self, *names: str, default: int | None = None) -> int:
        """A number of blocks, each of which is listed."""
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
        asked = self.get(name, default)
        curve = ACTIVATIONS.get(asked)
        curve = GATED.get(curve) if gated else curve
        if curve is None:
            raise unsupported(f"the activation {asked!r}{' with a gate' if gated else ''}")
        return curve

    def refuse(self, **wanted) -> None:
        """PretrainedError for every field that has another value than the one that this program can do; one that is
        missing has it.
        """
        for name, value in wanted.items():
            if self.get(name, value) != value:
                raise unsupported(f"{name} = {self.get(name)!r}")

    def token(self, name: str, vocab_size: int) -> int | None:
        """A token id, the first where there are several; None where there is none, or none of this vocabulary."""
        value = self.get(name)
        value = value[0] if isinstance(value, list) and value else value
        return value if isinstance(value, int) and 0 <= value < vocab_size else None


def unsupported(what: str) -> PretrainedError:
    return PretrainedError("architecture", f"This model's config.json asks for {what}, which this program cannot do. "
                                           f"Choose another model of the family.")


def ends(f: Fields, vocab_size: int, begin: str = "bos_token_id") -> dict[str, int | None]:
    """The tokens that end a text and begin one."""
    return dict(end_of_text=f.token("eos_token_id", vocab_size), begin_of_text=f.token(begin, vocab_size))


def rotary(f: Fields, d_k: int, fraction: float = 1.0) -> dict:
    """Base, turned width and scaling of rotary positions, as they are written since 2025 (rope_parameters)
    or were before.
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
    # what stands in the table goes before what stands beside it
    f = Fields(f.values | {name: value for name, value in rope.items() if value is not None})
    base = f.get("rope_theta", f.get("rotary_emb_base", 10_000.0))
    width = int(d_k * f.get("partial_rotary_factor", f.get("rotary_pct", fraction)))
    return dict(positions="rotary", rotary_base=float(base), d_rotary=0 if width == d_k else width,
                rotary_scaling=tuple(float(rope[name]) for name in ROTARY_SCALING[kind]))


def window(f: Fields) -> dict:
    """Causal, or a sliding window over all blocks; some blocks with a window and some without are more than one
    ModelConfig says.
    """
    size = f.get("sliding_window") if f.get("use_sliding_window", True) else None
    if size is None or size >= f.whole("max_position_embeddings"):
        return {}
    kinds = f.get("layer_types")
    if kinds is None and "max_window_layers" in f.values:
        kinds = ["sliding_attention" if layer >= f.whole("max_window_layers") else "full_attention"
                 for layer in range(f.layers("num_hidden_layers"))]
    kinds = set(kinds or ["sliding_attention"])
    if len(kinds) > 1:
        raise unsupported("a sliding window in some blocks and none in others")
    return dict(mask="sliding-window", window=f.whole("sliding_window")) if kinds == {"sliding_attention"} else {}
