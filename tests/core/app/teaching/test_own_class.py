"""A teacher's own class: packed for an address, written to a file, checked when it comes in, changed and changed back.
"""
from __future__ import annotations

import base64
import json
import zlib

import pytest

from core.app.teaching import class_plan, own_class
from core.app.teaching.own_class import Step
from tests.helpers.lessons import fine, open_at
from tests.helpers.messages import given

PIECES = {"prompt": "Ein Maß ☃", "position": None, "tokens_view": "methods"}
TWO = (Step("Pieces", 5, "tokens", PIECES, "How many?", "3"),
       Step("Heads", 7, "heads", {"heads_panel": "roles", "layer": 2}, "Which head?", ""))


def test_a_class_comes_back_from_an_address_and_from_a_file():
    packed = own_class.packed(TWO)
    assert own_class.unpacked(packed) == TWO == own_class.of_file(own_class.file(TWO))
    assert packed.replace("-", "").replace("_", "").isalnum() and own_class.packed(()) == ""


def test_every_plan_of_the_course_fits_into_an_address():
    for name, plan in class_plan.plans().items():
        packed = own_class.packed(plan.steps)
        assert len(packed) <= own_class.MOST_CHARACTERS and own_class.unpacked(packed) == plan.steps, name


def of(rows: object) -> str:
    return base64.urlsafe_b64encode(zlib.compress(json.dumps(rows).encode())).decode().rstrip("=")


GOOD = ["A", 5, "tokens", {}, "?", "!"]


@pytest.mark.parametrize("text", ["", "hour", "é", "x" * 5000, of({}), of([[1]]), of([GOOD[:5]]),
                                  of([[*GOOD[:4], 1, ""]]), of([[*GOOD[:3], [], "", ""]]),
                                  of([["A", "x", *GOOD[2:]]]), of([["A", float("inf"), *GOOD[2:]]]),
                                  base64.urlsafe_b64encode(b"no zlib").decode(), of("[" * 50)])
def test_what_is_no_class_is_none(text):
    assert own_class.unpacked(text) == ()


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"class": 3}', '{"class": [{}]}', "[" * 5000])
def test_a_file_that_holds_no_class_is_none(text):
    assert own_class.of_file(text) == ()


def test_only_lessons_and_their_own_settings_come_in():
    """Nothing of another page, no key of the session, no value but texts and numbers."""
    settings = {"tokens_view": "methods", "heads_panel": "wall", "present": False, "asked_for": "x", "prompt": "a",
                "tokens_merged": [1], "layer": 2}
    [step] = own_class.checked([dict(title="A", lesson="tokens", settings=settings, ask="?" * 900, look="a\n b"),
                                dict(title="B", lesson="../x", settings={}, ask="", look="")])
    assert step.settings == {"tokens_view": "methods", "prompt": "a", "layer": 2}
    assert len(step.ask) < 700 and step.look == "a b" and step.minutes == 5


def test_steps_are_moved_and_edited():
    assert own_class.moved(TWO, 0, 1) == own_class.moved(TWO, 1, -1) == TWO[::-1]
    assert own_class.moved(TWO, 0, -1) == own_class.moved(TWO, 1, 1) == TWO
    changed = own_class.edited(TWO, 1, {"ask": "What?", "minutes": "9999", "lesson": "x"})
    assert changed[0] == TWO[0] and changed[1].ask == "What?" and changed[1].minutes == 240
    assert changed[1].lesson == "heads" and own_class.edited(TWO, 1, {"ask": "What?", "minutes": ""}) == TWO


def test_a_class_of_ones_own_is_taught_from_its_address():
    packed = own_class.packed(TWO)
    at = open_at("tokens", present="true", **{"class": "1", "class_plan": packed, "tokens_view": "methods"})
    assert fine(at) and given(at, "class_question")["ask"] == "How many?" and not at.button("class_next").disabled
    assert at.session_state["class_plan"] == packed


def test_a_view_is_added_with_all_that_it_shows():
    """Its defaults, too: another step of the same lesson may have set something else."""
    at = open_at("tokens", tokens_view="merges", prompt="one two")
    at.session_state["tokens_add_class"] = True
    at.run()
    at.text_area("tokens_add_0_ask").input("How many?")
    at.button("tokens_add_do").click().run()
    [step] = at.session_state["own_class"]
    assert fine(at) and (step.lesson, step.ask) == ("tokens", "How many?")
    assert step.settings["tokens_view"] == "merges" and step.settings["prompt"] == "one two"
    assert own_class.checked([vars(step)]) == (step,)


def test_what_was_changed_comes_back(monkeypatch):
    session = {}
    monkeypatch.setattr(own_class.st, "session_state", session)
    assert own_class.steps() == () and not own_class.can_undo()
    own_class.keep(TWO)
    own_class.keep(TWO[:1])
    own_class.undo()
    assert own_class.steps() == TWO
    own_class.undo()
    own_class.undo()
    assert own_class.steps() == () and not own_class.can_undo()


