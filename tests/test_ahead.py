"""Pictures drawn ahead of their page: what the browser is answered for another text is what the page then draws of it."""
from __future__ import annotations

import importlib
import inspect
import json
import threading
import urllib.parse
from pathlib import Path

import numpy as np
import pyarrow
import pytest
from streamlit.runtime.scriptrunner import ScriptRunner
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Block

from core.ui import ahead, cache, charts, jobs, next_token, overview, prerender, run, working
from core.ui.architectures import designs
from core.ui.architectures.designs import CHOICES
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


PICTURES = [("tokens", {}, "tokens_merges_player"), ("tokens", {"tokens_view": "methods"}, "tokens_methods_table"), ("tokens", {"tokens_view": "vocabulary"}, "tokens_vocabulary_search"),
            ("tokens", {"tokens_view": "train", "tokens_source": "prompt"}, "tokens_training"), ("embeddings", {}, "embeddings_product"), ("attention", {}, "attention_steps_instrument"),
            ("attention", {"attention_view": "averages"}, "attention_average"), ("attention", {"attention_view": "scaling"}, "attention_scaling"),
            ("attention", {"attention_view": "roles"}, "attention_roles"), ("attention", {"attention_view": "roles", "attention_roles_part": "relabel"}, "attention_roles"),
            ("attention", {"attention_view": "switches", "attention_score": "relu"}, "attention_pattern_before"), ("attention", {"attention_view": "switches", "attention_scaling": "own"}, "attention_pattern_after"),
            ("residual_stream", {}, "residual_stream_norms"), ("residual_stream", {"residual_stream_measure": "attention", "residual_stream_log": "true", "layer": "2"}, "residual_stream_norms"),
            ("residual_stream", {"residual_stream_measure": "turn"}, "residual_stream_turns"), ("residual_stream", {"residual_stream_view": "norm", "residual_stream_norm_view": "batch"}, "residual_stream_matrix_tokens"),
            ("residual_stream", {"residual_stream_view": "lens", "residual_stream_depth": "2"}, "residual_stream_lens_grid"), ("residual_stream", {"residual_stream_view": "lens"}, "residual_stream_guesses"),
            ("positions", {"positions_view": "concat"}, "positions_concat_instrument"), ("positions", {"positions_view": "rotary"}, "positions_rotary_instrument"),
            ("architectures", {}, "architectures_design_picture"), ("recurrence", {}, "recurrence_unrolled"), ("training", {}, "training_columns"),
            ("residual_stream", {"residual_stream_view": "contributions"}, "residual_stream_waterfall"), ("residual_stream", {"residual_stream_view": "norm"}, "residual_stream_vector_after"),
            ("residual_stream", {"residual_stream_view": "mlp"}, "residual_stream_neurons"), ("residual_stream", {"residual_stream_view": "cut"}, "residual_stream_cut_lines"),
            ("attention", {"attention_view": "switches", "attention_scaling": "own"}, "attention_switches_bars"), ("embeddings", {"embeddings_view": "contexts"}, "embeddings_alike")]
NAMES = [" ".join((*settings.values(), key)) for _, settings, key in PICTURES]
STATES = {"short": {}, "beyond what travels whole": {"position": "3", "layer": "4", "head": "2"}, "hostile": {"present": "true"}, "more than fits": {}, "empty": {"position": "2"}}


def question_of(at: AppTest, key: str, **other) -> dict:
    """What the browser sends for one picture of an open page: the prompt, and where the page stands but for it."""
    query = urllib.parse.urlencode({name: value[0] if isinstance(value, list) else value for name, value in at.query_params.items() if name != "prompt"})
    return {"page": at.session_state["page"], "query": query, "theme": "light", "keys": [key], "text": at.session_state["prompt"], **other}


def given_bytes(at: AppTest, key: str) -> bytes | None:
    """What a component of the page was given, None where it is not there."""
    assert fine(at)
    return next((c.proto.bytes for c in at.get("bidi_component") if c.proto.id.endswith(f"-{key}")), None)


def tables_of(container: Block, key: str) -> dict | None:
    """What a chart of the page was given, as an answer has it: how it is written, and its tables by their names. None where it is not there."""
    [chart] = [one.proto for box in boxes(container, key) for one in box.get("vega_lite_chart")] or [None]
    if chart is None:
        return None
    [written_as] = [one["value"] for one in json.loads(chart.spec)["params"] if one["name"] == charts.WRITTEN_AS]
    tables = {one.name: pyarrow.ipc.open_stream(one.data.data).read_all().to_pydict() for one in chart.datasets}
    return {"written_as": written_as, "tables": {name: {column: values for column, values in table.items() if not column.startswith("__index")} for name, table in tables.items()}}


