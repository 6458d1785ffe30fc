"""The pages' words with a model published by others: nothing of a bundled one that is not named, no formula of another
architecture, no failure, in any view.
"""
from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from core.base import catalogue, prose
from tests.browser.views import LESSONS
from tests.helpers import kinds, lessons
from tests.helpers.kinds import KINDS
from tests.helpers.messages import formulas
from tests.helpers.stories_only import LOOK, LOOKS, NAMED, told

FILES = (*(entry.id for entry in catalogue.existing()), "app", "library", "tour", "map")
# views that show a bundled model of their own, whose name the prompt bar has
OWN = {(entry.id, name) for entry in catalogue.existing() for name, view in entry.each.items()
       if view.model or view.needs_moments}
# what a page says only where it shows a model that was taught this app's texts
TAUGHT = {("limits", "before: facts"), ("limits", "before: memory"), ("tour", "sentence_learn")}


@pytest.fixture(scope="module", autouse=True)
def models(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with kinds.loaded(tmp_path_factory.mktemp("models")):
        yield


def paragraphs(lesson: str) -> Iterator[tuple[str, str]]:
    """Whatever a lesson's file may say with a model of others: the name of each section or label, and its text."""
    words = prose.load(lesson).of_kind(prose.PUBLISHED)
    for heading, body in words.sections.items():
        kind, _, name = heading.rpartition(": ")
        opens_stories = kind in ("try", "step") and "\nmodel: " in f"\n{body}"
        if name != "labels" and kind not in ("encoder", "encoder: try", prose.PUBLISHED) and not opens_stories:
            yield heading, body
    yield from words.labels.items()


@pytest.mark.parametrize("file", FILES)
def test_a_file_names_the_model_of_which_alone_a_sentence_is_true(file: str):
    own = [view for lesson, view in OWN if lesson == file]
    assert [(name, line) for name, body in paragraphs(file) for line in told(body)
            if (file, name) not in TAUGHT and not any(re.search(rf"(^|[ _]){view}(_|$)", name) for view in own)] == []


@pytest.mark.parametrize("lesson", [entry.id for entry in catalogue.existing()])
@pytest.mark.parametrize("name", KINDS)
def test_every_view_stands_with_a_model_of_each_kind_and_says_what_is_true_of_it(name: str, lesson: str):
    entry = catalogue.entry(lesson)
    states = {(view, ()) for view in entry.views or ("",)}
    # what else a view can show, with one of the kinds
    states |= {(of.split(",")[0], one.picks) for of, one in LESSONS[lesson].items() if name == [*KINDS][0]}
    for view, picks in sorted(states):
        settings = {f"{lesson}_{key}": value for key, value in picks}
        at = lessons.open_at(lesson, model=f"folder:{name}", **entry.opening(view), **settings)
        assert lessons.fine(at), (view, [e.value for e in (*at.exception, *at.error)])
        assert at.session_state["model"] == f"folder:{name}", view
        texts = kinds.said(at)
        assert [text for text in texts if re.search(r"(folder|hub)\W{1,3}\w", text)] == [], view
        assert (lesson, view) in OWN or [line for text in texts for line in told(text)] == [], view
        assert [latex for latex in formulas(at) for look in KINDS[name].never if re.search(look, latex)] == [], view


def test_a_sentence_that_is_true_of_the_bundled_models_alone_is_found():
    assert told("This model has read children's stories.\n\n`stories` has read children's stories.") == [
        "This model has read children's stories."]
    assert not [look for look in LOOKS.values() if LOOK.search("") or not re.compile(look)]
    assert told("It was taught these very templates. Nothing was taught to a random one.") and NAMED.search("*stories*")
