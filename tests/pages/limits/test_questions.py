"""Before you look, on Limits: each answer is right by a second computation, from passes of its own, and the statement
that is called true is true of what the picture shows.
"""
from __future__ import annotations

import math
import random

import numpy as np
import pytest
import torch

from core.app.compute import cache
from core.app.state.run import Run, read
from core.base import prose
from core.language import contrasts, word_order
from core.model.generation import generate
from core.model.sampling import SamplingConfig
from core.training import corpus, teaching_text
from pages.limits import calibration
from tests.helpers.messages import given
from tests.helpers.predictions import ask, commit, modes, question, statements
from tests.pages.limits.test_inputs import log_probs
from tests.pages.limits.test_limits import greedy

pytestmark = pytest.mark.long

WORDS = prose.load("limits")
BALL = "Once upon a time, there was a little girl named Lily. She had a red ball. One day, Lily lost her"


def run_of(text: str = "", model: str = "stories") -> Run:
    return read(cache.shared_model(model, "cpu"), text)


def told(at, name: str, guess) -> dict:
    return commit(at, "limits", name, guess)


def is_asked(name: str, **query: str) -> bool:
    return "ask" in modes(ask("limits", name, **query))


# ---- facts -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("query, prompt", [
    ({}, "Q: {} A:"), ({"limits_relation": "capital", "limits_untaught": "1", "limits_phrasing": "story"},
                       '"{}" asked the teacher. Tom said, "It is')])
def test_how_probable_the_model_finds_what_it_makes_up(query: dict, prompt: str):
    at = ask("limits", "facts", **query)
    asked = question(at)["question"].split("”")[0].removeprefix("“")
    name = query.get("limits_relation", "author")
    relation = next(one for one in teaching_text.relations() if one["name"] == name)
    answers = {relation["questions"][0].format(s=subject): answer for subject, answer in relation["untaught"]}
    said, p = greedy(run_of(), prompt.format(asked))
    found = told(at, "facts", 0)
    is_right = said.strip() == answers[asked]
    assert found["answer"] == (1 if is_right else 2 if p < 0.5 else 3) and " ".join(said.split()) in found["reason"]
    assert p < 0.01 or float(found["said"].split("\xa0")[0]) == pytest.approx(100 * p, abs=0.06)
    assert answers[asked] in found["reason"]
    rows = given(at, "limits_facts")["rows"]
    taught, untaught = (next(bar for bar in row["bars"] if bar["said"]) for row in rows[:2])
    assert untaught["right"] == is_right
    assert found["true"] == statements("limits", "facts")[int(taught["p"] <= untaught["p"])]


def test_what_was_never_taught_is_answered_wrongly_or_rightly_and_more_or_less_surely():
    """Each of the three answers that a model can give comes."""
    found = {told(ask("limits", "facts", limits_relation=relation, limits_untaught=str(place)), "facts", 0)["answer"]
             for relation, place in (("author", 0), ("continent", 2), ("playwright", 3))}
    assert found == {1, 2, 3}


def test_a_model_that_was_taught_only_a_part_is_not_asked_for_facts_or_passages():
    for model in ("stories-small", "induction"):
        assert not is_asked("facts", model=model) and not is_asked("memory", model=model)


# ---- memory ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name, start", [("giant", 8), ("giant", 2), ("choir", 5), ("lodger", 12)])
def test_how_much_of_a_passage_is_written_without_a_mistake(name: str, start: int):
    at, run = ask("limits", "memory", limits_passage=name, limits_start=str(start)), run_of()
    [passage] = [one for one in teaching_text.canaries() if one.name == name and one.repeats]
    ids = run.tokenizer.encode(passage.text)
    assert f"{len(ids)} tokens" in question(at)["question"] and str(passage.repeats) in question(at)["question"]
    steps = generate(run.model, [run.tokenizer.end_of_text, *ids[:start]], SamplingConfig(temperature=0),
                     max_new_tokens=len(ids) - start)
    written = [step.token_id for step in steps]
    same = next((i for i, pair in enumerate(zip(written, ids[start:])) if len(set(pair)) > 1), len(ids) - start)
    found = told(at, "memory", 0)
    rest = len(ids) - start
    assert found["answer"] == [same == 0, 0 < same < rest / 2, rest > same >= rest / 2, same == rest].index(True)
    assert found["said"] == f"{same} of {rest}"
    sent = given(at, "limits_recital")
    recited = [sum(token[1] == "recited" for token in row["tokens"]) for row in sent["rows"]]
    assert recited[0] == same and found["true"] == statements("limits", "memory")[int(recited[0] <= recited[1])]
    assert any(token[1] == "strayed" for token in sent["rows"][0]["tokens"]) == (same < len(ids) - start)


# ---- calibration -----------------------------------------------------------------------------------------------------


