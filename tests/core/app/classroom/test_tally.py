"""A class's answers, counted by hand."""
import json
import math

import pytest

from core.app.classroom import tally
from core.app.classroom.guesses import Cell, Number, Options, Place, Word


def told(*guesses, **more):
    return [json.dumps({"guess": guess, **more}) for guess in guesses]


def test_options_places_and_cells_are_counted_one_by_one():
    assert tally.of(Options(["a", "b", "c"]).offer(), told(0, 2, 2)) == {"n": 3, "counts": [1, 0, 2]}
    assert tally.of(Place(["The", "cat"]).offer(), told(1)) == {"n": 1, "counts": [0, 1]}
    assert tally.of(Cell(["0", "1"], ["a", "b"]).offer(), told(3, 3)) == {"n": 2, "counts": [0, 0, 0, 2]}
    assert tally.of(Options(["a", "b"]).offer(), []) == {"n": 0, "counts": [0, 0]}


def test_numbers_fall_into_equal_parts_of_the_slider():
    found = tally.of(Number(0, 24, 1).offer(), told(0, 0.5, 1, 23.9, 24))
    assert found["counts"] == [2, 1, *[0] * 20, 0, 2] and found["median"] == 1 and found["n"] == 5
    assert tally.of(Number(0, 24, 1).offer(), [])["median"] is None


def test_the_parts_of_a_logarithmic_slider_are_equal_ratios():
    found = tally.of(Number(1, 10.0 ** 24, 1, log=True).offer(), told(3, 30, 3e23))
    assert [i for i, n in enumerate(found["counts"]) if n] == [0, 1, 23]


def test_only_allowed_words_are_told_but_all_are_counted():
    answers = told("Ball", "ball ", "dog", "rude", sure=50) + told("ball", sure=100)
    found = tally.of(Word().offer(), answers, allowed=("ball", "dog"))
    assert found["words"] == [["ball", 3], ["dog", 1]] and found["other"] == 1 and found["sure"] == 60
    # p = 3/5, 1/5, 1/5
    assert found["bits"] == pytest.approx(-(0.6 * math.log2(0.6) + 0.4 * math.log2(0.2)))
    assert tally.of(Word().offer(), answers)["words"] == []
