"""The lesson Language models: probabilities are products of conditionals, the game and the coder keep their promises,
the numbers hold, the answers are right.
"""
from __future__ import annotations

import functools
import itertools
import math
import re

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

from core.analysis import text_probability
from core.app.compute import cache
from core.app.state.run import Run, read
from core.base import prose
from core.language import shannon
from core.model.config import ModelConfig
from core.model.transformer import Transformer
from core.training import teaching_text
from pages.language_models import correct, exercises, guess
from tests.helpers import lessons, messages
from tests.helpers.lessons import answer, fine
from tests.helpers.messages import formulas, numbers_in
from tests.helpers.prompts import PROMPTS

pytestmark = pytest.mark.long

COMPONENT = {"sentences": "lm_sentences", "continuations": "lm_sentences", "guess": "lm_game", "compress": "lm_coder",
             "correct": "lm_sentences", "decipher": "lm_cipher", "tasks": "lm_tasks", "table": "lm_table"}
WORDS = prose.load("language_models")
SHORT = "The cat saw the dog. The dog ran to"


def open_at(**query: str) -> AppTest:
    query = {"view": "sentences", **query}
    return lessons.open_at("language_models", **{key if key == "prompt" else f"language_models_{key}": value
                                                 for key, value in query.items()})


turn = functools.partial(lessons.turn, lesson="language_models")


def given(at: AppTest, view: str) -> dict:
    return messages.given(at, COMPONENT[view])


@pytest.fixture(scope="module")
def run() -> Run:
    return read(cache.shared_model("stories", "cpu"), SHORT)


def conditionals(run: Run, written: str, context: str = "") -> list[float]:
    """p of each token of `written` after `context`, each from a traced pass of its own over exactly the
    tokens before it.
    """
    ids, before = run.tokenizer.encode(context + written), len(run.tokenizer.encode(context))
    found = []
    for i in range(before, len(ids)):
        trace = run.model(torch.tensor([run.tokenizer.end_of_text, *ids[:i]]))
        found.append(float(trace.logits[-1].double().softmax(-1)[ids[i]]))
    return found


@pytest.mark.parametrize("prompt", PROMPTS.values(), ids=PROMPTS.keys())
def test_every_view_bears_every_prompt(prompt: str | None):
    at = open_at(after="true", passage="4", **({} if prompt is None else {"prompt": prompt}))
    for view in ("sentences", "continuations", "guess", "compress", "table"):
        assert fine(turn(at, view=view)), view
        assert given(at, view)


def test_absurd_addresses_open_what_there_is():
    junk = "<b>$x^2$</b>\n\n\x00" * 40
    at = open_at(view="nonsense", sentences=junk, row="99999", after="maybe", a=junk, b="", passage="-7",
                 guesses="9-x-99999999999-1", coded="1e99", task="?", shots="17", own_sentiment=junk, garbled=junk)
    for view in COMPONENT:
        assert fine(turn(at, view=view)), view
    assert given(turn(at, view="guess"), "guess")["guesses"] == [9]


# ---- sentences and continuations -------------------------------------------------------------------------------------


def test_a_sequences_probability_is_the_product_of_its_conditionals(run: Run):
    at = open_at()
    for row in given(at, "sentences")["rows"]:
        each = conditionals(run, f" {row['text']}")
        assert 2.0 ** -sum(row["bits"]) == pytest.approx(math.prod(each), rel=1e-4)
        assert row["bits"] == pytest.approx([-math.log2(p) for p in each], abs=1e-4)
        assert f"ln p = {math.log(math.prod(each)):.2f}".replace("-", "−") in row["summary"]
    after = given(turn(at, after=True, sentences="the mouse ran"), "sentences")["rows"]
    assert (after[0]["bits"]
            == pytest.approx([-math.log2(p) for p in conditionals(run, " the mouse ran", at.session_state["prompt"])],
                             abs=1e-4))


def test_the_order_that_makes_no_sense_is_the_least_probable_by_every_measure(run: Run):
    """None of the lectures' sentences wins because its first word is cut into other tokens at the start of a text."""
    rows = given(open_at(), "sentences")["rows"]
    assert [len(row["tokens"]) for row in rows] == [5, 5, 5]
    bits = [-sum(map(math.log2, conditionals(run, f" {row['text']}"))) for row in rows]
    assert bits == sorted(bits) and bits[2] / 5 > bits[1] / 5 + 2
    for row, each in zip(rows, bits):
        rate, perplexity = re.search(r"([\d.]+) per token · perplexity ([\d.,]+)", row["summary"]).groups()
        assert float(rate) == pytest.approx(each / 5, abs=0.006)
        assert float(perplexity.replace(",", "")) == pytest.approx(2 ** (each / 5), rel=1e-3)


