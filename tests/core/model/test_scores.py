"""Multiplicative, additive and cosine scores: by hand, by a loop, and the same by both roads through a model."""
import math

import pytest
import torch

from core.model.attention import dot_product_scores
from core.model.config import NORM_PLACEMENTS, POSITIONS, ModelConfig
from core.model.intervention import Intervention
from core.model.kv_cache import KVCache
from core.model.scores import additive_scores, cosine_scores, multiplicative_scores, random_score_weights
from core.model.transformer import Transformer
from tests.helpers.parity import randomised


def small(score: str, **changes) -> Transformer:
    settings = dict(vocab_size=40, d_model=16, n_layers=2, n_heads=4, n_context=16, score=score) | changes
    return randomised(Transformer(ModelConfig.of(**settings)).initialise(torch.Generator().manual_seed(0)))


def ids(*shape: int) -> torch.Tensor:
    return torch.randint(0, 40, shape, generator=torch.Generator().manual_seed(2))


def test_multiplicative_by_hand():
    """q W_S = (1, 2) [[1, 0], [3, -1]] = (7, -2); with k = (1, 4): 7 - 8 = -1, and -1/sqrt(2) scaled."""
    q, k, W_S = torch.tensor([[[1.0, 2.0]]]), torch.tensor([[[1.0, 4.0]]]), torch.tensor([[[1.0, 0.0], [3.0, -1.0]]])
    assert multiplicative_scores(q, k, W_S, scale=False).item() == -1.0
    assert multiplicative_scores(q, k, W_S).item() == pytest.approx(-1 / math.sqrt(2))


def test_additive_by_hand():
    """tanh(ln 2) = (4 - 1)/(4 + 1) = 3/5 and tanh(ln 3) = (9 - 1)/(9 + 1) = 4/5: with v = (10, -5) the
    score is 6 - 4 = 2.
    """
    q, k = torch.tensor([[[math.log(2), 0.0]]]), torch.tensor([[[0.0, math.log(3)]]])
    assert additive_scores(q, k, torch.tensor([[10.0, -5.0]])).item() == pytest.approx(2.0)


def test_cosine_by_hand():
    """q = (3, 4) and k = (5, 12) have the lengths 5 and 13: (15 + 48) / 65. Its length changes nothing, (−3, −4) points
    the other way, and what has no direction gets 0.
    """
    q, keys = torch.tensor([[3.0, 4.0]]), torch.tensor([[5.0, 12.0], [50.0, 120.0], [-3.0, -4.0], [0.0, 0.0]])
    assert cosine_scores(q, keys)[0].tolist() == pytest.approx([63 / 65, 63 / 65, -1, 0])


def test_no_cosine_weighs_more_than_e_squared_times_another():
    q, k = torch.randn(2, 1, 200, 32, generator=torch.Generator().manual_seed(7)) * 9
    cosine, product = (torch.softmax(score(q, k), -1) for score in (cosine_scores, dot_product_scores))
    assert (cosine.amax(-1) / cosine.amin(-1)).max() <= math.e ** 2 < (product.amax(-1) / product.amin(-1)).min()


def test_every_score_equals_a_loop():
    generator = torch.Generator().manual_seed(0)
    Q, K, W_S, v = (torch.randn(*shape, generator=generator, dtype=torch.float64)
                    for shape in ((2, 3, 5), (2, 4, 5), (2, 5, 5), (2, 5)))
    multiplicative, additive = multiplicative_scores(Q, K, W_S), additive_scores(Q, K, v)
    assert multiplicative.shape == additive.shape == (2, 3, 4)
    for h in range(2):
        for n in range(3):
            for m in range(4):
                bilinear = (sum(Q[h, n, i] * W_S[h, i, j] * K[h, m, j] for i in range(5) for j in range(5))
                            / math.sqrt(5))
                hidden = sum(v[h, i] * math.tanh(Q[h, n, i] + K[h, m, i]) for i in range(5))
                assert abs(multiplicative[h, n, m] - bilinear) < 1e-12 and abs(additive[h, n, m] - hidden) < 1e-12


def test_the_identity_between_query_and_key_is_the_dot_product():
    Q, K = (torch.randn(2, 3, 5, generator=torch.Generator().manual_seed(0)),
            torch.randn(2, 4, 5, generator=torch.Generator().manual_seed(1)))
    assert torch.equal(multiplicative_scores(Q, K, torch.eye(5).repeat(2, 1, 1)), dot_product_scores(Q, K))


@pytest.mark.parametrize("score", ["multiplicative", "additive"])
def test_the_trace_shows_the_models_own_scores(score):
    model = small(score)
    for block, weights in zip(model(ids(7)).blocks, model.blocks):
        own = (multiplicative_scores(block.Q, block.K, weights.W_S) if score == "multiplicative"
               else additive_scores(block.Q, block.K, weights.v_S))
        assert torch.equal(block.scores, own)
        assert torch.equal(block.pattern, torch.softmax(block.scores.masked_fill(~block.allowed, -torch.inf), -1))


