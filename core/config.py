"""What a transformer is built from: one frozen, validated, hashable ModelConfig says every architecture of the lessons."""
from __future__ import annotations

import dataclasses
from dataclasses import dataclass

KINDS = ("decoder", "encoder")
NORMS = ("layernorm", "rmsnorm")
NORM_PLACEMENTS = ("pre", "post")
ACTIVATIONS = ("relu", "gelu", "gelu_tanh", "swish", "swiglu", "geglu")
GATED_ACTIVATIONS = ("swiglu", "geglu")
POSITIONS = ("none", "sinusoidal", "learned", "rotary", "alibi", "relative")
MASKS = ("causal", "bidirectional", "sliding-window")


@dataclass(frozen=True)
class ModelConfig:
    """The architecture of one model, in the notes' letters where they have one.

    Widths left at 0 take their usual value: d_k = d_v = d_model / n_heads, d_ff = 4 d_model (write d_ff=None for a model
    without a feed-forward part), n_kv_heads = n_heads. `mask` left empty is causal for a decoder, bidirectional for an
    encoder. A field out of range raises ValueError with the sentence to show a reader.

    >>> ModelConfig(vocab_size=4096, d_model=256, n_layers=6, n_heads=8, n_context=256).d_k
    32
    """

    vocab_size: int                       # |V|, rows of E
    d_model: int                          # d
    n_layers: int                         # L
    n_heads: int                          # h
    n_context: int                        # the most tokens it was built for
    kind: str = "decoder"
    d_k: int = 0                          # width of a query and of a key
    d_v: int = 0                          # width of a value
    d_ff: int | None = 0                  # width of the feed-forward part; None: there is none
    n_kv_heads: int = 0                   # fewer than n_heads: several query heads share one key/value head
    norm: str = "layernorm"
    norm_placement: str = "pre"           # before each sublayer, or after its residual sum
    norm_epsilon: float = 1e-5
    activation: str = "gelu"
    positions: str = "learned"
    rotary_base: float = 10_000.0
    relative_max_distance: int = 128      # relative biases are shared by all longer distances
    mask: str = ""
    window: int = 64                      # keys a query sees under a sliding window, itself included
    parallel_residual: bool = False       # attention and feed-forward both read resid_pre
    attention_bias: bool = True
    mlp_bias: bool = True
    norm_bias: bool = True
    tied_embeddings: bool = True          # logits = h_final E^T
    scale_scores: bool = True             # divide q·k by sqrt(d_k)
    end_of_text: int | None = 0           # the token every sequence begins with; None: the model has no such custom

    def __post_init__(self) -> None:
        derived = {
            "d_k": self.d_k or self.d_model // max(self.n_heads, 1),
            "d_v": self.d_v or self.d_model // max(self.n_heads, 1),
            "d_ff": None if self.d_ff is None else self.d_ff or 4 * self.d_model,
            "n_kv_heads": self.n_kv_heads or self.n_heads,
            "mask": self.mask or ("causal" if self.kind == "decoder" else "bidirectional"),
        }
        for name, value in derived.items():
            object.__setattr__(self, name, value)
        self._check()

    def _check(self) -> None:
        for name in ("vocab_size", "d_model", "n_layers", "n_heads", "n_context", "d_k", "d_v", "n_kv_heads", "window",
                     "relative_max_distance"):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise ValueError(f"{name} must be a whole number of at least 1, not {value!r}.")
        for name, allowed in (("kind", KINDS), ("norm", NORMS), ("norm_placement", NORM_PLACEMENTS), ("activation", ACTIVATIONS),
                              ("positions", POSITIONS), ("mask", MASKS)):
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name} must be one of {', '.join(allowed)}, not {getattr(self, name)!r}.")
        if self.d_ff is not None and self.d_ff < 1:
            raise ValueError(f"d_ff must be at least 1, or None for no feed-forward part, not {self.d_ff}.")
        if self.n_heads % self.n_kv_heads:
            raise ValueError(f"n_heads ({self.n_heads}) must be a multiple of n_kv_heads ({self.n_kv_heads}).")
        if self.positions == "rotary" and self.d_k % 2:
            raise ValueError(f"Rotary positions turn pairs of dimensions, so d_k must be even, not {self.d_k}.")
        if self.norm_epsilon <= 0:
            raise ValueError(f"norm_epsilon must be above 0, not {self.norm_epsilon}.")
        if self.end_of_text is not None and not 0 <= self.end_of_text < self.vocab_size:
            raise ValueError(f"end_of_text ({self.end_of_text}) is no id of a vocabulary of {self.vocab_size} tokens.")
        if self.parallel_residual and self.norm_placement == "post":
            raise ValueError("A parallel residual is defined for norm_placement='pre' only.")

    @property
    def gated(self) -> bool:
        """Whether the feed-forward part multiplies two projections of its input (SwiGLU, GeGLU)."""
        return self.activation in GATED_ACTIVATIONS

    def to_dict(self) -> dict:
        """The fields as plain values, for config.json."""
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, fields: dict) -> "ModelConfig":
        """The config that `to_dict` wrote; an unknown or missing field raises ValueError naming it."""
        known = {f.name for f in dataclasses.fields(cls)}
        if unknown := sorted(set(fields) - known):
            raise ValueError(f"Unknown model settings: {', '.join(unknown)}.")
        required = {f.name for f in dataclasses.fields(cls) if f.default is dataclasses.MISSING}
        if missing := sorted(required - set(fields)):
            raise ValueError(f"Missing model settings: {', '.join(missing)}.")
        return cls(**fields)


# The bundled model: small enough for 60 MB on disk and a few milliseconds a pass, large enough to write a story.
STORIES = ModelConfig(vocab_size=4096, d_model=256, n_layers=6, n_heads=8, n_context=256)

PRESETS = {"stories": STORIES}
