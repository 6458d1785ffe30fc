"""The table of all probabilities, counted exactly, and the model of five words: what the pictures compute in the
browser, what stands in numbers, and what Python computes by another way.
"""
from __future__ import annotations

import functools
import itertools
import math
import re
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from core.components.sampling_panel import seeded_uniforms
from core.language import next_token_table, toy_model
from tests.helpers import lessons, messages
from tests.helpers.javascript import evaluate
from tests.helpers.messages import formulas
from tests.helpers.predictions import ask, commit, modes

open_at = functools.partial(lessons.open_at, "language_models")


@pytest.mark.parametrize("t, bits", [(0, 12), (1, 12), (2, 12), (5, 1), (2048, 16), (2048, 17), (512, 11)])
def test_the_size_of_the_table_is_that_of_whole_numbers(t: int, bits: int):
    entries = (2 ** bits) ** (t + 1)
    at = open_at(language_models_view="table", language_models_table_t=str(t), language_models_table_bits=str(bits))
    digits = len(f"{entries:x}") and math.floor(math.log10(entries)) + 1
    assert entries // 10 ** (digits - 1) in range(1, 10)
    assert evaluate("pages/language_models/table.js", "[m.power(t, bits), m.digitsOf(m.power(t, bits))]",
                    t=t, bits=bits) == [entries.bit_length() - 1, digits]
    shown = formulas(at)[0]
    assert f"= 2^{{{entries.bit_length() - 1}}} =" in shown
    assert float(re.search(r"10\^\{([\d.]+)\}$", shown)[1]) == pytest.approx(math.log10(entries), abs=0.006)
    assert messages.given(at, "lm_table")["settings"] == {"t": t, "bits": bits}


def test_the_slides_power_is_the_right_one():
    lines = formulas(open_at(language_models_view="table"))
    assert (2 ** 16) ** (2 ** 11 + 1) == 2 ** 32784 and "2^{32784}" in lines[1] and "2^{27}" in lines[1]
    assert lines[0].startswith(r"|T|^{t+1} = \left(2^{16}\right)^{2049} = 2^{16 \cdot 2049} = 2^{32784}")


@pytest.mark.parametrize("t, bits, answer", [(0, 12, 0), (1, 10, 1), (1, 12, 1), (2, 12, 1), (2, 16, 2), (16, 12, 2),
                                             (32, 12, 3), (2048, 16, 3)])
def test_how_many_numbers_the_table_has(t: int, bits: int, answer: int):
    query = {"language_models_table_t": str(t), "language_models_table_bits": str(bits)}
    found = commit(ask("language_models", "table", **query), "language_models", "table", 0)
    entries = (2 ** bits) ** (t + 1)
    assert found["answer"] == answer == sum(entries > limit for limit in (10 ** 6, 174_591_683_584, 10 ** 80))
    assert found["said"] == f"{len(str(entries)) if t < 99 else 9869:,} digits" and "fewer than half" in found["true"]


def test_places_on_the_scale_rise_with_the_number():
    places = evaluate("pages/language_models/table.js", "[0, 1, 7, 11, 80, 9869, 10476].map(m.placeOf)")
    assert places == sorted(places) and places[0] == places[1] == 0 and places[-1] < 1 and len(set(places)) == 6


def test_sequences_are_counted_as_by_hand():
    documents = [np.array(ids, dtype=np.uint16) for ids in ([1, 2, 1, 2], [2, 1, 3], [1])]
    held_out = [np.array([1, 2, 3, 1], dtype=np.uint16)]
    found = next_token_table.count(documents, held_out, 4)
    assert found.standing[:4] == (8, 5, 3, 1) and found.different[:4] == (3, 3, 3, 1)      # 12 21 13; 121 212 213
    assert found.held_out[:4] == (4, 3, 2, 1) and found.known[:3] == (4, 1, 0) and found.share(2) == 3 / 16


