"""Pictures drawn ahead of their page: what the browser is answered for another text is what the page then draws of it."""
from __future__ import annotations

import json

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from core.ui import ahead, cache, next_token, overview, run
from core.ui.components.sampling_panel import unpack
from core.ui.heads import live as heads
from tests.lessons import fine, open_at
from tests.messages import given, unpacked

TEXTS = {"short": "Mia likes", "empty": "", "exact": "One day a cat " * 3, "beyond what travels whole": "the dog ran to the park " * 12, "more than fits": "a " * 400,
         "hostile": "<img src=x onerror=alert(1)> שלום 👩‍🚀\x00\u202e"}
CHANGED = dict(heads_panel="change", heads_changed="0.* 3.1", heads_action="scale", heads_factor="1.5")


def sent_by(at: AppTest) -> dict:
    """What askAhead sends back with another text: the question that the open page's picture was given."""
    assert fine(at)
    [component] = [c.proto for c in at.get("bidi_component") if c.proto.component_name in ("heads_wall", "overview_map", "live_transformer.sampling_panel")]
    header = unpack(component.bytes)[0] if component.component_name.endswith("panel") else unpacked(component.bytes)
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
