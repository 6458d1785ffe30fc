"""One changed word, and tests of structure: measures by hand, sentences that fit, items whose answer another rule
finds, readings that keep their words.
"""
import collections
import math
import random
import re

import numpy as np
import pytest

from core.language import contrasts, word_order
from core.language.contrasts import Contrast, Spread
from core.language.word_order import TESTS, Item
from core.training import teaching_text

P, Q = np.log([0.5, 0.3, 0.2]), np.log([0.2, 0.3, 0.5])


def test_measures_by_hand():
    one = Contrast(P, np.log([0.25, 0.25, 0.5]))
    assert one.total_variation == pytest.approx(0.3) and one.difference == pytest.approx([-0.25, -0.05, 0.3])
    assert one.kl_from_p == pytest.approx(0.5 * math.log(2) + 0.3 * math.log(1.2) + 0.2 * math.log(0.4))
    assert one.kl_from_q == pytest.approx(0.25 * math.log(0.5) + 0.25 * math.log(0.25 / 0.3) + 0.5 * math.log(2.5))
    assert one.log_ratio == pytest.approx([math.log(0.5), math.log(0.25 / 0.3), math.log(2.5)])
    same = Contrast(P, P)
    assert (same.total_variation == same.kl_from_p == same.kl_from_q == 0
            and [len(ids) for ids in same.movers(3)] == [0, 0])


def test_movers_gain_and_lose_and_leave_the_rare_out():
    one = Contrast(np.log([0.6, 0.3998, 0.0001, 0.0001]), np.log([0.3, 0.6988, 0.0010, 0.0002]))
    gained, lost = one.movers(2)
    assert gained.tolist() == [1, 2] and lost.tolist() == [0]
    assert [ids.tolist() for ids in one.movers(2, "ratio")] == [[2, 3], [0]]
    assert [ids.tolist() for ids in one.movers(2, "ratio", at_least=5e-4)] == [[2, 1], [0]]


def test_a_spread_by_hand():
    one = Spread(np.array([1.0, 2.0, 3.0, -2.0]))
    assert (one.mean == 1 and one.deviation == pytest.approx(math.sqrt(14 / 3))
            and one.error == pytest.approx(math.sqrt(14 / 3) / 2) and one.n_above == 3)
    assert math.isnan(Spread(np.array([1.0])).deviation)


def test_every_pair_fits_every_sentence():
    sets = contrasts.sets()
    assert len(sets["sentences"]) == 12 and sum(pair.get("control", False) for pair in sets["pairs"].values()) == 2
    for sentence in sets["sentences"]:
        assert "{w}" in sentence and not sentence[-1].isspace()
        for pair in sets["pairs"].values():
            a, b = (contrasts.fitted(sentence, pair[key]) for key in ("a", "b"))
            assert a.replace(pair["a"], pair["b"]) == b and "{" not in a + b
    assert all(len(pair["counted"]) <= 10 for pair in sets["pairs"].values())


# ---- structure -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("test", TESTS)
def test_items_are_the_same_for_a_seed_and_different_from_each_other(test: str):
    found = word_order.items(test, 40, 1)
    assert found == word_order.items(test, 40, 1) and len({one.prompt for one in found}) == len(found) >= 20
    assert found != word_order.items(test, 40, 2)
    for one in found:
        assert (len(set(one.options)) == len(one.options) > 1
                and all(option.startswith(" ") and option[1] != " " for option in one.options) and "{" not in one.prompt
                and not one.prompt.endswith(" "))


def test_the_answers_are_what_another_rule_finds():
    """Each test's right option worked out from the text of the prompt alone."""
    for one in word_order.items("roles", 40, 3):
        name, verb, other = re.match(r"(\w+) (gave|got) the \w+ (?:to|from) (\w+)\.", one.prompt).groups()
        assert one.options == ((f" {other}", f" {name}") if verb == "gave" else (f" {name}", f" {other}"))
    for one in word_order.items("bound", 40, 3):
        named = dict(re.findall(r"a (\w+) named (\w+)", one.context))
        assert (one.options[0] == f" {named[re.search('name of the (.*) was', one.stem).group(1)]}"
                and one.options[1].strip() in named.values())
    for one in word_order.items("negation", 40, 3):
        has, has_not = (re.search(r"has a (\w+)", one.context).group(1),
                        re.search(r"not have a (\w+)", one.context).group(1))
        assert one.options == (f" {has}", f" {has_not}")
    for one in word_order.items("carried", 40, 3):
        assert one.options[0].strip() in one.context and one.options[1].strip() not in one.prompt
    plural = {pair[1] for pair in teaching_text.words()["nouns"] + teaching_text.words()["things"]}
    for one in word_order.items("agreement", 40, 3):
        words = one.prompt.split()
        assert (words[1] in plural) == (one.options[0] in (" are", " were", " have")) != (words[-1] in plural)
        assert teaching_text.Exercise("agreement", one.prompt, one.options[0]).held_out
    opposite = {frozenset(pair) for pair in teaching_text.words()["opposites"]}
    for test, taught in (("taught", True), ("untaught", False)):
        for one in word_order.items(test, 40, 3):
            word = one.stem.split()[0]
            assert ((frozenset((word, one.options[0].strip())) in opposite) == taught
                    and not any(frozenset((word, other.strip())) in opposite for other in one.options[1:]))


def test_neither_place_nor_form_gives_the_answer_away():
    for test in ("roles", "bound", "negation", "agreement"):
        found = word_order.items(test, 40, 5)
        first = sum(one.context.find(one.options[0].strip()) < one.context.find(one.options[1].strip())
                    for one in found) if test != "agreement" else sum(one.options[0] < one.options[1] for one in found)
        assert 12 <= first <= 28, (test, first)


def test_readings_keep_their_words():
    one = Item("Zuba gave the ball to Timo.", " Now the ball belongs to", (" Timo", " Zuba"))
    shuffled = one.read("shuffled", random.Random(1))
    assert one.read("whole", random.Random(1)) == one.prompt and shuffled != one.prompt
    assert (collections.Counter(shuffled.split()) == collections.Counter(one.prompt.split())
            and shuffled.endswith(one.stem))
    assert (one.read("reversed", random.Random(1)) == "Timo. to ball the gave Zuba Now the ball belongs to"
            and one.read("last", random.Random(1)) == "to")
    assert word_order.chance([one, Item("", " a", (" b", " c", " d", " e"))]) == 0.375