def boxes(block: Block, key: str) -> list[Block]:
    """The containers of this key."""
    children = [child for child in block.children.values() if isinstance(child, Block)]
    return [child for child in children if getattr(child.proto, "id", "").endswith(f"-{key}")] + [found for child in children for found in boxes(child, key)]


def standing(at: AppTest, key: str) -> bytes | dict | None:
    """What a picture of the page was given."""
    sent = given_bytes(at, key)
    return tables_of(at.main, key) if sent is None else sent


def answered(question: dict) -> dict[str, bytes | dict]:
    answer = unpacked(ahead.answer(json.loads(json.dumps(question))))
    sent = {name: bytes(answer[name]) for name, _, _ in answer["arrays"]}
    return {name: {field: value for field, value in unpacked(given).items() if field != "arrays"} if b'"written_as"' in given else given for name, given in sent.items()}


@pytest.mark.parametrize("text", STATES)
@pytest.mark.parametrize(("lesson", "settings", "key"), PICTURES, ids=NAMES)
def test_a_page_answers_what_it_then_draws(lesson: str, settings: dict[str, str], key: str, text: str):
    settings = settings | STATES[text]
    answer = answered(question_of(open_at(lesson, **settings), key, text=TEXTS[text]))
    drawn = standing(open_at(lesson, prompt=TEXTS[text], **settings), key)
    assert answer == ({} if drawn is None else {key: drawn})


CONTROLS = [("tokens", {"tokens_view": "train"}, "tokens_training", "source", "prompt"), ("attention", {"attention_view": "switches"}, "attention_pattern_after", "scaling", "own"), ("attention", {"attention_view": "scaling"}, "attention_scaling", "scaling_keys", None),
            ("attention", {"attention_view": "roles"}, "attention_roles", "roles_part", "relabel"), ("residual_stream", {}, "residual_stream_norms", "measure", "mlp"),
            ("residual_stream", {"residual_stream_view": "norm", "residual_stream_norm_view": "batch"}, "residual_stream_matrix_features", "norm_where", "mlp"),
            ("recurrence", {}, "recurrence_unrolled", "cell", None), ("training", {}, "training_columns", "unit", None), ("limits", {"limits_view": "meaning"}, "limits_items", "test", None), ("attention", {"attention_view": "worksheet"}, "attention_sheet", "sheet_width", None),
            ("architectures", {"architectures_view": "norms"}, "architectures_norms_table", "norms_where", "mlp"),
            ("generation", {"generation_view": "beam"}, "generation_beam", "source", "tiny"),
            ("training", {"training_view": "tuning"}, "training_next_token", "asked", None), ("training", {"training_view": "schedules", "training_part": "descent"}, "training_surface", "surface", None),
            ("training", {"training_view": "kepler"}, "training_kepler_instrument", "structure", None), ("recurrence", {"recurrence_view": "gradient"}, "recurrence_gradient", "activation", None),
            ("limits", {"limits_view": "words"}, "limits_movers", "by", None), ("limits", {"limits_view": "words"}, "limits_spreads", "span", None)]


OFFERED = {"norm_where": ("attention", "mlp", "final")}      # of a setting's options, where a model has not all


@pytest.mark.parametrize(("lesson", "settings", "key", "name", "option"), CONTROLS, ids=[f"{key} {name}" for _, _, key, name, _ in CONTROLS])
def test_a_page_answers_a_press_on_a_control_with_what_it_then_draws(lesson: str, settings: dict[str, str], key: str, name: str, option: str | None):
    every = importlib.import_module(f"core.ui.{lesson}.reading").SETTINGS.each[name].options
    every = OFFERED.get(name, every)
    option = option or every[-1]
    before = open_at(lesson, **settings)
    answer = answered(question_of(before, key, pressed=[f"{lesson}_{name}", every.index(option), len(every)]))
    drawn = standing(open_at(lesson, **settings, **{f"{lesson}_{name}": option}), key)
    assert drawn is not None and answer == {key: drawn} and standing(before, key) != drawn


def test_what_grows_is_answered_once_somebody_has_had_it_computed():
    futures = {"generation_view": "futures", "generation_seed": "316"}
    question = question_of(open_at("generation", **futures), "generation_futures", pressed=["generation_depth", 2, 3])
    assert answered(question) == {}
    drawn = given_bytes(open_at("generation", **futures, generation_depth="5"), "generation_futures")
    assert drawn is not None and answered(question) == {"generation_futures": drawn}


