"""A systolic array: n × n cells that multiply matrices while the numbers flow through (Kung and Leiserson 1979; Kung
1982; the first TPU, Jouppi et al. 2017, has 256 × 256 of them).

Each cell keeps one weight of W (n, n). The rows of X (m, n) come in from the left, number i of a row one tick later
than number i − 1; each number moves one cell to the right at every tick. Sums move down: a cell adds its product to the
sum from above. A result leaves the last row of cells whenever its sum is whole.
"""
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Tick:
    """The array after one tick: inputs (n, n), NaN for an idle cell, which has none; sums (n, n), NaN likewise; the
    results that left it, as (row, column): value of X W.
    """

    inputs: np.ndarray
    sums: np.ndarray
    results: dict[tuple[int, int], float]

    @property
    def working(self) -> int:
        """Cells with a product to make."""
        return int((~np.isnan(self.inputs)).sum())


def ticks(m: int, n: int) -> int:
    """Ticks until the product of (m, n) and (n, n) is whole: m + 2n − 2, which is 3n − 2 for m = n."""
    return m + 2 * n - 2


def utilisation(m: int, n: int) -> float:
    """The share of all cells and ticks with a product to make: m n² of n² (m + 2n − 2)."""
    return m / ticks(m, n)


def run(X: np.ndarray, W: np.ndarray) -> Iterator[Tick]:
    """Yield the array tick by tick, until the last result has left it."""
    m, n = X.shape
    inputs, sums = np.full((n, n), np.nan), np.full((n, n), np.nan)
    for tick in range(ticks(m, n)):
        entering = [X[tick - i, i] if 0 <= tick - i < m else np.nan for i in range(n)]
        inputs = np.column_stack([entering, inputs[:, :-1]])
        above = np.vstack([np.zeros(n), sums[:-1]])
        sums = above + inputs * W
        results = {(tick - (n - 1) - j, j): float(sums[-1, j]) for j in range(n) if not np.isnan(sums[-1, j])}
        yield Tick(inputs, sums, results)
