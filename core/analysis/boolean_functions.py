"""Structure and parameters, counted: which Boolean functions g of n bits a family f(x, θ) reaches, by running every θ.

There are 2^(2^n) functions g, and naming one takes 2^n bits. A θ of p bits picks one of at most 2^p of them. A family
that reaches R functions leaves log₂ R of the 2^n bits to θ; its structure has settled the rest.

    table       f(x, θ) = θ_x for the first inputs x, 0 for all others        one bit for each of those inputs
    parity      f(x, θ) = b ⊕ w₁x₁ ⊕ … ⊕ w_nx_n                               n + 1 bits
    threshold   f(x, θ) = 1 if w · x + b > 0                                  n + 1 weights
    network     a threshold of two thresholds                                 2 (n + 1) + 3 weights

A weight of k bits is one of the 2^k odd numbers from −(2^k − 1) to 2^k − 1.
"""
from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

FAMILIES = ("threshold", "network", "parity", "table")
CHUNK = 1 << 16         # θ in one run


@dataclass(frozen=True)
class Family:
    """A family of functions of n bits. bits: those of each weight; for "table", the inputs whose value θ gives;
    "parity" has no such choice.
    """

    name: str
    n: int
    bits: int

    @property
    def n_weights(self) -> int:
        return {"table": self.bits, "parity": self.n + 1, "threshold": self.n + 1, "network": 2 * self.n + 5}[self.name]

    @property
    def p(self) -> int:
        """The bits of θ."""
        return self.n_weights * (self.bits if self.name in ("threshold", "network") else 1)

    @property
    def n_functions(self) -> int:
        """2^(2^n)."""
        return 1 << (1 << self.n)

    def weights(self, thetas: np.ndarray) -> np.ndarray:
        """(M, n_weights) the weights that θ stands for, for (M,) whole numbers θ of p bits."""
        width = self.p // max(1, self.n_weights)
        parts = thetas[:, None] >> (width * np.arange(self.n_weights)) & ((1 << width) - 1)
        return 2 * parts - (1 << width) + 1 if self.name in ("threshold", "network") else parts


def inputs(n: int) -> np.ndarray:
    """(2^n, n) all inputs; bit i of a row's number is x_{i+1}."""
    return np.arange(1 << n)[:, None] >> np.arange(n) & 1


def functions(family: Family, weights: np.ndarray) -> np.ndarray:
    """(M,) the functions of M rows of weights: bit x is set where f(x, θ) = 1."""
    n, x = family.n, inputs(family.n)
    if family.name == "table":
        return weights @ (1 << np.arange(family.bits))
    if family.name == "parity":
        return (weights[:, :n] @ x.T + weights[:, n:]) % 2 @ (1 << np.arange(len(x)))
    if family.name == "threshold":
        return _threshold(weights, x)
    one, other = (_threshold(weights[:, k * (n + 1):(k + 1) * (n + 1)], x) for k in (0, 1))
    everywhere, last = family.n_functions - 1, weights[:, -3:]
    g = np.zeros_like(one)
    for a, b in ((0, 0), (0, 1), (1, 0), (1, 1)):
        fires = last[:, 0] * a + last[:, 1] * b + last[:, 2] > 0
        g |= (one if a else ~one) & (other if b else ~other) & np.where(fires, everywhere, 0)
    return g


def _threshold(weights: np.ndarray, x: np.ndarray) -> np.ndarray:
    """(M,) the functions of thresholds; weights (M, n + 1), the last the constant; x (2^n, n)."""
    g = np.zeros(len(weights), dtype=np.int64)
    for place, row in enumerate(x):
        total = weights[:, -1].copy()
        for i in row.nonzero()[0]:
            total += weights[:, i]
        g |= (total > 0).astype(np.int64) << place
    return g


@dataclass(frozen=True)
class Reached:
    """The functions a family reaches. counts (2^(2^n),): how many θ give each function; first (2^(2^n),): the smallest
    of them, −1 for none. Function g has bit x where g(x) = 1.
    """

    family: Family
    counts: np.ndarray
    first: np.ndarray

    @property
    def n_reached(self) -> int:
        return int((self.counts > 0).sum())

    @property
    def said_by_parameters(self) -> float:
        """log₂ of the functions reached, in bits."""
        return math.log2(self.n_reached)

    @property
    def said_by_structure(self) -> float:
        """The rest of the 2^n bits."""
        return (1 << self.family.n) - self.said_by_parameters


def reached(family: Family) -> Reached:
    """Run all 2^p parameters θ; about a second for p = 22."""
    counts, first = np.zeros(family.n_functions, dtype=np.int64), np.full(family.n_functions, -1, dtype=np.int64)
    for start in range(0, 1 << family.p, CHUNK):
        thetas = np.arange(start, min(start + CHUNK, 1 << family.p))
        found, at, times = np.unique(functions(family, family.weights(thetas)), return_index=True, return_counts=True)
        new = first[found] < 0
        first[found[new]] = thetas[at[new]]
        counts[found] += times
    return Reached(family, counts, first)


def zeta(n: int) -> float:
    """ζ(n) in bits: with fewer bits of parameters, a structure that holds a typical g carries more than they do."""
    return 2.0 ** (n - 1)
