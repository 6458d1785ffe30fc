"""Sparse attention and how work grows: blocks equal the masked whole, patterns and their paths by hand, fits
on known curves.
"""
import itertools

import numpy as np
import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from core.cost import growth, sparse
from core.model import attention, masks


@pytest.mark.parametrize("n, window", itertools.product((1, 2, 7, 16, 33), (1, 2, 5, 16, 40)))
def test_a_window_in_blocks_is_attention_under_the_windows_mask(n, window):
    generator = torch.Generator().manual_seed(n)
    Q, K, V = (torch.randn(2, n, width, generator=generator, dtype=torch.float64) for width in (6, 6, 3))
    allowed = masks.mask("sliding-window", n, n, window)
    expected = attention.masked_softmax(attention.dot_product_scores(Q, K), allowed) @ V
    assert (sparse.windowed_attention(Q, K, V, window) - expected).abs().max() < 1e-12


@pytest.mark.parametrize("method", growth.METHODS)
def test_the_operations_are_those_that_torch_counts(method):
    n, d, window = 64, 8, 16
    X, W = torch.randn(n, d), torch.randn(d, d)
    run = {"attention": lambda: growth.full_attention(X), "window": lambda: sparse.windowed_attention(X, X, X, window),
           "recurrent": lambda: growth.recurrent_states(X, W, W)}[method]
    with FlopCounterMode(display=False) as counter:
        run()
    assert (counter.get_total_flops() == growth.operations(method, n, d, window)
            or method == "recurrent" and counter.get_total_flops() == 2 * n * d * d)
    # torch counts no product of a vector with a matrix, so of the recurrent network the half with W_x alone


def test_the_recurrent_network_is_torchs():
    X, cell = torch.randn(9, 5, dtype=torch.float64), torch.nn.RNN(5, 5, bias=False).double()
    with torch.no_grad():
        found = growth.recurrent_states(X.float(), cell.weight_ih_l0.T.float(), cell.weight_hh_l0.T.float())
        assert (found.double() - cell(X[:, None])[0][:, 0]).abs().max() < 1e-5


def test_full_attention_is_attention_without_a_mask():
    X = torch.randn(6, 4)
    assert torch.allclose(growth.full_attention(X),
                          torch.nn.functional.scaled_dot_product_attention(X[None], X[None], X[None])[0], atol=1e-6)


def test_patterns_by_hand():
    assert sparse.pattern_mask("causal", 4).sum() == 10 and sparse.pattern_mask("full", 4).all()
    # five a row, less one, two, two, one at the ends
    assert sparse.pattern_mask("window", 6, window=2).sum() == 6 * 5 - 6
    # the diagonal, a row and a column
    assert sparse.pattern_mask("global", 6, window=0, n_global=1).sum() == 6 + 2 * 5
    drawn = sparse.pattern_mask("random", 20, n_random=3, seed=1)
    assert ((drawn.sum(1) == 4).all() and drawn.diagonal().all()
            and not torch.equal(drawn, sparse.pattern_mask("random", 20, n_random=3, seed=2)))
    assert sparse.pattern_mask("random", 3, n_random=50).all()
    assert (sparse.pattern_mask("all", 20, 1, 1, 3, 1) == (sparse.pattern_mask("global", 20, 1, 1) | drawn)).all()
    with pytest.raises(ValueError, match="pattern"):
        sparse.pattern_mask("banded", 3)


def slow_layers(mask: torch.Tensor) -> np.ndarray:
    """Breadth first from every token."""
    n, found = len(mask), np.zeros((len(mask), len(mask)), dtype=int)
    for i in range(n):
        edge, layer = {i}, 0
        while edge:
            layer += 1
            edge = {j for k in edge for j in range(n) if mask[k, j] and found[i, j] == 0}
            for j in edge:
                found[i, j] = layer
    return found


@pytest.mark.parametrize("pattern", sparse.PATTERNS)
@pytest.mark.parametrize("seed", [0, 3])
def test_layers_between_tokens_are_shortest_paths(pattern, seed):
    mask = sparse.pattern_mask(pattern, 18, window=1, n_global=1, n_random=1, seed=seed)
    assert np.array_equal(sparse.layers_between(mask).numpy(), slow_layers(mask))


def test_paths_by_hand():
    assert sparse.layers_between(sparse.pattern_mask("window", 32, window=4)).max() == 8       # 31 steps of at most 4
    # by way of the first token
    assert sparse.layers_between(sparse.pattern_mask("global", 32, window=1)).max() == 2
    assert (sparse.layers_between(sparse.pattern_mask("causal", 5)) == torch.ones(5, 5).tril()).all()


def test_the_fit_finds_the_exponent_of_a_power_and_its_error():
    lengths = np.array([128, 256, 512, 1024])
    assert growth.exponent(lengths, 3e-9 * lengths ** 1.7) == pytest.approx((1.7, 0.0), abs=1e-6)
    noisy = 1e-9 * lengths ** 2 * np.array([1.1, 0.9, 1.05, 0.97])
    slope, error = growth.exponent(lengths, noisy)
    (slope_np, _), covariance = np.polyfit(np.log(lengths), np.log(noisy), 1, cov=True)
    assert slope == pytest.approx(slope_np) and error == pytest.approx(np.sqrt(covariance[0, 0]))


def test_every_method_is_timed_at_every_length():
    made = list(growth.measure(8, 4, (16, 32), rounds=2))
    assert ([(t.method, t.n) for t in made] == 2 * [(method, n) for n in (16, 32) for method in growth.METHODS]
            and all(t.seconds > 0 for t in made))
    best = growth.fastest(made)
    assert [(t.method, t.n, t.seconds) for t in best] == [(one.method, one.n, min(one.seconds, other.seconds))
                                                          for one, other in zip(made[:6], made[6:])]
