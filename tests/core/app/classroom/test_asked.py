"""Questions and answers as they come from anybody: taken as they are, or refused."""
import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.app.classroom import asked, tally
from core.app.classroom.asked import Refused
from core.app.classroom.guesses import Cell, Number, Options, Place, Word

FORMS = [Options(["ball", "dog"], ["0f0f", "f"]), Place(["The", "·cat", "·sat"], [0, 1]),
         Cell(["block 0", "block 1"], ["0", "1", "2"]), Number(0, 100, 1, "%"), Number(0.01, 1e4, 1, "", True), Word(),
         Word(chance=False)]
ANSWERS = [1, 1, 5, 42.0, 3.5, "ball", "ball"]
JSON = st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
                    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
                    max_leaves=12)


@pytest.mark.parametrize("form", FORMS, ids=lambda form: type(form).__name__)
def test_each_form_of_a_guess_comes_back_from_what_it_offers(form):
    found = asked.question({"ask": "Which?", "guess": json.loads(json.dumps(form.offer()))})
    assert found == {"ask": "Which?", "prompt": "", "about": "", "guess": form.offer()}
    assert asked.form(found["guess"]).offer() == form.offer()


@pytest.mark.parametrize(("form", "answer"), zip(FORMS, ANSWERS, strict=True))
def test_an_answer_that_is_offered_is_kept(form, answer):
    assert json.loads(asked.answer(form, {"guess": answer})) == {"guess": answer}


@pytest.mark.parametrize(("form", "wrong"), [
    (FORMS[0], 2), (FORMS[0], -1), (FORMS[0], True), (FORMS[0], "ball"), (FORMS[1], 2), (FORMS[2], 6),
    (FORMS[3], float("nan")), (FORMS[3], float("inf")), (FORMS[3], "42"), (FORMS[3], None), (FORMS[5], ""),
    (FORMS[5], "   "), (FORMS[5], 7)])
def test_an_answer_that_is_not_offered_is_refused(form, wrong):
    with pytest.raises(Refused):
        asked.answer(form, {"guess": wrong})


def test_how_sure_somebody_is_belongs_to_a_word_alone():
    assert json.loads(asked.answer(Word(), {"guess": " ice  cream ", "sure": 140})) == {"guess": "ice cream",
                                                                                       "sure": 100}
    assert json.loads(asked.answer(Word(), {"guess": "ball", "sure": True})) == {"guess": "ball"}
    assert json.loads(asked.answer(FORMS[0], {"guess": 0, "sure": 50})) == {"guess": 0}


def test_a_number_of_any_length_is_an_answer_and_the_counts_of_what_a_slider_may_span_are_finite():
    assert json.loads(asked.answer(FORMS[3], {"guess": 10 ** 400})) == {"guess": 100.0}
    most = asked.MOST_NUMBER
    for low, high, log in ((-most, most, False), (1 / most, most, True)):
        form = asked.form({"kind": "number", "low": low, "high": high, "step": 1, "log": log})
        counted = tally.of(form.offer(), [asked.answer(form, {"guess": end}) for end in (low, high)])
        assert [n for n in counted["counts"] if n] == [1, 1] and math.isfinite(counted["median"])


@pytest.mark.parametrize("told", [
    None, [], {"ask": "Which?"}, {"ask": "", "guess": FORMS[0].offer()}, {"ask": 3, "guess": FORMS[0].offer()},
    {"ask": "Which?", "guess": {"kind": "poll"}}, {"ask": "Which?", "guess": {"kind": "options", "texts": ["one"]}},
    {"ask": "Which?", "guess": {"kind": "options", "texts": ["a"] * 13}},
    *({"ask": "Which?", "guess": {"kind": "options", "texts": ["a", "b"], "pictures": pictures}}
      for pictures in (["f"], ["f", "ff"], ["f", "g"], ["f", ""], ["f", "0" * 1089], "ff", ["f", 0])),
    {"ask": "Which?", "guess": {"kind": "place", "texts": ["a"], "offered": [1]}},
    {"ask": "Which?", "guess": {"kind": "place", "texts": ["a"], "offered": 7}},
    {"ask": "Which?", "guess": {"kind": "number", "low": 1, "high": 1, "step": 1}},
    {"ask": "Which?", "guess": {"kind": "number", "low": 0, "high": 9, "step": 1, "log": True}},
    {"ask": "Which?", "guess": {"kind": "number", "low": "0", "high": float("inf"), "step": 1}},
    {"ask": "Which?", "guess": {"kind": "number", "low": -1.7e308, "high": 1.7e308, "step": 1}},
    {"ask": "Which?", "guess": {"kind": "number", "low": 0, "high": 10 ** 400, "step": 1}},
    {"ask": "Which?", "guess": {"kind": "cell", "rows": [], "columns": ["a"]}}])
def test_what_is_no_question_is_refused(told):
    with pytest.raises(Refused):
        asked.question(told)


def test_texts_are_cut_and_lose_what_no_screen_shows():
    found = asked.question({"ask": "a\u0000b\u202e c" + "x" * 5_000, "prompt": "one\ntwo\u0007\ud800",
                            "guess": {"kind": "options", "texts": ["<b>x</b>", "3\u00a0%"]}})
    assert found["ask"].startswith("a b c") and len(found["ask"]) <= 1_000
    assert found["prompt"] == "one\ntwo ?" and found["guess"]["texts"] == ["<b>x</b>", "3\u00a0%"]


@given(JSON)
def test_anything_is_a_question_or_refused(told):
    for value in (told, {"ask": "Which?", "guess": told}, {"ask": "Which?", "guess": {"kind": "number", "low": told,
                                                                                    "high": 9, "step": 1}}):
        try:
            found = asked.question(value)
        except Refused:
            continue
        assert asked.question(json.loads(json.dumps(found))) == found


@given(JSON)
def test_anything_is_an_answer_or_refused(told):
    for form in FORMS:
        try:
            kept = json.loads(asked.answer(form, {"guess": told, "sure": told}))
        except Refused:
            continue
        assert form.accept(kept["guess"]) == kept["guess"]
