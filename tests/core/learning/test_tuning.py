"""Tuning: only the answers are paid for, adapters change nothing before they have learned and add up exactly, the DPO
loss is its formula, and the model that it begins with stays as it was.
"""
from __future__ import annotations

import copy
import math

import pytest
import torch

from core.learning import tuning, tuning_texts
from core.learning.low_rank import LowRank, adapt, merged
from core.learning.tuning import (
    Pair,
    Preference,
    PreferenceTuner,
    SupervisedTuner,
    answer_log_probs,
    answers,
    candidates,
    dpo_loss,
    draw_texts,
    kl,
    margins,
    masked_loss,
    old_text,
    preferences,
)
from core.model.config import ModelConfig
from core.model.transformer import Transformer

CONFIG = ModelConfig(vocab_size=40, d_model=16, n_layers=2, n_heads=2, n_context=64, end_of_text=0)
PAIRS = [Pair((0, 3, 5 + i, 9), (20 + i, 0)) for i in range(8)]
PREFERENCES = [Preference((0, 3, 5 + i), (20, 21, i + 1), (30, 31, i + 1)) for i in range(12)]


@pytest.fixture(scope="module")
def model() -> Transformer:
    made = Transformer(CONFIG).initialise(torch.Generator().manual_seed(1))
    with torch.no_grad():
        made.E.mul_(20)               # else every distribution is nearly flat
    return made.eval().requires_grad_(False)


@pytest.fixture(scope="module")
def old(model: Transformer) -> tuning.OldText:
    return old_text(model)


def supervised(model, old, parts="all", seed=0, pairs=PAIRS) -> SupervisedTuner:
    return SupervisedTuner(model, old, pairs, PAIRS[:3], parts, 2, seed)


def weights(model: Transformer) -> dict[str, torch.Tensor]:
    return {name: p.detach().clone() for name, p in model.state_dict().items()}


def test_only_the_answers_are_paid_for(model: Transformer):
    pairs = [Pair((0, 5, 6), (7, 0)), Pair((0,), (9,))]
    rows = answers(pairs)
    assert (rows.inputs.tolist() == [[0, 5, 6, 7], [0, 0, 0, 0]]
            and rows.targets.tolist() == [[-100, -100, 7, 0], [9, -100, -100, -100]])
    p = model.logits(torch.tensor([0, 5, 6, 7])).double().softmax(-1)
    first = model.logits(torch.tensor([0])).double().softmax(-1)
    prices = [-math.log(p[2, 7]), -math.log(p[3, 0]), -math.log(first[0, 9])]
    assert float(masked_loss(model, rows)) == pytest.approx(sum(prices) / 3, abs=1e-5)
    assert answer_log_probs(model, rows).tolist() == pytest.approx([-prices[0] - prices[1], -prices[2]], abs=1e-5)


def test_the_loss_has_no_gradient_where_only_the_prompt_is_predicted(model: Transformer):
    """With the final vectors as they are, a token that stands in no answer and is no candidate there would be pushed
    only by the prompt: the gradient at the logits is 0 at the prompt's places.
    """
    rows = answers([Pair((0, 5, 6), (7,))])
    logits = model.logits(rows.inputs).requires_grad_(True)
    torch.nn.functional.cross_entropy(logits.flatten(0, 1), rows.targets.flatten(), ignore_index=-100).backward()
    assert not logits.grad[0, :2].any() and logits.grad[0, 2].any()


def test_adapters_change_nothing_before_they_have_learned(model: Transformer):
    ids, adapted = torch.tensor([0, 4, 5, 6]), copy.deepcopy(model)
    before = model.logits(ids)
    added = adapt(adapted, 3, torch.Generator().manual_seed(0))
    assert torch.equal(adapted.logits(ids), before)
    assert sum(p.numel() for p in added) == CONFIG.n_layers * 2 * 3 * (16 + 16)
    assert ({name for name, p in adapted.named_parameters() if p.requires_grad}
            == {f"blocks.{b}.parametrizations.{w}.0.{m}" for b in (0, 1) for w in ("W_Q", "W_V") for m in "AB"})