def test_rows_side_by_side_are_what_each_is_alone(run: Run):
    rows = [(0, *run.tokenizer.encode(written)) for written in ("a", "the mouse ate the cheese", "")]
    together = text_probability.token_log_probs(run.model, rows)
    for row, found in zip(rows, together):
        assert (np.allclose(found, text_probability.token_log_probs(run.model, [row])[0], atol=1e-4)
                and len(found) == len(row) - 1)
    with pytest.raises(ValueError):
        text_probability.token_log_probs(run.model, [()])


@pytest.mark.parametrize("positions, window", [("learned", None), ("rotary", None), ("alibi", 4)])
def test_what_rows_begin_with_alike_is_read_once_and_changes_nothing(positions: str, window: int | None,
                                                                     monkeypatch: pytest.MonkeyPatch):
    config = ModelConfig.of(vocab_size=40, d_model=16, n_layers=2, n_heads=2, n_context=16, positions=positions,
                         **({"mask": "sliding-window", "window": window} if window else {}))
    model, read = Transformer(config).initialise(torch.Generator().manual_seed(0)).requires_grad_(False), []
    rows = [(*range(9), k, k + 1, *[3] * (k % 3)) for k in range(20)] + [tuple(range(9))]
    with torch.no_grad():
        plain = [model.logits(torch.tensor(row)).double().log_softmax(-1)[:-1]
                 .gather(-1, torch.tensor(row[1:])[:, None])[:, 0].numpy() for row in rows]
    own = Transformer.final_vectors
    monkeypatch.setattr(Transformer, "final_vectors",
                        lambda model, token_ids, *more, **named: read.append(token_ids.numel())
                                                                 or own(model, token_ids, *more, **named))
    for one, other in zip(text_probability.token_log_probs(model, rows), plain, strict=True):
        assert one == pytest.approx(other, abs=1e-4)
    assert sum(read) == 8 + len(rows) * 4 < sum(len(row) - 1 for row in rows) / 2
    monkeypatch.setattr(text_probability, "BATCH_TOKENS", 40)
    monkeypatch.setattr(text_probability, "UNEMBEDDED", 3)
    for one, other in zip(text_probability.each_token_log_probs(model, rows), plain, strict=True):
        assert one == pytest.approx(other, abs=1e-4)


def test_the_rank_among_all_orders_is_counted_right(run: Run):
    own = ("dog", "the", "saw", "the")
    totals = {order: sum(map(math.log, conditionals(run, f" {' '.join(order)}")))
              for order in set(itertools.permutations(own))}
    at = open_at(sentences=" ".join(own))
    rank = 1 + sum(value > totals[own] + 1e-6 for value in totals.values())
    assert len(totals) == 12 and rank > 1 and any(f"rank {rank} among all 12 orders" in m.value for m in at.markdown)


def test_the_formulas_hold_on_a_calculator(run: Run):
    chain, logs, bits, rate = formulas(open_at())
    *factors, p = numbers_in(chain.split("=", 2)[2])
    assert math.prod(factors) == pytest.approx(p, rel=1e-4) and len(factors) == 5
    *terms, total = numbers_in(logs)
    assert sum(terms) == pytest.approx(total, abs=1e-4) and total == pytest.approx(math.log(p), abs=1e-3)
    nats, _, shown, again, each = numbers_in(bits)
    assert nats / 0.693147 == pytest.approx(shown, abs=1e-4) and again / 5 == pytest.approx(each, abs=1e-4)
    nats, shown = numbers_in(rate)
    assert math.exp(nats / 5) == pytest.approx(shown, abs=1e-3)


def test_the_odds_of_two_continuations(run: Run):
    at = open_at(view="continuations", prompt=SHORT, a="the park", b="his mother")
    a, b = (math.prod(conditionals(run, f" {one}", SHORT)) for one in ("the park", "his mother"))
    *_, odds, power, ratio = numbers_in(formulas(at)[-1])
    assert (odds == pytest.approx(math.log(a / b), abs=1e-3) and power == pytest.approx(odds, abs=1e-4)
            and ratio == pytest.approx(a / b, rel=1e-3))
    alone = [math.prod(conditionals(run, f" {one}")) for one in ("the park", "his mother")]
    answer(at, "alone", int(alone[1] > alone[0]))


