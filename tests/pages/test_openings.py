"""Recordings of slow first pictures: they are what the models compute, stand at once, and are computed anew at a
press.
"""
from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd
import pytest
import torch
from streamlit.testing.v1 import AppTest

from core.app.compute import cache, growing_results
from core.app.compute.growing_results import ANEW
from core.app.lesson.lesson import Lesson
from core.app.state import Run
from core.app.state.run import read
from core.base import prose
from core.evaluation import confidence, losses
from core.evaluation.memorisation import recitations
from core.files import ASSETS, read_json
from core.language import word_order
from core.training import teaching_text
from pages.embeddings.record import MODELS
from pages.embeddings.shared import space_of
from pages.embeddings.vocabulary_map import N_KEPT, N_MAPPED, N_MOVES, mapped
from pages.limits import calibration, facts, meaning, memory
from tests.helpers import lessons
from tests.helpers.view_states import heard

pytestmark = pytest.mark.long

FILES = sorted((ASSETS / "teaching").glob(growing_results.RECORDED))
PAGE = Lesson("limits", prose.load("limits"), prose.load("app"))
WORDS = prose.load("app")
# the file, the lesson, and the settings in its address
VIEWS = (("facts", "limits", {"view": "facts"}), ("recitations", "limits", {"view": "memory"}),
         ("calibration", "limits", {"view": "calibration"}), ("word_orders", "limits", {"view": "meaning"}),
         ("neighbourhoods", "embeddings", {"view": "map", "dimensions": "tsne"}))
EACH = pytest.mark.parametrize(("name", "lesson", "settings"), VIEWS, ids=[name for name, *_ in VIEWS])


def keys_of(name: str, model: str) -> set[str]:
    """The keys that a file has of a model."""
    return {key for key in read_json(ASSETS / "teaching" / f"{name}_opening.json") if f"'{model}'" in key}


def is_recorded(at: AppTest) -> bool:
    return WORDS.label("recorded") in [caption.value for caption in at.caption]


def same(one: pd.DataFrame, other: pd.DataFrame) -> bool:
    numbers = one.select_dtypes("number").columns
    return (one.drop(columns=numbers).equals(other.drop(columns=numbers))
            and np.allclose(one[numbers], other[numbers], atol=1e-4))


@EACH
def test_a_recording_stands_at_once_and_is_computed_anew_at_a_press(name: str, lesson: str, settings: dict,
                                                                     empty_caches: None):
    with heard() as recorded:
        at = lessons.opened(lesson, settings)
    shown = cache._results()
    keys = [key[1] for key in shown._entries if key[0] == "recorded"]
    assert is_recorded(at) and {*map(str, keys)} == keys_of(name, "stories")
    assert not any(shown.get(key) for key in keys), "nothing of it is computed"
    with heard() as live:
        at.button(key="compute_anew").click().run()
    assert lessons.fine(at) and not is_recorded(at) and at.session_state[ANEW] == {*keys}
    assert all(shown.get(key) for key in keys), "all of it is computed"
    if name != "neighbourhoods":        # in other last digits the steps of a map lead elsewhere
        assert live.tables.keys() == recorded.tables.keys() and live.title == recorded.title
        assert all(same(recorded.tables[table], live.tables[table]) for table in live.tables)


@EACH
def test_all_that_is_recorded_of_the_smaller_model_is_shown(name: str, lesson: str, settings: dict,
                                                            empty_caches: None):
    keys = keys_of(name, MODELS[1])
    assert is_recorded(lessons.opened(lesson, settings, model=MODELS[1])) == bool(keys)
    assert {str(key[1]) for key in cache._results()._entries if key[0] == "recorded"} == keys


def test_other_settings_and_models_are_computed():
    assert not is_recorded(lessons.opened("limits", {"view": "facts", "phrasing": "polite"}))
    assert not is_recorded(lessons.opened("embeddings", {"view": "map"}))
    assert not is_recorded(lessons.opened("limits", {"view": "memory"}, model="positions-none"))


