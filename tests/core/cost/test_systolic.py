"""The systolic array: its results against numpy's product, its ticks and its idle cells counted another way."""
from __future__ import annotations

import numpy as np
import pytest

from core.cost import systolic


def by_hand(X: np.ndarray, W: np.ndarray) -> dict[tuple[int, int], tuple[int, float]]:
    """(row, column) -> the tick, from 1, in which a result leaves, and its value: row i of X enters the first cell at
    tick i + 1, meets column j j ticks later and the last row of cells n − 1 ticks after that.
    """
    (m, n), Y = X.shape, X @ W
    return {(i, j): (i + 1 + j + n - 1, float(Y[i, j])) for i in range(m) for j in range(n)}


@pytest.mark.parametrize(("m", "n"), [(1, 1), (1, 4), (3, 3), (4, 4), (8, 3), (5, 7), (20, 2)])
def test_every_result_leaves_at_its_tick_and_is_the_product(m: int, n: int):
    rng = np.random.default_rng(10 * m + n)
    X, W = rng.integers(-5, 6, (m, n)).astype(float), rng.integers(-5, 6, (n, n)).astype(float)
    states = list(systolic.run(X, W))
    left = {place: (tick, value) for tick, state in enumerate(states, 1) for place, value in state.results.items()}
    assert left == by_hand(X, W) and len(states) == systolic.ticks(m, n) == max(tick for tick, _ in left.values())


@pytest.mark.parametrize(("m", "n"), [(1, 3), (3, 3), (8, 4), (40, 5)])
def test_the_cells_that_work_are_as_many_as_the_products(m: int, n: int):
    working = [state.working for state in systolic.run(np.ones((m, n)), np.ones((n, n)))]
    assert sum(working) == m * n * n and working == working[::-1] and max(working) <= n * n
    assert systolic.utilisation(m, n) == pytest.approx(sum(working) / (n * n * len(working)))
    assert working[0] == working[-1] == 1


def test_three_by_three_by_hand():
    """3n − 2 = 7 ticks; 27 products on 9 · 7 = 63 cells and ticks; the first TPU with one row: 1 of 511."""
    assert systolic.ticks(3, 3) == 7 and systolic.utilisation(3, 3) == pytest.approx(27 / 63)
    assert [systolic.ticks(n, n) for n in (1, 2, 4, 256)] == [1, 4, 10, 766]
    assert systolic.utilisation(1, 256) == pytest.approx(1 / 511)


def test_a_number_moves_by_one_cell_a_tick():
    X, W = np.arange(1.0, 10.0).reshape(3, 3), np.ones((3, 3))
    states = list(systolic.run(X, W))
    for before, after in zip(states, states[1:]):
        np.testing.assert_array_equal(before.inputs[:, :-1], after.inputs[:, 1:])