def test_what_a_second_reading_costs(run: Run):
    at = open_at(sentences="the mouse ate the cheese")
    first, second = (-math.log2(math.prod(conditionals(run, *pair)))
                     for pair in ((" the mouse ate the cheese",),
                                  (" the mouse ate the cheese", " the mouse ate the cheese")))
    answer(at, "again", 0 if second < first / 2 else 1 if second < first else 2)


# ---- the game --------------------------------------------------------------------------------------------------------


def test_the_model_of_letters_is_the_model_of_tokens(run: Run):
    """The first and the second letter, from the definition: tokens that begin so, and after a token that ends there the
    tokens that go on.
    """
    found = shannon.next_symbols(run.model, run.tokenizer, "Th")
    end, own = run.tokenizer.end_of_text, run.tokenizer.id_of(b"T")
    first = run.model(torch.tensor([end])).logits[-1].double().softmax(-1).numpy()
    second = run.model(torch.tensor([end, own])).logits[-1].double().softmax(-1).numpy()
    beginning, going_on = np.zeros(28), np.zeros(28)
    for i in range(run.tokenizer.vocab_size):
        token = run.tokenizer.token_bytes(i)
        if token and token.isascii():
            beginning[shannon.symbol(chr(token[0]))] += first[i]
            going_on[shannon.symbol(chr(token[0]))] += first[own] * second[i]
            if token[:1] == b"T" and len(token) > 1:
                going_on[shannon.symbol(chr(token[1]))] += first[i]
    assert (np.allclose(found[0], beginning / beginning.sum(), atol=1e-5)
            and np.allclose(found[1], going_on / going_on.sum(), atol=1e-5))


def test_the_model_guesses_from_what_stands_before_alone(run: Run):
    written = "The old boat lay on the sand"
    whole = shannon.next_symbols(run.model, run.tokenizer, written)
    assert np.allclose(whole.sum(axis=1), 1)
    for i in (5, 9, 20):
        other = shannon.next_symbols(run.model, run.tokenizer, written[:i] + "zebra, 7!")
        assert np.allclose(whole[:i + 1], other[:i + 1], atol=1e-5)


def test_a_text_that_the_model_holds_for_impossible_has_probabilities_of_symbols_all_the_same(run: Run):
    """A model whose logits are thousands: what it writes on has less than the least float."""
    model = Transformer(run.model.config)
    model.load_state_dict(run.model.state_dict() | {"E": 3000 * run.model.E})
    found = shannon.next_symbols(model.eval().requires_grad_(False), run.tokenizer, "zq xv")
    assert np.isfinite(found).all() and np.allclose(found.sum(axis=1), 1)


def test_shannons_bounds_by_hand():
    lower, upper = shannon.entropy_bounds([1, 1, 2, 3])          # q = ½, ¼, ¼
    assert upper == pytest.approx(1.5) and lower == pytest.approx(3 * 0.25 * math.log2(3))
    assert all(map(math.isnan, shannon.entropy_bounds([]))) and shannon.guess_number(np.array([0.4, 0.2, 0.4]), 2) == 2


def test_the_score_is_that_of_the_guesses(run: Run):
    mine = [1, 2, 1, 1, 5] * 5
    at = open_at(view="guess", passage="1", guesses="-".join(map(str, mine)))
    sent = given(at, "guess")
    found = guess.game_of(run, WORDS.section("passages").splitlines()[1])
    first, rows = sent["first"], {row[0]: row[1:] for row in sent["score"]}
    end = first + len(mine)
    assert sent["guesses"] == mine
    assert rows["guesses per character"] == ["2.00", f"{np.mean(found.guesses[first:end]):.2f}"]
    assert rows["right on the first guess"] == ["15 / 25", f"{found.guesses[first:end].count(1)} / 25"]
    q = [0.6, 0.2, 0.2]
    assert rows["Shannon's upper bound"][0] == f"{-sum(p * math.log2(p) for p in q):.2f}"
    assert rows["its surprisal −log₂ p"][1] == f"{found.bits[first:end].mean():.2f}"
    assert sent["signs"][:first].count(" ") == 3 and sent["truth"] == [shannon.symbol(c) for c in sent["signs"]]
    letters = [(i, i == 0 or not found.text[i - 1].isalpha()) for i, c in enumerate(found.text) if c.isalpha()]
    ratio = (np.mean([found.bits[i] for i, starts in letters if starts])
             / np.mean([found.bits[i] for i, starts in letters if not starts]))
    answer(at, "starts", 0 if ratio < 2 else 1 if ratio < 4 else 2)
    upper = formulas(at)[0]
    shown = -sum(int(a) / int(b) * math.log2(int(a) / int(b))
                 for a, b in re.findall(r"- \\tfrac\{(\d+)\}\{(\d+)\}", upper))
    assert shown == pytest.approx(numbers_in(upper)[-1], abs=1e-4)


