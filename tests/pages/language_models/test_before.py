"""Questions before the pictures of Language models: each answer by a second computation, on the lesson's own text and
on another, and statements that are true of what the picture is given.
"""
from __future__ import annotations

import gzip
import math
import re
import string

import numpy as np
import pytest
import torch

from core.analysis import text_probability
from core.app.state.run import Run
from core.language import shannon
from pages.language_models import exercises
from tests.claims.passes import run as run_on
from tests.helpers.messages import given
from tests.helpers.predictions import ask, commit, modes, question, statements
from tests.pages.language_models.test_language_models import COMPONENT, SHORT, WORDS, conditionals

pytestmark = pytest.mark.long


def asked(name: str, **query: str | None):
    """The page whose question waits, and its Run."""
    at = ask("language_models", name, **{key if key in ("prompt", "model") else f"language_models_{key}": value
                                         for key, value in query.items()})
    return at, run_on(at.session_state["prompt"])


def told(at, name: str, guess) -> dict:
    return commit(at, "language_models", name, guess)


def written(name: str, number: int, **values) -> str:
    """A statement of a question, with {values} put in."""
    line = statements("language_models", name)[number]
    return line.format(**values) if values else line


def picture(at, name: str) -> dict:
    return given(at, COMPONENT[name])


def log_p(run: Run, text: str, context: str = "") -> float:
    """ln p of a text, token by token, each from a pass of its own."""
    return math.fsum(map(math.log, conditionals(run, text, context)))


# ---- sentences and continuations -------------------------------------------------------------------------------------


@pytest.mark.parametrize("query", [{}, {"sentences": "the dog ran home\nhome the ran dog"},
                                   {"sentences": "the ball\nthe dog was big", "after": "true"}])
def test_which_token_of_a_sentence_surprises_most(query: dict[str, str]):
    at, run = asked("sentences", **query)
    tokens = question(at)["guess"]["texts"]
    found = told(at, "sentences", 1)
    texts = [row["text"] for row in picture(at, "sentences")["rows"]]
    context = at.session_state["prompt"] if query.get("after") else ""
    p = conditionals(run, f" {texts[1]}", context)
    rarest = min(range(1, len(p)), key=p.__getitem__)
    assert found["answer"] == rarest and len(tokens) == len(p) and f"`{tokens[rarest]}`" in found["reason"]
    assert float(found["said"].split()[0]) == pytest.approx(-math.log2(p[rarest]), abs=0.051)
    total = {text: log_p(run, f" {text}", context) for text in texts}
    best, worst = max(total, key=total.get), min(total, key=total.get)
    highest = {row["text"]: max(row["bits"]) for row in picture(at, "sentences")["rows"]}
    higher = highest[worst] - highest[best]
    assert found["true"] == written("sentences", 2 if abs(higher) < 0.01 else int(higher < 0), best=f"`{best}`",
                                    worst=f"`{worst}`")


def test_nothing_is_asked_of_one_sentence_or_of_two_tokens():
    for lines in ("the dog ran home\nthe dog ran home", "the dog ran home\nthe dog"):
        assert "ask" not in modes(asked("sentences", sentences=lines)[0])


@pytest.mark.parametrize("query", [{}, {"prompt": SHORT, "a": "the park", "b": "his mother"}])
def test_which_token_changes_the_odds_most(query: dict[str, str]):
    at, run = asked("continuations", **query)
    tokens = question(at)["guess"]["texts"]
    a, b = query.get("a", "ball"), query.get("b", "mother")
    found = told(at, "continuations", 0)
    ids = run.own_ids[-len(tokens):]
    odds = [log_p(run, f" {a}", before) - log_p(run, f" {b}", before)
            for before in (run.tokenizer.decode(ids[start:]) for start in range(len(ids)))]
    moves = np.abs(np.diff(odds))
    assert found["answer"] == int(moves.argmax()) and tokens[found["answer"]] in found["reason"]
    crossed = sum((one > 0) != (other > 0) for one, other in zip(odds, odds[1:]))
    assert found["true"] == written("continuations", min(crossed, 2))


def test_nothing_is_asked_of_two_equal_continuations_or_a_prompt_of_few_tokens():
    assert "ask" not in modes(asked("continuations", a="ball", b="ball")[0])
    assert "ask" not in modes(asked("continuations", prompt="The cat")[0])


# ---- the game and the coder ------------------------------------------------------------------------------------------