def test_what_was_counted_fits_together():
    counted = next_token_table.load()
    assert counted.size == 4096 and counted.standing[0] == counted.tokens > 10 ** 7
    for n in range(1, next_token_table.LONGEST + 1):
        assert counted.different[n - 1] <= min(counted.size ** n, counted.standing[n - 1])
    known = [a / b for a, b in zip(counted.known, counted.held_out)]
    assert known == sorted(known, reverse=True) and known[0] > 0.999 and known[7] < 0.2
    assert counted.share(2) < 0.2 and counted.share(3) < 0.001


# ---- five words ------------------------------------------------------------------------------------------------------

SENTENCES = {"the mouse ate the cheese": 0.02, "the cheese ate the mouse": 0.01, "mouse the the cheese ate": 0.0001}


def test_the_lectures_sentences_have_its_probabilities_and_all_of_five_words_add_up_to_one():
    exact = [[Fraction(str(p)) for p in row] for row in toy_model.TABLE.tolist()]
    assert all(sum(row) == 1 for row in exact)
    for sentence, p in SENTENCES.items():
        ids = toy_model.ids_of(sentence)
        assert math.prod(exact[a][b] for a, b in zip((5, *ids), ids)) == Fraction(str(p))
    total = sum(math.prod(toy_model.factors(toy_model.TABLE, ids)) for ids in itertools.product(range(5), repeat=5))
    assert total == pytest.approx(1)


@pytest.mark.parametrize("before, word, p", [(4, 3, -1), (4, 3, 0.7), (5, 4, 0.9), (0, 2, 0.33), (3, 0, 0.01)])
def test_the_picture_and_the_numbers_have_the_same_model(before: int, word: int, p: float):
    at = open_at(language_models_view="toy", language_models_toy_before=str(before),
                 language_models_toy_next=str(word), language_models_toy_p=str(p))
    sent = messages.given(at, "lm_toy")
    told = evaluate("pages/language_models/toy.js",
                    "(() => { const now = m.withEntry(table, before, word, p); return { now, loss: "
                    "m.crossEntropy(now, text), each: sentences.map((ids) => m.factors(now, ids)) }; })()",
                    table=sent["table"], before=before, word=word, p=sent["settings"]["p"], text=sent["text_ids"],
                    sentences=sent["sentences"])
    assert [sum(row) for row in told["now"]] == pytest.approx([1] * 6)
    lines = formulas(at)
    for line, each in zip(lines, told["each"]):
        assert messages.numbers_in(line)[-1] == pytest.approx(math.prod(each), rel=1e-3)
    assert float(lines[3].rsplit("= ", 1)[1]) == pytest.approx(told["loss"], abs=1e-4)


def test_the_least_cross_entropy_the_greatest_product_and_the_count_are_at_the_same_p():
    sent = messages.given(open_at(language_models_view="toy"), "lm_toy")
    text, ps = sent["text_ids"], [k / 100 for k in range(1, 100)]
    pairs = [pair for ids in text for pair in zip((5, *ids), ids)]
    after = [b for a, b in pairs if a == 4]
    losses = [-sum(math.log(p if b == 3 else 1 - p) for b in after) for p in ps]      # what depends on p(mouse | the)
    best = ps[losses.index(min(losses))]
    assert best == after.count(3) / len(after) == 0.5
    drawn = evaluate("pages/language_models/toy.js", "ps.map((p) => m.crossEntropy(m.withEntry(table, 4, 3, p), text))",
                     table=sent["table"], text=text, ps=ps)
    products = [math.exp(-len(pairs) * loss) for loss in drawn]
    assert ps[drawn.index(min(drawn))] == ps[products.index(max(products))] == best
    found = commit(ask("language_models", "toy"), "language_models", "toy", 10.0)
    assert found["answer"] == 50 and "3 / 6 = 0.500" in found["reason"]