def test_adapters_are_added_into_the_weight_exactly(model: Transformer):
    W = model.blocks[0].W_Q
    pair = LowRank(W, 3, torch.Generator().manual_seed(0))
    with torch.no_grad():
        pair.B.normal_(generator=torch.Generator().manual_seed(2))
    d_k, product = W.shape[2], pair.A @ pair.B
    for head in range(W.shape[0]):
        assert torch.equal(pair(W)[head], W[head] + product[:, head * d_k:(head + 1) * d_k])
    assert torch.linalg.matrix_rank(product) == 3
    adapted = copy.deepcopy(model)
    with torch.no_grad():
        for p in adapt(adapted, 2, torch.Generator().manual_seed(0)):
            p.normal_(0.0, 0.2, generator=torch.Generator().manual_seed(3))
    plain, ids = merged(adapted), torch.tensor([0, 4, 5, 6])
    assert (torch.equal(plain.blocks[1].W_V, adapted.blocks[1].W_V)
            and torch.equal(plain.logits(ids), adapted.logits(ids))
            and not torch.equal(plain.logits(ids), model.logits(ids)))
    assert weights(plain).keys() == weights(model).keys() and not any(p.requires_grad for p in plain.parameters())


def test_dpo_is_its_formula():
    chosen, rejected, ref_chosen, ref_rejected = (torch.tensor([x]) for x in (-10.0, -14.0, -12.0, -13.0))
    m = margins(chosen, rejected, ref_chosen, ref_rejected)
    assert m.item() == 3.0                                                     # (−10 + 12) − (−14 + 13)
    assert dpo_loss(m, 0.5).item() == pytest.approx(-math.log(1 / (1 + math.exp(-1.5))), abs=1e-6)
    assert dpo_loss(margins(chosen, rejected, chosen, rejected), 0.3).item() == pytest.approx(math.log(2), abs=1e-6)


def test_a_step_of_dpo_raises_the_preferred_and_lowers_the_other():
    chosen, rejected = (torch.tensor([x], requires_grad=True) for x in (-12.0, -13.0))
    dpo_loss(margins(chosen, rejected, torch.tensor([-12.0]), torch.tensor([-13.0])), 0.1).backward()
    # −β σ(−β m) = −0.1 / 2
    assert chosen.grad.item() == pytest.approx(-0.05) and rejected.grad.item() == pytest.approx(0.05)


def test_kl_by_hand():
    p, q = torch.tensor([0.5, 0.5]).log(), torch.tensor([0.25, 0.75]).log()
    assert (kl(p, q).item() == pytest.approx(0.5 * math.log(2) + 0.5 * math.log(0.5 / 0.75), abs=1e-6)
            and kl(p, p).item() == 0)


def test_at_the_start_nothing_has_moved(model, old):
    start = supervised(model, old).history[0]
    assert (start.step == 0 and start.kl == pytest.approx(0, abs=1e-6)
            and start.old == pytest.approx(float(masked_loss(model, old.rows)), abs=1e-6) and math.isnan(start.loss))
    aligned = PreferenceTuner(model, old, PREFERENCES[3:], PREFERENCES[:3], beta=0.2)
    assert (aligned.history[0].margin == 0 and aligned.history[0].held_out == pytest.approx(math.log(2), abs=1e-6)
            and aligned.history[0].right == 0.5)


@pytest.mark.parametrize("parts", tuning.PARTS)
def test_only_the_chosen_parts_change_and_the_given_model_never(model, old, parts: str):
    before = weights(model)
    tuner = supervised(model, old, parts)
    for _ in zip(range(2), tuner.learn()):
        pass
    after, still = weights(tuner.copy()), weights(model)
    assert (all(torch.equal(before[name], still[name]) for name in before)
            and not any(p.requires_grad for p in model.parameters()))
    changed = {name for name in before if not torch.equal(before[name], after[name])}
    expected = {"all": set(before), "last": {name for name in before if name.startswith("blocks.1.")},
                "adapters": {f"blocks.{b}.{w}" for b in (0, 1) for w in ("W_Q", "W_V")}}[parts]
    assert changed <= expected and len(changed) >= 0.9 * len(expected) and tuner.step == 10


