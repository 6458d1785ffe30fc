"""Attention worked by hand on three tokens, and the masks."""
import math

import pytest
import torch

from core.model import attention, masks

# Three tokens, d_k = d_v = 2. q·k of row i: token 0 with itself 2; token 1: 0 and 2; token 2: 2, 2 and 4
# (then all over sqrt 2).
Q = torch.tensor([[1.0, 1.0], [0.0, 2.0], [2.0, 2.0]], dtype=torch.float64)
K = torch.tensor([[2.0, 0.0], [0.0, 1.0], [1.0, 1.0]], dtype=torch.float64)
V = torch.tensor([[1.0, 0.0], [0.0, 1.0], [10.0, 10.0]], dtype=torch.float64)


def test_three_tokens_by_hand():
    scores = attention.dot_product_scores(Q, K)
    assert torch.allclose(scores * math.sqrt(2), torch.tensor([[2.0, 1, 2], [0, 2, 2], [4, 2, 4]], dtype=torch.float64))
    pattern = attention.masked_softmax(scores, attention.causal_mask(3, 3))
    a, b = math.exp(0 / math.sqrt(2)), math.exp(2 / math.sqrt(2))
    c, e = math.exp(4 / math.sqrt(2)), math.exp(2 / math.sqrt(2))
    by_hand = torch.tensor([[1, 0, 0], [a / (a + b), b / (a + b), 0],
                            [c / (2 * c + e), e / (2 * c + e), c / (2 * c + e)]], dtype=torch.float64)
    assert torch.allclose(pattern, by_hand, rtol=0, atol=1e-15)
    out = pattern @ V
    assert out[0].tolist() == [1.0, 0.0]
    assert torch.allclose(out[1], torch.tensor([a / (a + b), b / (a + b)], dtype=torch.float64))
    assert torch.allclose(out[2], torch.tensor([c / (2 * c + e) * 11, (e + 10 * c) / (2 * c + e)], dtype=torch.float64))


def test_scaling_divides_by_the_root_of_the_width():
    assert torch.equal(attention.dot_product_scores(Q, K, scale=False), Q @ K.T)
    assert torch.allclose(attention.dot_product_scores(Q, K) * 2 ** 0.5, Q @ K.T)


def test_masks():
    assert attention.causal_mask(3, 3).tolist() == [[True, False, False], [True, True, False], [True, True, True]]
    assert masks.mask("sliding-window", 4, 4, 2).tolist() == [
        [True, False, False, False], [True, True, False, False], [False, True, True, False], [False, False, True, True]]
    assert masks.mask("bidirectional", 2, 3).all()
    assert (attention.causal_mask(1, 3).tolist()
            == [[True, True, True]]), "the last query stands at the last key's position"
    assert masks.mask("sliding-window", 2, 4, 2).tolist() == [[False, True, True, False],
                                                                  [False, False, True, True]]


def test_a_row_without_keys_is_refused():
    with pytest.raises(ValueError, match="without any token to look at"):
        attention.masked_softmax(torch.zeros(2, 2), torch.tensor([[True, False], [False, False]]))


def test_huge_scores_do_not_overflow():
    pattern = attention.masked_softmax(torch.tensor([[1e30, 0.0], [1e4, 1e4]]), masks.mask("bidirectional", 2, 2))
    assert pattern.tolist() == [[1.0, 0.0], [0.5, 0.5]]


def test_uniform_pattern_and_shared_heads():
    assert attention.uniform_pattern(attention.causal_mask(2, 2), torch.float64).tolist() == [[1.0, 0.0], [0.5, 0.5]]
    x = torch.arange(2.0).reshape(2, 1, 1)
    assert attention.share_heads(x, 4).flatten().tolist() == [0.0, 0.0, 1.0, 1.0]