@pytest.mark.parametrize("before, word", itertools.product(range(6), range(5)))
def test_the_range_of_the_question_holds_every_count_of_the_text(before: int, word: int):
    """By hand: after each word, and at the start, so many words of the text follow."""
    text = ["the mouse ate the cheese"] * 2 + ["the cheese ate the mouse"]
    pairs = [pair for line in text for pair in itertools.pairwise(["start", *line.split()])]
    first, then = (*toy_model.WORDS, "start")[before], toy_model.WORDS[word]
    all_, n = sum(a == first for a, _ in pairs), pairs.count((first, then))
    found = toy_model.frequency([toy_model.ids_of(line) for line in text], before, word)
    assert found == (n, all_) and (not all_ or 0 <= 100 * n / all_ <= 100)


def test_nothing_is_asked_of_a_word_that_nothing_follows():
    assert "ask" not in modes(ask("language_models", "toy", language_models_toy_before="1"))


def test_a_sentence_of_other_words_is_of_those_that_there_are():
    sent = messages.given(open_at(language_models_view="toy", language_models_toy_own="The dog ate <b>the</b> ball"),
                          "lm_toy")
    assert sent["sentences"][3] == [4, 0, 1]


TOY = "pages/language_models/toy.js"


@pytest.mark.parametrize("seed, p", [(1, 0.4), (5, 0.4), (77, 0.05), (9999, 0.99)])
def test_the_picture_and_the_numbers_draw_the_same_sentences(seed: int, p: float):
    at = open_at(language_models_view="toy", language_models_toy_drawn="200", language_models_toy_seed=str(seed),
                 language_models_toy_p=str(p))
    sent = messages.given(at, "lm_toy")
    table = toy_model.with_entry(toy_model.TABLE, 4, 3, p)
    here = toy_model.drawn(table, seeded_uniforms(seed, 5 * 200))
    there = evaluate(TOY, "m.drawn(m.withEntry(table, 4, 3, p), settings.seed, settings.drawn)", table=sent["table"],
                     p=p, settings=sent["settings"])
    assert here == there and len({tuple(ids) for ids in here}) > 60
    after = [b for ids in here for a, b in itertools.pairwise(ids) if a == 4]
    count, all_ = after.count(3), len(after)
    assert rf"\hat{{p}} = \frac{{{count}}}{{{all_}}} = {count / all_:.4f}" in formulas(at)[-1]
    counts, shares = evaluate(TOY, "[m.counted(table, text), m.shares(text, 4, 3, 5)]", table=sent["table"], text=here)
    assert counts[4][3] == count and sum(counts[4]) == all_ and sum(counts[5]) == 200
    assert shares[-1] == pytest.approx(count / all_)


def test_one_more_sentence_leaves_those_before_it_as_they_are():
    one, more = evaluate(TOY, "[m.drawn(table, 3, 9), m.drawn(table, 3, 209)]", table=toy_model.TABLE.tolist())
    assert more[:9] == one


def test_with_many_draws_every_sentence_comes_about_as_often_as_its_probability_says():
    n = 40_000
    drawn = Counter(map(tuple, toy_model.drawn(toy_model.TABLE, seeded_uniforms(2, 5 * n))))
    for sentence, p in SENTENCES.items():
        assert abs(drawn[tuple(toy_model.ids_of(sentence))] - n * p) < 4 * math.sqrt(n * p + 1)
    pairs = Counter(pair for ids, times in drawn.items() for pair in zip((5, *ids), ids) for _ in range(times))
    for before, row in enumerate(toy_model.TABLE):
        all_ = sum(pairs[before, word] for word in range(5))
        for word, p in enumerate(row):
            assert pairs[before, word] / all_ == pytest.approx(p, abs=4 * math.sqrt(p * (1 - p) / all_))


def test_nothing_is_said_of_draws_before_there_are_any():
    assert len(formulas(open_at(language_models_view="toy"))) == 5
