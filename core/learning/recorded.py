"""Recorded runs of trainings: real ones, kept so that a picture has something to show before a reader starts one.

They are in assets/teaching/live_runs.json, made by `python -m core.recordings live`.
"""
import functools
from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor

from core.files import read_json
from core.learning.learner import TASKS, Knobs, Learner, Progress, thinned
from core.learning.schedules import Schedule
from core.training.teaching_text import DATA

FILE = DATA / "live_runs.json"
SIZE, SEED = "tiny", 0
SCHEDULE = Schedule("constant", 100, 2000, 0.1)      # as the lesson's settings have it at first
# for each run: the task, the optimizer and log10 of its learning rate
RUNS = (("copying", "adam", -2.5), ("sorting", "adam", -2.5), ("addition", "adam", -2.5), ("grammar", "adam", -2.5),
        ("grammar", "adam", -2.0), ("grammar", "sgd", -0.5))
LEAST, MOST = 300, 1500          # steps
WELL = 0.9                       # the share of right guesses after which a run goes on for as long again
DIGITS = 5                       # significant digits of the kept numbers


@dataclass(frozen=True, eq=False)
class LiveRun:
    """A recorded training: its history, and the patterns (L, h, N, N) of its model on the first held-out row."""

    history: tuple[Progress, ...]
    pattern: Tensor


@functools.cache
def _kept() -> dict:
    return read_json(FILE)


@functools.cache
def live_run(task: str, size: str, seed: int, knobs: Knobs) -> LiveRun | None:
    """The recorded run of a learner with these settings; None if there is none."""
    kept = next((run for run in _kept()["runs"] if (run["task"], size, seed) == (task, SIZE, SEED)
                 and knobs == Knobs(run["optimizer"], 10.0 ** run["power"], SCHEDULE)), None)
    if kept is None:
        return None
    history = tuple(Progress(**{**row, "knobs": knobs, "sample": tuple(row["sample"])}) for row in kept["history"])
    return LiveRun(history, torch.tensor(kept["pattern"]))


def reached(history: Iterable[Progress], share: float = WELL) -> int | None:
    """The first recorded step with at least this share of right guesses; None if there is none."""
    return next((progress.step for progress in history if progress.accuracy >= share), None)


def record() -> dict:
    """Train for each of RUNS; return what is kept of them."""
    return {"size": SIZE, "seed": SEED, "runs": [_record(*run) for run in RUNS]}


def _record(task: str, optimizer: str, power: float) -> dict:
    learner = Learner(TASKS[task](), SIZE, SEED, Knobs(optimizer, 10.0 ** power, SCHEDULE))
    for progress in learner.learn():
        well = reached(learner.history)
        if progress.step >= min(MOST, max(LEAST, 2 * well if well else MOST)):
            break
    rows = [{name: _short(value) for name, value in vars(progress).items() if name != "knobs"}
            for progress in thinned(learner.history, 120)]
    return {"task": task, "optimizer": optimizer, "power": power, "history": rows,
            "pattern": [[[[round(p, 3) for p in row] for row in head] for head in block]
                        for block in learner.pattern.tolist()]}


def _short(value: object) -> object:
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value
