"""Pictures drawn ahead of their page: what the browser is answered for another text is what the page then draws of it."""
from __future__ import annotations

import json
import threading

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from core.ui import ahead, cache, next_token, overview, run, working
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
    names = ("heads_wall", "overview_map", "live_transformer.sampling_panel")
    [component] = [c.proto for c in at.get("bidi_component") if c.proto.component_name in names]
    header = unpack(component.bytes)[0] if component.component_name == names[2] else unpacked(component.bytes)
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


PICTURES = [("tokens", {}, "token_merges"), ("tokens", {"tokens_view": "methods"}, "token_methods"), ("tokens", {"tokens_view": "vocabulary"}, "token_vocabulary"),
            ("tokens", {"tokens_view": "train", "tokens_source": "prompt"}, "token_training"), ("embeddings", {}, "embedding_product"), ("attention", {}, "attention_steps"),
            ("attention", {"attention_view": "averages"}, "attention_average"), ("attention", {"attention_view": "scaling"}, "attention_scaling"),
            ("attention", {"attention_view": "roles"}, "attention_matrices"), ("attention", {"attention_view": "roles", "attention_roles_part": "relabel"}, "attention_matrices"),
            ("residual_stream", {}, "residual_norms"), ("residual_stream", {"residual_stream_measure": "attention", "residual_stream_log": "true", "layer": "2"}, "residual_norms"),
            ("residual_stream", {"residual_stream_view": "lens", "residual_stream_depth": "2"}, "residual_lens"), ("recurrence", {}, "recurrence_unrolled"), ("training", {}, "teacher_forcing")]
NAMES = [" ".join((lesson, *settings.values())) for lesson, settings, _ in PICTURES]
STATES = {"short": {}, "beyond what travels whole": {"position": "3", "layer": "4", "head": "2"}, "hostile": {"present": "true"}, "more than fits": {}, "empty": {"position": "2"}}


def parts(sent: bytes) -> tuple[dict, dict | None, bytes]:
    """The header that a component was given but for what it may ask ahead, that, and the numbers behind."""
    length = int.from_bytes(sent[:4], "little")
    header = json.loads(sent[4:4 + length])
    return header, header.pop("ahead"), sent[4 + length:].lstrip(b"\0")


def given_bytes(at: AppTest, name: str) -> bytes:
    assert fine(at)
    return next(c.proto.bytes for c in at.get("bidi_component") if c.proto.component_name == name)


@pytest.mark.parametrize("text", STATES)
@pytest.mark.parametrize(("lesson", "settings", "name"), PICTURES, ids=NAMES)
def test_a_page_answers_what_it_then_draws(lesson: str, settings: dict[str, str], name: str, text: str):
    settings = settings | STATES[text]
    _, offered, _ = parts(given_bytes(open_at(lesson, **settings), name))
    assert offered["field"] == ahead.FIELD and offered["path"] == f"/live/{ahead.NAME}"
    answer = parts(ahead.answer(json.loads(json.dumps(offered["question"])) | {"text": TEXTS[text]}))
    drawn = parts(given_bytes(open_at(lesson, prompt=TEXTS[text], **settings), name))
    assert answer == drawn


QUESTION = {"page": "tokens", "query": "", "theme": "light", "key": "tokens_merges_player", "text": "Mia"}


@pytest.mark.parametrize("wrong", [dict(page="../app"), dict(page="models"), dict(page=["tokens"]), dict(query=None), dict(query=7), dict(theme="../x"), dict(key="tokens_methods_table"), dict(key=["a"]), dict(key="strip_tokens"),
                                   dict(text=None), dict(text=["a"]), dict(text="\ud800")], ids=str)
def test_a_picture_that_no_page_draws_is_refused(wrong: dict):
    assert ahead.answer(QUESTION)
    with pytest.raises((ValueError, TypeError)):
        ahead.answer(QUESTION | wrong)


def test_a_page_that_is_asked_ahead_leaves_nothing_behind():
    before = set(threading.enumerate())
    assert b"zebra" in ahead.answer(QUESTION | {"text": "a zebra"})
    assert b"zebra" not in ahead.answer(QUESTION | {"text": "a dog"})
    assert set(threading.enumerate()) <= before


def test_what_takes_long_is_not_begun_for_a_page_that_is_asked_ahead(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(working.jobs, "queue", lambda *_: pytest.fail("a computation was begun"))
    with pytest.raises(ValueError):
        ahead.answer({"page": "generation", "query": "generation_view=beam", "theme": "light", "key": "generation_beam", "text": "a text that nobody had before"})


def test_a_failure_on_the_way_to_the_picture_is_told_and_answered_with_nothing(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture):
    monkeypatch.setattr("core.ui.tokens.merges.played", lambda _run: 1 / 0)
    with pytest.raises(ValueError):
        ahead.answer(QUESTION)
    assert "ZeroDivisionError" in caplog.text


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
