"""The lesson Limits: answers and their certainty, recited passages, calibration; each number against a
second computation.
"""
from __future__ import annotations

import functools
import math
import re

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

from core.analysis.statistics import calibrate, chance_errors, mann_whitney
from core.app.compute import cache
from core.app.state.run import Run, read
from core.base import prose
from core.evaluation import confidence, losses
from core.evaluation.memorisation import recitations
from core.learning.learner import TASKS, Learner
from core.model import checkpoints
from core.model.generation import generate
from core.model.sampling import SamplingConfig
from core.training import teaching_text
from core.training.teaching_text import Exercise
from pages.limits import facts, memory
from pages.limits.shared import met_teaching
from tests.helpers import lessons, messages
from tests.helpers.lessons import answer, fine
from tests.helpers.messages import formulas, given
from tests.helpers.prompts import PROMPTS

pytestmark = pytest.mark.long

WORDS = prose.load("limits")
VIEWS = ("facts", "memory", "calibration")
GREEDY = SamplingConfig(temperature=0)


def open_at(**query: str) -> AppTest:
    return lessons.open_at("limits", **{key if key in ("prompt", "model") else f"limits_{key}": value
                                        for key, value in query.items()})


turn = functools.partial(lessons.turn, lesson="limits")
numbers_in = functools.partial(messages.numbers_in, whole=True)


@pytest.fixture(scope="module")
def run() -> Run:
    return read(cache.shared_model("stories", "cpu"), "a")


@pytest.mark.parametrize("prompt", PROMPTS.values(), ids=PROMPTS.keys())
def test_every_view_bears_every_prompt(prompt: str | None):
    at = open_at(view="calibration", source="prompt", **({} if prompt is None else {"prompt": prompt}))
    assert fine(at) and len(formulas(at)) == 5
    for view in ("facts", "memory"):
        assert fine(turn(at, view=view)), view


def test_absurd_addresses_open_what_there_is():
    junk = "<b>$x^2$</b>\n\n\x00'\"{s}" * 40
    at = open_at(view="nonsense", relation=junk, phrasing="?", subject=junk, taught="99", untaught="-3",
                 invented="1e99", threshold="7", passage=junk, start="9999", source="x", temperature="nan", seed="-1")
    for view in VIEWS:
        assert fine(turn(at, view=view)), view
    row = given(turn(at, view="facts"), "limits_facts")["rows"][2]
    assert row["picked"] == -1 and "<b>$x^2$</b>" in row["ask"] and len(row["ask"]) < 200


# ---- facts -----------------------------------------------------------------------------------------------------------


def greedy(run: Run, prompt: str, most: int = confidence.LONGEST) -> tuple[str, float]:
    """The answer up to the end of its line and its probability, from whole traced passes over exactly what stands
    before each token.
    """
    ids, p, written = [run.tokenizer.end_of_text, *run.tokenizer.encode(prompt)], 1.0, []
    for _ in range(most + 1):
        probs = run.model(torch.tensor([*ids, *written])).logits[-1].double().softmax(-1)
        best = int(probs.argmax())
        if b"\n" in run.tokenizer.token_bytes(best) or best == run.tokenizer.end_of_text or len(written) == most:
            if not written:
                return "", float(probs[[b"\n" in run.tokenizer.token_bytes(i) or i == run.tokenizer.end_of_text
                                        for i in range(len(probs))]].sum())
            ends = [not (run.tokenizer.token_bytes(i)[:1].isalnum() or run.tokenizer.token_bytes(i)[:1] >= b"\x80")
                    for i in range(len(probs))]
            return run.tokenizer.decode(written), p * float(probs[torch.tensor(ends)].sum())
        p *= float(probs[best])
        written.append(best)


def test_an_answer_has_the_product_of_its_tokens_probabilities(run: Run):
    prompts = ['Q: Who wrote "Oliver Twist"? A:', "Q: What is the capital of Zorbia? A:", "Once",
               "The bird flew home. The end."]
    found = dict(confidence.claims(run.model, run.tokenizer,
                                   [Exercise("x", prompt, " Charles Dickens") for prompt in prompts]))
    for i, prompt in enumerate(prompts):
        said, p = greedy(run, prompt)
        assert found[i].text == said and found[i].p == pytest.approx(p, rel=1e-4)
    assert found[0].right and not found[1].right
    empty, first = confidence.leading(run.model, run.tokenizer, [found[3].exercise, Exercise("x", prompts[1], "")])
    assert found[3].text == confidence.greedy(empty).text == ""
    assert confidence.greedy(empty).p == pytest.approx(found[3].p, rel=1e-4)
    assert (any(claim.text == found[1].text and claim.p == pytest.approx(found[1].p, rel=1e-4) for claim in first)
            and not any(claim.right for claim in first))
    assert ([claim.p for claim in first] == sorted((claim.p for claim in first), reverse=True)
            and sum(claim.p for claim in first) <= 1)


