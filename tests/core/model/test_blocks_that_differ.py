"""Blocks that differ, and the effect of caps, scales and sinks on scores and logits: worked again by hand, beside the
plain model, and on both roads.
"""
import copy
import math

import pytest
import torch

from core.analysis.attention_steps import head_steps
from core.analysis.contributions import logit_contributions, neuron_promotions
from core.cost import counting
from core.model import attention, positional
from core.model.config import ModelConfig
from core.model.intervention import Intervention
from core.model.kv_cache import KVCache
from core.model.norms import query_norm
from core.model.transformer import Transformer
from tests.helpers.parity import randomised

SIZES = dict(vocab_size=40, d_model=16, n_layers=3, n_heads=4, n_context=32, d_ff=24, positions="rotary")
IDS = torch.randint(0, 40, (13,), generator=torch.Generator().manual_seed(3))
ALL = dict(score_cap=2.0, logit_cap=3.0, score_divisor=5.0, attention_sinks=True, residual_scale=0.4,
           norm="rmsnorm", norm_bias=False, norm_placement="sandwich", qk_norm=True, qk_norm_joint=True, n_kv_heads=2,
           block_masks=("causal", "sliding-window", "causal"), window=4, block_rotary_bases=(0.0, 50.0, 10_000.0),
           rotary_factors=(1.0, 4.0), rotary_gain=1.1, output_bias_alone=True, attention_bias=False)


HEADS = dict(qk_norm=True, qk_norm_heads=True)


def model_of(**settings) -> Transformer:
    return (randomised(Transformer(ModelConfig.of(**SIZES | settings)).initialise(torch.Generator().manual_seed(0)))
            .double())


def test_each_block_has_its_own_mask():
    model = model_of(block_masks=("causal", "sliding-window", "bidirectional"), window=3)
    seen = [block.allowed.int().sum(-1).tolist() for block in model(IDS).blocks]
    assert seen == [list(range(1, 14)), [1, 2] + [3] * 11, [13] * 13]
    asked = model(IDS, Intervention(mask="causal")).blocks
    assert all(torch.equal(block.allowed, attention.causal_mask(13, 13)) for block in asked)
    narrow = model(IDS, Intervention(window=2)).blocks[1]
    assert narrow.allowed.sum(-1).max() == 2


def test_each_block_turns_by_its_own_base_and_one_of_0_turns_nothing():
    model = model_of(block_rotary_bases=(0.0, 50.0, 10_000.0), rotary_scaling=(4.0,))
    blocks = model(IDS).blocks
    assert torch.equal(blocks[0].Q_rotated, blocks[0].Q) and torch.equal(blocks[0].K_rotated, blocks[0].K)
    for block, base, scaling in ((blocks[1], 50.0, ()), (blocks[2], 10_000.0, (4.0,))):
        angles = positional.rotary_angles(13, 4, base, scaling=scaling)
        torch.testing.assert_close(block.Q_rotated, positional.rotate(block.Q, angles))
    assert all(torch.equal(block.Q_rotated, block.Q) for block in model(IDS, Intervention(positions="none")).blocks)


def test_factors_slow_each_pair_and_the_gain_lengthens_what_is_turned():
    assert positional.rotary_frequencies(4, factors=(2.0, 5.0)).tolist() == [0.5, pytest.approx(0.01 / 5)]
    block = model_of(rotary_factors=(2.0, 5.0), rotary_gain=1.5)(IDS).blocks[0]
    first = block.Q[0, 7]
    angle = torch.tensor([7 / 2, 7 * 0.01 / 5], dtype=torch.float64)
    by_hand = 1.5 * torch.cat([first[:2] * angle.cos() - first[2:] * angle.sin(),
                               first[2:] * angle.cos() + first[:2] * angle.sin()])
    torch.testing.assert_close(block.Q_rotated[0, 7], by_hand)


def test_scores_are_divided_by_the_models_own_number_and_capped():
    block = model_of(score_divisor=5.0, score_cap=2.0)(IDS).blocks[1]
    products = block.Q_rotated @ block.K_rotated.mT
    torch.testing.assert_close(block.scores, 2 * torch.tanh(products / 5 / 2))
    plain = model_of(score_cap=2.0)
    assert float(plain(IDS, Intervention(scale_scores=False)).blocks[0].scores.abs().max()) < 2


def test_a_sink_takes_weight_that_no_token_gets():
    model = model_of(attention_sinks=True)
    block = model(IDS).blocks[0]
    sums = block.scores.masked_fill(~block.allowed, -math.inf).exp().sum(-1)
    taken = model.blocks[0].sinks[:, None].exp()
    torch.testing.assert_close(block.pattern.sum(-1), sums / (sums + taken))
    torch.testing.assert_close(attention.masked_softmax(torch.zeros(1, 1, 2), torch.ones(1, 2, dtype=torch.bool),
                                                        torch.zeros(1)), torch.full((1, 1, 2), 1 / 3))


def test_all_heads_queries_are_normed_together():
    model = model_of(qk_norm=True, qk_norm_joint=True, norm="rmsnorm", norm_bias=False, positions="none")
    block, norm = model(IDS).blocks[0], model.blocks[0].q_norm
    together = block.Q[:, 5].flatten()
    by_hand = together / (together.square().mean() + norm.epsilon).sqrt() * norm.weight
    torch.testing.assert_close(block.Q_rotated[:, 5].flatten(), by_hand)
    assert norm.weight.shape == (16,)


