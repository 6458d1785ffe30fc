"""The parts around a view speak of the model that the view shows; below a view without a picture nothing does."""
from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from streamlit.testing.v1 import AppTest

from core.app.compute import cache
from core.base import prose
from tests.helpers import kinds
from tests.helpers.lessons import fine, open_at
from tests.helpers.messages import given

FRAME, LIBRARY = prose.load("app"), prose.load("library")
THEIRS = "gemma3-shaped"
NORMED = ("norm", "added", "norm2", "added2")        # the rows of a block that a norm gives


@pytest.fixture(scope="module", autouse=True)
def models(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with kinds.loaded(tmp_path_factory.mktemp("models")):
        yield


def opened(lesson: str, **query: str) -> AppTest:
    at = open_at(lesson, model=f"folder:{THEIRS}", **query)
    assert fine(at), [e.value for e in (*at.exception, *at.error)]
    return at


def captions(at: AppTest) -> list[str]:
    return [caption.value.replace("\\", "") for caption in at.caption]


def n_blocks(at: AppTest) -> str:
    """The strip's words above its blocks."""
    [strip] = [json.loads(each.proto.json) for each in at.get("bidi_component") if each.proto.component_name == "strip"]
    return strip["blocks"]


def blocks_of(name: str) -> str:
    return FRAME.label("strip_blocks", n=cache.shared_model(name, "cpu").model.config.n_layers)


@pytest.mark.parametrize(("view", "shown"), [("forcing", f"folder:{THEIRS}"), ("childhood", "stories-small")])
def test_the_strip_and_the_note_are_of_the_model_that_the_view_shows(view: str, shown: str):
    at = opened("training", training_view=view)
    assert n_blocks(at) == blocks_of(shown) and blocks_of("stories-small") != blocks_of(f"folder:{THEIRS}")
    assert any(f"**{THEIRS}** predicts no better than chance" in said for said in captions(at)) is (
        shown != "stories-small")


@pytest.mark.parametrize(("view", "told"), [("forcing", f"**{THEIRS}**, no better than chance"),
                                            ("childhood", "**stories-small**")])
def test_present_mode_names_that_model_in_the_row_and_takes_no_line_for_it(view: str, told: str):
    at = opened("training", training_view=view, present="true")
    assert told in captions(at) and not any("guessing pays" in said for said in captions(at))


def test_present_mode_names_no_main_model():
    at = open_at("training", present="true")
    assert fine(at) and not [said for said in captions(at) if said.startswith("**")]


def test_below_a_view_without_a_picture_stand_no_empty_parts():
    at = opened("positions", positions_view="learned")
    assert len(at.info) == 1
    titles = {text.value.removeprefix("## ") for text in at.markdown if text.value.startswith("## ")}
    assert titles.isdisjoint({FRAME.label("numbers"), FRAME.label("code")})
    assert not at.get("download_button") and not at.get("expander")
    assert not any(f"The model {THEIRS}" in text.value for text in at.markdown), "nothing is drawn that could differ"
    assert any(button.label.startswith("Next") for button in at.button) or at.get("bidi_component")


def test_a_block_of_four_norms_is_drawn_with_all_of_them():
    at = opened("residual_stream", residual_stream_view="block")
    rows = [row["kind"] for row in given(at, "residual_block")["rows"]]
    assert not at.info and [kind for kind in rows if kind in NORMED] == list(NORMED)
    at = opened("attention", attention_view="averages", attention_average_part="bend")
    assert not at.info and any("the feed-forward part leaves the line" in text.value for text in at.markdown)
