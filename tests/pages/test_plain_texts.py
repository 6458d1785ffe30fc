"""Components show text as it stands: no Markdown reaches them, in any view as it opens nor in the course."""
from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import pytest
from streamlit.testing.v1 import AppTest

from tests.helpers import lessons, view_states
from tests.helpers.messages import unpacked

pytestmark = pytest.mark.long

MARKDOWN = re.compile(r"(?<![\w*])\*{1,2}[^\s*][^*\n]*(?<!\s)\*{1,2}(?![\w*])|`[^`\n]+`|\]\((?:/|https?:)")


def raw(at: AppTest) -> list[str]:
    """Every text of a component in which Markdown would stand as it is."""
    return [f"{element.proto.component_name}{path}: {text}" for element in at.get("bidi_component")
            if element.proto.bytes for path, text in texts(unpacked(element.proto.bytes)) if MARKDOWN.search(text)]


def texts(value: object, path: str = "") -> Iterator[tuple[str, str]]:
    """All texts of a header, each with its place."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, Mapping):
        for key, each in value.items():
            yield from texts(each, f"{path}.{key}")
    elif isinstance(value, list):
        for each in value:
            yield from texts(each, f"{path}[]")


@pytest.mark.parametrize("lesson, view", view_states.VIEWS, ids=str)
def test_a_view_gives_its_components_no_markdown(lesson: str, view: str):
    assert raw(view_states.opened(lesson, view, {"ask": "false"})[0]) == []


@pytest.mark.parametrize("view, deck", [("lessons", "A"), *(("lectures", deck) for deck in "ABCD"), ("class", "A"),
                                        ("glossary", "A"), ("sheets", "A")])
def test_nor_does_the_course(view: str, deck: str):
    at = lessons.open_at("course", course_view=view, course_deck=deck)
    assert lessons.fine(at) and raw(at) == []


@pytest.mark.parametrize("task", ["questions", "summary", "table"])
def test_nor_do_the_tasks(task: str):
    assert raw(lessons.opened("language_models", {"view": "tasks", "task": task}, ask="false")) == []