def test_a_text_is_given_in_part_and_never_whole():
    for line in (*WORDS.section("passages").splitlines(), "ab", "one", "a b c d"):
        assert 0 < guess.given(line) < len(line)
    assert (guess.reader_guesses("1-28-29-1", 10) == [1, 28] and guess.reader_guesses("1-1-1", 2) == [1, 1]
            and guess.reader_guesses("", 5) == [])


# ---- the coder -------------------------------------------------------------------------------------------------------


def test_the_coders_picture_is_what_was_sent(run: Run):
    at = open_at(view="compress", prompt=SHORT)
    sent = given(at, "compress")
    stream, ids = sent["stream"], run.tokenizer.encode(SHORT)
    assert [token["name"] for token in sent["tokens"]] == [run.tokenizer.visible(i)
                                                           for i in (*ids, run.tokenizer.end_of_text)]
    for token in sent["tokens"]:                         # the number that was sent lies between the ends that are shown
        rest = stream[token["sent"]:].ljust(len(token["low"]), "0")[:len(token["low"])]
        assert token["low"] <= rest <= token["high"]
    ideal = -sum(map(math.log2, conditionals(run, SHORT)))
    end = (run.model(torch.tensor([run.tokenizer.end_of_text, *ids])).logits[-1].double()
           .log_softmax(-1)[run.tokenizer.end_of_text] / math.log(2))
    sizes = {one["name"]: one["bits"] for one in sent["compared"]}
    assert (sizes["−log₂ p"] == pytest.approx(ideal - float(end), abs=1e-2)
            and 0 <= len(stream) - sizes["−log₂ p"] <= 2.1 and sizes["this model"] == len(stream))
    assert (sizes["as it is (UTF-8)"] == 8 * len(SHORT)
            and any(f"all {len(ids)} tokens are back" in c.value for c in at.caption))
    backwards = " ".join(reversed(SHORT.split()))
    there = run.tokenizer.encode(backwards)
    cost = (-sum(map(math.log2, conditionals(run, backwards)))
             - float(run.model(torch.tensor([0, *there])).logits[-1].double().log_softmax(-1)[0]) / math.log(2))
    answer(at, "backwards", 0 if cost < sizes["−log₂ p"] else 1 if cost < 1.25 * sizes["−log₂ p"] else 2)


# ---- a wrong letter --------------------------------------------------------------------------------------------------


def test_the_repair_is_the_most_probable_of_all_texts_with_one_letter_changed(run: Run):
    at = open_at(view="correct", garbled="a bif dog")
    texts = [text for _, text in correct.changed("a bif dog")]
    assert (len(texts) == len(set(texts)) == 7 * 25
            and all(sum(a != b for a, b in zip(text, "a bif dog")) == 1 for text in texts))
    logs = {text: float(log_probs.sum()) for text in ("a bif dog", *texts)
            for log_probs in text_probability.token_log_probs(run.model, [(0, *run.tokenizer.encode(text))])}
    rows, seen = given(at, "correct")["rows"], logs.pop("a bif dog")
    best = max(logs, key=logs.get)
    assert rows[0]["text"] == best == "a big dog" and rows[-1]["text"] == "a bif dog"
    share = math.exp(logs[best]) / sum(map(math.exp, logs.values()))
    assert numbers_in(formulas(at)[0])[-1] == pytest.approx(share, abs=1e-3)
    better = sum(value > seen for value in logs.values()) / len(logs)
    answer(at, "better", sum(better > limit for limit in (0.001, 0.02, 0.1)))


# ---- tasks -----------------------------------------------------------------------------------------------------------


def test_the_confusion_table_counts_what_the_model_says(run: Run):
    at = open_at(view="tasks")
    sent = given(at, "tasks")
    counts = np.zeros((2, 2), int)
    labels = [run.tokenizer.encode(label)[0] for label in (" positive", " negative")]
    for exercise in exercises.pool("sentiment")[:exercises.SIZES["sentiment"]]:
        logits = run.model(torch.tensor([0, *run.tokenizer.encode(exercise.prompt)])).logits[-1]
        counts[int(exercise.answer == " negative"), int(logits[labels[1]] > logits[labels[0]])] += 1
        assert exercise.held_out
    assert sent["counts"] == counts.tolist() and sum(one["right"] for one in sent["answers"]) == counts.trace()
    assert {bar["name"]: bar["first"] for bar in sent["bars"]} == {"positive": True, "negative": False}
    empty = run.model(torch.tensor([0, *run.tokenizer.encode('The sentiment of the sentence "" is:')])).logits[-1]
    answer(at, "prior", int(empty[labels[1]] > empty[labels[0]]))