def test_made_up_subjects_are_in_no_teaching_text():
    corpus = "\n".join(teaching_text.documents(3000)).lower()
    for relation in teaching_text.relations():
        known = {subject for group in ("taught", "untaught") for subject, _ in relation[group]}
        assert (len(relation["invented"]) == len(set(relation["invented"])) == facts.N_CASES
                and not known & set(relation["invented"]))
        assert not [subject for subject in relation["invented"]
                    if relation["questions"][0].format(s=subject).lower() in corpus]


def test_taught_facts_are_known_and_the_threshold_counts_what_it_says(run: Run):
    at = open_at(threshold="0.5")
    header = given(at, "limits_facts")
    dots = {row["group"]: row["dots"] for row in header["rows"]}
    assert [len(dots[group]) for group in facts.GROUPS] == [4 * len(teaching_text.relations())] * 3
    assert (all(dot[1] for dot in dots["taught"]) and not any(dot[1] for dot in dots["invented"])
            and 0 < sum(dot[1] for dot in dots["untaught"]) < 30)
    for group, shown, latex in zip(("untaught", "invented"), header["areas"], formulas(at)[3:5]):
        won = sum((a[0] > b[0]) + (a[0] == b[0]) / 2 for a in dots["taught"] for b in dots[group])
        *_, auc = numbers_in(latex)
        assert (auc == pytest.approx(won / 88 ** 2, abs=1e-4) and shown.endswith(f"{won / 88 ** 2:.3f}")
                and 0.8 < auc < 1)
    said = [dot for row in dots.values() for dot in row if dot[0] >= 0.5]
    assert numbers_in(formulas(at)[5])[:2] == [sum(not dot[1] for dot in said), len(said)]
    for latex, row in zip(formulas(at)[:3], header["rows"]):
        *factors, p = numbers_in(latex)
        assert (math.prod(factors) == pytest.approx(p, abs=1e-4)
                and [bar["p"] for bar in row["bars"] if bar["said"]] == [pytest.approx(p, abs=1e-4)])
        assert sum(bar["p"] for bar in row["bars"]) + row["rest"] == pytest.approx(1)
    limit = np.quantile([dot[0] for dot in dots["taught"]], 0.1)
    above = sum(dot[0] > limit for dot in dots["invented"]) / 88
    answer(at, "above", sum(above > share for share in (0, 0.05, 0.2)))


def test_another_phrasing_loses_what_was_taught():
    at = open_at(phrasing="story", relation="capital", taught="1")
    row = given(at, "limits_facts")["rows"][0]
    assert row["ask"].startswith('"What is the capital of ') and sum(dot[1] for dot in row["dots"]) < 10
    assert row["picked"] == next(i for i, dot in enumerate(row["dots"]) if dot[2:4] == [2, 1])
    # what it writes is not always its most probable answer
    for row in given(turn(at, phrasing="labels", taught=0), "limits_facts")["rows"]:
        assert ([bar["p"] for bar in row["bars"] if bar["said"]]
                == [pytest.approx(row["dots"][row["picked"]][0], abs=1e-5)])


def test_a_subject_of_the_readers_own():
    row = given(open_at(relation="capital", subject="France"), "limits_facts")["rows"][2]
    assert (row["ask"] == "Q: What is the capital of France? A:" and row["truth"] == "Paris"
            and row["bars"][0] == {**row["bars"][0], "name": "Paris", "right": True})
    assert row["own"] == row["bars"][0]["p"] and row["picked"] == -1


def test_pairs_and_what_models_have_read():
    assert mann_whitney(np.array([3, 2]), np.array([1, 2, 3])) == 1 + 1 + 0.5 + 1 + 0.5
    assert [met_teaching(name) for name in ("stories", "stories-small", "stories-small@0", "induction", "random",
                                            "mine-1a2b3c", "folder:mine", "hub:gpt2")] == [
        "whole", "part", "none", "none", "random", "unknown", "published", "published"]
    at = open_at(model="positions-none")
    assert fine(at) and "only a part" in given(at, "limits_facts")["note"]
    assert fine(turn(at, view="memory")) and any("only a part" in m.value for m in at.markdown)


