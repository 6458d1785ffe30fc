"""A class on the page of its teacher: the question goes to the wall and tells nothing, the answer is computed."""
from __future__ import annotations

import json

import numpy as np
import pytest

from core.app.classroom import asked, codes
from core.app.lesson import prediction
from core.app.teaching import class_games, class_plan, live_class
from core.base import catalogue, deployment, prose
from core.base.markdown import plain
from tests.claims.passes import run
from tests.helpers.lessons import fine, open_at
from tests.helpers.messages import given
from tests.helpers.predictions import all_asked, place_of, reads_prompt, some_guess, told

pytestmark = pytest.mark.long

CLASS = ("KXM4TR", "0" * 32)


def opened(lesson: str, **query: str):
    """A page of a teacher whose class is open."""
    at = open_at(lesson, ask="1", **query)
    at.session_state[live_class._OPEN] = CLASS
    at.run()
    assert fine(at), [e.value for e in (*at.exception, *at.error)]
    return at


def desk(at) -> dict:
    """The message to the class's button."""
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
    at.session_state[prediction.MADE] = {f"{lesson}/{name}": prediction.Reply(about, guess, None, by=CLASS[0])}
    at.run()
    assert fine(at), [e.value for e in (*at.exception, *at.error)]
    shown, alone = given(at, "class_wall"), told(lesson, name, guess)
    assert shown["mode"] == "told" and shown["model"] == {key: alone[key] for key in ("answer", "said", "bars")}
    assert (shown["statements"], shown["reason"]) == (alone["statements"], alone["reason"])
    assert shown["asked"] == wall["asked"]


def opened_after(at):
    """The same page, whose reader has opened a class in the meantime."""
    at.session_state[live_class._OPEN] = CLASS
    at.run()
    assert fine(at), [e.value for e in (*at.exception, *at.error)]
    return at


@pytest.mark.parametrize("alone", [None, prediction.Reply()], ids=["never asked", "looked"])
def test_a_picture_that_stood_before_the_class_stays_until_its_question_is_asked(alone):
    at = open_at("training", ask="0" if alone is None else "1", training_view="forcing")
    if alone is not None:
        at.session_state[prediction.MADE] = {"training/forcing": alone}
        at.run()
    at = opened_after(at)
    offered = given(at, "class_wall")
    assert offered["mode"] == "offer" and offered["asked"]["guess"]["kind"] == "place"
    assert "model" not in offered and stands(at)
    at.session_state[prediction.MADE] = {}          # as the press on its button does
    del at.session_state[prediction.STANDS]
    at.run()
    assert given(at, "class_wall")["mode"] == "ask" and not stands(at)


def test_the_next_view_of_a_class_asks_first():
    at = opened_after(open_at("training", ask="0", training_view="forcing"))
    assert given(at, "class_wall")["mode"] == "offer"
    at.session_state["training_view"] = "packing"
    at.run()
    assert fine(at) and given(at, "class_wall")["mode"] == "ask"
    at.session_state["training_view"] = "forcing"       # it stood for the last time
    at.run()
    assert fine(at) and given(at, "class_wall")["mode"] == "ask"


def test_a_readers_own_guess_is_offered_anew_and_shows_no_answer_to_the_class():
    at = open_at("training", ask="1", training_view="forcing")
    about = at.session_state["model"], at.session_state["prompt"]
    at.session_state[prediction.MADE] = {"training/forcing": prediction.Reply(about, 3, None)}
    assert given(opened_after(at.run()), "class_wall")["mode"] == "offer"


def test_a_step_that_is_revealed_shows_its_own_result_beside_its_picture_and_asks_nothing_else():
    at = opened("overview", present="1", **{"class": "1", "class_revealed": "1"})
    told_, asked_ = given(at, "class_wall"), given(opened("overview", present="1", **{"class": "1"}), "class_wall")
    assert (asked_["mode"], told_["mode"]) == ("step", "told") and told_["asked"] == asked_["asked"]
    logits = at_once(at.session_state["prompt"])
    p = np.exp(logits - logits.max()) / np.exp(logits - logits.max()).sum()
    best = int(p.argmax())
    assert told_["model"]["answer"] == "·ball" and told_["model"]["bars"][0] == ["·ball", pytest.approx(p[best])]
    assert len(told_["model"]["known"]) == class_games.MOST_KNOWN and told_["folded"]
    asked.question(told_["asked"])


def at_once(prompt: str) -> np.ndarray:
    """(|V|,) the logits of the next token in float64."""
    return run(prompt).trace.logits[-1].double().numpy(force=True)


def test_a_step_with_answers_marks_the_right_one():
    at = opened("tokens", present="1", **{"class": "2", "class_revealed": "2"})
    told_ = given(at, "class_wall")
    assert told_["asked"]["guess"]["kind"] == "options" and told_["model"] == {"answer": 1, "seen": True}
    assert told_["asked"]["guess"]["texts"] == list(class_plan.plans()["hour"].steps[1].options)


def test_what_nobody_in_the_class_has_guessed_is_not_marked_and_a_class_takes_its_guess_along():
    at = opened("architectures", architectures_view="blank")
    about, state = (at.session_state["model"], ""), None
    for is_marked, n in ((True, 1), (False, 0)):
        at.session_state[prediction.MADE] = {"architectures/blank": prediction.Reply(
            about, "zebra", None, state, by=CLASS[0], is_marked=is_marked)}
        at.run()
        told_ = given(at, "class_wall")
        assert fine(at) and told_["mode"] == "told" and sum(bar[2] for bar in told_["model"]["bars"]) == n
    del at.session_state[live_class._OPEN]
    at.run()
    assert fine(at) and not {"class_wall", "prediction"} & drawn(at) - {"prediction"}
    assert given(at, "prediction_switch")["mode"] == "switch"


def drawn(at) -> set[str]:
    return {element.proto.component_name for element in at.get("bidi_component")}


def test_who_looks_on_has_the_picture_and_its_title_and_nothing_to_set():
    around = {"navigation", "strip", "palette", "class_desk", "prediction", "prediction_switch", "next_view",
              "class_wall"}
    at = open_at("training", training_view="forcing", look="true", ask="0")
    assert fine(at) and stands(at) and not drawn(at) & around and not at.text_area
    assert any(m.value == prose.load("training").label("view_forcing") for m in at.markdown)
    at = open_at("overview", look="true", ask="0")
    assert fine(at) and not drawn(at) & around
    assert at.query_params["look"] == "true" and drawn(at)
    assert around - {"class_wall", "prediction"} <= drawn(open_at("training", training_view="forcing", ask="0"))


def stands(at) -> bool:
    """Whether the picture of teacher forcing is on the page."""
    return any("perplexity" in m.value for m in at.markdown)


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
    asked_ = given(at, "class_wall")["asked"]
    assert asked_["ask"] == plain(steps[first].settings["ask"]) and asked_["guess"]["chance"]
    # the question's subject also stands on the phones
    assert asked_["prompt"] == (at.session_state["prompt"] if "prompt" in steps[first].settings else "")


@pytest.mark.parametrize("entry", catalogue.existing(), ids=lambda entry: entry.id)
def test_no_question_leaves_latex_on_a_phone(entry):
    labels = prose.load(entry.id).labels
    for key, label in labels.items():
        if key.startswith("question_"):
            said = plain(label.replace("{{", "{").replace("}}", "}"))
            assert "$" not in said and "\\" not in said, (key, said)
