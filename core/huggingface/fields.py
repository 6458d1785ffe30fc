"""A config.json in the format of transformers, read field by field for ModelConfig; features that our Transformer lacks
are refused by name.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence

from core.huggingface import reference
from core.huggingface.errors import PretrainedError, short
from core.huggingface.positions import yarn
from core.model.config import MOST_LAYERS

ACTIVATIONS = {"gelu": "gelu", "gelu_python": "gelu", "gelu_new": "gelu_tanh", "gelu_pytorch_tanh": "gelu_tanh",
               "gelu_fast": "gelu_tanh", "relu": "relu", "silu": "swish", "swish": "swish"}
GATED = {"gelu": "geglu", "gelu_tanh": "geglu_tanh", "swish": "swiglu"}
# the fields of each kind of rotary positions that make up ModelConfig.rotary_scaling; a dynamic one slows nothing in
# texts of up to max_position_embeddings tokens, which is n_context, and YaRN slows each pair by its own factor
ROTARY_SCALING = {
    "default": (), "linear": ("factor",), "dynamic": (), "yarn": (),
    "llama3": ("factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings")}
# further fields: those of YaRN, made into rotary_factors by core.huggingface.positions, and those of a dynamic kind
BESIDE = {"dynamic": ("factor", "original_max_position_embeddings"),
          "yarn": ("factor", "original_max_position_embeddings", "beta_fast", "beta_slow", "truncate",
                   "attention_factor", "mscale", "mscale_all_dim")}
FIRST_BERT = frozenset((
    "attention_probs_dropout_prob", "hidden_act", "hidden_dropout_prob", "hidden_size", "initializer_range",
    "intermediate_size", "layer_norm_eps", "max_position_embeddings", "num_attention_heads", "num_hidden_layers",
    "type_vocab_size", "vocab_size"))
MASK_OF = {"full_attention": "causal", "sliding_attention": "sliding-window"}      # transformers' layer_types


class Fields:
    """A config.json, read field by field; a field that is missing or has the wrong type raises PretrainedError.

    read: the names that were asked for, whether they are there or not. passed: the keys passed over, in this table and
    the tables in it, each as "name = value" (see core.huggingface.keys for both).
    """

    def __init__(self, values: Mapping[str, object], read: set[str] | None = None,
                 passed: list[str] | None = None) -> None:
        self.values = values
        self.read: set[str] = set() if read is None else read
        self.passed: list[str] = [] if passed is None else passed

    def changed(self, **values) -> Fields:
        """The fields with other values; reading them counts as reading these."""
        return Fields({**self.values, **values}, self.read, self.passed)

    def get(self, name: str, default=None):
        """The value of a field, `default` if it is missing or null."""
        self.read.add(name)
        value = self.values.get(name)
        return default if value is None else value

    def given(self, name: str, default):
        """The value of a field, even null; `default` only if it is missing."""
        self.read.add(name)
        return self.values.get(name, default)

    def whole(self, *names: str, default: int | None = None) -> int:
        """A whole number; all the names that are present must give the same."""
        present = [name for name in names if self.get(name) is not None]
        name, value = (present[0], self.values[present[0]]) if present else (names[0], default)
        if type(value) is not int:
            raise PretrainedError("config", f"config.json gives no whole number for "
                                            f"{name}{'' if value is None else f', but {value!r}'}. Fetch the "
                                            f"original file again.")
        if other := next((other for other in present if self.values[other] != value), None):
            raise unsupported(f"{name} = {value} and {other} = {short(self.values[other])}, two numbers for the same")
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
                raise unsupported(f"{name} = {short(self.get(name))}")

    def token(self, name: str, vocab_size: int) -> int | None:
        """A token id, the first if there are several; None if there is none, or it is not in the vocabulary."""
        value = self.get(name)
        value = value[0] if isinstance(value, list) and value else value
        return value if isinstance(value, int) and 0 <= value < vocab_size else None


def family_of(values: Mapping[str, object]) -> object:
    """The family of a config.json: its model_type, or "bert" for a config that Google wrote before that key existed,
    with the sizes of a BERT and nothing else (bert_uncased_L-2_H-128_A-2, bert-tiny).
    """
    first = set(values) <= FIRST_BERT and {"type_vocab_size", "num_hidden_layers"} <= set(values)
    return "bert" if first and values["type_vocab_size"] == 2 else values.get("model_type")


def unsupported(feature: str) -> PretrainedError:
    return PretrainedError("architecture", f"This model's config.json asks for {feature}, which this program cannot "
                                           f"do. Choose another model of the family.")


def ends(f: Fields, vocab_size: int, begin: str = "bos_token_id") -> dict[str, int | None]:
    """The tokens that end a text, the first of them as end_of_text, and the one that begins one."""
    first, *others = token_ids(f.get("eos_token_id"), vocab_size) or (None,)
    return dict(end_of_text=first, end_tokens=tuple(others), begin_of_text=f.token(begin, vocab_size))


def token_ids(value: object, vocab_size: int) -> tuple[int, ...]:
    """One token id or a list of them, in order and each once, without those outside the vocabulary."""
    return tuple(dict.fromkeys(i for i in (value if isinstance(value, list) else [value])
                               if type(i) is int and 0 <= i < vocab_size))


def rotary(f: Fields, d_k: int, fraction: float = 1.0, base: str = "rope_theta",
           part: str | None = "partial_rotary_factor") -> dict:
    """Base, rotated width and scaling of rotary positions, in the format since 2025 (rope_parameters) or the older one.

    base, part: the fields beside the table that give the base and the rotated part of a query; part is None in a family
    that always turns all of it. fraction: that part, if nothing gives it. What the table gives comes first.
    """
    rope = _rope_table(f)
    kind = rope.get("rope_type") or rope.get("type") or "default"
    if kind not in ROTARY_SCALING:
        raise unsupported(f"rotary positions of the kind {short(kind)}")
    if missing := [name for name in ROTARY_SCALING[kind] if not isinstance(rope.get(name), (int, float))]:
        raise PretrainedError("config", f"config.json gives no {missing[0]} for its rotary positions. Fetch the "
                                        f"original file again.")
    table = Fields(rope)
    theta = table.number("rope_theta", f.number(base, 10_000.0))
    turned = table.number("partial_rotary_factor", fraction if part is None else f.number(part, fraction))
    table.read |= {"rope_type", "type", *ROTARY_SCALING[kind], *BESIDE.get(kind, ())}
    unread = [name for name, value in rope.items() if name not in table.read and value is not None]
    if known := [name for name in unread if reference.knows_of_positions(name)]:
        raise unsupported(f"rotary positions with {known[0]} = {short(rope[known[0]])}")
    f.passed += [f"{name} = {short(rope[name], 40)} (of its rotary positions)" for name in unread]
    if part is None and turned != fraction:
        raise unsupported(f"rotary positions with partial_rotary_factor = {turned}")
    width = int(d_k * turned)
    longest = f.get("max_position_embeddings")
    original = f.get("original_max_position_embeddings", rope.get("original_max_position_embeddings", longest))
    slowed = yarn(rope, width, theta, original, longest) if kind == "yarn" else {}
    return dict(positions="rotary", rotary_base=theta, d_rotary=0 if width == d_k else width,
                rotary_scaling=tuple(float(rope[name]) for name in ROTARY_SCALING[kind])) | slowed


def _rope_table(f: Fields) -> dict:
    """The table of rotary positions under either name.

    Raises PretrainedError if both names have different tables: transformers takes the older one and forgets the base of
    the newer, and other programs take the newer one.
    """
    rope, older = f.get("rope_parameters") or {}, f.get("rope_scaling") or {}
    for table in (rope, older):
        if not isinstance(table, dict):
            raise PretrainedError("config", f"config.json gives rotary positions as {short(table)}, and not as a "
                                            f"table. Fetch the original file again.")
    if rope and older and rope != older:
        raise unsupported(f"rope_scaling = {short(older)} beside rope_parameters = {short(rope)}, two accounts of its "
                          f"positions")
    return rope or older


def window(f: Fields, default: int | None = None) -> dict:
    """The mask, causal or a sliding window in all blocks, from sliding_window; `default`: if that field is missing."""
    size = f.given("sliding_window", default)
    if size is None or size >= f.whole("max_position_embeddings"):
        return {}
    return dict(mask="sliding-window", window=size)


def switched_window(f: Fields) -> dict:
    """The mask of a family whose window is switched on by use_sliding_window, and then in the blocks that layer_types
    names or in those from max_window_layers on.
    """
    on, kinds, first = f.get("use_sliding_window", False), f.get("layer_types"), f.whole("max_window_layers",
                                                                                         default=28)
    if kinds is None:
        kinds = ["sliding_attention" if on and layer >= first else "full_attention"
                 for layer in range(f.layers("num_hidden_layers"))]
    if not on and "sliding_attention" in kinds:
        raise unsupported(f"use_sliding_window = {on} beside layer_types = {short(kinds)}")
    size = f.given("sliding_window", 4096)
    if set(kinds) == {"full_attention"} or size is None or size >= f.whole("max_position_embeddings"):
        return {}
    return masks(kinds, size)


def masks(kinds: Sequence[str], size: int) -> dict:
    """The mask of each block from transformers' layer_types, with a window of `size` keys; causal if it has none."""
    if unknown := [kind for kind in kinds if kind not in MASK_OF]:
        raise unsupported(f"blocks of the type {unknown[0]!r}")
    names = tuple(MASK_OF[kind] for kind in kinds)
    if len(set(names)) > 1:
        return dict(block_masks=names, window=size)
    return dict(mask="sliding-window", window=size) if names[0] == "sliding-window" else {}
