"""Attribution: a linear case by hand, completeness, derivatives against finite differences, leaving out as two forward
passes, ranks.
"""
import math

import numpy as np
import pytest
import torch

from core.analysis import attribution
from core.analysis.text_probability import continuation_log_probs, next_log_probs, token_log_probs
from core.cost.counting import trace_bytes
from core.model.config import ModelConfig
from core.model.transformer import Transformer

IDS = [0, 5, 9, 5, 3, 7]
TARGET = 11


def small(**changes) -> Transformer:
    config = ModelConfig(vocab_size=17, d_model=12, n_layers=2, n_heads=3, n_context=16, d_ff=24)
    model = Transformer(config.changed(**changes)).initialise(torch.Generator().manual_seed(1)).double().eval()
    for p in model.parameters():
        p.data *= 3 if p.dim() > 1 else 1            # far from linear
    return model.requires_grad_(False)


@pytest.fixture(scope="module", params=["learned", "rotary", "sinusoidal"])
def model(request) -> Transformer:
    return small(positions=request.param)


def embedded(model: Transformer) -> torch.Tensor:
    return model.E[torch.tensor(IDS)]


def test_a_linear_score_by_hand():
    """f(x) = 2 x_0 − x_1 + 3 x_2 + 4, tokens of width 1: both gradients give w_i x_i, and from the baseline (1, 1, 1)
    w_i (x_i − 1).
    """
    w, x = (torch.tensor([[2.0], [-1.0], [3.0]], dtype=torch.float64),
            torch.tensor([[5.0], [4.0], [-2.0]], dtype=torch.float64))
    score = lambda points: (w * points).sum((-2, -1)) + 4      # noqa: E731
    assert attribution.gradient_times_input(score, x).tolist() == [10, -4, -6]
    assert attribution.integrated_gradients(score, x, torch.zeros_like(x), 3) == pytest.approx([10, -4, -6])
    assert attribution.integrated_gradients(score, x, torch.ones_like(x), 3) == pytest.approx([8, -3, -9])


def test_a_product_is_shared_between_its_factors():
    """f = x_0 x_1 at (2, 3) from 0: each factor's integral is ∫ α · 3 · 2 dα = 3, while gradient × input gives each 6,
    together twice f.
    """
    x, score = torch.tensor([[2.0], [3.0]], dtype=torch.float64), lambda points: points.prod(-2).sum(-1)
    assert attribution.integrated_gradients(score, x, torch.zeros_like(x), 4) == pytest.approx([3, 3])
    assert attribution.gradient_times_input(score, x).tolist() == [6, 6]


def test_embeddings_in_the_place_of_tokens_give_the_same_logits(model: Transformer):
    assert torch.allclose(model.logits_of_embeddings(embedded(model)), model(torch.tensor(IDS)).logits[-1], atol=1e-5)
    score = attribution.log_prob_score(model, TARGET)(torch.stack([embedded(model)] * 2))
    assert (score.shape == (2,)
            and float(score[0]) == pytest.approx(float(model(torch.tensor(IDS)).logits[-1].log_softmax(-1)[TARGET]),
                                                 abs=1e-5))


def test_the_gradient_is_the_slope(model: Transformer):
    score, x = attribution.log_prob_score(model, TARGET), embedded(model)
    slopes, step = attribution.gradient(score, x[None])[0], 1e-5
    for i, c in ((0, 0), (2, 7), (5, 11)):
        up, down = x.clone(), x.clone()
        up[i, c] += step
        down[i, c] -= step
        measured = float(score(up[None]) - score(down[None])) / (2 * step)
        assert float(slopes[i, c]) == pytest.approx(measured, rel=1e-4, abs=1e-7) and abs(measured) > 1e-6
    assert attribution.gradient_times_input(score, x) == pytest.approx((x * slopes).sum(-1).numpy())


def test_integrated_gradients_are_complete(model: Transformer):
    score, x = attribution.log_prob_score(model, TARGET), embedded(model)
    # nothing but zeros: there the norm jumps
    ends = [model.E[0].expand_as(x)] + [torch.zeros_like(x)] * (model.config.positions != "rotary")
    for baseline in ends:
        whole = float(score(x[None]) - score(baseline[None]))
        gaps = [abs(attribution.integrated_gradients(score, x, baseline, n).sum() - whole) for n in (4, 300)]
        assert gaps[1] < 1e-3 * abs(whole) and gaps[1] < gaps[0]
    # it also stands in the baseline
    assert attribution.integrated_gradients(score, x, model.E[0].expand_as(x), 8)[0] == 0