def test_models_with_a_small_context_and_tokens_of_their_own():
    learner = Learner(TASKS["addition"]())
    for name in ("induction", cache.keep_own(learner.copy(), learner.task.tokenizer, "addition-0")):
        at = open_at(model=name, view="memory", start="48")
        for view in VIEWS:
            assert fine(turn(at, view=view)), (name, view)


# ---- memory ----------------------------------------------------------------------------------------------------------


def test_what_is_recited_is_what_greedy_generation_writes(run: Run):
    at = open_at(view="memory", passage="choir", start="5")
    for name, start in (("choir", 5), ("giant", 3), ("tooth", 12)):
        rows = given(turn(at, passage=name, start=start), "limits_recital")["rows"]
        for canary, row in zip([one for one in teaching_text.canaries() if one.name == name], rows):
            ids = run.tokenizer.encode(canary.text)
            shown = [token[0] for token in row["tokens"] if token[1] == "given"]
            assert shown == [run.tokenizer.visible(i) for i in ids[:start]]
            steps = list(generate(run.model, [run.tokenizer.end_of_text, *ids[:start]], GREEDY,
                                  max_new_tokens=len(row["tokens"]) - start))
            assert [run.tokenizer.visible(step.token_id) for step in steps] == [token[0]
                                                                                for token in row["tokens"][start:]]
            assert ([math.exp(step.log_prob) for step in steps]
                    == pytest.approx([token[2] for token in row["tokens"][start:]], abs=1e-4))
            written = [step.token_id for step in steps]
            same = next((i for i, pair in enumerate(zip(written, ids[start:])) if len(set(pair)) > 1), len(ids) - start)
            recited = [token for token in row["tokens"] if token[1] == "recited"]
            assert (len(recited) == same and row["sum"].startswith(f"{same} of {len(ids) - start} ")
                    and (same > 80 if canary.repeats == 100 else same < 3))
    assert any("of *tooth*, read 100 times, the model recites" in m.value for m in at.markdown)


def test_the_numbers_of_memory_hold(run: Run):
    at = open_at(view="memory", passage="choir", start="16")
    recited, nats, kept, ids, weights, packed, left = formulas(at)
    a, b, share = numbers_in(recited)
    assert a / b == pytest.approx(share, abs=1e-4)
    total, n, rate = numbers_in(nats)[-3:]
    assert -total / n == pytest.approx(rate, abs=1e-4)
    n, twin, own, _, bits = numbers_in(kept)
    assert (n * (twin - own) / math.log(2) == pytest.approx(bits, abs=1e-3)
            and own == pytest.approx(rate, abs=1e-4) and bits > 50)
    tokens, _, size, millions, *_ = numbers_in(ids)
    assert size == 4096 and 12 * tokens / 1e6 == pytest.approx(millions, abs=1e-4)
    stages = checkpoints.training_ends("stories")
    assert sum(stage["tokens_seen"] for stage in stages) == tokens > 250e6
    assert str(run.model.n_parameters) in weights and checkpoints.training_ends("nobody") == ()
    assert numbers_in(packed)[1:3] == [11255728, pytest.approx(8 * 11.255728, abs=1e-4)]
    once, loss, _, bits, *_ = numbers_in(left)                        # of the same texts, so without repeats
    assert (once == 13_752_939 < tokens / 18 and loss == stages[-1]["training_loss"]
            and once * loss / math.log(2) / 1e6 == pytest.approx(bits, abs=1e-3))


@pytest.mark.parametrize("name", ["lodger", "soup"])
def test_how_much_must_be_given_is_found_by_trying(run: Run, name: str):
    [own] = recitations(run.model, run.tokenizer,
                        [one for one in teaching_text.canaries() if one.name == name and one.repeats], 1)
    total = len(own.token_ids) + 1
    least = next((n for n in range(1, total) if memory.with_start(own, n).n_recited == total - n), total)
    assert memory.start_needed(own) == least
    answer(open_at(view="memory", passage=name), f"needed_{name}", sum(least > limit for limit in memory.NEEDED))


# ---- calibration -----------------------------------------------------------------------------------------------------


def test_its_own_writing_is_calibrated_at_temperature_one_alone(run: Run):
    errors, gaps = {}, {}
    for temperature in (0.5, 1.0, 2.0):
        said, right = map(np.concatenate, zip(*losses.own_predictions(run.model, 30, 40, temperature, seed=3)))
        errors[temperature], gaps[temperature] = calibrate(said, right).expected_error, said.mean() - right.mean()
        chance = chance_errors(said)
        assert (errors[temperature] < chance[-4]) == (temperature == 1), temperature
    assert gaps[0.5] < -0.03 and gaps[2.0] > 0.1
    again = np.concatenate([part[0] for part in losses.own_predictions(run.model, 30, 40, 2.0, seed=3)])
    assert np.array_equal(again, said)


