"""Unigram learned round by round: fitted, measured and pruned as its definition says, by trying all ways."""
from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
import pytest

from core.base import prose
from core.language.segmentation import words_of
from core.language.unigram import Lattices, rounds, seeds

TEXT = "The walker walked and the talker talked. Walking is talking, talking is walking. A slow walker walks."
TEXTS = [TEXT, prose.load("tokens").section("textbook"), "aaaa aaa aa banana", "我今天去了商店 我今天去了"]


def ways(word: str, p: dict[str, float]) -> list[tuple[float, tuple[str, ...]]]:
    """All ways to cut a word into the pieces, each with its product, found by trying every set of places."""
    found = []
    for places in itertools.chain.from_iterable(itertools.combinations(range(1, len(word)), k)
                                                for k in range(len(word))):
        pieces = tuple(word[a:b] for a, b in zip((0, *places), (*places, len(word))))
        if all(p.get(piece, 0) > 0 for piece in pieces):
            found.append((math.prod(p[piece] for piece in pieces), pieces))
    return found


def slow_objective(p: dict[str, float], counts: Counter) -> float:
    return sum(count * math.log(sum(product for product, _ in ways(word, p))) for word, count in counts.items())


@pytest.mark.parametrize("text", TEXTS)
def test_the_objective_and_every_loss_are_those_of_trying_all_ways(text: str):
    counts = Counter(words_of(text))
    for one in list(rounds(text))[2:5]:
        p = {piece: math.exp(log) for piece, log in one.log_p.items()}
        assert sum(p.values()) == pytest.approx(1) and one.objective == pytest.approx(slow_objective(p, counts))
        for piece in [*one.dropped[:6], *list(one.losses)[-6:]]:
            without = slow_objective({other: q for other, q in p.items() if other != piece}, counts)
            assert one.losses[piece] == pytest.approx(one.objective - without, abs=1e-6), piece


@pytest.mark.parametrize("text", TEXTS)
def test_each_round_drops_the_pieces_of_the_smallest_loss_and_never_a_character(text: str):
    found, left = list(rounds(text)), None
    for one in found:
        assert left is None or {*one.log_p} == left
        assert set(text) <= {*one.log_p} and all(len(piece) > 1 for piece in one.losses)
        kept = {*one.losses} - {*one.dropped}
        assert not kept or not one.dropped or (max(one.losses[piece] for piece in one.dropped)
                                               <= min(one.losses[piece] for piece in kept) + 1e-8)
        assert len(one.dropped) <= math.ceil(len(one.log_p) / 4)
        left = {*one.log_p} - {*one.dropped}
    assert {*found[-1].log_p} == set(text) and found[-1].dropped == ()
    assert found[-1].objective < found[1].objective - 1


def test_it_begins_with_what_stands_twice():
    assert seeds({"low": 5, "lower": 2, "x": 1}) == {
        "l": 7, "o": 7, "w": 7, "e": 2, "r": 2, "x": 1, "low": 7, "lo": 7, "ow": 7, "lower": 2, "lowe": 2,
        "ower": 2, "owe": 2, "wer": 2, "we": 2, "er": 2}


def test_a_fit_never_lowers_the_objective():
    counts = Counter(words_of(TEXT))
    found = seeds(counts)
    lattices, p = Lattices(counts, tuple(found)), np.array([*found.values()], dtype=float)
    values = []
    for _ in range(6):
        p, value = lattices.expected(np.log(p / p.sum()))
        values.append(value)
        p = np.maximum(p, 1e-12)
    assert all(a <= b + 1e-9 for a, b in zip(values, values[1:])) and values[-1] > values[0] + 1


def test_rounds_end_at_the_sizes_that_are_asked_for():
    sizes = (30, 41, 57)
    assert {*sizes} <= {len(one.log_p) for one in rounds(TEXT, sizes)}


def test_on_a_short_text_it_needs_fewer_tokens_than_bpe_of_the_same_size():
    from core.language.segmentation import learn_bpe

    text = prose.load("tokens").section("training")
    bpe, counts = learn_bpe(text), Counter(words_of(text))
    for one in rounds(text, (60, 80, 100)):
        n = len(one.log_p)
        if n in (60, 80, 100):
            unigram = sum(count * len(one.model.segmentations(word, 1)[0][1]) for word, count in counts.items())
            joined = sum(count * len(bpe.cut(word, n - len(bpe.alphabet))) for word, count in counts.items())
            assert unigram < 0.9 * joined