@pytest.mark.parametrize("task", ["untaught", "opposites"])
def test_written_answers_are_judged_by_their_first_words(run: Run, task: str):
    sent = given(open_at(view="tasks", task=task), "tasks")
    assert sent["counts"] is None and len(sent["answers"]) == exercises.SIZES[task]
    for one in sent["answers"]:
        assert one["right"] == bool(re.match(re.escape(one["should"]) + r"(?!\w)", one["said"])), one


@pytest.mark.parametrize("task", ["questions", "untaught", "opposites", "summary", "table"])
def test_each_token_of_an_answer_opens_the_distribution_from_which_it_was_taken(run: Run, task: str):
    prompt = exercises.prompt_of(task, WORDS.label(f"own_{task}"))
    at = open_at(view="tasks", task=task)
    sent, ids = given(at, "tasks"), [0, *run.tokenizer.encode(prompt)]
    picked = []
    for step in sent["steps"]:                       # greedily, one pass for each token
        p = run.model(torch.tensor(ids)).logits[-1].double().softmax(-1)
        best = p.topk(5)
        assert [bar["name"] for bar in step["bars"]] == [run.tokenizer.visible(int(i)) for i in best.indices]
        assert [bar["p"] for bar in step["bars"]] == pytest.approx(best.values.tolist(), rel=1e-4)
        assert step["token"] == step["bars"][0]["name"] and step["bars"][0]["first"]
        ids.append(int(best.indices[0]))
        picked.append(float(best.values[0]))
    assert run.tokenizer.decode(ids[len(run.tokenizer.encode(prompt)) + 1:-1]) == sent["answer"]
    for step in (0, len(sent["steps"]) - 1):
        lines = formulas(turn(at, answered=step))
        assert float(lines[0].rsplit("= ", 1)[1]) == pytest.approx(picked[step], abs=1e-4)
        factors = re.findall(r"(?<![\d.])\d\.\d+", lines[1])
        if r"\cdots" not in lines[1]:
            assert math.prod(map(float, factors[:-1])) == pytest.approx(float(factors[-1]), abs=2e-3)
            assert float(factors[-1]) == pytest.approx(math.prod(picked[:-1]), abs=1e-4)


def test_darwin_is_more_probable_once_charles_is_written():
    sent = given(open_at(view="tasks", task="questions", answered="3"), "tasks")
    assert sent["answer"] == " Charles Darwin" and [step["token"] for step in sent["steps"]][:3] == ["·Ch", "ar", "les"]
    assert sent["steps"][3]["title"].endswith("A: Charles)")
    assert sent["steps"][0]["title"].endswith("A:)") and sent["settings"]["step"] == 3


def test_solved_examples_come_before_and_are_not_asked():
    for task in exercises.TEMPLATES:
        asked = {exercise.prompt for exercise in exercises.pool(task)[:exercises.SIZES[task]]}
        shown = exercises.examples(task, 4)
        assert shown.count("\n") >= 4 and not any(f"{prompt}" in shown for prompt in asked if len(prompt) > 12), task
    labels = re.findall(r"=> (\w)", exercises.examples("labels", 4))
    assert labels == ["A", "B", "A", "B"]
    assert {exercise.prompt for exercise in exercises.pool("questions")}.isdisjoint(
        exercise.prompt for exercise in teaching_text.fact_questions(taught=False))


def test_what_the_coders_floor_spares_is_said():
    """Both numbers are drawn beside each other: an end that surprises takes 24 bits and no more."""
    found = {prompt: [m.value for m in at.caption if "No token gets less" in m.value]
             for prompt in ("Lily lost her red ball. She looked for the", "The roof is")
             for at in [open_at(view="compress", prompt=prompt)]}
    run = read(cache.shared_model("stories", "cpu"), "Lily lost her red ball. She looked for the")
    ideal = -float(run.trace.logits[-1].double().log_softmax(-1)[run.tokenizer.end_of_text]) / math.log(2)
    said, unsaid = found.values()
    assert unsaid == [] and len(said) == 1 and f"takes 24.0 bits where −log₂ p is {ideal:.1f}" in said[0]