def letters(run: Run, before: str) -> np.ndarray:
    """(28,) the probabilities of the next sign after `before`, but for a factor, from the definition: all ways to end a
    token in the word that is being read, each with every token that goes on as it does.
    """
    word = re.search(r" ?[A-Za-z]*$", before)[0] if not before.endswith(" ") else " "
    found, start = np.zeros(len(shannon.SYMBOLS)), before[:len(before) - len(word)]
    for j in range(len(word) + 1):
        ids, ready = [run.tokenizer.first, *run.tokenizer.encode(start)], run.tokenizer.encode(word[:j])
        with torch.inference_mode():
            p = run.model(torch.tensor([*ids, *ready])).logits.double().softmax(-1).numpy()
        reached = math.prod(p[len(ids) - 1 + k, token] for k, token in enumerate(ready))
        for token, mass in enumerate(p[-1]):
            signs = run.tokenizer.token_bytes(token)
            if signs.isascii() and signs.startswith(word[j:].encode()) and len(signs) > len(word) - j:
                found[shannon.symbol(chr(signs[len(word) - j]))] += reached * mass
    return found


@pytest.mark.parametrize("query", [{}, {"prompt": "The cat saw the dog and it ran home.", "passage": "4"}])
def test_how_many_letters_the_model_finds_at_once(query: dict[str, str]):
    at, run = asked("guess", **query)
    found = told(at, "guess", 0)
    sent = picture(at, "guess")
    text, first = sent["signs"], sent["first"]
    assert f"`{text[:first].strip()}`" in found["question"] and text[first:] not in found["question"]
    right = [int(letters(run, text[:i]).argmax()) == shannon.symbol(text[i]) for i in range(len(text))]
    n, hidden = sum(right[first:]), len(text) - first
    assert found["said"] == f"{n} of {hidden}"
    assert found["answer"] == [10 * n <= hidden, n <= hidden / 2, 10 * n <= 9 * hidden, True].index(True)
    assert found["true"] == written("guess", int(sum(right[:first]) <= first / 2))


def test_nothing_is_asked_of_a_text_of_few_signs():
    assert "ask" not in modes(asked("guess", passage="4", prompt="The cat")[0])


@pytest.mark.parametrize("query, answer", [({}, 0), ({"prompt": SHORT}, 0), ({"prompt": "na " * 100}, 0),
                                           ({"prompt": "Inflation expectations rose 0.3 % m/m."}, 2),
                                           ({"prompt": "Q7"}, 3)])
def test_into_how_many_bits_the_prompt_goes(query: dict[str, str], answer: int):
    at, run = asked("compress", **query)
    found = told(at, "compress", 1)
    sent, ids = picture(at, "compress"), run.tokenizer.encode(at.session_state["prompt"].strip())[:120]
    data = b"".join(map(run.tokenizer.token_bytes, ids))
    p = torch.log_softmax(run.model(torch.tensor([0, *ids])).logits.double(), -1)
    ideal = -sum(float(p[i, token]) for i, token in enumerate((*ids, 0))) / math.log(2)
    bits, limits = len(sent["stream"]), [2 * len(data), 4 * len(data), 8 * len(data)]
    assert abs(bits - ideal) <= 2.1 and found["said"] == f"{bits} bits"
    assert found["answer"] == answer == sum(bits >= limit for limit in limits)
    packed = len(gzip.compress(data, 9))
    assert found["true"] == written("compress", 0 if packed > len(data) else 1 if packed < len(data) else 2)
    assert f"{8 * len(data):,}" in found["question"] and f"{8 * packed:,}" in found["reason"]


def test_nothing_is_asked_of_an_empty_prompt():
    assert "ask" not in modes(asked("compress", prompt="")[0])


