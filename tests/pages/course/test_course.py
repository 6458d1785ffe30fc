"""The course page through AppTest: its views, its links, the class that it leads, the glossary, the sheets."""
from __future__ import annotations

import math
import urllib.parse

import pytest

from core.app.lesson import linked_page
from core.app.state import address, reader
from core.app.teaching import class_plan
from core.base import catalogue, prose, tables
from pages.course.shared import SETTINGS, SHEETS
from tests.core.sheets.test_exercises import cells
from tests.helpers.lessons import fine, open_at
from tests.helpers.messages import given, unpacked
from tests.helpers.places import nonsense
from tests.helpers.prompts import PROMPTS

COURSE = prose.load("course")


def header(at) -> dict:
    """The header of the page's picture."""
    element = next(element for element in at.get("bidi_component") if "-course_" in element.proto.id)
    return unpacked(element.proto.bytes)


def drawn(at) -> set[str]:
    """The names of the components on the page."""
    return {element.proto.component_name for element in at.get("bidi_component")}


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


PLANS = class_plan.plans()


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
    assert set(shown["links"]) == {idea.id for idea in ideas if tables.name_of(idea.place)} | {"start", "plan"}
    plan = PLANS[deck]
    assert [step["name"] for step in shown["steps"]] == [step.title for step in plan.steps]
    assert shown["links"]["start"] == linked_page.link(plan.steps[0].lesson, plan.opening(1))


@pytest.mark.parametrize("deck", "ABCD")
def test_a_lecture_ends_with_questions_that_its_pictures_answer_and_with_what_to_read(deck):
    shown, own = header(opened("lectures", course_deck=deck)), [idea.id for idea in tables.ideas() if idea.deck == deck]
    written = [COURSE.section(f"{kind}_{deck}").splitlines() for kind in ("questions", "reading")]
    assert [len(shown["questions"]), len(shown["reading"])] == list(map(len, written)), "a line is not understood"
    asked = [question["id"] for question in shown["questions"]]
    assert len(asked) >= 10 and len(set(asked)) == len(asked) and asked == sorted(asked, key=own.index)
    assert all(question["ask"].endswith(("?", ".")) for question in shown["questions"])
    for text in shown["reading"]:
        assert text["url"].startswith("https://") and text["why"].endswith(".") and len(text["title"]) > 10


def place_of(lesson: str, settings: dict) -> tables.Place:
    written = {key: str(value).lower() if isinstance(value, bool) else value for key, value in settings.items()
               if value is not None}
    return tables.Place(lesson, urllib.parse.urlencode(written))


# ---- a class ---------------------------------------------------------------------------------------------------------


STEPS = [(name, number) for name, plan in PLANS.items() for number in range(1, len(plan.steps) + 1)]


@pytest.mark.parametrize(("name", "minutes"), [("quarter", 15), ("hour", 50), ("long", 90), *((deck, 50) for deck in
                                                                                             "ABCD")])
def test_a_plan_fills_its_minutes_and_asks_before_it_shows(name, minutes):
    plan = PLANS[name]
    assert plan.starts[-1] == minutes and len(plan.steps) >= 4 and plan.about
    for number, step in enumerate(plan.steps, 1):
        assert "?" in step.ask and step.look and nonsense(place_of(step.lesson, step.settings)) == []
        own = reader.picture_defaults() | step.settings | {"present": True, "class": number,
                                                           "class_plan": "" if name == "hour" else name}
        assert plan.opening(number) == own | {"class_revealed": 0}
        assert plan.opening(number, revealed=True) == own | {"class_revealed": number}


def test_every_step_and_every_lecture_is_in_a_plan():
    taught = {step.title for plan in PLANS.values() for step in plan.steps}
    assert taught == {entry.title for entry in COURSE.entries("step")} and set("ABCD") < set(PLANS)


def class_at(name: str, number: int, revealed: bool = False, **more: str):
    """The page of a step as its address opens it."""
    plan = PLANS[name]
    step, own = plan.steps[number - 1], plan.opening(number, revealed=revealed)
    return step, open_at(step.lesson, **{key: str(value).lower() if isinstance(value, bool) else str(value)
                                         for key, value in own.items() if value is not None} | more)


@pytest.mark.parametrize(("name", "number"), STEPS[::3])
def test_a_step_opens_covered_by_its_question(name, number):
    """Every third: what is drawn in place of the picture is the same for all."""
    step, at = class_at(name, number)
    question = given(at, "class_question")
    assert fine(at) and question["ask"] == step.ask and bool(question["prompt"]) == ("prompt" in step.settings)
    said = "\n".join(m.value for m in at.markdown)
    assert step.title in said and step.look not in said and not at.expander
    assert drawn(at) <= {"class_question", "class_desk", "presenters_keys", "strip", "page", "palette", "standing",
                         "navigation"}


@pytest.mark.parametrize(("name", "number"), [("hour", 2), ("B", 1)])
def test_revealed_it_has_its_picture_and_says_what_to_look_for(name, number):
    step, at = class_at(name, number, revealed=True)
    assert fine(at) and "class_question" not in drawn(at)
    assert any(step.look[:20] in m.value for m in at.markdown) and at.expander


def test_the_way_on_is_a_question_then_its_picture_then_the_next_question_and_back_again():
    at = class_at("hour", 1)[1]
    assert at.button("class_back").disabled
    shown = ["class_question" in drawn(at)]
    for button in ("class_next", "class_back", "class_next"):
        at.button(button).click().run()
        shown.append("class_question" in drawn(at))
    assert shown == [True, False, True, False] and not at.button("class_next").disabled


def test_another_lesson_is_not_covered_by_the_step_that_was_left():
    assert "class_question" not in drawn(open_at("heads", present="true", **{"class": "1"}))


def test_without_present_mode_a_lesson_is_as_ever():
    at = open_at("tokens", **{"class": "2"})
    assert fine(at) and not any(button.key == "class_next" for button in at.button)


def test_what_is_none_is_left_out_of_a_link(monkeypatch):
    """An experiment that asks for the last position writes `position: null`."""
    monkeypatch.setattr(address, "shared_values", lambda defaults=False: {"prompt": "a", "position": "3"})
    assert (address.link({"position": None, "tokens_merged": 0}).startswith("?prompt=a")
            and "position" not in address.link({"position": None}))


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
