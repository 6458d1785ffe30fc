"""t-SNE (van der Maaten and Hinton 2008), a flat map that keeps neighbourhoods, not distances; and the share of the
neighbours that a map keeps.

A vector's neighbours are given probabilities by a normal distribution around it, just wide enough for `perplexity`
neighbours; the places on the map get probabilities by 1/(1 + distance²); the places are moved until the two agree.
Symbols: n vectors of width d, places (n, 2).
"""
import math
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

# P is multiplied by this during the first quarter, so that neighbours find each other before the map is full
EXAGGERATED = 12.0
MOMENTUM = (0.5, 0.8)
REPORT_EVERY = 20        # moves


@dataclass(frozen=True)
class MapStep:
    """The map after `step` of `steps` moves."""

    step: int
    steps: int
    places: Tensor       # (n, 2)
    divergence: float    # KL(P ‖ Q) in nats, of the map's neighbourhoods Q from P


def squared_distances(vectors: Tensor) -> Tensor:
    """(n, n) ‖x_i − x_j‖² of the rows of (n, d); exactly 0 on the diagonal."""
    squares = vectors.square().sum(1)
    return (squares[:, None] + squares[None] - 2 * vectors @ vectors.T).clamp(min=0).fill_diagonal_(0)


def neighbour_probabilities(vectors: Tensor, perplexity: float) -> Tensor:
    """(n, n) P, symmetric, zero on the diagonal, summing to 1: the mean of p_{j|i} and p_{i|j} over n, where each row
    p_{·|i} ∝ exp(−β_i ‖x_i − x_j‖²) has the entropy ln(perplexity), found for β_i by bisection.

    perplexity: the number of neighbours that count, from 1 up to less than n − 1.
    """
    n = len(vectors)
    if not 1 <= perplexity < n - 1:
        raise ValueError(f"The perplexity must lie between 1 and {n - 2} for {n} vectors, and is {perplexity:g}.")
    distances = squared_distances(vectors)
    off = distances + torch.diag(torch.full((n,), math.inf, dtype=distances.dtype))
    off = off - off.min(1, keepdim=True).values     # the nearest at 0: no row vanishes, and the shares are the same
    low, high = torch.zeros(n, 1, dtype=distances.dtype), torch.full((n, 1), math.inf, dtype=distances.dtype)
    beta = 1 / off.where(off.isfinite(), 0).mean(1, keepdim=True).clamp(min=1e-300)
    for _ in range(100):
        rows = torch.softmax(-beta * off, 1)
        wide = torch.special.entr(rows).sum(1, keepdim=True) > math.log(perplexity)
        low, high = torch.where(wide, beta, low), torch.where(wide, high, beta)
        # bounded for vectors that are all the same, whose shares are equal for every β
        beta = torch.where(high.isinf(), (beta * 2).clamp(max=torch.finfo(beta.dtype).max), (low + high) / 2)
    return (rows + rows.T) / (2 * n)


def gradient(P: Tensor, places: Tensor) -> tuple[Tensor, Tensor]:
    """The gradient (n, 2) of KL(P ‖ Q) over the places, 4 Σ_j (p_ij − q_ij) w_ij (y_i − y_j), and Q; w_ij =
    1/(1 + ‖y_i − y_j‖²), q_ij = w_ij / Σ w.
    """
    weights = 1 / (1 + squared_distances(places))
    weights.fill_diagonal_(0)
    Q = weights / weights.sum()
    pull = (P - Q) * weights
    return 4 * (pull.sum(1, keepdim=True) * places - pull @ places), Q


def tsne(vectors: Tensor, start: Tensor, perplexity: float, steps: int) -> Iterator[MapStep]:
    """The map as it settles, every REPORT_EVERY moves and at the end.

    It begins at `start` (n, 2), such as two principal axes, and nothing is random.
    """
    P = neighbour_probabilities(vectors, perplexity)
    places = start / start.std() * 1e-4
    speed, gains, rate = torch.zeros_like(places), torch.ones_like(places), max(len(vectors) / EXAGGERATED / 4, 50.0)
    for step in range(1, steps + 1):
        early = step <= steps // 4
        slope, Q = gradient(P * EXAGGERATED if early else P, places)
        gains = torch.where(slope.sign() == speed.sign(), gains * 0.8, gains + 0.2).clamp(min=0.01)
        speed = MOMENTUM[0 if early else 1] * speed - rate * gains * slope
        places = places + speed
        places = places - places.mean(0)
        if step % REPORT_EVERY == 0 or step == steps:
            kept = P > 0
            yield MapStep(step, steps, places, float((P[kept] * (P[kept] / Q[kept].clamp(min=1e-300)).log()).sum()))


def neighbours_kept(vectors: Tensor, places: Tensor, k: int = 10) -> float:
    """The share of each vector's k nearest (n, d) that are also among its k nearest on the map (n, m): 1 keeps every
    neighbour, k/(n − 1) is chance.
    """
    def near(points: Tensor) -> Tensor:
        distances = squared_distances(points) + torch.diag(torch.full((len(points),), math.inf, dtype=points.dtype))
        return torch.zeros_like(distances, dtype=torch.bool).scatter_(1, distances.topk(k, largest=False).indices, True)

    return float((near(vectors) & near(places)).sum()) / (k * len(vectors))
