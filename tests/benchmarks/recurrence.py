"""The two tasks that the lesson on recurrence learns while one watches: how long a training takes, and what each
network can do at its end.
"""
from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from core.learning.memory_tasks import CHANCE, Recall, Rewriting, train_recall, train_rewriting
from pages.recurrence import bottleneck, copy
from tests.benchmarks.timing import Figure, figure


def task_figures(seeds: int, share: float) -> list[Figure]:
    """Seconds, and the share of right answers at the longest delay and length, at the settings that the lesson opens
    with. share: of the steps, that are taken.
    """
    def steps(n: int) -> int:
        return max(1, round(share * n))

    return [*_trained("copy task", seeds, lambda seed: train_recall(Recall(), seed, steps(copy.N_STEPS), copy.EVERY)),
            *_trained("bottleneck", seeds, lambda seed: train_rewriting(
                Rewriting("copy", 12), 64, seed, steps(bottleneck.N_STEPS), bottleneck.EVERY))]


def _trained(task: str, seeds: int, train: Callable[[int], Iterator]) -> list[Figure]:
    seconds, lasts = zip(*(_timed(train(seed)) for seed in range(seeds)))
    figures = [figure(f"{task}, training", list(seconds), None, "s", f"one thread, {seeds} seeds")]
    for name in lasts[0].accuracy:
        figures.append(figure(f"{task}, right answers of {name}", [last.accuracy[name][-1] for last in lasts], [CHANCE],
                              "", "at the longest; reference: chance"))
    return figures


def _timed(records: Iterator) -> tuple[float, object]:
    start = time.perf_counter()
    *_, last = records
    return time.perf_counter() - start, last
