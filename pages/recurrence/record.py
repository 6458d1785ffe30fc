"""The making of the recorded runs: `python -m core.recordings recurrence`, on a machine that does nothing else."""
import math
from dataclasses import asdict

from core.learning import memory_tasks, recurrent_cells
from core.learning.memory_tasks import Recall, Record, Rewriting
from pages.recurrence import bottleneck, copy, serial
from pages.recurrence.recorded import name_of
from pages.recurrence.shared import SETTINGS

WIDTHS = (32, 64, 128)
RACES = 6                        # runs of each width; the one disturbed least is kept
FEW = 2                          # letters to recall, which an LSTM comes to do as well
WRITERS = (("copy", 64), ("reverse", 64), ("copy", 16))      # the order, and the hidden units
DIGITS = 4                                                   # significant digits kept


def _default(name: str) -> int:
    return SETTINGS.each[name].default


def _rows(records: list[Record]) -> list[dict]:
    return [{name: _short(value) for name, value in asdict(record).items()} for record in records]


def _short(value: object) -> object:
    if isinstance(value, dict):
        return {key: _short(each) for key, each in value.items()}
    if isinstance(value, tuple | list):
        return [*map(_short, value)]
    if isinstance(value, float):
        return None if math.isnan(value) else float(f"{value:.{DIGITS}g}")
    return value


def _runs() -> dict[str, list[dict]]:
    tasks = [Recall(n, _default("delay")) for n in (_default("remembered"), FEW)]
    runs = {name_of(task, 0): _rows([*memory_tasks.train_recall(task, 0, copy.N_STEPS, copy.EVERY)]) for task in tasks}
    for order, n_hidden in WRITERS:
        task = Rewriting(order, _default("longest"))
        runs[name_of(task, n_hidden, 0)] = _rows([*memory_tasks.train_rewriting(task, n_hidden, 0, bottleneck.N_STEPS,
                                                                               bottleneck.EVERY)])
    return runs


def _race(d: int) -> list[dict]:
    races = [[*recurrent_cells.race(serial.LENGTHS, d)] for _ in range(RACES)]
    quickest = min(races, key=lambda race: sum(timing.rnn + timing.attention + timing.generation for timing in race))
    return [{name: _short(value) for name, value in asdict(timing).items()} for timing in quickest]


def record() -> dict:
    """Time the races and train the models; return what is kept."""
    return {"races": {str(d): _race(d) for d in WIDTHS}, "runs": _runs()}
