"""Truncation and draw: hand-worked numbers, transformers' logits processors, and the definition itself on
adversarial logits.
"""
import dataclasses
import math

import numpy as np
import pytest
import torch
from transformers.generation.logits_process import (
    MinPLogitsWarper,
    TemperatureLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
    TypicalLogitsWarper,
)

from core.model.sampling import (
    KEPT,
    MINUS_INFINITY,
    RULES,
    SamplingConfig,
    draw,
    drawn,
    truncate,
)

TEMPERATURE, TOP_K, TOP_P, MIN_P, TYPICAL_P = range(2, 7)
EVERYTHING = SamplingConfig()
# Ids 0..4 hold 0.1, 0.4, 0.05, 0.25, 0.2: sorted they are ids 1, 3, 4, 0, 2.
HAND = np.log([0.1, 0.4, 0.05, 0.25, 0.2])


def kept_ids(truncation):
    return truncation.token_ids[truncation.kept].tolist()


def check_consistent(t):
    """Check what holds for every Truncation."""
    n = len(t.token_ids)
    assert sorted(t.token_ids.tolist()) == list(range(n))
    assert (np.diff(t.probs) <= 0).all()
    assert abs(t.probs.sum() - 1) < 1e-9 and abs(t.renormalised.sum() - 1) < 1e-9
    assert t.cumulative[-1] == 1 and t.interval_ends[-1] == 1
    assert (np.diff(t.cumulative) >= 0).all() and (np.diff(t.interval_ends) >= 0).all()
    assert np.abs(np.cumsum(t.probs) - t.cumulative).max() < 1e-9
    assert np.abs(np.cumsum(t.renormalised) - t.interval_ends).max() < 1e-9
    assert np.array_equal(t.kept, t.cut_by == KEPT) and t.n_kept == t.kept.sum() >= 1
    assert abs(t.kept_mass - t.probs[t.kept].sum()) < 1e-9
    assert np.abs(t.renormalised[t.kept] - t.probs[t.kept] / t.kept_mass).max() < 1e-9
    assert (t.renormalised[~t.kept] == 0).all()
    for p, entropy, perplexity in ((t.probs, t.entropy_before, t.perplexity_before),
                                   (t.renormalised, t.entropy_after, t.perplexity_after)):
        p = p[p > 0]
        assert abs(entropy + (p * np.log(p)).sum()) < 1e-9 and abs(perplexity - math.exp(entropy)) < 1e-9 * perplexity
    for array in (t.probs, t.cumulative, t.renormalised, t.interval_ends):
        assert array.dtype == np.float64 and np.isfinite(array).all()


