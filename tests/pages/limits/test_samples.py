"""A sample of what is counted of a large model: how much, that it is part of the whole, and that the page says so."""
from __future__ import annotations

import math

import numpy as np
import pytest

from core.app.lesson import samples
from core.app.lesson.lesson import Lesson
from core.base import prose
from core.language import word_order
from pages.limits import calibration, facts, meaning, tone
from tests.helpers.lessons import fine
from tests.helpers.messages import given
from tests.pages.limits.test_limits import open_at
from tests.pages.limits.test_questions import run_of

pytestmark = pytest.mark.long

GPT2, LLAMA, STORIES = 124_439_808, 1_235_814_400, 12_000_000


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch):
    """`stories` counts as large: of each list every fourth item is counted."""
    monkeypatch.setattr(samples, "BUDGET", 0.0)
    monkeypatch.setattr(samples, "MOST", 4)


def page() -> Lesson:
    return Lesson("limits", prose.load("limits"), prose.load("app"))


def test_how_much_is_counted_follows_from_the_size_alone():
    whole = {"facts": facts.TOKENS * len(facts.exercises("taught")), "calibration": calibration.ALL,
             "tone": tone._tokens(), "meaning": meaning.TOKENS * 40}
    assert {name: samples.every(GPT2, n) for name, n in whole.items()} == dict.fromkeys(whole, 4)
    assert {name: samples.every(STORIES, n) for name, n in whole.items()} == dict.fromkeys(whole, 1)
    assert {name: samples.every(LLAMA, n) for name, n in whole.items()} == dict.fromkeys(whole, 8)
    for n in whole.values():        # never more than is allowed, and never less than needed
        assert GPT2 * n / 4 <= samples.BUDGET < GPT2 * n / 2


def test_the_sampled_questions_are_answered_as_in_the_whole(large, monkeypatch: pytest.MonkeyPatch):
    run = run_of()
    some = facts.cases(page(), run, "other")
    monkeypatch.setattr(samples, "BUDGET", math.inf)
    whole = facts.cases(page(), run, "other")
    assert len(whole) == 264 and len(some) == 66
    assert {(case.group, case.relation) for case in some} == {(case.group, case.relation) for case in whole}
    by_place = {(case.group, case.relation, case.place): case.claim for case in whole}
    for case in some:
        same = by_place[case.group, case.relation, case.place]
        assert case.claim.text == same.text and case.claim.p == pytest.approx(same.p, rel=1e-3)


def test_the_sampled_places_are_predicted_as_in_the_whole(large, monkeypatch: pytest.MonkeyPatch):
    run = run_of()
    some, control = calibration._given(run, "exercises", 1), calibration._control(page(), run, 1.0, 1, 40, 60)
    monkeypatch.setattr(samples, "BUDGET", math.inf)
    whole, more = calibration._given(run, "exercises", 1), calibration._control(page(), run, 1.0, 1, 40, 60)
    assert len(control.right) == 40 * 15 or len(control.right) < len(more.right)
    assert np.allclose(control.confidence, more.confidence[:len(control.confidence)], atol=1e-5)
    assert 0.2 < len(some.right) / len(whole.right) < 0.3
    near = np.abs(whole.confidence[:, None] - some.confidence).min(axis=0)
    assert near.max() < 1e-5


def test_the_sampled_items_and_beginnings_are_those_of_the_whole(large, monkeypatch: pytest.MonkeyPatch):
    run, names = run_of(), list(word_order.TESTS)
    some = {test: meaning.answers(run, test, meaning._counted(run), 1, "shuffled") for test in names}
    written = tone.written(page(), run, 1)
    monkeypatch.setattr(samples, "BUDGET", math.inf)
    for test, few in some.items():
        every = meaning.answers(run, test, meaning._counted(run), 1, "shuffled")
        assert len(few) == 10 and [one.prompt for one in few] == [one.prompt for one in every[:10]]
        assert np.allclose([one.log_probs for one in few], [one.log_probs for one in every[:10]], atol=1e-3)
    texts = {}
    for one in tone.written(page(), run, 1):
        texts.setdefault((one.tone, one.beginning), []).append(one.text)
    assert len(written) == 2 * 2 * 12 and len(texts) == 12
    for one in written:
        assert one.text == texts[one.tone, one.beginning].pop(0)


def test_the_page_says_of_how_many_and_counts_all_at_a_press(large):
    at = open_at(view="facts", untaught="1")
    assert fine(at)
    said = "This model is large, so 66 of 264 questions are asked, every fourth one."
    assert said in [each.value for each in at.caption]
    rows = given(at, "limits_facts")["rows"]
    assert [len(row["dots"]) for row in rows] == [22, 22, 22]
    # the second subject is no part of the sample: its answer is marked beside the dots
    assert [row["picked"] >= 0 for row in rows] == [True, False, True]
    assert [row["own"] is None for row in rows] == [True, False, True]
    at.button(key="limits_sample_turn").click().run()
    assert fine(at) and at.query_params["limits_whole"] == "true"
    rows = given(at, "limits_facts")["rows"]
    assert [len(row["dots"]) for row in rows] == [88, 88, 88] and all(row["picked"] >= 0 for row in rows)
    at.button(key="limits_sample_turn").click().run()
    assert [len(row["dots"]) for row in given(at, "limits_facts")["rows"]] == [22, 22, 22]


@pytest.mark.parametrize("view, query, said", [
    ("calibration", {}, "every fourth text is read; the control is 15 of 60 tokens of each"),
    ("words", {"span": "tone"}, "2 of 6 pairs of beginnings are continued, every fourth one"),
    ("meaning", {}, "10 of 40 items of each test are asked, the first ones")])
def test_every_view_of_a_sample_says_so(large, view: str, query: dict, said: str):
    at = open_at(view=view, **query)
    assert fine(at) and f"This model is large, so {said}." in [each.value for each in at.caption]


def test_stories_is_counted_in_full_without_a_word():
    at = open_at(view="facts")
    assert not [each for each in at.button if each.key == "limits_sample_turn"]
    assert [len(row["dots"]) for row in given(at, "limits_facts")["rows"]] == [88, 88, 88]