def test_the_points_of_a_path_are_taken_in_batches_that_fit_into_memory(model: Transformer):
    x, sizes = embedded(model), []

    def score(points: torch.Tensor) -> torch.Tensor:
        sizes.append(len(points))
        return attribution.log_prob_score(model, TARGET)(points)

    baseline = model.E[0].expand_as(x)
    whole, parts = (attribution.integrated_gradients(score, x, baseline, 10, at_once) for at_once in (64, 4))
    assert sizes == [10, 4, 4, 2] and parts == pytest.approx(whole, rel=1e-4, abs=1e-6)
    published = ModelConfig(vocab_size=49_152, d_model=576, n_layers=30, n_heads=9, n_kv_heads=3, n_context=8192,
                            d_ff=1536)
    for n in (25, 256):
        at_once = attribution.points_at_once(published, n)
        assert attribution.memory(published, n) == 2 * at_once * trace_bytes(published, n)
        assert at_once == 1 or attribution.memory(published, n) <= attribution.BATCH_BYTES
    assert attribution.points_at_once(published, 25) > 1


def test_leaving_one_out_is_two_forward_passes(model: Transformer):
    def log_p(ids: list[int]) -> float:
        return float(model(torch.tensor(ids)).logits[-1].double().log_softmax(-1)[TARGET])

    removed, replaced = attribution.removed(model, IDS, TARGET), attribution.replaced(model, IDS, TARGET, 0)
    for i in range(len(IDS)):
        assert removed[i] == pytest.approx(log_p(IDS) - log_p(IDS[:i] + IDS[i + 1:]), abs=1e-5)
        assert replaced[i] == pytest.approx(log_p(IDS) - log_p(IDS[:i] + [0] + IDS[i + 1:]), abs=1e-5)
    assert replaced[0] == 0 and np.isnan(attribution.removed(model, [0], TARGET)).all()


def test_an_untrained_twin_is_the_same_for_a_seed_and_shares_nothing():
    model = small()
    one, again, other = (attribution.random_twin(model, seed) for seed in (0, 0, 1))
    assert one.config == model.config and torch.equal(one.E, again.E) and not torch.equal(one.E, other.E)
    assert not any(p.requires_grad for p in one.parameters()) and one.E.data_ptr() != model.E.data_ptr()


def test_rank_correlation_by_hand():
    a = np.array([10.0, 20.0, 30.0, 40.0, 50.0])
    assert (attribution.rank_correlation(a, a ** 3) == pytest.approx(1)
            and attribution.rank_correlation(a, -a) == pytest.approx(-1))
    assert attribution.rank_correlation(a, np.array([2.0, 1.0, 4.0, 3.0, 5.0])) == pytest.approx(1 - 6 * 4 / (5 * 24))
    assert attribution.ranks(np.array([3.0, 3.0, 1.0])).tolist() == [2.5, 2.5, 1]
    for other in (np.ones(5), np.array([1.0, 2, np.nan, 4, 5])):
        assert math.isnan(attribution.rank_correlation(a, other))
    assert math.isnan(attribution.rank_correlation(a[:2], a[:2]))


def test_next_tokens_and_continuations_are_the_chain_rule():
    model, rows = small(), [[0, 4], [0, 8, 2, 6], [0]]
    together = next_log_probs(model, rows)
    for row, found in zip(rows, together):
        assert np.allclose(found, model(torch.tensor(row)).logits[-1].double().log_softmax(-1).numpy(), atol=1e-5)
    choices = [[[3], [5, 6]], [[5, 6, 7]], [[1], [2], [9, 9]]]
    for row, every, found in zip(rows, choices, continuation_log_probs(model, rows, choices)):
        for ids, total in zip(every, found):
            assert total == pytest.approx(float(token_log_probs(model, [[*row, *ids]])[0][len(row) - 1:].sum()),
                                          abs=1e-5)
    for wrong in ([[]], [[[]]]):
        with pytest.raises(ValueError):
            continuation_log_probs(model, wrong if wrong == [[]] else [[0]], [[[1]]] if wrong == [[]] else wrong)
