"""The growth of work with the length N of a text: full attention, attention in a window and a recurrent network, in
operations and in seconds on this machine.
"""
import functools
import math
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from core.cost import sequence_work
from core.cost.sparse import windowed_attention

METHODS = ("attention", "window", "recurrent")
COUNTED = ("whole", *METHODS)       # attention with its maps is counted as well
LENGTHS = (128, 256, 512, 1024, 2048, 4096)
# number of the largest lengths that the exponent is fitted to: for short texts the overhead of a call dominates
FITTED = 4
# every method runs once a round at every length; the fastest run counts, since other load can only slow a run down
ROUNDS = 5


def operations(method: str, n: int, d: int, window: int) -> int:
    """Operations for n tokens of width d, by sequence_work: for attention its pairs, which are what is timed, or the
    whole of it.
    """
    return {"whole": sequence_work.attention(n, d), "attention": sequence_work.attention_pairs(n, d),
            "window": sequence_work.window_pairs(n, d, window), "recurrent": sequence_work.recurrent(n, d)}[method]


def full_attention(X: Tensor) -> Tensor:
    """(N, d) softmax(X Xᵀ/√d) X: the part of attention that grows with N², without its maps."""
    return torch.softmax(X @ X.T / math.sqrt(X.shape[-1]), dim=-1) @ X


def recurrent_states(X: Tensor, W_x: Tensor, W_h: Tensor) -> Tensor:
    """(N, d) the states h_t = tanh(x_t W_x + h_{t−1} W_h) from X (N, d), h_0 = 0: the products with W_x in one, those
    with W_h one after the other, since each needs the state before.
    """
    h, states = torch.zeros(W_h.shape[0]), []
    for x in X @ W_x:
        h = torch.tanh(x + h @ W_h)
        states.append(h)
    return torch.stack(states)


@dataclass(frozen=True)
class Timing:
    """One run of one method over n tokens, in seconds."""

    method: str
    n: int
    seconds: float


@torch.inference_mode()
def measure(d: int, window: int, lengths: Sequence[int] = LENGTHS, rounds: int = ROUNDS) -> Iterator[Timing]:
    """Time every method at every length, round after round, on random vectors of width d, in float32 on the CPU; yield
    rounds × lengths × methods Timings, one by one, for `fastest`.
    """
    generator = torch.Generator().manual_seed(0)
    W_x, W_h = (torch.randn(d, d, generator=generator) / math.sqrt(d) for _ in range(2))
    vectors = torch.randn(max(lengths), d, generator=generator)
    for _ in range(rounds):
        for n in lengths:
            X = vectors[:n]
            runs = {"attention": functools.partial(full_attention, X),
                    "window": functools.partial(windowed_attention, X, X, X, window),
                    "recurrent": functools.partial(recurrent_states, X, W_x, W_h)}
            for method in METHODS:
                start = time.perf_counter()
                runs[method]()
                yield Timing(method, n, time.perf_counter() - start)


def fastest(timings: Iterable[Timing]) -> tuple[Timing, ...]:
    """The shortest time of each method and length, in the order of their first occurrence."""
    best: dict[tuple[str, int], Timing] = {}
    for timing in timings:
        known = best.setdefault((timing.method, timing.n), timing)
        if timing.seconds < known.seconds:
            best[timing.method, timing.n] = timing
    return tuple(best.values())


def exponent(lengths: Sequence[float], seconds: Sequence[float]) -> tuple[float, float]:
    """The p of seconds ∝ length^p by least squares on the logarithms, and its standard error (NaN for fewer than
    three points).

    >>> [round(value, 6) for value in exponent([1, 2, 4], [3, 12, 48])]
    [2.0, 0.0]
    """
    x, y = np.log(np.asarray(lengths, dtype=float)), np.log(np.asarray(seconds, dtype=float))
    x, y = x - x.mean(), y - y.mean()
    slope = float(x @ y / (x @ x))
    residuals = y - slope * x
    return slope, math.sqrt(float(residuals @ residuals) / (len(x) - 2) / float(x @ x)) if len(x) > 2 else math.nan
