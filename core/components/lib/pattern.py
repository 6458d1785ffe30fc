"""The patterns of many heads in the form that is sent to a picture: only the allowed cells, or blocks of cells, each
with its largest weight.

pattern.js reads the rows in the browser; pattern.css is the look of a reading and of the scale.
"""
import functools
import math
from pathlib import Path

import numpy as np

PATTERN_CSS = Path(__file__).with_name("pattern.css")
HEADS = 48               # with more heads each sends less, so that all together send no more than these


def row_ranges(allowed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The first and last key that each query may see: (N, M) bool -> two (N,) uint16.

    Every row must allow at least one key.
    """
    last = allowed.shape[1] - 1 - np.argmax(allowed[:, ::-1], axis=1)
    return np.argmax(allowed, axis=1).astype(np.uint16), last.astype(np.uint16)


def rows_of(patterns: np.ndarray, allowed: np.ndarray) -> np.ndarray:
    """The cells between each row's first and last allowed key, row after row: (H, N, N) and (N, N) bool -> (H, cells);
    in float patterns a masked cell between them is NaN.
    """
    first, last = row_ranges(allowed)
    keys = np.arange(allowed.shape[1])
    inside = (keys >= first[:, None]) & (keys <= last[:, None])
    if patterns.dtype.kind == "f" and not np.array_equal(inside, allowed):
        patterns = np.where(allowed, patterns, np.float32("nan"))
    return patterns[:, inside]


def picture(patterns: np.ndarray, allowed: np.ndarray, step: int) -> tuple[np.ndarray, np.ndarray]:
    """Blocks of step × step cells, each with its largest weight: (H, N, N) float32 -> (H, S, S) uint8 =
    round(255 sqrt(weight)), and (S, S) bool.

    The square root is the colour scale's; a block counts as allowed if one of its cells is.
    """
    pad = -len(allowed) % step
    patterns, allowed = np.pad(patterns, ((0, 0), (0, pad), (0, pad))), np.pad(allowed, ((0, pad), (0, pad)))
    corners = [(slice(i, None, step), slice(j, None, step)) for i in range(step) for j in range(step)]
    largest = functools.reduce(np.maximum, (patterns[:, rows, keys] for rows, keys in corners))
    seen = functools.reduce(np.logical_or, (allowed[rows, keys] for rows, keys in corners))
    return np.rint(np.sqrt(largest) * 255).astype(np.uint8), seen


def most_cells(n_heads: int, side: int) -> int:
    """The most cells on a side of each of n_heads tiles that together have no more cells than HEADS tiles of
    `side` × `side`.

    >>> most_cells(48, 128), most_cells(448, 128), most_cells(448, 48)
    (128, 41, 15)
    """
    return min(side, math.isqrt(side * side * HEADS // n_heads))
