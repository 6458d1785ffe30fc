"""A class on the page of its teacher: the question goes to the wall and tells nothing, the answer is computed."""
from __future__ import annotations

import json

import pytest

from core.app.base import catalogue, deployment, prose
from core.app.base.markdown import plain
from core.app.classroom import asked, codes
from core.app.frame import live_class, prediction
from tests.helpers.lessons import fine, open_at
from tests.helpers.messages import given
from tests.helpers.predictions import all_asked, place_of, reads_prompt, some_guess, told

CLASS = ("KXM4TR", "0" * 32)


def opened(lesson: str, **query: str):
    """A page of a teacher whose class is open."""
    at = open_at(lesson, ask="1", **query)
    at.session_state[live_class._OPEN] = CLASS
    at.run()
    assert fine(at), [e.value for e in (*at.exception, *at.error)]
    return at


def desk(at) -> dict:
    """What the button of the class was given."""
    return json.loads(next(element.proto.json for element in at.get("bidi_component")
                           if element.proto.component_name == "class_desk"))


@pytest.mark.parametrize(("lesson", "name"), [asked for i, asked in enumerate(all_asked()) if i % 4 == 0])
def test_every_question_can_be_asked_of_a_class_and_the_answer_is_the_readers(lesson: str, name: str):
    at = opened(lesson, **place_of(lesson, name))
    wall = given(at, "class_wall")
    assert wall["mode"] == "ask" and (wall["code"], wall["key"]) == CLASS
    question = asked.question(wall["asked"])                # as the server takes it
    assert question["guess"] == wall["asked"]["guess"] and question["about"] == wall["asked"]["about"]
    assert not at.get("vega_lite_chart") and not at.get("plotly_chart")

    guess = some_guess(wall["asked"])
    about = at.session_state["model"], at.session_state["prompt"] if reads_prompt(at, lesson, name) else ""
    at.session_state[prediction.MADE] = {f"{lesson}/{name}": prediction.Made(about, guess, None, by=CLASS[0])}
    at.run()
    assert fine(at), [e.value for e in (*at.exception, *at.error)]
    shown, alone = given(at, "class_wall"), told(lesson, name, guess)
    assert shown["mode"] == "told" and shown["model"] == {key: alone[key] for key in ("answer", "said", "bars")}
    assert (shown["statements"], shown["reason"]) == (alone["statements"], alone["reason"])
    assert shown["asked"] == wall["asked"]


def test_the_button_offers_a_class_and_then_the_way_in():
    at = open_at("tokens")
    offered = desk(at)
    assert offered["open"] == "/class" and "code" not in offered
    led = desk(opened("tokens"))
    assert led["code"] == "KXM4TR" and led["address"]["act"] == "/class/KXM4TR" and led["notes"] is None
    assert led["address"]["events"] == f"/j/KXM4TR/events?wall={codes.kept(CLASS[1])}"
    assert led["addresses"] and all(way["qr"].startswith("data:image/png;base64,") for way in led["addresses"])


def test_where_classes_are_off_nothing_of_them_is_offered(monkeypatch):
    monkeypatch.setenv(deployment.CLASSES, "off")
    at = open_at("tokens")
    assert not [element for element in at.get("bidi_component") if element.proto.component_name == "class_desk"]


def test_what_a_browser_says_of_a_class_is_taken_only_where_it_can_be_one():
    for told_ in (None, [], ["KXM4TR"], ["KXM4TR", 7], ["<b>", "0" * 32], ["KXM4TR", "short"], {"code": "KXM4TR"},
                  "KXM4TR 0000", ["kxm4to", "0" * 32]):
        live_class._take(told_)
        assert not live_class.is_open(), told_


def test_a_step_of_a_plan_gives_the_second_device_its_notes():
    at = opened("overview", present="1", **{"class": "1"})
    notes = desk(at)["notes"]
    plan = next(entry for entry in prose.load(catalogue.COURSE).entries("plan") if entry.id == "hour")
    first, second = [step.split()[0] for step in plan.settings["steps"].split(",")][:2]
    steps = {entry.id: entry for entry in prose.load(catalogue.COURSE).entries("step")}
    assert notes["title"] == steps[first].title and notes["next"] == steps[second].title
    assert notes["ask"] == steps[first].settings["ask"] and notes["look"] == steps[first].look
    assert given(at, "class_wall")["asked"]["ask"] == plain(steps[first].settings["ask"])


@pytest.mark.parametrize("entry", catalogue.existing(), ids=lambda entry: entry.id)
def test_no_question_leaves_latex_on_a_phone(entry):
    labels = prose.load(entry.id).labels
    for key, label in labels.items():
        if key.startswith("question_"):
            said = plain(label.replace("{{", "{").replace("}}", "}"))
            assert "$" not in said and "\\" not in said, (key, said)
