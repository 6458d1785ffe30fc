"""Before you look: the page tells nothing until the reader commits, and then the guess beside the truth."""
from __future__ import annotations

import math
from urllib.parse import parse_qsl

import pytest

from core.app.classroom.guesses import Cell, Number, Options, Place, Word
from core.app.lesson import prediction
from core.base import catalogue
from tests.helpers.lessons import fine, open_at
from tests.helpers.messages import given
from tests.helpers.predictions import (
    all_asked,
    ask,
    commit,
    modes,
    picture_of,
    question,
    reads_prompt,
    some_guess,
    words_on,
)

pytestmark = pytest.mark.long

HOSTILE = (None, True, -1, 99, 2.5, "1", "x" * 10**6, [], {}, math.nan, math.inf)


@pytest.mark.parametrize("form", [Options("abc"), Place("abc"), Cell("ab", "cde")])
def test_a_guess_is_a_place_that_was_offered(form):
    assert [form.accept(told) for told in (0, 2)] == [0, 2]
    assert not any(map(form.accept, HOSTILE))


def test_a_place_that_was_not_offered_is_no_guess():
    assert Place("abcd", (1, 3)).accept(1) == 1 and Place("abcd", (1, 3)).accept(2) is None


def test_a_number_stays_in_its_range_and_is_right_within_a_tenth_of_it():
    form = Number(0, 100)
    assert [form.accept(told) for told in (7, -5, 10**9)] == [7, 0, 100]
    assert [form.accept(told) for told in (None, True, "7", math.nan, math.inf)] == [None] * 5
    assert form.is_right(30, 40) and not form.is_right(30, 41)
    ratios = Number(1, 10_000, log=True)
    assert ratios.is_right(10, 25) and not ratios.is_right(10, 26)      # 10 000 ^ 0.1 = 2.51
    assert not Number(0, 100, near=2).is_right(30, 33)


def test_a_word_is_one_line_that_any_text_can_hold():
    assert Word().accept("  a\nred \x00 ball ") == "a red ball"
    assert len(Word().accept("x" * 10**6)) == 60
    assert [Word().accept(told) for told in ("", "  ", 3, None)] == [None] * 4
    assert Word().accept("a\ud800") == "a?"
    assert Word().offer()["chance"] and not Word(chance=False).offer()["chance"]


@pytest.mark.parametrize("entry", catalogue.existing(), ids=lambda entry: entry.id)
def test_every_view_asks(entry):
    asked = [name for lesson, name in all_asked() if lesson == entry.id and "," not in picture_of(lesson, name)]
    assert sorted(asked) == sorted(entry.views) if entry.views else len(asked) == 1


@pytest.mark.parametrize(("lesson", "name"), all_asked())
def test_nothing_on_the_page_tells_the_answer_before_the_guess_and_after_it_all_does(lesson: str, name: str):
    at = ask(lesson, name)
    header, before = question(at), words_on(at)
    assert not [m.value for m in at.markdown if m.value.startswith("###")]
    assert not at.get("vega_lite_chart") and not at.get("plotly_chart") and not at.get("arrow_data_frame")
    told = commit(at, lesson, name, some_guess(header))
    after = words_on(at)
    assert told["mode"] == "told" and told["reason"] and "{" not in told["reason"] + "".join(told["statements"])
    assert told["reason"] not in before and told["reason"] in after
    assert len(told["statements"]) in (2, 3) and 0 <= told["seen"] < len(told["statements"])
    assert len(set(told["statements"])) == len(told["statements"])
    if told["said"]:
        assert str(told["said"]) not in before
    if not reads_prompt(at, lesson, name):
        at.session_state["prompt"] = "The dog ran to the door and barked."
        assert fine(at.run()) and "told" in modes(at)


def test_the_question_is_asked_once_and_looking_anyway_is_remembered():
    at = ask("training", "forcing")
    assert question(at)
    at.session_state[prediction.MADE] = {"training/forcing": prediction.Reply()}
    at.run()
    assert fine(at) and modes(at) == {"switch"}
    assert any("perplexity" in m.value for m in at.markdown)


def test_who_wants_no_questions_sees_pictures_at_once():
    at = open_at("training", ask="false")
    assert fine(at) and modes(at) == {"switch"}


def test_a_guess_is_told_only_of_the_prompt_that_was_asked_about():
    at = ask("training", "forcing")
    assert commit(at, "training", "forcing", 3)["mine"] == 3
    at.session_state["prompt"] = "The dog ran to the door and barked."
    at.run()
    assert fine(at) and modes(at) == {"switch"}


def test_a_word_is_shown_beside_the_likeliest_with_its_own_probability():
    at = ask("architectures", "blank")
    told = commit(at, "architectures", "blank", "zebra", 80)
    mine = [bar for bar in told["bars"] if bar[2]]
    assert len(mine) == 1 and mine[0] == told["bars"][-1] and not told["right"] and told["sure"] == 80
    best = commit(at, "architectures", "blank", told["answer"].strip("·"), 80)
    assert best["right"] and best["bars"][0][2] and len(best["bars"]) == 4
    assert given(at, "prediction")["bars"][0][1] == pytest.approx(told["bars"][0][1])


def test_a_shared_link_opens_what_its_sender_saw():
    sender = open_at("tokens", ask="true")
    for asked in (True, False):
        assert ("ask" in modes(sender)) is asked
        sender.session_state["share"] = True
        [link] = [code.value for code in sender.run().code if code.value.startswith("?")]
        assert ("ask" in modes(open_at("tokens", **dict(parse_qsl(link[1:]))))) is asked
        sender = open_at("tokens", ask="true", shown="true")


def test_a_link_to_a_picture_that_has_no_question_takes_no_later_one_away():
    at = open_at("overview", ask="true", shown="true", position="3")
    assert "ask" not in modes(at)
    at.session_state["selection"] = {}
    assert fine(at.run()) and "ask" in modes(at)