def confident(run: Run, source: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """For each first token of a source, by whole passes: the likeliest token's probability, and whether it came. In a
    long document each later pass begins with end of text and half a context that was counted before.
    """
    said, came, room, most, end = [], [], calibration.MOST_TOKENS, run.model.config.n_context, run.tokenizer.end_of_text
    for ids in corpus.tokenize(calibration.documents(source, seed, ""), run.tokenizer).documents:
        text, first, before = [*map(int, ids[:room]), end], 0, 0
        while first < len(text):
            row = text[first - before:first - before + most]
            with torch.inference_mode():
                best = run.model(torch.tensor([end, *row[:-1]])).logits.softmax(-1).max(-1)
            said += best.values[before:].tolist()
            came += (best.indices == torch.tensor(row))[before:].tolist()
            first, before = first - before + len(row), most // 2
        room -= len(text) - 1
        if room <= 0:
            break
    return np.array(said), np.array(came)


@pytest.mark.parametrize("source, model, seed, answer", [("pages", "stories", 1, 2), ("exercises", "stories", 4, 1),
                                                         ("exercises", "positions-rotary", 1, 0)])
def test_how_often_comes_what_the_model_is_nearly_sure_of(source: str, model: str, seed: int, answer: int):
    at = ask("limits", "calibration", model=model, limits_source=source, limits_seed=str(seed))
    assert WORDS.label(f"asked_{source}") in question(at)["question"]
    found = told(at, "calibration", 0)
    said, came = confident(run_of(model=model), source, seed)
    sure = said >= 0.8
    more = came[sure].mean() - said[sure].mean()
    assert found["answer"] == answer == (0 if more > 0.02 else 2 if more < -0.02 else 1)
    most = int(np.histogram(said, 10, (0, 1))[0].argmax())
    assert found["true"] == statements("limits", "calibration")[{9: 0, 0: 1}.get(most, 2)]


def test_nothing_is_asked_of_one_prompt_or_of_a_model_that_is_never_sure():
    assert not is_asked("calibration", limits_source="prompt")
    for model in ("stories-small@0", "induction"):
        assert not is_asked("calibration", model=model)


# ---- inputs ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("prompt, model", [(BALL, "stories"), ("Tom and Mia went to the park. Tom gave the ball to",
                                                               "stories-small")])
def test_which_token_counts_most(prompt: str, model: str):
    at, run = ask("limits", "inputs", prompt=prompt, model=model), run_of(prompt, model)
    ids = list(run.token_ids)
    target = int(log_probs(run, ids).argmax())
    assert f"`{run.tokenizer.visible(target)}`" in question(at)["question"]
    whole = log_probs(run, ids)[target]
    without = np.array([log_probs(run, ids[:i] + ids[i + 1:])[target] for i in range(len(ids))])
    assert question(at)["guess"]["offered"] == list(range(1, len(ids) - 1))
    found = told(at, "inputs", 2)
    assert found["answer"] == 1 + int(without[1:-1].argmin())
    longest = int(np.abs(slopes(run, target)).argmax()), int(np.abs(whole - without).argmax())
    assert found["true"] == statements("limits", "inputs")[int(len(set(longest)) > 1)]
    assert float(found["said"].rstrip("\xa0%")) == pytest.approx(100 * math.exp(without[found["answer"]]), abs=0.06)
    assert given(at, "limits_inputs")["guess"] == 2


def slopes(run: Run, target: int, step: float = 0.01) -> np.ndarray:
    """(N,) of ln p of the target along each token's own embedding, by a difference."""
    x = run.model.embed(torch.tensor(list(run.token_ids))).detach()
    ends = []
    for sign in (1, -1):
        scaled = torch.stack([x] * len(x))
        scaled[range(len(x)), range(len(x))] *= 1 + sign * step
        with torch.inference_mode():
            ends.append(run.model.logits_of_embeddings(scaled).double().log_softmax(-1)[:, target].numpy())
    return (ends[0] - ends[1]) / (2 * step)


def test_nothing_is_asked_of_a_prompt_without_words_to_leave_out():
    assert not is_asked("inputs", prompt="a") and not is_asked("inputs", prompt="")


# ---- words -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pair, sentence, model", [("girl", 0, "stories"), ("queen", 5, "stories-small")])
def test_which_next_word_gains_most(pair: str, sentence: int, model: str):
    at, run = ask("limits", "words", model=model, limits_pair=pair, limits_sentence=str(sentence)), run_of(model=model)
    text, words = contrasts.sets()["sentences"][sentence], contrasts.sets()["pairs"][pair]
    p, q = (np.exp(log_probs(run, [run.tokenizer.end_of_text, *run.tokenizer.encode(contrasts.fitted(text, words[k]))]))
            for k in ("a", "b"))
    moved = 0.5 * np.abs(q - p).sum()
    offered, gain = question(at)["guess"]["texts"], dict(zip(map(run.tokenizer.visible, range(len(p))), q - p))
    assert len(offered) == 4 and offered == sorted(offered, key=str.casefold)
    assert sum(gain[f"·{name}"] > 0 for name in offered) == sum(gain[f"·{name}"] < 0 for name in offered) == 2
    found = told(at, "words", 0)
    assert f"·{offered[found['answer']]}" == max(gain, key=gain.get) and f"{100 * moved:.1f}" in found["reason"]
    assert found["true"] == statements("limits", "words")[int(np.abs(q - p).max() >= moved / 2)]
    for best in ((q - p).argmax(), (p - q).argmax()):
        assert f"`{run.tokenizer.visible(int(best))}`" in found["reason"]


