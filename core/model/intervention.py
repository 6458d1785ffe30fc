"""The changes of one forward pass that a reader asks for.

An Intervention is passed in, never set on the model, and is hashable: it is part of a cache's key.
"""
from dataclasses import dataclass

from core.model.activation import ACTIVATIONS
from core.model.config import NORMS, SCORES
from core.model.masks import MASKS
from core.model.record import check_choice

HEAD_ACTIONS = ("zero", "mean", "scale", "uniform")
SUBLAYER_ACTIONS = ("zero", "mean", "scale")
SUBLAYERS = ("attention", "mlp")
# what may stand in for the model's own
REPLACEMENTS = {"mask": MASKS, "positions": ("none", "sinusoidal", "rotary", "alibi"), "norm": ("none", *NORMS),
                "score": ("cosine", *SCORES), "activation": ACTIVATIONS}


@dataclass(frozen=True)
class HeadEdit:
    """One head changed: its output set to zero, to its mean over the reference text, or scaled by `factor`; or its
    pattern made uniform over the keys that the mask allows.
    """

    layer: int
    head: int
    action: str = "zero"
    factor: float = 1.0

    def __post_init__(self) -> None:
        check_choice("The action on a head", self.action, HEAD_ACTIONS)


@dataclass(frozen=True)
class WeightEdit:
    """One attention weight set to zero: the query fetches nothing from the key; the other weights stay as they are."""

    layer: int
    head: int
    query: int
    key: int


@dataclass(frozen=True)
class ScoreEdit:
    """One score set to `score` before the softmax, which shares the query's weights out anew."""

    layer: int
    head: int
    query: int
    key: int
    score: float


@dataclass(frozen=True)
class NeuronEdit:
    """One neuron of a block's feed-forward part set to zero at every position."""

    layer: int
    neuron: int


@dataclass(frozen=True)
class SublayerEdit:
    """A whole sublayer's output (attn_out or mlp_out) set to zero, to its mean over the reference text, or
    scaled by `factor`.
    """

    layer: int
    sublayer: str
    action: str = "zero"
    factor: float = 1.0

    def __post_init__(self) -> None:
        check_choice("sublayer", self.sublayer, SUBLAYERS)
        check_choice("The action on a sublayer", self.action, SUBLAYER_ACTIONS)


@dataclass(frozen=True)
class Patch:
    """resid_pre of block `layer` at `position` replaced by that of `source_position` in the run on `source_ids` (layer
    = n_layers: resid_final).
    """

    layer: int
    position: int
    source_ids: tuple[int, ...]
    source_position: int


@dataclass(frozen=True)
class Intervention:
    """Every change to one forward pass; the default changes nothing.

    heads, weights, scores, neurons, sublayers: edits, applied where the output is made, so that everything after sees
    them.
    reference_ids: the text whose mean activations the action "mean" puts in (required for it).
    mask: one of config.MASKS instead of the model's own; `allowed` (N × N, row = query) instead of either.
    positions: "none" leaves the model's positions out; "sinusoidal", "rotary" and "alibi", which have no
    weights, can stand in.
    norm: "none", "layernorm" or "rmsnorm" instead of the model's own, its weights kept.
    activation: one of config.ACTIVATIONS, whose curve stands in for the model's own in every feed-forward part; a
    gate stays a gate.
    scale_scores: whether q·k is divided by sqrt(d_k), instead of the model's own choice.
    score: one of config.SCORES, or "cosine", instead of the model's own. The dot product and the cosine, which is not
    divided, need no weights; what the other two need, W_S or v, the model has not learned:
    core.model.scores.random_score_weights draws it with `score_seed`, and what the model then predicts makes no
    sense.
    residual: False cuts the path around every sublayer.
    permutation: token i of the run is token permutation[i] of the prompt.
    """

    heads: tuple[HeadEdit, ...] = ()
    weights: tuple[WeightEdit, ...] = ()
    scores: tuple[ScoreEdit, ...] = ()
    neurons: tuple[NeuronEdit, ...] = ()
    sublayers: tuple[SublayerEdit, ...] = ()
    patches: tuple[Patch, ...] = ()
    reference_ids: tuple[int, ...] = ()
    mask: str | None = None
    window: int | None = None
    allowed: tuple[tuple[bool, ...], ...] | None = None
    positions: str | None = None
    norm: str | None = None
    activation: str | None = None
    scale_scores: bool | None = None
    score: str | None = None
    score_seed: int = 0
    residual: bool = True
    permutation: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        for name, allowed in REPLACEMENTS.items():
            if getattr(self, name) is not None:
                check_choice(name, getattr(self, name), allowed)
        if self.window is not None and self.window < 1:
            raise ValueError(f"A window holds at least 1 key, not {self.window}.")
        if self.needs_reference and not self.reference_ids:
            raise ValueError("Setting an output to its mean needs reference_ids, the text that the mean is taken over.")
        if self.permutation is not None and sorted(self.permutation) != list(range(len(self.permutation))):
            raise ValueError("A permutation holds every position from 0 to N - 1 once.")

    @property
    def needs_reference(self) -> bool:
        """Whether an edit puts in a mean over the reference text."""
        return any(edit.action == "mean" for edit in self.heads + self.sublayers)


NOTHING = Intervention()