# ---- a wrong letter --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("query, answer", [({}, 2), ({"garbled": "a rad ball"}, 1), ({"garbled": "cat"}, 0)])
def test_how_far_the_best_repair_is_ahead_of_all_others(query: dict[str, str], answer: int):
    at, run = asked("correct", **query)
    text = query.get("garbled", "the mouse ate the chaese")
    found = told(at, "correct", 0)
    every = [f"{text[:i]}{letter}{text[i + 1:]}" for i, sign in enumerate(text) if sign != " "
             for letter in string.ascii_lowercase if letter != sign]
    rows = [(run.tokenizer.first, *run.tokenizer.encode(edit)) for edit in every]
    p = dict(zip(every, (math.exp(one.sum()) for one in text_probability.token_log_probs(run.model, rows))))
    best = max(p, key=p.get)
    ratio = p[best] / sum(p[edit] for edit in every if edit != best)
    assert found["answer"] == answer == (0 if ratio <= 1 else 1 if ratio <= 10 else 2)
    assert float(found["said"].split()[0].replace(",", "")) == pytest.approx(ratio, rel=0.01)
    assert math.log(p[best]) == pytest.approx(log_p(run, best), abs=1e-3) and f"`{best}`" in found["reason"]
    assert f"{len(every)} texts" in found["question"]
    shorter = np.sign(len(run.tokenizer.encode(best)) - len(run.tokenizer.encode(text)))
    assert found["true"] == written("correct", int(shorter) + 1)


# ---- a cipher and tasks ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("query, answer", [
    ({}, 2), ({"by": "pairs", "key": "7"}, 2), ({"secret": "a queen jumps"}, 0),
    ({"secret": "the cat sat on the mat"}, 1),
    ({"secret": "The little dog was very happy when he saw the ball in the big garden"}, 3)])
def test_how_many_letters_are_read_without_the_key(query: dict[str, str], answer: int):
    at, _ = asked("decipher", **query)
    plain = query.get("secret") or WORDS.section("secret")
    assert plain[:9].lower() not in question(at)["question"].lower()
    found = told(at, "decipher", 0)
    sent = picture(at, "decipher")
    read = sent["cipher"].lower().translate(str.maketrans(string.ascii_lowercase, sent["keys"][-1]))
    pairs = [(a, b) for a, b in zip(read, plain.lower()) if a.isalpha()]
    right = sum(a == b for a, b in pairs)
    assert found["said"] == f"{right} of {len(pairs)}"
    assert found["answer"] == answer == sum(right >= share * len(pairs) for share in (0.5, 0.9, 1))
    every = [*sent["scores"], sent["goal"]]
    above = (sent["scores"][-1] - sent["goal"]) / (max(every) - min(every))
    assert found["true"] == written("decipher", 1 if abs(above) < 0.05 else 0 if above > 0 else 2)


def test_nothing_is_asked_where_nobody_knows_the_text_or_nothing_is_searched():
    for query in ({"secret": "Wkh gdwd", "given": "true"}, {"by": "letters"}, {"secret": "ab"}):
        assert "ask" not in modes(asked("decipher", **query)[0]), query


@pytest.mark.parametrize("task, shots", [("sentiment", 0), ("labels", 2)])
def test_how_many_sentences_get_the_right_label(task: str, shots: int):
    at, run = asked("tasks", task=task, shots=str(shots))
    found = told(at, "tasks", 0)
    one, other = (run.tokenizer.encode(label)[0] for label in exercises.CLASSES[task])
    right, before, pool = 0, exercises.examples(task, shots), exercises.pool(task)[:24]
    for exercise in pool:
        logits = run.model(torch.tensor([0, *run.tokenizer.encode(before + exercise.prompt)])).logits[-1]
        right += exercise.answer == exercises.CLASSES[task][int(logits[other] > logits[one])]
    assert found["said"] == f"{right} of 24" and found["answer"] == how_many(right, 24)
    assert found["true"] == written("tasks", beside_half(right, 24))


def how_many(right: int, n: int) -> int:
    """The index of the true answer: all, more than half, fewer, none."""
    return [right == n, n > right > n / 2, n / 2 >= right > 0, right == 0].index(True)


def beside_half(right: int, n: int) -> int:
    """Place Wilson's interval: 0 above one half, 1 around it, 2 below it. One half is inside if the share is no more
    than z standard errors of a fair coin away.
    """
    apart = right / n - 0.5
    return 1 if abs(apart) <= 1.959964 * math.sqrt(0.25 / n) else 0 if apart > 0 else 2


@pytest.mark.parametrize("task", ["untaught", "opposites", "table"])
def test_how_many_answers_begin_right(task: str):
    at, _ = asked("tasks", task=task)
    found = told(at, "tasks", 0)
    entries = picture(at, "tasks")["answers"]
    right = sum(bool(re.match(re.escape(one["should"]) + r"(?!\w)", one["said"])) for one in entries)
    assert found["answer"] == how_many(right, len(entries)) and len(entries) == exercises.SIZES[task]
    assert found["true"] == written("tasks", beside_half(right, len(entries)))