def test_a_box_of_whole_numbers_and_one_that_changes_another_setting_are_answered_too():
    blank = dict(architectures_view="blank")
    assert answered(question_of(open_at("architectures", **blank), "architectures_blank_pattern", pressed=["architectures_blank_head", 1, 8])) == {
        "architectures_blank_pattern": given_bytes(open_at("architectures", **blank, architectures_blank_head="1"), "architectures_blank_pattern")}
    norms = list(CHOICES["norm"])
    changed = designs.Design(designs.read("")[0].preset).with_change("norm", norms[1])
    assert answered(question_of(open_at("architectures"), "architectures_design_picture", pressed=["architectures_norm", 1, len(norms)])) == {
        "architectures_design_picture": given_bytes(open_at("architectures", architectures_design=changed.written), "architectures_design_picture")}


@pytest.mark.parametrize("pressed", [["recurrence_cell", 40, 41], ["recurrence_cell", 0, 2], ["recurrence_nothing", 0, 3], ["recurrence_view", 1, 2], ["recurrence_both", 1, 2]], ids=str)
def test_a_press_on_what_the_page_does_not_have_is_answered_with_nothing(pressed: list):
    at = open_at("recurrence")
    assert answered(question_of(at, "recurrence_unrolled")) and answered(question_of(at, "recurrence_unrolled", pressed=pressed)) == {}


def test_several_pictures_of_a_view_are_answered_together():
    keys = ["attention_pattern_before", "attention_pattern_after", "attention_average"]
    at = open_at("attention", attention_view="switches")
    assert answered(question_of(at, "", keys=keys)) == {key: given_bytes(at, key) for key in keys[:2]}


@pytest.mark.parametrize("page", {**ahead.OF_PROMPT, **ahead.OF_NO_PROMPT})
def test_every_picture_that_is_asked_ahead_is_one_that_its_page_may_draw(page: str):
    source = "".join(path.read_text() for path in (Path("core/ui") / page).glob("*.py"))
    for name in (*ahead.OF_PROMPT.get(page, ()), *ahead.OF_NO_PROMPT.get(page, ())):
        assert name in source or name.rpartition("_")[2] in source, name


QUESTION = {"page": "tokens", "query": "", "theme": "light", "keys": ["tokens_merges_player"], "text": "Mia"}


@pytest.mark.parametrize("wrong", [dict(page="../app"), dict(page="models"), dict(page=["tokens"]), dict(query=None), dict(query=7), dict(theme="../x"), dict(keys=["strip_tokens"]), dict(keys="tokens_merges_player"),
                                   dict(keys=[]), dict(keys=[["a"]]), dict(text=None), dict(text=["a"]), dict(text="\ud800"), dict(pressed="x"), dict(pressed=[1, 2, 3]), dict(pressed=["x", "0", 2]),
                                   dict(pressed=["x", -1, 2]), dict(pressed=["x", True, 2]), dict(pressed=["x", 0, 0.5]), dict(pressed=["x"])], ids=str)
def test_a_picture_that_no_page_draws_is_refused(wrong: dict):
    assert answered(QUESTION)
    with pytest.raises((ValueError, TypeError, KeyError)):
        ahead.answer(QUESTION | wrong)


def test_a_picture_of_another_view_is_answered_with_nothing():
    assert answered(QUESTION | {"keys": ["tokens_methods_table"]}) == {}


def test_while_many_pages_run_nothing_is_drawn_ahead_but_what_sets_a_picture_right():
    ends = threading.Event()
    runs = [threading.Thread(target=ends.wait, name=name, daemon=True) for name in (jobs.PAGE, prerender.THREAD, jobs.PAGE)]
    for thread in runs[:ahead.MOST_RUNS]:
        thread.start()
    assert answered(QUESTION)
    runs[ahead.MOST_RUNS].start()
    try:
        assert answered(QUESTION) == {} and answered(QUESTION | {"again": True}) and answered(QUESTION | {"again": 1}) == {}
    finally:
        ends.set()
    assert f'name="{jobs.PAGE}"' in inspect.getsource(ScriptRunner) and "name=THREAD" in inspect.getsource(prerender)


def test_a_page_that_is_asked_ahead_leaves_nothing_behind():
    before = set(threading.enumerate())
    assert b"park" in ahead.answer(QUESTION | {"text": "a park"})
    assert b"park" not in ahead.answer(QUESTION | {"text": "a dog"})
    assert set(threading.enumerate()) <= before


def test_what_takes_long_is_not_begun_for_a_page_that_is_asked_ahead(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(working.jobs, "queue", lambda *_: pytest.fail("a computation was begun"))
    question = {"page": "language_models", "query": "language_models_view=tasks", "theme": "light", "keys": ["language_models_tasks"], "text": ""}
    assert answered(question | {"pressed": ["language_models_shots", 3, 4]}) == {}


def test_a_failure_on_the_way_to_the_picture_is_told_and_answered_with_nothing(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture):
    monkeypatch.setattr("core.ui.tokens.merges.played", lambda _run: 1 / 0)
    assert answered(QUESTION) == {}
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
