"""The two tasks that the lesson on recurrence learns while one watches: how long a training takes, and what each
network can do at its end.
"""
from __future__ import annotations

import time
from collections.abc import Iterator

from core.learning.memory_tasks import CHANCE, Recall, Rewriting, train_recall, train_rewriting
from pages.recurrence import bottleneck, copy
from tests.benchmarks.timing import Figure, figure

SEEDS = 2


def task_figures() -> list[Figure]:
    """Seconds, and the share of right answers at the longest delay and length, at the settings that the
    lesson opens with.
    """
    return [*_trained("copy task", lambda seed: train_recall(Recall(), seed, copy.N_STEPS, copy.EVERY)),
            *_trained("bottleneck", lambda seed: train_rewriting(Rewriting("copy", 12), 64, seed, bottleneck.N_STEPS,
                                                                 bottleneck.EVERY))]


def _trained(task: str, train) -> list[Figure]:
    seconds, lasts = zip(*(_timed(train(seed)) for seed in range(SEEDS)))
    figures = [figure(f"{task}, training", list(seconds), None, "s", f"one thread, {SEEDS} seeds")]
    for name in lasts[0].accuracy:
        figures.append(figure(f"{task}, right answers of {name}", [last.accuracy[name][-1] for last in lasts], [CHANCE],
                              "", "at the longest; reference: chance"))
    return figures


def _timed(records: Iterator) -> tuple[float, object]:
    start = time.perf_counter()
    *_, last = records
    return time.perf_counter() - start, last