class TestByHand:
    def test_nothing_cut(self):
        t = truncate(HAND, EVERYTHING)
        assert t.token_ids.tolist() == [1, 3, 4, 0, 2]
        assert t.probs == pytest.approx([0.4, 0.25, 0.2, 0.1, 0.05], abs=1e-15)
        assert t.cumulative == pytest.approx([0.4, 0.65, 0.85, 0.95, 1.0], abs=1e-15)
        assert t.kept.all() and t.n_kept == 5 and t.kept_mass == 1
        assert np.array_equal(t.renormalised, t.probs)

    def test_temperature_half_squares_the_probabilities(self):
        squares = np.array([0.16, 0.0625, 0.04, 0.01, 0.0025])
        assert truncate(HAND, SamplingConfig(temperature=0.5)).probs == pytest.approx(squares / 0.275, abs=1e-15)

    def test_top_k(self):
        t = truncate(HAND, SamplingConfig(top_k=2))
        assert kept_ids(t) == [1, 3]
        assert t.renormalised == pytest.approx([0.4 / 0.65, 0.25 / 0.65, 0, 0, 0], abs=1e-15)
        assert t.cut_by.tolist() == [KEPT, KEPT, TOP_K, TOP_K, TOP_K]
        assert t.kept_mass == pytest.approx(0.65, abs=1e-15)

    @pytest.mark.parametrize("top_p, n",
                             [(0.0, 1), (0.39, 1), (0.4, 1), (0.41, 2), (0.65, 2), (0.66, 3), (0.85, 3), (0.95, 4),
                              (0.96, 5), (1.0, 5)])
    def test_top_p_is_the_smallest_set_that_reaches_p(self, top_p, n):
        assert truncate(HAND, SamplingConfig(top_p=top_p)).n_kept == n

    def test_top_p_counts_on_what_top_k_left(self):
        # Of 0.4, 0.25, 0.2 (sum 0.85), 0.4 alone holds 0.47 and the first two 0.765.
        assert kept_ids(truncate(HAND, SamplingConfig(top_k=3, top_p=0.76))) == [1, 3]
        assert kept_ids(truncate(HAND, SamplingConfig(top_k=3, top_p=0.77))) == [1, 3, 4]
        t = truncate(HAND, SamplingConfig(top_k=3, top_p=0.5))
        assert t.cut_by.tolist() == [KEPT, KEPT, TOP_P, TOP_K, TOP_K]

    @pytest.mark.parametrize("min_p, n",
                             [(0.0, 5), (0.125, 5), (0.126, 4), (0.25, 4), (0.26, 3), (0.5, 3), (0.51, 2), (0.625, 2),
                              (1.0, 1)])
    def test_min_p_is_relative_to_the_largest(self, min_p, n):
        t = truncate(HAND, SamplingConfig(min_p=min_p))
        assert t.n_kept == n and set(t.cut_by[n:].tolist()) <= {MIN_P}

    def test_typical(self):
        # Surprisals 0.916, 1.386, 1.609, 2.303, 2.996; H = 1.415. Distances 0.499, 0.029, 0.194, 0.888, 1.581:
        # nearest first are ids 3 (0.25), 4 (0.2), 1 (0.4), 0 (0.1), 2 (0.05).
        t = truncate(HAND, EVERYTHING)
        assert t.entropy_before == pytest.approx(1.4150, abs=5e-5)
        for typical_p, ids in ((0.0, [3]), (0.25, [3]), (0.26, [3, 4]), (0.45, [3, 4]), (0.46, [1, 3, 4]),
                               (0.9, [1, 3, 4, 0])):
            assert kept_ids(truncate(HAND, SamplingConfig(typical_p=typical_p))) == ids
        t = truncate(HAND, SamplingConfig(typical_p=0.3))
        assert t.cut_by.tolist() == [TYPICAL_P, KEPT, KEPT, TYPICAL_P, TYPICAL_P]
        assert t.interval_ends == pytest.approx([0, 5 / 9, 1, 1, 1], abs=1e-15)

    def test_every_rule_cuts_its_own(self):
        logits = np.append(HAND, -np.inf)
        t = truncate(logits, SamplingConfig(top_k=4, top_p=0.9, min_p=0.6, typical_p=0.3))
        # Left by top-k: 0.95. By top-p 0.9 of it: 0.4, 0.25, 0.2 hold 0.895, so 0.1 also stays. By min-p: 0.4, 0.25.
        # H of (8/13, 5/13) = 0.666, surprisals 0.486 and 0.956: 0.4 is the more typical.
        assert [RULES[code] for code in t.cut_by] == ["", "typical_p", "min_p", "min_p", "top_k", "minus_infinity"]
        assert t.renormalised.tolist() == [1, 0, 0, 0, 0, 0] and t.entropy_after == 0 and t.perplexity_after == 1

    def test_entropy_of_a_fair_coin_is_one_bit(self):
        t = truncate([0.0, 0.0, -50.0], SamplingConfig(top_k=2))
        assert (t.entropy_after == pytest.approx(math.log(2), abs=1e-15)
                and t.perplexity_after == pytest.approx(2, abs=1e-14))


class TestGreedy:
    def test_temperature_zero_is_argmax_and_cuts_the_rest(self):
        t = truncate([1.0, 3.0, -np.inf, 3.0, 2.0], SamplingConfig(temperature=0, top_k=3, typical_p=0.2))
        assert t.token_ids.tolist() == [1, 3, 4, 0, 2] and t.probs.tolist() == [1, 0, 0, 0, 0]
        assert t.cut_by.tolist() == [KEPT, TEMPERATURE, TEMPERATURE, TEMPERATURE, MINUS_INFINITY]
        check_consistent(t)

    @pytest.mark.parametrize("temperature", [0.0, 1e-6, 1.0, 1e6])
    def test_k_1_is_argmax_at_any_temperature(self, temperature):
        rng = np.random.default_rng(3)
        for logits in (rng.normal(size=50), rng.integers(0, 3, size=50).astype(float), np.zeros(9)):
            t = truncate(logits, SamplingConfig(temperature=temperature, top_k=1))
            assert kept_ids(t) == [int(np.argmax(logits))]
            assert {draw(t, xi) for xi in (0.0, 0.5, math.nextafter(1, 0))} == {0}


def processors(config):
    steps = [TemperatureLogitsWarper(config.temperature)]
    steps += [TopKLogitsWarper(config.top_k)] if config.top_k else []
    steps += [TopPLogitsWarper(config.top_p)] if config.top_p < 1 else []
    steps += [MinPLogitsWarper(config.min_p)] if config.min_p > 0 else []
    return steps + ([TypicalLogitsWarper(config.typical_p)] if config.typical_p < 1 else [])