def test_each_heads_query_is_normed_by_itself_with_a_gain_of_its_own():
    """(2, 4, 6, 8): mean 5, squared distances 9, 1, 1, 9 with mean 5; with ε = 4 it is divided by 3. Twice as long
    queries of another head: mean 10, variance 20, divided by √24.
    """
    config = ModelConfig.of(**SIZES | HEADS, norm_epsilon=4.0)
    norm = query_norm(config, 2)
    with torch.no_grad():
        norm.weight.copy_(torch.tensor([[1.0, 1.0, 3.0, 1.0], [2.0, 1.0, 1.0, 0.5]]))
    first = torch.tensor([2.0, 4.0, 6.0, 8.0])
    found = norm(torch.stack([first, 2 * first])[:, None])
    torch.testing.assert_close(found[0, 0], torch.tensor([-1.0, -1 / 3, 1.0, 1.0]))
    torch.testing.assert_close(found[1, 0], torch.tensor([-12.0, -2.0, 2.0, 3.0]) / 24 ** 0.5)
    assert norm.weight.shape == (2, 4) and norm.bias is None


def test_queries_and_keys_are_normed_before_they_are_turned():
    model = model_of(**HEADS, n_kv_heads=2)
    block, weights = model(IDS).blocks[1], model.blocks[1]
    for x, turned, norm, head in ((block.Q, block.Q_rotated, weights.q_norm, 3),
                                  (block.K, block.K_rotated, weights.k_norm, 1)):
        own = x[head, 7]
        centred = own - own.mean()
        by_hand = centred / (centred.square().mean() + 1e-5).sqrt() * norm.weight[head]
        angles = positional.rotary_angles(1, 4, 10_000.0, start=7)
        torch.testing.assert_close(turned[head, 7], positional.rotate(by_hand[None], angles)[0])
    # the mean of a query counts for nothing, and another norm in the pass is not that of the queries
    assert weights.b_Q is not None
    shifted = copy.deepcopy(model)
    shifted.blocks[1].b_Q += 3.0
    torch.testing.assert_close(shifted(IDS).logits, model(IDS).logits)
    bare = model(IDS, Intervention(norm="none")).blocks[0]
    torch.testing.assert_close(bare.Q_rotated[:, 0].mean(-1),
                               (weights_of(bare.Q[:, 0]) * model.blocks[0].q_norm.weight).mean(-1))


def weights_of(x: torch.Tensor) -> torch.Tensor:
    """(h, d_k) vectors less their means, over the roots of their variances."""
    return (x - x.mean(-1, keepdim=True)) / (x.var(-1, correction=0, keepdim=True) + 1e-5).sqrt()


def test_a_sublayer_adds_its_share_and_logits_are_capped():
    model = model_of(residual_scale=0.4, logit_cap=3.0)
    trace = model(IDS)
    block = trace.blocks[1]
    torch.testing.assert_close(block.resid_mid, block.resid_pre + 0.4 * block.attn_out)
    torch.testing.assert_close(block.resid_post, block.resid_mid + 0.4 * block.mlp_out)
    torch.testing.assert_close(trace.logits, 3 * torch.tanh(trace.h_final @ model.unembedding.T / 3))


@pytest.mark.parametrize("settings", [ALL, {name: ALL[name] for name in ("block_masks", "window", "score_cap")},
                                      dict(attention_sinks=True), dict(norm_placement="output", residual_scale=2.0),
                                      dict(HEADS, n_kv_heads=2), dict(HEADS, norm_gain=False)],
                         ids=["all", "windows and caps", "sinks", "output norm", "norm per head", "without gain"])
def test_both_roads_the_cache_the_parts_and_the_count_agree(settings):
    model = model_of(**settings)
    trace = model(IDS)
    torch.testing.assert_close(model.logits(IDS), trace.logits)
    cache = KVCache()
    torch.testing.assert_close(torch.cat([model.logits(piece, cache) for piece in IDS.split([6, 1, 6])]), trace.logits)
    parts = logit_contributions(model, trace, 8, 5)
    assert abs(parts.total - parts.logit) < 1e-10 * float(parts.values.abs().sum())
    cap = model.config.head.logit_cap
    assert float(trace.logits[8, 5]) == pytest.approx(cap * math.tanh(parts.logit / cap) if cap else parts.logit)
    fed = sum(float(value) for part, value in zip(parts.parts, parts.values) if (part.kind, part.layer) == ("mlp", 1))
    assert float(neuron_promotions(model, trace, 1, 8, torch.arange(24))[:, 5].sum()) == pytest.approx(fed)
    steps = head_steps(trace.blocks[1], model.blocks[1], 3, 9)
    torch.testing.assert_close(steps.weights, trace.blocks[1].pattern[3, 9])
    torch.testing.assert_close(steps.written, trace.blocks[1].head_contribution[3, 9])
    assert counting.n_parameters(model.config) == model.n_parameters


@pytest.mark.parametrize("settings, sentence", [
    (dict(rotary_base=0.0), "rotary_base must be above 0"),
    (dict(block_masks=("causal",)), "an entry for each of 3 blocks"),
    (dict(block_masks=("mine",) * 3), "must be one of"),
    (dict(block_rotary_bases=(1.0, -1.0, 1.0)), "above 0, or 0 for none"), (dict(score_cap=-1.0), "at least 0"),
    (dict(rotary_factors=(1.0,)), "for each of 2 pairs"), (dict(qk_norm_joint=True), "belongs to qk_norm"),
    (dict(qk_norm_heads=True), "belongs to qk_norm"), (dict(HEADS, qk_norm_joint=True), "in the place of"),
    (dict(rotary_factors=(1.0, 1.0), rotary_scaling=(2.0,)), "give one"),
    (dict(kind="encoder-decoder", block_masks=("causal",) * 3), "one stack only")], ids=str)
def test_what_cannot_be_is_refused(settings, sentence):
    with pytest.raises(ValueError, match=sentence):
        ModelConfig.of(**SIZES | settings)
