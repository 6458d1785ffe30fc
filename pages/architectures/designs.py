"""A design: a known model and the reader's changes to it, written as one short text for the URL:
`gpt2;norm_placement=post;n_layers=24`.
"""
from __future__ import annotations

from dataclasses import dataclass, field

from core.model.config import ACTIVATIONS, KINDS, NORM_PLACEMENTS, NORMS, POSITIONS, ModelConfig
from core.model.presets import PRESETS

MOST_WRITTEN = 400      # characters of a design
CHOICES = {"kind": KINDS, "norm_placement": NORM_PLACEMENTS, "norm": NORMS,
           "activation": tuple(name for name in ACTIVATIONS if name not in ("geglu_tanh", "swiglu_clamped")),
           "positions": POSITIONS, "biases": ("all", "mlp", "none"), "tied": ("yes", "no")}
NUMBERS = {"n_layers": (1, 200), "d_model": (2, 65_536), "n_heads": (1, 256), "n_kv_heads": (1, 256),
           "d_ff": (1, 300_000), "vocab_size": (2, 1_000_000), "n_context": (2, 1_000_000)}
# of attention and of the feed-forward part
_BIASES = {"all": (True, True), "mlp": (False, True), "none": (False, False)}


@dataclass(frozen=True)
class Design:
    """A preset's name and the changes to it, by the names of CHOICES and NUMBERS."""

    preset: str
    changes: dict = field(default_factory=dict, hash=False)

    @property
    def config(self) -> ModelConfig:
        """The architecture.

        Raises ValueError, with a sentence for the reader, for changes that contradict each other.
        """
        known, changes = PRESETS[self.preset].fields, dict(self.changes)
        if "biases" in changes:
            changes["attention_bias"], changes["mlp_bias"] = _BIASES[changes.pop("biases")]
        if "tied" in changes:
            changes["tied_embeddings"] = changes.pop("tied") == "yes"
        if "norm" in changes:
            # as in their papers: RMSNorm has only a gain
            changes["norm_bias"] = changes["norm"] == "layernorm"
        return ModelConfig.of(**known | changes)

    @property
    def spec(self) -> str:
        return ";".join([self.preset, *(f"{name}={value}" for name, value in self.changes.items())])

    def with_change(self, name: str, value: str | int) -> Design:
        """The design with one setting changed; the preset's own value is no change."""
        rest = {other: kept for other, kept in self.changes.items() if other != name}
        return Design(self.preset, rest if _without(self.preset, rest, name) == value else rest | {name: value})


def _without(preset: str, rest: dict, name: str) -> str | int | None:
    try:
        return values(Design(preset, rest).config)[name]
    except ValueError:
        return None


def values(config: ModelConfig) -> dict[str, str | int]:
    """The values of the controls for an architecture, by the names of CHOICES and NUMBERS."""
    fields = {name: getattr(config, name) for name in (*CHOICES, *NUMBERS) if name not in ("biases", "tied")}
    biases = next((name for name, pair in _BIASES.items() if pair == (config.attention_bias, config.mlp_bias)), "all")
    return fields | {"biases": biases, "tied": "yes" if config.tied_embeddings else "no"}


def parse(spec: str) -> tuple[Design, bool]:
    """The design in a text, and whether all of it is valid; invalid parts are left out.

    >>> parse("gpt2;n_layers=3;n_layers=x;colour=red")
    (Design(preset='gpt2', changes={'n_layers': 3}), False)
    """
    preset, *parts = spec[:MOST_WRITTEN].split(";")
    valid = preset in PRESETS and len(spec) <= MOST_WRITTEN
    changes: dict[str, str | int] = {}
    for change in parts:
        name, _, value = change.partition("=")
        if value in CHOICES.get(name, ()):
            changes[name] = value
        elif (name in NUMBERS and value.isascii() and value.isdigit()
              and NUMBERS[name][0] <= int(value) <= NUMBERS[name][1]):
            changes[name] = int(value)
        else:
            valid = False
    return Design(preset if preset in PRESETS else "stories", changes), valid