def test_who_presents_or_looks_on_has_the_mark_alone():
    at = lessons.opened("limits", {"view": "facts"}, present="true")
    assert is_recorded(at) and "compute_anew" not in [button.key for button in at.button]


def test_a_stand_in_with_random_weights_shows_nothing_recorded(empty_caches: None):
    loaded = cache.shared_model("stories", "cpu")
    twin = dataclasses.replace(loaded, name=f"{loaded.name}-random", is_random=True)
    stand_in = cache.shared_model(cache.RANDOM_MODEL, "cpu")
    for model, expected in ((loaded, "recorded"), (twin, "live"), (stand_in, "live")):
        assert growing_results.made(model.key("recitations"), lambda: "live", len, lambda kept: "recorded") == expected
        cache._results().drop("recitations")


def test_the_recordings_are_small():
    assert {file.name for file in FILES} == {f"{name}_opening.json" for name, *_ in VIEWS}
    assert sum(file.stat().st_size for file in FILES) < 300_000


# ---- a part of each, computed a second time --------------------------------------------------------------------------


@pytest.fixture(scope="module", params=MODELS)
def run(request: pytest.FixtureRequest) -> Run:
    return read(cache.shared_model(request.param, "cpu"), "a")


def test_some_of_the_answers(run: Run):
    kept = facts.cases(PAGE, run, "taught")[::40]
    answers = dict(confidence.claims(run.model, run.tokenizer, [case.claim.exercise for case in kept]))
    for i, case in enumerate(kept):
        assert case.claim.text == answers[i].text and case.claim.p == pytest.approx(answers[i].p, rel=1e-3)


def test_some_of_the_recitations(run: Run):
    passages = teaching_text.canaries()
    for kept, passage in list(zip(memory.read_whole(PAGE, run), passages))[::8]:
        [again] = recitations(run.model, run.tokenizer, [passage], 1)
        assert dataclasses.replace(kept, log_probs=()) == dataclasses.replace(again, log_probs=())
        assert kept.log_probs == pytest.approx(again.log_probs, abs=1e-3)


def test_some_of_the_predictions(run: Run):
    kept, control = calibration._given(run, "pages", 1), calibration._control(PAGE, run, 1.0, 1, 40, 60)
    texts = calibration.first_tokens(calibration.documents("pages", 1, ""), run.tokenizer)
    confident, _ = losses.top_predictions(run.model, texts[-1:])
    assert np.abs(kept.confidence[:, None] - confident).min(axis=0).max() < 1e-4
    assert len(kept.right) == sum(map(len, texts)) + len(texts)
    parts = losses.own_predictions(run.model, 40, 60, 1.0, 1)
    confident, right = map(np.concatenate, zip(*(next(parts) for _ in range(3))))
    assert np.allclose(control.confidence[:len(confident)], confident, atol=1e-4)
    assert (control.right[:len(right)] == right).all()


def test_some_of_the_word_orders(run: Run):
    kept = meaning._scene(PAGE, run).answers["carried"]["shuffled"]
    again = word_order.answered(run.model, run.tokenizer, word_order.items("carried", 40, 1), "shuffled", 1)
    assert [(one.item, one.prompt) for one in kept] == [(one.item, one.prompt) for one in again]
    assert np.allclose([one.log_probs for one in kept], [one.log_probs for one in again], atol=1e-3)


def test_the_map_keeps_the_neighbours_that_it_says(run: Run):
    """The share is counted again in NumPy, from the places and the rows of E."""
    key = str(run.loaded.key("embeddings t-SNE", N_MAPPED, N_MOVES))
    places, kept, _ = next(read_json(file)[key] for file in FILES if key in read_json(file))
    E = torch.nn.functional.normalize(run.model.E.detach().double()[mapped(space_of(run).kinds)], dim=1).numpy()
    near = [np.argsort(((points[:, None] - points[None]) ** 2).sum(-1) + np.diag([np.inf] * len(points)), axis=1)
            for points in (np.array(places), E)]
    both = sum(len({*a[:N_KEPT]} & {*b[:N_KEPT]}) for a, b in zip(*near))
    assert both / (N_KEPT * len(places)) == pytest.approx(kept, abs=2e-3)
