"""The placement of the norm, measured: the gradient of each block at the start, and the loss by step, at several
depths.

The recorded runs are in assets/teaching/placement_runs.json, made by `python -m core.recordings placement`.
"""
import functools
from collections.abc import Iterator, Sequence

from core.files import read_json
from core.learning.learner import Knobs
from core.learning.schedules import Schedule
from core.learning.variants import Trial, Variant, gradients, task_of
from core.training.teaching_text import DATA

FILE = DATA / "placement_runs.json"
PLACEMENTS = {"pre": Variant(), "post": Variant((("norm_placement", "post"),)),
              "sandwich": Variant((("norm_placement", "sandwich"),)),
              "deepnorm": Variant((("norm_placement", "deepnorm"),)), "none": Variant(unnormed=True)}
TASK, SEED = "copying", 0
STEPS, EVERY, WARMUP = 120, 10, 60
DEPTHS = (2, 6)                 # blocks, of the recorded runs
RATES = (-2.5,)                 # log10 of the recorded learning rates
WARMUPS = (0, WARMUP)           # steps


def knobs(power: float, warmup: int) -> Knobs:
    """Adam with a learning rate that rises over `warmup` steps and then stays."""
    return Knobs("adam", 10.0 ** power, Schedule("constant", warmup, STEPS, 0.0))


def trial(placement: str, n_layers: int, power: float, warmup: int, seed: int = SEED) -> Trial:
    """A training that has not begun."""
    task = task_of(TASK)
    return Trial(PLACEMENTS[placement].build(task, seed, n_layers=n_layers), task, knobs(power, warmup), seed)


class Comparison:
    """The trainings of all placements at one depth, a few steps of each in turn."""

    def __init__(self, n_layers: int, power: float, warmup: int, seed: int) -> None:
        self.n_layers, self.trials = n_layers, {}
        self._make = lambda: {name: trial(name, n_layers, power, warmup, seed) for name in PLACEMENTS}
        self._runs: dict[str, Iterator] = {}

    @property
    def begun(self) -> bool:
        """Whether there is a loss to show."""
        return bool(self.trials) and all(found.history for found in self.trials.values())

    def learn(self) -> Iterator[int]:
        """Train, or go on; yield the step that the last of them has reached."""
        if not self.trials:
            trials = self._make()
            self._runs = {name: found.run(STEPS, EVERY) for name, found in trials.items()}
            self.trials = trials
        while self._runs:
            for name, run in list(self._runs.items()):
                if next(run, None) is None:
                    del self._runs[name]
            yield max(found.history[-1][0] for found in self.trials.values())


def first_gradients(placement: str, n_layers: int, seed: int) -> list[float]:
    """The length of the gradient by the weights of each block, at the start."""
    task = task_of(TASK)
    return gradients(PLACEMENTS[placement].build(task, seed, n_layers=n_layers), task, seed)[1]


@functools.cache
def _kept() -> dict:
    return {(run["placement"], run["n_layers"], run["power"], run["warmup"]): run["history"]
            for run in read_json(FILE)["runs"]}


def recorded(placement: str, n_layers: int, power: float, warmup: int) -> Sequence[tuple[int, float | None]] | None:
    """The recorded (step, held-out loss) pairs, None for a loss that is not finite; None if nothing was recorded."""
    return _kept().get((placement, n_layers, power, warmup))


def record() -> dict:
    """Train at every depth with every rate and warm-up; return what is kept."""
    runs = [_record(placement, n_layers, power, warmup) for n_layers in DEPTHS for power in RATES
            for warmup in WARMUPS for placement in PLACEMENTS]
    return {"task": TASK, "steps": STEPS, "seed": SEED, "runs": runs}


def _record(placement: str, n_layers: int, power: float, warmup: int) -> dict:
    history = [(step, float(f"{loss:.4g}") if loss < float("inf") else None)
               for step, loss in trial(placement, n_layers, power, warmup).run(STEPS, EVERY)]
    print(placement, n_layers, power, warmup, history[-1], flush=True)          # one of about thirty runs
    return {"placement": placement, "n_layers": n_layers, "power": power, "warmup": warmup, "history": history}