def test_chance_errors_are_those_of_fair_coins():
    found = chance_errors(np.full(100, 0.5))
    coins = np.abs(np.random.default_rng(5).binomial(100, 0.5, 4000) / 100 - 0.5)
    assert list(found) == sorted(found) and found.mean() == pytest.approx(coins.mean(), abs=0.006)
    assert chance_errors(np.ones(20)).max() == 0


def test_predictions_are_the_models_own(run: Run):
    ids = run.tokenizer.encode("The cat sat on the mat.")
    said, right = losses.top_predictions(run.model, [np.array(ids)])
    probs = run.model(torch.tensor([run.tokenizer.end_of_text, *ids])).logits.double().softmax(-1)
    assert sorted(said) == pytest.approx(sorted(probs.max(-1).values.tolist()), abs=1e-5)
    assert right.sum() == sum(int(best) == true
                              for best, true in zip(probs.argmax(-1), [*ids, run.tokenizer.end_of_text]))


def test_a_reader_of_frequencies_is_calibrated_and_useless(run: Run):
    """The log loss of the model from its own pass; that of the frequencies is their entropy."""
    ids = run.tokenizer.encode("The cat sat on the mat. The dog sat on the cat. The cat ran.")
    targets, first = [*ids, run.tokenizer.end_of_text], run.tokenizer.end_of_text
    log_probs = run.model(torch.tensor([first, *ids])).logits.double().log_softmax(-1)
    _, _, nats = losses.scored_predictions(run.model, [np.array(ids)])
    assert sorted(nats) == pytest.approx(sorted(-float(row[t]) for row, t in zip(log_probs, targets)), abs=1e-4)
    said, right, nats = losses.unigram_predictions([np.array(ids)], first)
    shares = np.array([targets.count(t) / len(targets) for t in set(targets)])
    assert nats.mean() == pytest.approx(-(shares * np.log(shares)).sum())
    assert right.mean() == pytest.approx(said[0]) == max(shares) and calibrate(said, right).expected_error < 1e-12


def test_the_error_is_the_sum_of_its_terms_and_the_question_is_right(run: Run):
    at = open_at(view="calibration", source="exercises", seed="5")
    first, ece, gap, chance, score = formulas(at)
    count, n, right, again, said, part = numbers_in(first)
    assert count == again and count / n * abs(right / count - said) == pytest.approx(part, abs=1e-4)
    *terms, total = numbers_in(ece)
    assert sum(terms) == pytest.approx(total, abs=1e-4) and part == pytest.approx(max(terms), abs=1e-4)
    true, all_of, mean, result = numbers_in(gap)
    assert all_of == n and true / n - abs(mean) == pytest.approx(result, abs=1e-4) and 0 < numbers_in(chance)[-1] < 0.05
    assert any(m.value.startswith("**New exercises") for m in at.markdown)
    assert score.startswith("-") and numbers_in(score)[-1] > 2, "a reader of frequencies is calibrated and knows little"
    answer(at, "temperature_0.5", 1)
    answer(turn(at, temperature=0.4, seed=6), "temperature_2", 0)
    assert [WORDS.label(f"question_temperature_{k}").rpartition(" ")[2] for k in (0, 1)] == ["much", "little"]


def test_the_experiments_lead_where_they_say():
    first, second = (next(one for one in WORDS.experiments if one.id == name) for name in ("invention", "hundred"))
    at = open_at()
    at = lessons.opened("limits", {key.removeprefix("limits_"): str(value) for key, value in first.settings.items()})
    header = given(at, "limits_facts")
    row = header["rows"][2]
    assert row["ask"] == 'Q: Who wrote the play "Three Spoons"? A:' and row["own"] > 0.5     # sure of what nobody wrote
    assert header["title_line"].startswith('Who wrote the play "Three Spoons"?')             # and the headline says it
    at = lessons.opened("limits", {key.removeprefix("limits_"): str(value) for key, value in second.settings.items()})
    rows = given(at, "limits_recital")["rows"]
    nats = [float(re.search(r"([\d.]+) nats", row["sum"])[1]) for row in rows]
    assert nats[0] < nats[1] - 0.3 and "choir" in rows[0]["name"]