def test_only_one_sentence_of_the_list_in_its_first_order_is_asked_about():
    for query in ({"limits_pair": "own"}, {"limits_span": "all"}, {"limits_by": "ratio"}):
        assert not is_asked("words", **query)


# ---- meaning ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("test, n, seed, model, answer", [
    ("roles", 20, 1, "stories", 0), ("order", 20, 3, "stories-small", 0), ("agreement", 20, 2, "stories", 2),
    ("agreement", 40, 1, "stories", 3), ("taught", 40, 1, "stories-small", 1)])
def test_how_many_tasks_are_right_without_an_order(test: str, n: int, seed: int, model: str, answer: int):
    at = ask("limits", "meaning", model=model, limits_test=test, limits_n=str(n), limits_seed=str(seed))
    run, items = run_of(model=model), word_order.items(test, n, seed)
    mixed = items[0].read("shuffled", random.Random(f"shuffle {seed}"))
    assert items[0].prompt in question(at)["question"] and mixed in question(at)["question"]

    def is_right(prompt: str, options: tuple[str, ...]) -> bool:
        start, totals = [run.tokenizer.end_of_text, *run.tokenizer.encode(prompt)], []
        for ids in map(run.tokenizer.encode, options):
            with torch.inference_mode():
                rows = run.model(torch.tensor([*start, *ids[:-1]])).logits[len(start) - 1:].double().log_softmax(-1)
            totals.append(sum(float(row[i]) for row, i in zip(rows, ids, strict=True)))
        return totals[0] > max(totals[1:])

    found = told(at, "meaning", 0)
    whole = sum(is_right(item.prompt, item.options) for item in items)
    rng = random.Random(f"shuffle {seed}")
    shuffled = sum(is_right(item.read("shuffled", rng), item.options) for item in items)
    last = sum(is_right(item.read("last", rng), item.options) for item in items)
    chance = 1 / len(items[0].options)
    places = [0 if low > chance else 2 if high < chance else 1
              for low, high in (wilson(right, n) for right in (shuffled, last))]
    is_fewer = wilson(whole, n)[0] > wilson(shuffled, n)[1]
    assert found["answer"] == answer == (1 + places[0] if is_fewer else 0) and found["said"] == f"{shuffled} of {n}"
    assert f"{whole} of {n}" in found["reason"]
    assert found["true"] == statements("limits", "meaning")[places[1]].format(test=WORDS.label(f"test_{test}"))


def wilson(right: int, n: int, z: float = 1.959964) -> tuple[float, float]:
    """The interval as the solutions of (p − share)² = z² p (1 − p) / n."""
    share = right / n
    roots = np.roots([1 + z * z / n, -(2 * share + z * z / n), share * share])
    return float(min(roots)), float(max(roots))


def test_a_test_without_words_to_shuffle_is_not_asked_about():
    asked = {test: bool(word_order.items(test, 20, 1)[0].context.split()) for test in word_order.TESTS}
    for test in ("taught", "roles"):
        assert is_asked("meaning", limits_test=test, limits_n="20") == asked[test]


# ---- structure -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("query, count, answer, seen", [
    ({}, 72, 2, 0), ({"limits_weight_bits": "3"}, 104, 2, 0),
    ({"limits_inputs": "2", "limits_weight_bits": "4"}, 14, 1, 0),
    ({"limits_family": "table", "limits_entries": "3"}, 8, 2, 1),
    ({"limits_family": "table", "limits_entries": "8"}, 256, 0, 1), ({"limits_family": "parity"}, 16, 2, 1)])
def test_how_many_functions_a_family_reaches(query: dict, count: int, answer: int, seen: int):
    """Thresholds with weights −3, −1, 1, 3 in plain loops; all others by Muroga's counts, 2³, 2⁸ and 2 · 2³."""
    found = told(ask("limits", "structure", **query), "structure", 1)
    assert found["answer"] == answer and found["said"].startswith(f"{count} of ")
    assert found["true"] == statements("limits", "structure")[seen]
    if not query:
        steps, inputs = (-3, -1, 1, 3), [(x, y, z) for z in (0, 1) for y in (0, 1) for x in (0, 1)]
        functions = {tuple(a * x + b * y + c * z + e > 0 for x, y, z in inputs)
                     for a in steps for b in steps for c in steps for e in steps}
        assert len(functions) == count
