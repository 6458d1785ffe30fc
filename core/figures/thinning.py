"""Fewer labels and parts for a picture of many layers, heads or parts: evenly spaced labels; the largest parts."""
import math

import numpy as np


def thinned(n: int, most: int) -> list[int]:
    """At most `most` (2 or more) of the places 0 ... n − 1, evenly spaced and with the first and the last: the labels
    of an axis.

    >>> thinned(7, 10), thinned(29, 10), thinned(28, 10), thinned(1, 5)
    ([0, 1, 2, 3, 4, 5, 6], [0, 4, 8, 12, 16, 20, 24, 28], [0, 3, 6, 9, 12, 15, 18, 21, 24, 27], [0])
    """
    last = n - 1
    every = max(1, math.ceil(last / (most - 1)))
    return [place for place in range(0, last, every) if place == 0 or last - place >= every] + [last]


def largest(values: np.ndarray, most: int) -> tuple[list[int], list[int]]:
    """The places of the `most` values (n,) largest in size, and those of the others, both in order. A single other
    value counts among the largest.

    >>> largest(np.array([0.1, -5.0, 0.2, 3.0]), 2), largest(np.array([1.0, 2.0, 3.0]), 2)
    (([1, 3], [0, 2]), ([0, 1, 2], []))
    """
    if len(values) <= most + 1:
        return list(range(len(values))), []
    kept = set(np.argsort(-np.abs(values), kind="stable")[:most].tolist())
    return sorted(kept), [place for place in range(len(values)) if place not in kept]
