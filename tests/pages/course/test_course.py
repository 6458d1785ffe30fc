"""The course page through AppTest: its views, its links, the class that it leads, the glossary, the sheets."""
from __future__ import annotations

import math
import urllib.parse

import pytest

from core.app.base import catalogue, prose, tables
from core.app.frame import class_plan
from core.app.state import reader
from pages.course.shared import SETTINGS, SHEETS
from tests.core.sheets.test_exercises import cells
from tests.helpers.lessons import fine, open_at
from tests.helpers.messages import unpacked
from tests.helpers.places import nonsense
from tests.helpers.prompts import PROMPTS

COURSE = prose.load("course")


def header(at) -> dict:
    """What the page's picture was given."""
    element = next(element for element in at.get("bidi_component") if "-course_" in element.proto.id)
    return unpacked(element.proto.bytes)


def opened(view: str, **query):
    at = open_at("course", course_view=view, **query)
    assert fine(at), [e.value for e in (*at.exception, *at.error)]
    return at


# ---- the page --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("view", SETTINGS.each["view"].options)
def test_every_view_opens_with_its_picture_and_its_explanation(view):
    at = opened(view)
    said = "\n".join(m.value for m in at.markdown)
    assert (COURSE.section("title") in said and COURSE.section("sentence") in said
            and COURSE.section(f"explanation_{view}") in said)
    assert header(at)["kind"] == {"sheets": "sheet"}.get(view, view)


@pytest.mark.parametrize("prompt", ("empty", "256 tokens", "HTML", "control characters"))
def test_every_sheet_bears_every_prompt(prompt):
    at = opened("sheets", prompt=PROMPTS[prompt])
    for sheet in SHEETS:
        at.session_state["course_sheet"] = sheet
        at.run()
        assert fine(at) and header(at)["files"][0].startswith("<!doctype html>"), sheet


def test_an_absurd_address_is_borne():
    at = open_at("course", course_view="nowhere", course_deck="Z", course_seed="-7e99", course_sheet="<b>",
                 course_solved="maybe", course_group="x")
    assert fine(at) and header(at)["kind"] == "lessons"
    assert (fine(open_at("course", term="<script>alert(1)</script>"))
            and fine(open_at("tokens", **{"class": "999999999", "present": "true"})))


# ---- lessons and lectures --------------------------------------------------------------------------------------------


def test_every_lesson_has_minutes_goals_and_a_place_that_makes_sense():
    entries = {entry.id: entry for entry in COURSE.entries("lesson")}
    assert list(entries) == [entry.id for entry in catalogue.existing()]
    shown = header(opened("lessons"))
    assert [lesson["id"] for lesson in shown["lessons"]] == list(entries)
    for lesson in shown["lessons"]:
        assert (2 <= len(lesson["goals"]) <= 3 and all(goal.endswith(".") for goal in lesson["goals"])
                and 10 <= lesson["minutes"] <= 90)
        settings = {key: value for key, value in entries[lesson["id"]].settings.items() if key != "minutes"}
        assert nonsense(place_of(lesson["id"], settings)) == []
        assert shown["links"][lesson["id"]]["path"] == catalogue.url_path(lesson["id"])


@pytest.mark.parametrize("deck", "ABCD")
def test_a_lecture_shows_all_its_ideas_in_order(deck):
    shown = header(opened("lectures", course_deck=deck))
    ideas = [idea for idea in tables.ideas() if idea.deck == deck]
    assert [idea["id"] for part in shown["parts"] for idea in part["ideas"]] == [idea.id for idea in ideas]
    assert set(shown["links"]) == {idea.id for idea in ideas if tables.name_of(idea.place)}


def place_of(lesson: str, settings: dict) -> tables.Place:
    written = {key: str(value).lower() if isinstance(value, bool) else value for key, value in settings.items()
               if value is not None}
    return tables.Place(lesson, urllib.parse.urlencode(written))


# ---- a class ---------------------------------------------------------------------------------------------------------


