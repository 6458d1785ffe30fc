"""Learning-rate schedules, and how large models were trained (assets/teaching/optimisation.json).

A schedule is a share of the peak learning rate, from 0 to 1, for every step counted from 0. In its first `start` steps
it rises linearly to 1 (or stays at 1 if not `rising`); then it stays constant, falls linearly or as half a cosine to
`floor` at step `total`, or falls as 1 / √step (Vaswani et al. 2017).
"""
from __future__ import annotations

import functools
import math
from dataclasses import dataclass, replace

from core.cost import built_models
from core.files import ASSETS, read_json

FILE = ASSETS / "teaching" / "optimisation.json"
KINDS = ("constant", "linear", "cosine", "inverse_sqrt")
ADAM_OF_OURS = {"Adam": "adam", "AdamW": "adam"}          # optimizers in the table -> those of this app's learner


@dataclass(frozen=True)
class Schedule:
    """kind: one of KINDS. floor: share of the peak at the end, in [0, 1], also the lower bound of 1 / √step. Raises
    ValueError for impossible values.
    """

    kind: str = "constant"
    start: int = 0
    total: int = 1000
    floor: float = 0.0
    rising: bool = True

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"A schedule is one of {', '.join(KINDS)}, not {self.kind!r}.")
        if not (0 <= self.start <= self.total and self.total > 0 and 0 <= self.floor <= 1):
            raise ValueError("A schedule has 0 ≤ start ≤ total, a total above 0 and a floor from 0 to 1.")

    def share(self, step: int) -> float:
        """Return the share of the peak at step number `step`.

        >>> [Schedule("cosine", start=2, total=6).share(step) for step in (0, 1, 2, 4, 6, 9)]
        [0.5, 1.0, 1.0, 0.5, 0.0, 0.0]
        >>> Schedule("inverse_sqrt", start=4).share(15)
        0.5
        """
        if step < self.start:
            return (step + 1) / self.start if self.rising else 1.0
        if self.kind == "inverse_sqrt":
            return max(self.floor, math.sqrt(max(self.start, 1) / (step + 1)))
        done = min(1.0, (step - self.start) / max(self.total - self.start, 1))
        falling = {"constant": 1.0, "linear": 1 - done, "cosine": 0.5 * (1 + math.cos(math.pi * done))}[self.kind]
        return self.floor + (1 - self.floor) * falling

    def scaled(self, total: int) -> Schedule:
        """The same shape over `total` steps."""
        return replace(self, start=round(self.start * total / self.total), total=total)

    def above(self, share: float) -> int:
        """The number of its steps above this share of the peak."""
        return sum(self.share(step) > share for step in range(self.total))


@dataclass(frozen=True)
class Settings:
    """The training settings of one model in the table; None: the table does not say. batch_tokens: tokens of its
    largest batch; floor: share of the peak at the end.
    """

    name: str
    batch: str | None
    batch_tokens: float | None
    rate: float | None
    warmup: str | None
    decay: str | None               # one of KINDS, or "manual"
    floor: float | None
    optimizer: str | None
    precision: str | None
    weight_decay: str | None
    clip: str | None
    dropout: str | None
    source: str
    start_steps: int | None = None
    steps: int | None = None

    @property
    def tokens(self) -> float | None:
        """The number of tokens of its corpus, from `core.cost.built_models`."""
        known = {model.name: model.billion_tokens for model in built_models.load().models}
        billions = known.get(self.name.split(" (")[0])
        return None if billions is None else 1e9 * billions

    @property
    def least_steps(self) -> int | None:
        """Its steps; if the table has none, the steps of one epoch in batches of the largest size."""
        if self.steps is not None:
            return self.steps
        return round(self.tokens / self.batch_tokens) if self.tokens and self.batch_tokens else None

    @property
    def drawable(self) -> bool:
        """Whether the table has the peak and the shape."""
        return self.rate is not None and self.decay in KINDS

    def schedule(self, share_of_start: float, total: int) -> Schedule:
        """Its schedule over its own steps, or over `total` if they are unknown. share_of_start: the warm-up's share of
        all steps, if the table only says that there is a warm-up.

        1 / √step without a warm-up stays at the peak until 1 / √step falls below it: the peak is 1 / √start.
        """
        total = self.least_steps or total
        if self.start_steps is not None:
            start = self.start_steps
        elif self.decay == "inverse_sqrt":
            start = round(1 / self.rate ** 2)
        else:
            start = round(share_of_start * total) if self.warmup == "yes" else 0
        return Schedule(self.decay, min(start, total), total, self.floor or 0.0, self.warmup != "no")


@functools.lru_cache(maxsize=1)
def table() -> tuple[Settings, ...]:
    """Every model of the table, in its order."""
    data = read_json(FILE)
    return tuple(Settings(**{"source": data["source"]} | fields) for fields in data["models"])
