"""Norms, cosines, head measures, rollout and effects: numbers worked by hand on three tokens, and identities."""
import math

import pytest
import torch

from core.analysis import stream_and_heads
from core.model.config import ModelConfig
from core.model.transformer import Transformer

# Three tokens, causal: the first sees itself, the second halves its look, the third looks ¼, ¼, ½.
PATTERN = torch.tensor([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.25, 0.25, 0.5]], dtype=torch.float64)
CAUSAL = torch.ones(3, 3, dtype=torch.bool).tril()


def run(n_tokens: int = 7, **settings):
    """A random model in float64 and its trace."""
    sizes = {"vocab_size": 23, "d_model": 12, "n_layers": 3, "n_heads": 3, "n_context": 16}
    config = ModelConfig.of(**sizes | settings)
    model = Transformer(config)
    model.initialise(torch.Generator().manual_seed(7))
    model = model.double()
    ids = torch.randint(0, 23, (n_tokens,), generator=torch.Generator().manual_seed(3))
    with torch.no_grad():
        return model, model(ids)


# ---- the stream ------------------------------------------------------------------------------------------------------


def test_norms_and_cosines_by_hand():
    assert stream_and_heads.norms(torch.tensor([[3.0, 4.0], [0.0, 0.0]])).tolist() == [5.0, 0.0]
    a, b = torch.tensor([3.0, 4.0], dtype=torch.float64), torch.tensor([4.0, 3.0], dtype=torch.float64)
    assert stream_and_heads.cosines(a, b).item() == pytest.approx(24 / 25, abs=1e-15)
    assert stream_and_heads.cosines(a, -a).item() == -1
    assert math.isnan(stream_and_heads.cosines(a, torch.zeros(2, dtype=torch.float64)).item())


@pytest.mark.parametrize("weights, position, expected", [
    ([0.7, 0.1, 0.2], 2, 1), ([0.7, 0.1, 0.2], 1, 2), ([0.1, 0.9], 1, 0), ([1.0, 0.0], 0, 1)])
def test_what_is_looked_at_most_is_neither_the_query_nor_the_place_of_rest(weights, position, expected):
    given = torch.tensor(weights)
    assert stream_and_heads.looked_at(given, position) == expected and given.tolist() == pytest.approx(weights)


def test_a_row_of_zeros_has_no_direction_to_be_like_another():
    rows = torch.tensor([[1.0, 0.0], [0.0, 0.0], [1.0, 0.0]])
    assert stream_and_heads.mean_pairwise_cosine(rows).item() == 1
    assert stream_and_heads.mean_pairwise_cosine(rows[:2]).isnan()
    assert stream_and_heads.mean_pairwise_cosine(torch.stack([rows, -rows[[0, 1, 1]]])).tolist()[0] == 1


def test_stream_of_a_trace_has_one_row_more_than_blocks():
    model, trace = run()
    stream = stream_and_heads.stream(trace)
    assert stream.shape == (4, 7, 12)
    assert torch.equal(stream[0], trace.blocks[0].resid_pre) and torch.equal(stream[-1], trace.resid_final)
    assert torch.equal(stream_and_heads.stream_norms(trace)[2, 5], trace.blocks[2].resid_pre[5].norm())
    attention, mlp = stream_and_heads.written_norms(trace)
    assert attention.shape == mlp.shape == (3, 7)
    assert mlp[1, 4].item() == pytest.approx(math.sqrt(sum(v * v for v in trace.blocks[1].mlp_out[4].tolist())))
    assert stream_and_heads.written_norms(run(d_ff=None)[1])[1] is None


def test_layer_cosines_are_symmetric_with_ones_on_the_diagonal():
    _, trace = run()
    cosines = stream_and_heads.layer_cosines(trace)
    assert cosines.shape == (7, 4, 4)
    assert (torch.allclose(cosines, cosines.mT)
            and torch.allclose(cosines.diagonal(dim1=-2, dim2=-1), torch.ones(7, 4).double()))
    a, b = trace.blocks[1].resid_pre[6].tolist(), trace.resid_final[6].tolist()
    by_hand = sum(x * y for x, y in zip(a, b)) / math.hypot(*a) / math.hypot(*b)
    assert cosines[6, 1, 3].item() == pytest.approx(by_hand, abs=1e-12)