def test_the_class_fills_fifty_minutes_in_order_and_asks_before_it_shows():
    steps = class_plan.steps()
    minutes = [step.minute for step in steps]
    assert minutes[0] == 0 and minutes == sorted(set(minutes)) and minutes[-1] < 50 and len(steps) >= 6
    for number, step in enumerate(steps, 1):
        assert "?" in step.ask or "write" in step.ask.lower()
        assert step.look and nonsense(place_of(step.lesson, step.settings)) == []
        assert class_plan.opening(number) == step.settings | {"present": True, "class": number}
    weeks = COURSE.entries("week")
    assert (len(weeks) == 4 and [lesson for week in weeks for lesson in week.settings["lessons"].split()]
                                == [entry.id for entry in catalogue._ALL])


@pytest.mark.parametrize("number", [1, len(class_plan.steps())])
def test_a_step_of_the_class_stands_at_the_foot_of_its_lesson(number):
    step = class_plan.steps()[number - 1]
    at = open_at(step.lesson, present="true", **{"class": str(number)})
    assert fine(at) and any(step.title in m.value and step.ask in m.value for m in at.markdown)
    assert at.button("class_back").disabled == (number == 1) and at.button("class_next").disabled == (number > 1)


def test_without_present_mode_a_lesson_is_as_ever():
    at = open_at("tokens", **{"class": "2"})
    assert fine(at) and not any(button.key == "class_next" for button in at.button)


def test_what_is_none_is_left_out_of_a_link(monkeypatch):
    """An experiment that asks for the last position writes `position: null`."""
    monkeypatch.setattr(reader, "_shared_values", lambda defaults=False: {"prompt": "a", "position": "3"})
    assert (reader.link({"position": None, "tokens_merged": 0}).startswith("?prompt=a")
            and "position" not in reader.link({"position": None}))


# ---- the glossary ----------------------------------------------------------------------------------------------------


TERMS = tables.glossary()


def test_every_term_is_defined_once_in_alphabetical_order():
    names = [term.term for term in TERMS]
    assert (len(TERMS) >= 90 and names == sorted(names, key=str.casefold)
            and len({name.casefold() for name in names}) == len(names))
    assert all(20 < len(term.definition) < 260 and term.definition.endswith(".") for term in TERMS)


def test_every_term_has_a_place_that_makes_sense():
    assert [term.term for term in TERMS if tables.name_of(term.place) is None] == []
    assert {term.term: nonsense(term.place) for term in TERMS if nonsense(term.place)} == {}


@pytest.mark.parametrize("place", sorted({term.place for term in TERMS} - {idea.place for idea in tables.ideas()},
                                         key=lambda p: (p.lesson, p.query))[::4], ids=lambda p: p.query[:60])
def test_the_page_behind_a_term_renders(place):
    """A quarter of them; the views themselves are all opened by their lessons' own tests."""
    assert fine(open_at(place.lesson, **place.settings))


def test_a_link_to_a_term_opens_the_glossary_at_it():
    at = open_at("course", term="softmax")
    assert (fine(at) and header(at)["term"] == "softmax" and at.run().query_params["course_view"] == "glossary"
            and "term" not in at.query_params)
    shown = header(at)
    assert ([term["term"] for term in shown["terms"]] == [term.term for term in TERMS]
            and shown["links"]["softmax"] == {"path": "attention",
                                              "set": {"attention_view": "steps", "attention_step": "softmax"}})


# ---- sheets ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sheet", SHEETS)
def test_another_number_is_another_sheet_and_the_same_number_the_same(sheet):
    at = opened("sheets", course_sheet=sheet, course_seed="3")
    files = [header(at)["files"]]
    for button in ("course_another", None):
        files.append(header((at.button(button).click() if button else at).run())["files"])
    assert files[0] != files[1] == files[2] and at.session_state["course_seed"] == 4
    assert files[0][0] != files[0][1] and len(files[0][1]) > len(files[0][0])


def test_the_chain_rule_sheet_asks_about_the_models_own_numbers():
    blank, solved = header(opened("sheets", course_sheet="chain", prompt="The cat sat on the"))["files"]
    given = [float(cell) for cell in cells(blank) if cell and cell[0].isdigit()]
    assert len(given) == 5 and cells(solved)[0] == cells(blank)[0] == "The"
    assert (any(cell == f"{-math.log(math.prod(given)):.4f}" for cell in cells(solved))
            and any(cell == f"{math.prod(given) ** -0.2:.4f}" for cell in cells(solved)))
