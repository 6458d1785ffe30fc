"""Recorded runs of Tuning: real ones, shown until a reader starts one here.

They are in assets/teaching/tuning_runs.json: all weights of `stories-small` tuned for one round with seed 0, and the
same from random weights as the control ("scratch"), made by `python -m core.recordings tuning`.
"""
import functools
from dataclasses import dataclass

from core.files import read_json
from core.learning.tuning import TuningStep
from core.training.teaching_text import DATA

FILE = DATA / "tuning_runs.json"
MODEL, LEARNED = "stories-small", ("all", 0, 0)       # the model, and what tuning_parts.tuner_settings() returns
BETA, DICE = 0.1, 0
FEW = {"feeling": (10, 50)}      # also recorded with these numbers of pairs, fewer than the lesson's


@dataclass(frozen=True, eq=False)
class Example:
    """A held-out example after the recorded run.

    greedy, drawn: what the model writes. top: the probabilities, by token, of the likeliest next tokens before or now.
    kl: KL(now ‖ before) of the next token in nats. values: −ln p of each token of the answer; in alignment
    ln π and ln π_ref of the preferred continuation, then of the other one.
    """

    greedy: str
    drawn: str
    top: dict[int, float]
    kl: float
    values: list[float]


@dataclass(frozen=True, eq=False)
class TuningRun:
    history: tuple[TuningStep, ...]
    examples: tuple[Example, ...]


@functools.cache
def _kept() -> dict:
    return read_json(FILE)


@functools.cache
def tuning_run(stage: str, kind: str) -> TuningRun | None:
    """The recorded run of a stage, "tuned" or "scratch" on pairs of this kind ("feeling 10": on ten) or "aligned" with
    this judge; None without one.
    """
    kept = _kept()["runs"].get(f"{stage} {kind}")
    if kept is None:
        return None
    examples = (Example(**{**row, "top": {int(token): p for token, p in row["top"].items()}})
                for row in kept["examples"])
    return TuningRun(tuple(TuningStep(**row) for row in kept["history"]), tuple(examples))