def random_config(rng):
    """Each rule is on in half of the configurations."""
    on = rng.random(5) < 0.5
    return SamplingConfig(temperature=float(np.exp(rng.uniform(-2, 2))) if on[0] else 1.0,
                          top_k=int(np.exp(rng.uniform(0, 11))) if on[1] else None,
                          top_p=float(rng.uniform(0.05, 0.999)) if on[2] else 1.0,
                          min_p=float(np.exp(rng.uniform(-12, 0))) if on[3] else 0.0,
                          typical_p=float(rng.uniform(0.05, 0.999)) if on[4] else 1.0)


@pytest.mark.parametrize("size, count", [(2, 20), (7, 30), (50, 40), (4_096, 70), (50_257, 30), (100_000, 10)])
def test_equal_to_transformers_processors(size, count):
    rng = np.random.default_rng(size)
    for _ in range(count):
        logits = rng.normal(scale=rng.uniform(0.1, 6), size=size)
        assert len(np.unique(logits)) == size
        config = random_config(rng)
        scores = torch.from_numpy(logits)[None]
        for step in processors(config):
            scores = step(None, scores)
        t = truncate(logits, config)
        theirs = torch.isfinite(scores[0]).numpy()
        assert np.array_equal(t.kept, theirs[t.token_ids]), config
        assert np.abs(t.renormalised - scores[0].softmax(-1).numpy()[t.token_ids]).max() < 1e-12, config
        check_consistent(t)


def defined(logits, config):
    """The definition over again, slowly: a set of ids, from exact sums of the probabilities."""
    ids = sorted((i for i in range(len(logits)) if logits[i] > -math.inf), key=lambda i: (-logits[i], i))
    top = logits[ids[0]]
    if config.temperature == 0:
        return {ids[0]}
    weight = {i: math.exp((logits[i] - top) / config.temperature) for i in ids}
    ids = ids[:config.top_k]
    if config.top_p < 1:
        total = math.fsum(weight[i] for i in ids)
        ids = [i for n, i in enumerate(ids)
               if n == 0 or math.fsum(weight[j] for j in ids[:n]) / total < config.top_p - 1e-12]
    ids = [i for i in ids if weight[i] >= config.min_p * (1 - 1e-12)]
    if config.typical_p < 1:
        total = math.fsum(weight[i] for i in ids)
        surprisal = {i: math.log(total) - (logits[i] - top) / config.temperature for i in ids}
        entropy = math.fsum(weight[i] / total * surprisal[i] for i in ids if weight[i] > 0)
        nearest = sorted(ids, key=lambda i: abs(surprisal[i] - entropy))
        n = 1
        while math.fsum(weight[i] for i in nearest[:n]) / total < config.typical_p - 1e-12:
            n += 1
        bound = abs(surprisal[nearest[n - 1]] - entropy) + 1e-12
        ids = [i for i in ids if abs(surprisal[i] - entropy) <= bound]
    return set(ids)