@pytest.mark.parametrize("score", ["multiplicative", "additive"])
@pytest.mark.parametrize("positions", POSITIONS)
@pytest.mark.parametrize("settings", [dict(), dict(norm_placement=NORM_PLACEMENTS[1], n_kv_heads=2),
                                      dict(mask="sliding-window", window=3), dict(scale_scores=False)], ids=str)
def test_the_faster_road_and_the_cache_equal_the_plain_forward(score, positions, settings):
    model, tokens = small(score, positions=positions, **settings), ids(3, 10)
    plain = model(tokens).logits
    assert (model.logits(tokens) - plain).abs().max() < 1e-5
    cache = KVCache()
    pieces = [model.logits(piece, cache) for piece in tokens.split([4, 1, 1, 4], dim=-1)]
    assert (torch.cat(pieces, dim=-2) - plain).abs().max() < 1e-5


@pytest.mark.parametrize("score, changes", [("multiplicative", True), ("additive", False)])
def test_scaling_can_be_taken_from_multiplicative_scores_alone(score, changes):
    model, tokens = small(score), ids(7)
    scaled, plain = (model(tokens, Intervention(scale_scores=scale)).blocks[0].scores for scale in (True, False))
    assert torch.allclose(plain, scaled * (2.0 if changes else 1.0), rtol=1e-5)       # d_k = 4


@pytest.mark.parametrize("score, name", [("multiplicative", "W_S"), ("additive", "v_S")])
def test_the_score_is_learned(score, name):
    model = small(score).requires_grad_(True)
    model.logits(ids(2, 7)).logsumexp(-1).sum().backward()
    assert all(getattr(block, name).grad.abs().max() > 0 for block in model.blocks)


# ---- the score function switched -------------------------------------------------------------------------------------


@pytest.mark.parametrize("own", ["dot", "multiplicative", "additive"])
@pytest.mark.parametrize("score", ["dot", "multiplicative", "additive", "cosine"])
def test_a_switched_score_is_that_of_plain_torch(own, score):
    """Every block's pattern from its own Q and K by hand, and the logits from the patterns; heads share
    keys and values.
    """
    model, tokens = small(own, n_kv_heads=2), ids(7)
    trace = model(tokens, Intervention(score=score, score_seed=3))
    for layer, (block, weights) in enumerate(zip(trace.blocks, model.blocks)):
        generator = torch.Generator().manual_seed(3000 + layer)
        K = block.K.repeat_interleave(2, dim=0)
        if score == "dot":
            scores = torch.einsum("hnk,hmk->hnm", block.Q, K) / 2                              # d_k = 4
        elif score == "cosine":
            scores = (torch.einsum("hnk,hmk->hnm", block.Q, K)
                      / (block.Q.norm(dim=-1)[..., None] * K.norm(dim=-1)[:, None]))
        elif score == "multiplicative":
            W = weights.W_S if own == score else torch.randn(4, 4, 4, generator=generator) / 2
            scores = torch.einsum("hni,hij,hmj->hnm", block.Q, W, K) / 2
        else:
            v = weights.v_S if own == score else torch.randn(4, 4, generator=generator)
            scores = (torch.tanh(block.Q[:, :, None] + K[:, None]) * v[:, None, None]).sum(-1)
        hidden = torch.triu(torch.ones(7, 7, dtype=torch.bool), 1)
        pattern = torch.softmax(scores.masked_fill(hidden, -torch.inf), -1)
        assert torch.allclose(block.pattern, pattern, atol=1e-6)
        written = (torch.einsum("hnm,hmk,hkd->nd", pattern, block.V.repeat_interleave(2, dim=0), weights.W_O)
                   + weights.b_O)
        assert torch.allclose(block.attn_out, written, atol=1e-5)
    if own == score:
        assert torch.equal(trace.logits, model(tokens).logits)
    else:
        assert (trace.logits - model(tokens).logits).abs().max() > 1e-3


def test_another_seed_is_another_score_and_the_same_one_the_same():
    model, tokens = small("dot"), ids(7)
    one, again, other = (model(tokens, Intervention(score="multiplicative", score_seed=seed)).logits
                         for seed in (0, 0, 1))
    assert torch.equal(one, again) and not torch.equal(one, other)
    with pytest.raises(ValueError, match="score must be one of"):
        Intervention(score="distance")


def test_a_random_score_of_unit_queries_and_keys_has_the_spread_of_the_dot_product():
    W = random_score_weights("multiplicative", 64, 32, 0, 0)
    q, k = torch.randn(2, 64, 50, 32, generator=torch.Generator().manual_seed(5))
    assert (multiplicative_scores(q, k, W).std().item() == pytest.approx(1.0, rel=0.05)
            and random_score_weights("dot", 1, 2, 0, 0) is None)
