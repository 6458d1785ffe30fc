"""Pictures drawn ahead of their page: what the browser is answered for another text is what the page then draws of it."""
from __future__ import annotations

import json

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from core.ui import ahead, cache, next_token, overview, run
from core.ui.components.sampling_panel import unpack
from core.ui.attention import steps
from core.ui.heads import live as heads
from core.ui.residual_stream import norms
from tests.lessons import fine, open_at
from tests.messages import given, unpacked
from tests.test_attention_steps import unpacked as instrument

TEXTS = {"short": "Mia likes", "empty": "", "exact": "One day a cat " * 3, "beyond what travels whole": "the dog ran to the park " * 12, "more than fits": "a " * 400,
         "hostile": "<img src=x onerror=alert(1)> שלום 👩‍🚀\x00\u202e"}
CHANGED = dict(heads_panel="change", heads_changed="0.* 3.1", heads_action="scale", heads_factor="1.5")


def sent_by(at: AppTest) -> dict:
    """What askAhead sends back with another text: the question that the open page's picture was given."""
    assert fine(at)
    names = ("heads_wall", "overview_map", "live_transformer.sampling_panel", "residual_norms", "attention_steps")
    [component] = [c.proto for c in at.get("bidi_component") if c.proto.component_name in names]
    read = {names[2]: lambda sent: unpack(sent)[0], names[4]: lambda sent: instrument(sent)[0]}.get(component.component_name, unpacked)
    header = read(component.bytes)
    assert header["ahead"]["field"] == ahead.FIELD and header["ahead"]["path"].startswith("/live/")
    return json.loads(json.dumps(header["ahead"]["question"]))


def same(answer: dict, drawn: dict) -> bool:
    """Whether everything in the answer stands in what the page drew, to the bit."""
    return all(drawn[key].tobytes() == value.tobytes() if isinstance(value, np.ndarray) else drawn[key] == value for key, value in answer.items() if key != "arrays")


@pytest.mark.parametrize("settings", [{}, {"position": "3"}, CHANGED], ids=["as it opens", "a picked token", "a change"])
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
def test_the_wall_is_answered_what_the_page_draws(text: str, settings: dict[str, str]):
    question = sent_by(open_at("heads", **settings))
    answer = unpacked(heads.answer(question | {"text": text, "exact_heads": [0]}))
    drawn = given(open_at("heads", prompt=text, **settings), "heads_wall")
    assert {"tokens", "query", "heading", "roles", "notes", "values", "badges"} <= answer.keys() and same(answer, drawn)


@pytest.mark.parametrize("settings", [{}, {"position": "3"}, {"overview_seed": "7"}], ids=["as it opens", "a picked token", "another draw"])
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
def test_the_map_is_answered_what_the_page_draws(text: str, settings: dict[str, str]):
    question = sent_by(open_at("overview", **settings))
    answer, drawn = unpacked(overview.answer(question | {"text": text})), given(open_at("overview", prompt=text, **settings), "overview_map")
    assert {"tokens", "ids", "candidates", "position", "draw", "logits", "stream"} <= answer.keys() and same(answer, drawn)


@pytest.mark.parametrize("settings", [{}, {"position": "3"}], ids=["as it opens", "a picked token"])
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
def test_the_panel_is_answered_the_logits_that_the_page_sends(text: str, settings: dict[str, str]):
    question = sent_by(open_at("next_token", **settings))
    page = open_at("next_token", prompt=text, **settings)
    _, rows = unpack(next(c.proto.bytes for c in page.get("bidi_component") if c.proto.component_name.endswith("panel")))
    assert next_token.answer(question | {"text": text}) == rows[0].tobytes()


@pytest.mark.parametrize("settings", [{}, {"position": "3", "residual_stream_depth": "2"}, {"residual_stream_measure": "attention", "residual_stream_log": "true", "layer": "2"}, {"present": "true"}],
                         ids=["as it opens", "a picked token", "what attention adds", "present mode"])
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
def test_the_norms_are_answered_what_the_page_draws(text: str, settings: dict[str, str]):
    question = sent_by(open_at("residual_stream", **settings))
    answer, drawn = unpacked(norms.answer(question | {"text": text})), given(open_at("residual_stream", prompt=text, **settings), "residual_norms")
    assert answer.pop("ahead") is None and drawn["ahead"]["text"] is not None
    assert {"values", "residual", "attention", "column_labels", "picked", "peak", "twin"} <= answer.keys() and same(answer, drawn)


@pytest.mark.parametrize("settings", [{}, {"position": "3", "layer": "4", "head": "2"}, {"present": "true"}], ids=["as it opens", "a picked head", "present mode"])
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
def test_the_steps_are_answered_what_the_page_draws(text: str, settings: dict[str, str]):
    question = sent_by(open_at("attention", **settings))
    page = open_at("attention", prompt=text, **settings)
    drawn, arrays = instrument(next(c.proto.bytes for c in page.get("bidi_component") if c.proto.component_name == "attention_steps"))
    answer, answered = instrument(steps.answer(question | {"text": text}))
    assert set(drawn) - set(answer) == {"settings", "ahead"} and same(answer, drawn)
    assert answered.keys() == arrays.keys() and same(answered, arrays)


@pytest.mark.parametrize("wrong", [dict(measure="turn"), dict(measure="width"), dict(row=-1), dict(row=7), dict(row=1.0), dict(theme="../x"), dict(fit="1"), dict(logarithmic=1)], ids=str)
def test_norms_that_there_are_not_are_refused(wrong: dict):
    question = {"model": "stories", "device": "cpu", "position": None, "text": "Mia", "measure": "stream", "logarithmic": False, "row": 6, "theme": "light", "present": False, "fit": 312}
    assert norms.answer(question)
    with pytest.raises(ValueError):
        norms.answer(question | wrong)


@pytest.mark.parametrize("wrong", [dict(layer=6), dict(head=-1), dict(layer="0"), dict(head=None)], ids=str)
def test_steps_of_a_head_that_there_is_not_are_refused(wrong: dict):
    question = {"model": "stories", "device": "cpu", "position": None, "text": "Mia", "layer": 0, "head": 0, "present": False}
    assert steps.answer(question)
    with pytest.raises(ValueError):
        steps.answer(question | wrong)


@pytest.mark.parametrize("wrong", [dict(model="../../etc"), dict(device="cuda:9"), dict(text=None), dict(text=["a"]), dict(position="last"), dict(position=1.5)])
def test_a_question_that_makes_no_sense_is_refused(wrong: dict):
    question = {"model": "stories", "device": "cpu", "position": None, "text": "Mia"}
    assert ahead.run_of(question)[1] == len(ahead.run_of(question)[0].token_ids) - 1
    with pytest.raises(ValueError):
        ahead.run_of(question | wrong)


def test_a_picked_position_beyond_a_shorter_text_is_its_last():
    found, position = ahead.run_of({"model": "stories", "device": "cpu", "position": 200, "text": "Mia likes"})
    assert position == len(found.token_ids) - 1


def test_a_model_whose_pass_a_key_cannot_wait_for_is_not_asked_ahead(monkeypatch: pytest.MonkeyPatch):
    question = {"model": "stories", "device": "cpu", "position": None, "text": "Mia"}
    monkeypatch.setattr(run, "LARGE", cache.shared_model("stories", "cpu").model.n_parameters - 1)
    assert given(open_at("heads"), "heads_wall")["ahead"] is None
    with pytest.raises(ValueError):
        ahead.run_of(question)