ADVERSARIAL = {
    "uniform": [0.0] * 64,
    "uniform of ten": [2.5] * 10,
    "one-hot": [-math.inf] * 7 + [1.0] + [-math.inf] * 8,
    "nearly one-hot": [0.0] * 30 + [80.0] + [0.0] * 9,
    "two levels": [0.0, 1.0] * 20,
    "ties at every level": [float(i // 5 % 4) for i in range(60)],
    "half, quarter, quarter": [math.log(0.25), math.log(0.5), math.log(0.25)],
    "some minus infinity": [-math.inf if i % 3 else i / 10 for i in range(45)],
    "tiny numbers": [5e-324 * i for i in range(20)],
    "underflow": [0.0, -700.0, -740.0, -745.0, -760.0, -1e4, -1e308, 0.0],
    "huge numbers": [1e308, -1e308, 1.7e308, 0.0],
    "signed zeros": [0.0, -0.0, 0.0, -0.0, -1.0],
    "one token": [-3.0],
}
CONFIGS = [EVERYTHING] + [
    dataclasses.replace(EVERYTHING, **{name: value})
    for name, values in {"temperature": (0.0, 1e-6, 0.5, 1e6),
                         "top_k": (1, 2, 7, 1_000), "top_p": (0.0, 0.3, 0.5, 0.9, 1 - 1e-9),
                         "min_p": (1e-300, 0.1, 0.5, 1.0), "typical_p": (0.0, 0.2, 0.5, 0.75, 0.9, 1 - 1e-9)}.items()
    for value in values] + [
    SamplingConfig(0.7, 13, 0.8, 0.05, 0.9), SamplingConfig(3.0, 40, 0.95, 0.2, 0.4),
    SamplingConfig(1e6, 12, 0.5, 1.0, 0.5)]


@pytest.mark.parametrize("config", CONFIGS, ids=str)
@pytest.mark.parametrize("name", ADVERSARIAL)
def test_equal_to_its_definition_on_adversarial_logits(name, config):
    logits = ADVERSARIAL[name]
    t = truncate(logits, config)
    check_consistent(t)
    assert set(kept_ids(t)) == defined(logits, config)
    assert np.array_equal(t.cut_by[np.array(logits)[t.token_ids] == -np.inf] == MINUS_INFINITY,
                          np.ones(logits.count(-math.inf), dtype=bool))
    for xi in np.linspace(0, 1, 97, endpoint=False).tolist() + [math.nextafter(1, 0)]:
        assert t.kept[draw(t, xi)]


def test_round_numbers_are_cut_as_in_whole_number_arithmetic():
    """log and exp lose the last bit of 0.3 or 0.05; a reader's 0.5 + 0.3 must reach 0.8 all the same."""
    rng = np.random.default_rng(7)
    for _ in range(300):
        twentieths = -np.sort(-np.bincount(rng.integers(0, 6, size=20)))
        twentieths = twentieths[twentieths > 0]
        before = np.cumsum(twentieths) - twentieths
        logits = np.log(twentieths / 20)
        for share in range(1, 20):
            assert truncate(logits, SamplingConfig(top_p=share / 20)).n_kept == (before < share).sum()
            expected = (20 * twentieths >= share * twentieths[0]).sum()
            assert truncate(logits, SamplingConfig(min_p=share / 20)).n_kept == expected


class TestTies:
    def test_exactly_k_stay_and_they_have_the_lowest_ids(self):
        logits = [1.0, 5.0, 1.0, 1.0, 5.0, 1.0]
        for k, ids in ((1, [1]), (2, [1, 4]), (3, [1, 4, 0]), (5, [1, 4, 0, 2, 3]), (9, [1, 4, 0, 2, 3, 5])):
            assert kept_ids(truncate(logits, SamplingConfig(top_k=k))) == ids

    @pytest.mark.parametrize("size", [10, 4_096, 100_000])
    @pytest.mark.parametrize("top_p", [0.1, 0.5, 0.7, 0.9])
    def test_top_p_of_a_uniform_distribution_keeps_that_share_of_the_ids(self, size, top_p):
        t = truncate(np.zeros(size), SamplingConfig(top_p=top_p))
        assert kept_ids(t) == list(range(math.ceil(round(top_p * size, 6))))

    def test_min_p_and_typical_let_equal_tokens_share_their_fate(self):
        assert kept_ids(truncate([2.0, 1.0, 2.0, 1.0], SamplingConfig(min_p=1.0))) == [0, 2]
        assert truncate(np.zeros(30), SamplingConfig(typical_p=0.5)).n_kept == 30
        # H = 1.5 bits; surprisals 1, 2 and 2 bits: all three lie half a bit from it, so no one of them is cut.
        assert truncate(np.log([0.5, 0.25, 0.25]), SamplingConfig(typical_p=0.4)).n_kept == 3


class TestRefusals:
    @pytest.mark.parametrize("logits, sentence", [
        ([0.0, math.nan], "token 1 is not a number"), ([math.inf, 0.0], "token 0 is plus infinity"),
        ([-math.inf, -math.inf], "Every logit is minus infinity"), ([], "one row of logits"),
        ([[0.0, 1.0]], "one row of logits")])
    def test_logits(self, logits, sentence):
        with pytest.raises(ValueError, match=sentence):
            truncate(logits, EVERYTHING)

    @pytest.mark.parametrize("name, value", [
        ("temperature", -0.1), ("temperature", math.inf), ("temperature", math.nan), ("temperature", "hot"),
        ("top_k", 0), ("top_k", 2.0), ("top_k", True), ("top_p", 1.1), ("top_p", -0.1), ("top_p", None),
        ("min_p", math.nan), ("typical_p", 2)])
    def test_config(self, name, value):
        with pytest.raises(ValueError, match=name):
            SamplingConfig(**{name: value})

    @pytest.mark.parametrize("xi", [-1e-9, 1.0, math.nan])
    def test_xi(self, xi):
        with pytest.raises(ValueError, match="xi"):
            draw(truncate(HAND, EVERYTHING), xi)


def test_config_is_hashable_and_a_truncation_read_only():
    assert {SamplingConfig(top_k=3): 1}[SamplingConfig(1.0, 3)] == 1
    t = truncate(HAND, EVERYTHING)
    with pytest.raises(ValueError, match="read-only"):
        t.probs[0] = 1
    with pytest.raises(dataclasses.FrozenInstanceError):
        t.n_kept = 3


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_torch_logits_give_what_numpy_logits_give(dtype):
    logits = torch.randn(300, generator=torch.Generator().manual_seed(0)).to(dtype).requires_grad_()
    config = SamplingConfig(0.8, 100, 0.9)
    ours, theirs = truncate(logits, config), truncate(logits.detach().double().numpy(), config)
    assert np.array_equal(ours.token_ids, theirs.token_ids) and np.array_equal(ours.interval_ends, theirs.interval_ends)


def test_the_logits_are_left_as_they_were():
    logits = HAND.copy()
    truncate(logits, SamplingConfig(0.5, 2, 0.5, 0.1, 0.5))
    assert np.array_equal(logits, HAND)


@pytest.mark.parametrize("temperature", [1e-6, 1e6, 5e-324, 1e300])
def test_extreme_temperatures_do_not_overflow(temperature):
    logits = np.random.default_rng(5).normal(scale=4, size=1_000)
    for config in (SamplingConfig(temperature), SamplingConfig(temperature, 50, 0.9, 0.01, 0.9)):
        t = truncate(logits, config)
        check_consistent(t)
    if temperature > 1:
        assert truncate(logits, SamplingConfig(temperature)).entropy_before == pytest.approx(math.log(1_000), abs=1e-9)
    else:
        assert truncate(logits, SamplingConfig(temperature)).probs[0] == 1


class TestDraw:
    def test_a_boundary_belongs_to_the_interval_that_begins_there(self):
        t = truncate(np.log([0.5, 0.25, 0.125, 0.125]), EVERYTHING)
        ends = t.interval_ends.tolist()
        assert ends == pytest.approx([0.5, 0.75, 0.875, 1.0], abs=1e-15)
        for place, end in enumerate(ends[:-1]):
            assert draw(t, end) == place + 1 and draw(t, math.nextafter(end, 0)) == place
        assert draw(t, 0.0) == 0 and draw(t, math.nextafter(1, 0)) == 3

    def test_cut_tokens_own_an_empty_interval(self):
        t = truncate(HAND, SamplingConfig(typical_p=0.3))          # keeps places 1 and 2 only
        assert draw(t, 0.0) == 1 and draw(t, 0.55) == 1 and draw(t, 0.56) == 2 and draw(t, math.nextafter(1, 0)) == 2

    @pytest.mark.parametrize("config",
                             [EVERYTHING, SamplingConfig(0.7, 4, 0.95), SamplingConfig(typical_p=0.5)], ids=str)
    def test_ten_thousand_draws_follow_the_probabilities(self, config):
        t = truncate(HAND, config)
        xis = np.random.default_rng(11).random(10_000)
        counts = np.bincount([draw(t, xi) for xi in xis.tolist()], minlength=len(HAND))
        assert (counts[~t.kept] == 0).all()
        error = np.sqrt(10_000 * t.renormalised * (1 - t.renormalised))
        assert (np.abs(counts - 10_000 * t.renormalised) <= 4 * error).all()


@pytest.mark.parametrize("config",
                         [SamplingConfig(temperature=0), SamplingConfig(top_k=40),
                          SamplingConfig(0.7, top_k=9, top_p=0.8, min_p=0.01, typical_p=0.9), SamplingConfig(top_p=0.5),
                          SamplingConfig(1.5, top_p=0.95), SamplingConfig(min_p=0.02), SamplingConfig(top_p=0),
                          SamplingConfig(), SamplingConfig(typical_p=0.5), SamplingConfig(50)], ids=str)
def test_a_draw_that_looks_at_the_head_alone_is_the_draw_of_the_whole_distribution(config):
    generator, xis = np.random.default_rng(0), [0.0, 0.3, 0.7, 0.95, 0.9999999]
    for spread in (0.1, 1.0, 4.0):
        logits = np.round(generator.standard_normal(5000) * spread, 2)          # with many ties
        logits[:100] = -np.inf
        whole = truncate(logits, config)
        for few in (xis, xis[:2]):
            places, token_ids, probs = drawn(logits, config, few)
            assert (places.tolist() == [draw(whole, xi) for xi in few]
                    and token_ids.tolist() == whole.token_ids[places].tolist())
            assert probs == pytest.approx(whole.renormalised[places], rel=1e-12)
