"""t-SNE by its definition: probabilities with the entropy asked for, the gradient of the divergence, and a map that
keeps neighbours.
"""
from __future__ import annotations

import math

import pytest
import torch

from core.analysis.tsne import gradient, neighbour_probabilities, neighbours_kept, squared_distances, tsne


def vectors(n: int = 40, d: int = 5) -> torch.Tensor:
    return torch.randn(n, d, generator=torch.Generator().manual_seed(3), dtype=torch.float64)


def test_distances_by_hand():
    assert squared_distances(torch.tensor([[0.0, 0.0], [3.0, 4.0], [3.0, 0.0]])).tolist() == [[0, 25, 9],
                                                                                              [25, 0, 16], [9, 16, 0]]


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("perplexity", [2.0, 7.5, 30.0])
def test_each_row_has_the_entropy_asked_for(perplexity: float, scale: float):
    X = scale * vectors()
    P = neighbour_probabilities(X, perplexity)
    assert torch.equal(P, P.T) and P.diagonal().abs().max() == 0 and P.sum().item() == pytest.approx(1)
    # One row by another road: the β whose entropy is ln(perplexity), found in logarithms, gives half of the
    # symmetric share.
    squares = [((X[0] - x) ** 2).sum().item() for x in X[1:]]
    other = [((X[1] - x) ** 2).sum().item() for i, x in enumerate(X) if i != 1]

    def row(distances: list[float]) -> list[float]:
        low, high = -100.0, 100.0
        for _ in range(300):
            beta = math.exp((low + high) / 2)
            weights = [math.exp(-beta * (d - min(distances))) for d in distances]
            p = [w / sum(weights) for w in weights]
            if -sum(q * math.log(q) for q in p if q > 0) > math.log(perplexity):
                low = (low + high) / 2
            else:
                high = (low + high) / 2
        return p

    assert P[0, 1].item() == pytest.approx((row(squares)[0] + row(other)[0]) / 80, rel=1e-6)


@pytest.mark.parametrize("perplexity", [0.5, 39.0, math.inf])
def test_an_impossible_perplexity_is_refused(perplexity: float):
    with pytest.raises(ValueError, match="between 1 and 38 for 40"):
        neighbour_probabilities(vectors(), perplexity)


def test_vectors_that_are_all_the_same_are_equally_near():
    P = neighbour_probabilities(torch.ones(6, 3, dtype=torch.float64), 2.0)
    assert (P - (1 - torch.eye(6, dtype=torch.float64)) / 30).abs().max() < 1e-15


def test_the_gradient_is_that_of_the_divergence():
    P = neighbour_probabilities(vectors(), 5.0)
    places = vectors(40, 2).requires_grad_()
    weights = 1 / (1 + (places[:, None] - places[None]).square().sum(-1))
    Q = weights * (1 - torch.eye(40))
    Q = Q / Q.sum()
    off = ~torch.eye(40, dtype=torch.bool)
    (P[off] * (P[off] / Q[off]).log()).sum().backward()
    found, shares = gradient(P, places.detach())
    assert torch.allclose(found, places.grad, atol=1e-12) and torch.allclose(shares, Q.detach(), atol=1e-14)


def test_groups_that_a_plane_lays_over_each_other_come_apart():
    generator = torch.Generator().manual_seed(0)
    centres = 6 * torch.eye(8, dtype=torch.float64).repeat_interleave(12, 0)
    X = centres + torch.randn(96, 8, generator=generator, dtype=torch.float64)
    steps = list(tsne(X, X[:, :2], perplexity=8.0, steps=300))
    assert [step.step for step in steps] == list(range(20, 301, 20)) and steps[-1].divergence < steps[6].divergence
    places = steps[-1].places
    nearest = (squared_distances(places) + 1e9 * torch.eye(96)).argmin(1)
    assert (nearest // 12 == torch.arange(96) // 12).double().mean() > 0.97
    assert neighbours_kept(X, places, 5) > 2 * neighbours_kept(X, X[:, :2], 5)
    assert torch.equal(places, list(tsne(X, X[:, :2], perplexity=8.0, steps=300))[-1].places), "no dice"


def test_neighbours_kept_by_hand():
    line = torch.tensor([[0.0], [1.0], [2.1], [10.0]])
    assert neighbours_kept(line, line, 1) == 1.0
    # the second now stands nearer to the third
    assert neighbours_kept(line, torch.tensor([[0.0], [1.0], [1.5], [10.0]]), 1) == 0.75
