"""RLHF in small: losses by hand, a reward model that reads the last token alone, a policy that follows its reward and a
leash that holds it, and the recorded run against a second count.
"""
from __future__ import annotations

import math
import re
from types import SimpleNamespace

import pytest
import torch

from core.learning import rlhf, tuning_texts
from core.learning.rlhf import PolicyTuner, RewardModel, Written
from core.model import checkpoints
from core.model.config import ModelConfig
from core.model.transformer import Transformer

WANTED = 5          # the token that the made-up reward counts


def tiny() -> Transformer:
    config = ModelConfig(vocab_size=12, d_model=16, n_layers=1, n_heads=2, n_context=40)
    return Transformer(config).initialise(torch.Generator().manual_seed(0)).eval().requires_grad_(False)


def by_hand(text: str) -> int:
    """The rule, counted word by word."""
    happy, sad = (set(tuning_texts.forms()[name]) for name in ("happy", "sad"))
    seen, value = set(), 0
    for word in re.findall(r"[a-z]+", text.lower()):
        if word in happy | sad:
            value += 1 if word in happy and word not in seen else -1
            seen.add(word)
    return value


def test_the_losses_are_those_of_the_formulas():
    better, worse = torch.tensor([1.0, 0.0]), torch.tensor([0.0, 2.0])
    expected = (math.log(1 + math.exp(-1)) + math.log(1 + math.exp(2))) / 2
    assert float(rlhf.preferred_loss(better, worse)) == pytest.approx(expected, rel=1e-6)
    returns = torch.tensor([0.5, -2.0, 3.0, 7.0])
    others = [float(returns[i] - (returns.sum() - returns[i]) / 3) for i in range(4)]
    assert rlhf.above_the_others(returns).tolist() == pytest.approx(others, rel=1e-6)


@pytest.mark.parametrize("text, value", [("They laughed and had fun.", 2), ("fun, fun, fun", -1),
                                         ("He was sad. Sad!", -2), ("a happy dog was lost", 0), ("", 0)])
def test_a_listed_word_counts_for_the_rule_once(text: str, value: int):
    assert tuning_texts.pleasing(text) == by_hand(text) == value


def test_a_reward_is_that_of_the_last_token_whatever_stands_beside_it():
    model = RewardModel(tiny())
    model.w.data = torch.randn(16, generator=torch.Generator().manual_seed(1))
    texts = [(0, 3, 4), (0, 3, 4, 7, 8, 9), (0, 1)]
    together = model(texts).detach()
    for text, reward in zip(texts, together):
        alone = model.body.final_vectors(torch.tensor([text]))[0, -1].detach() @ model.w.data
        assert float(reward) == pytest.approx(float(alone), abs=1e-5)


@pytest.mark.parametrize("beta, moves", [(0.0, True), (100.0, False)])
def test_a_policy_follows_its_reward_unless_the_reference_holds_it(monkeypatch: pytest.MonkeyPatch, beta: float,
                                                                  moves: bool):
    monkeypatch.setattr(rlhf, "N_NEW", 6)
    monkeypatch.setattr(rlhf, "POLICY_RATE", 2e-3)
    monkeypatch.setattr(rlhf, "STEPS", 40)

    def reward(texts: list[tuple[int, ...]]) -> torch.Tensor:
        return torch.tensor([float(text.count(WANTED)) for text in texts])

    reader = SimpleNamespace(decode=lambda ids: "")
    tuner = PolicyTuner(tiny(), reward, [(0, 1), (0, 2), (0, 3), (0, 4)], reader, beta, 0)
    start = {name: p.clone() for name, p in tuner.reference.state_dict().items()}
    first, last = tuner.history[0], list(tuner.learn())[-1]
    assert first.kl == pytest.approx(0, abs=1e-5) and all(
        torch.equal(p, start[name]) for name, p in tuner.reference.state_dict().items())
    if moves:
        assert last.reward > first.reward + 1 and last.kl > 1
    else:
        assert abs(last.kl) < 0.3


def test_the_recorded_reward_model_ranks_as_its_record_says():
    outcome = rlhf.recorded()
    ranked = [better.reward > worse.reward for better, worse in outcome.compared]
    last = outcome.rewards[-1]
    assert sum(ranked) / len(ranked) == pytest.approx(last.right, abs=1e-3) and last.right > 0.7
    losses = [math.log(1 + math.exp(worse.reward - better.reward)) for better, worse in outcome.compared]
    assert sum(losses) / len(losses) == pytest.approx(last.held_out, rel=5e-3)
    assert outcome.rewards[0].held_out == pytest.approx(math.log(2), abs=1e-3)
    assert all(by_hand(better.text) == better.value > worse.value == by_hand(worse.text)
               for better, worse in outcome.compared)


def test_a_reward_is_gamed_without_a_leash_and_not_with_one():
    policies = rlhf.recorded().policies
    assert list(policies) == [*map(str, rlhf.BETAS), "dpo"]
    free, held = policies["0.0"], policies["1.0"]
    assert all(records[-1].reward > records[0].reward for records in policies.values())
    assert free[-1].value < free[0].value < held[-1].value
    ends = [policies[str(beta)][-1].kl for beta in rlhf.BETAS]
    assert ends == sorted(ends, reverse=True)
    assert all(by_hand(text.text) == text.value for records in policies.values() for record in records
               for text in record.texts)


def test_the_recorded_run_is_what_the_same_settings_give():
    model, tokenizer = checkpoints.load_bundled(rlhf.MODEL)
    feedback, kept = rlhf.Feedback(model, tokenizer), rlhf.recorded()
    next(feedback.learn("0.0"))
    for there, here in zip(kept.demonstrations, feedback.tuner.history):
        assert (there.step, there.held_out, there.old) == pytest.approx((here.step, here.held_out, here.old), rel=2e-3)
    assert len(rlhf.demonstrations()) == rlhf.N_DEMONSTRATIONS


def test_what_is_kept_is_read_back_as_it_was():
    written = Written("The cow", " ran", 0.5, 0)
    step = rlhf.PolicyStep(10, 1.23456, 0.5, 2.0, (written,))
    kept = rlhf._short(step)
    assert kept == {"step": 10, "reward": 1.235, "value": 0.5, "kl": 2.0, "texts": [["The cow", " ran", 0.5, 0]]}
    assert Written(*kept["texts"][0]) == written