def test_a_round_learns_and_the_same_seed_repeats_it(model, old):
    one, other = supervised(model, old, seed=4), supervised(model, old, seed=4)
    first = [record for record in one.learn()]
    assert ([r.step for r in first] == list(range(5, 101, 5)) and first[-1].held_out < one.history[0].held_out - 1
            and first[-1].kl > 0.01)
    second = []
    for _ in range(4):                                  # stopped in between and resumed
        second += [record for _, record in zip(range(5), other.learn())]
    for a, b in zip(first, second):
        assert (a.step, a.loss, a.held_out, a.right, a.old, a.kl) == (b.step, b.loss, b.held_out, b.right, b.old, b.kl)
    assert next(one.learn()).step == 105


def test_two_tuners_do_not_touch_each_other(model, old):
    one, other = supervised(model, old), supervised(model, old)
    untouched = weights(other.copy())
    next(one.learn())
    assert all(torch.equal(p, untouched[name]) for name, p in weights(other.copy()).items()) and other.step == 0


def test_preferences_are_learned(model, old):
    tuner = PreferenceTuner(model, old, PREFERENCES[3:], PREFERENCES[:3], beta=0.5, seed=1,
                            score=lambda now: float(now.E[0, 0]))
    last = list(tuner.learn())[-1]
    assert (last.right == 1 and last.margin > 0 and last.held_out < math.log(2) and last.kl > 0
            and math.isfinite(last.score))
    now = margins(*tuner._log_probs(tuner.copy(), tuner.held_out), *tuner._log_probs(model, tuner.held_out))
    assert tuner.beta * float(now.mean()) == pytest.approx(last.margin, abs=1e-4)


def test_the_old_text_is_the_models_own_and_its_price_is_measured_right(model, old):
    other = Transformer(CONFIG).initialise(torch.Generator().manual_seed(9)).requires_grad_(False)
    with torch.no_grad():
        other.E.mul_(20)
    price, divergence = old.measure(other)
    nats, apart, n = 0.0, 0.0, 0
    for inputs, targets in zip(old.rows.inputs, old.rows.targets):
        there, here = (m.logits(inputs).double().log_softmax(-1) for m in (other, model))
        for i, token in enumerate(targets.tolist()):
            if token != -100:
                nats, apart, n = (nats - float(there[i, token]),
                                  apart + float((there[i].exp() * (there[i] - here[i])).sum()), n + 1)
    assert price == pytest.approx(nats / n, abs=1e-4) and divergence == pytest.approx(apart / n, abs=1e-3)
    assert old_text(model).rows.inputs.tolist() == old.rows.inputs.tolist()


def test_texts_are_drawn_by_the_seed_and_end_with_their_end(model):
    one, again, other = (draw_texts(model, [(0, 3), (0, 4)], 12, torch.Generator().manual_seed(seed))
                         for seed in (1, 1, 2))
    assert one == again != other and all(0 not in text[:-1] and len(text) <= 12 for text in one)


def test_pairs_of_candidates_prefer_what_is_worth_more(model):
    found = candidates(model, [(0, i, 3) for i in range(1, 21)] + [(0, 1)], seed=2)
    train, held_out = preferences(found, lambda text: text.count(7))
    assert ({len(p) for p in found.prompts} == {3} and len(found.texts[0]) == tuning.N_EACH
            and 0 < len(held_out) <= tuning.MOST_HELD_OUT)
    assert all(pair.chosen.count(7) > pair.rejected.count(7) for pair in train + held_out)
    assert ({pair.prompt for pair in held_out} <= set(found.prompts[:5])
            and not {pair.prompt for pair in train} & set(found.prompts[:5]))


@pytest.mark.parametrize("kind", [*tuning_texts.KINDS, "fact"])
def test_pairs_are_held_out_and_repeat(kind: str):
    fact = tuning_texts.Fact("the red snail", "blue soup")
    train, held_out = tuning_texts.pairs(kind, 60, 12, 3, fact)
    assert (train, held_out) == tuning_texts.pairs(kind, 60, 12, 3, fact) and len(train) > 10 and len(held_out) > 2
    assert (not {pair.prompt for pair in train} & {pair.prompt for pair in held_out}
            and all(pair.answer.startswith(" ") for pair in train))
    if kind == "fact":
        assert all("red snail" in pair.prompt and pair.answer.startswith(" blue soup") for pair in train + held_out)
    if kind == "ending":
        assert all(pair.answer.endswith(" The end.") for pair in train)


def test_openings_are_different():
    assert (len(set(tuning_texts.openings(100, 1))) == 100
            and tuning_texts.openings(5, 1) == tuning_texts.openings(100, 1)[:5])