def test_relative_change_is_the_written_vector_over_the_stream():
    _, trace = run()
    block = trace.blocks[1]
    expected = (block.attn_out + block.mlp_out)[2].norm() / block.resid_pre[2].norm()
    assert stream_and_heads.relative_change(trace)[1, 2].item() == pytest.approx(expected.item(), rel=1e-12)


def test_standardise_over_features_and_over_tokens_by_hand():
    x = torch.tensor([[1.0, 3.0], [5.0, 11.0]], dtype=torch.float64)
    layer = stream_and_heads.standardise(x, "features", epsilon=0.0)
    assert layer.mean.flatten().tolist() == [2.0, 8.0] and layer.std.flatten().tolist() == [1.0, 3.0]
    assert layer.values.tolist() == [[-1.0, 1.0], [-1.0, 1.0]]
    batch = stream_and_heads.standardise(x, "tokens", epsilon=0.0)
    assert batch.mean.flatten().tolist() == [3.0, 7.0] and batch.std.flatten().tolist() == [2.0, 4.0]
    assert batch.values.tolist() == [[-1.0, -1.0], [1.0, 1.0]]
    with pytest.raises(ValueError, match="features or tokens"):
        stream_and_heads.standardise(x, "layers")


def test_standardise_over_features_is_torch_layer_norm():
    x = torch.randn(5, 9, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    assert torch.allclose(stream_and_heads.standardise(x, "features").values,
                          torch.nn.functional.layer_norm(x, (9,)), atol=1e-12)
    assert torch.allclose(stream_and_heads.standardise(x, "tokens").values,
                          torch.nn.functional.batch_norm(x, None, None, training=True), atol=1e-12)


# ---- heads -----------------------------------------------------------------------------------------------------------


def test_entropy_and_distance_by_hand():
    ln2 = math.log(2)
    assert stream_and_heads.entropy(PATTERN).tolist() == pytest.approx([0.0, ln2, 1.5 * ln2], abs=1e-15)
    mean_over_choices = stream_and_heads.mean_over_choices
    assert stream_and_heads.distance(PATTERN).tolist() == [0.0, 0.5, 0.75]
    # query 0 has no choice
    assert mean_over_choices(stream_and_heads.entropy(PATTERN[None]), CAUSAL).item() == pytest.approx(1.25 * ln2)
    assert mean_over_choices(stream_and_heads.distance(PATTERN[None]), CAUSAL).item() == pytest.approx(0.625)


def test_previous_and_first_token_scores_by_hand():
    assert stream_and_heads.previous_token_score(PATTERN).item() == pytest.approx((0.5 + 0.25) / 2)
    assert stream_and_heads.first_token_score(PATTERN).item() == pytest.approx((0.5 + 0.25) / 2)
    one = torch.ones(1, 1)
    assert (math.isnan(stream_and_heads.previous_token_score(one))
            and math.isnan(stream_and_heads.first_token_score(one)))


def test_duplicate_and_induction_by_hand():
    pattern = PATTERN[None]
    # A B A: the last A has its twin at 0 and what followed it at 1.
    assert stream_and_heads.duplicate_token_score(pattern, torch.tensor([4, 9, 4])).tolist() == [0.25]
    assert stream_and_heads.induction_score(pattern, torch.tensor([4, 9, 4])).tolist() == [0.25]
    # B A A: the second A follows the first directly: a twin at 1 (¼), but nothing followed it before the query itself.
    assert stream_and_heads.duplicate_token_score(pattern, torch.tensor([9, 4, 4])).tolist() == [0.25]
    assert stream_and_heads.induction_score(pattern, torch.tensor([9, 4, 4])).isnan().all()
    # A A A: twins at 0 for query 1 (½), at 0 and 1 for query 2 (½); only query 2 has a follower, at 1 (¼).
    assert stream_and_heads.duplicate_token_score(pattern, torch.tensor([4, 4, 4])).tolist() == [0.5]
    assert stream_and_heads.induction_score(pattern, torch.tensor([4, 4, 4])).tolist() == [0.25]
    assert stream_and_heads.induction_score(pattern, torch.tensor([1, 2, 3])).isnan().all()
    assert stream_and_heads.duplicate_token_score(pattern, torch.tensor([1, 2, 3])).isnan().all()


def test_induction_and_duplicate_equal_their_definition_token_by_token():
    generator = torch.Generator().manual_seed(1)
    ids = torch.randint(0, 4, (12,), generator=generator)
    pattern = torch.rand(2, 12, 12, generator=generator, dtype=torch.float64).tril()
    pattern = pattern / pattern.sum(-1, keepdim=True)
    for head in range(2):
        induction, duplicate = [], []
        for i in range(12):
            twins = [j for j in range(i) if ids[j] == ids[i]]
            followers = [j + 1 for j in twins if j + 1 < i]
            if twins:
                duplicate.append(sum(pattern[head, i, j].item() for j in twins))
            if followers:
                induction.append(sum(pattern[head, i, j].item() for j in followers))
        assert (stream_and_heads.induction_score(pattern, ids)[head].item()
                == pytest.approx(sum(induction) / len(induction), abs=1e-14))
        assert (stream_and_heads.duplicate_token_score(pattern, ids)[head].item()
                == pytest.approx(sum(duplicate) / len(duplicate), abs=1e-14))


@pytest.mark.parametrize("mask", ["causal", "bidirectional", "sliding-window"])
def test_head_statistics_of_a_trace_and_of_a_batch_agree(mask):
    model, _ = run(mask=mask, window=3)
    ids = torch.tensor([[1, 2, 3, 1, 2], [5, 6, 7, 8, 9]])
    with torch.no_grad():
        batch, single = (stream_and_heads.head_statistics(model(ids)),
                         [stream_and_heads.head_statistics(model(row)) for row in ids])
    for name, value in vars(batch).items():
        assert value.shape == (2, 3, 3)
        for row in range(2):
            assert torch.allclose(value[row], getattr(single[row], name), atol=1e-12, equal_nan=True), name
    assert not batch.induction[0].isnan().any() and batch.induction[1].isnan().all()
    assert (batch.entropy >= 0).all() and (batch.entropy <= math.log(5)).all()


def test_rollout_by_hand():
    first = 0.5 * PATTERN + 0.5 * torch.eye(3, dtype=torch.float64)
    assert first.tolist() == [[1, 0, 0], [0.25, 0.75, 0], [0.125, 0.125, 0.75]]
    after = stream_and_heads.rollout([PATTERN[None], PATTERN[None]])
    assert torch.equal(after[0], first)
    assert after[1, 2].tolist() == [0.125 + 0.125 * 0.25 + 0.75 * 0.125, 0.125 * 0.75 + 0.75 * 0.125, 0.5625]
    assert torch.allclose(after.sum(-1), torch.ones(2, 3, dtype=torch.float64))


# ---- interventions ---------------------------------------------------------------------------------------------------


def test_effect_by_hand():
    before = torch.log(torch.tensor([0.5, 0.25, 0.25], dtype=torch.float64))
    after = torch.log(torch.tensor([0.25, 0.25, 0.5], dtype=torch.float64))
    effect = stream_and_heads.effect(before, after, k=2)
    assert effect.kl == pytest.approx(0.25 * math.log(2))
    assert sorted(effect.token_ids.tolist()) == [0, 2]
    assert effect.change.tolist() == pytest.approx([-0.25, 0.25] if effect.token_ids[0] == 0 else [0.25, -0.25])


def test_effect_of_nothing_is_zero_and_of_a_forbidden_token_infinite():
    logits = torch.tensor([1.0, -2.0, 0.5])
    assert stream_and_heads.effect(logits, logits + 3.0).kl == pytest.approx(0, abs=1e-12)
    forbidden = torch.tensor([1.0, -2.0, -math.inf])
    assert stream_and_heads.effect(logits, forbidden).kl == math.inf
    assert math.isfinite(stream_and_heads.effect(forbidden, logits).kl)
    with pytest.raises(ValueError, match="one length"):
        stream_and_heads.effect(logits, logits[:2])
