"""The pages' words with encoders and encoder-decoders published by others: nothing of a bundled model that is not
named, in any view that is shown with one.
"""
from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest

from core.app.compute import cache
from core.base import catalogue, prose
from tests.helpers import kinds, lessons, library_models
from tests.helpers.stories_only import told
from tests.pages.test_other_models import FILES, OWN, TAUGHT

pytestmark = pytest.mark.long



@pytest.fixture(scope="module", autouse=True)
def models(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    root = tmp_path_factory.mktemp("encoders")
    made = {name: library_models.other_kind(root, name) for name in library_models.OTHER_KINDS}
    made["bert"].base_model.save_pretrained(root / "headless")
    shutil.copy(root / "bert" / "tokenizer.json", root / "headless")
    with kinds.offered(root):
        yield


def places(kind: str) -> Iterator[tuple[str, str]]:
    """Each lesson and view that is drawn with a model of that kind."""
    yield catalogue.live(kind)
    for entry in catalogue.existing():
        for view in entry.of(kind):
            yield entry.id, view


@pytest.mark.parametrize("name", [*library_models.OTHER_KINDS, "headless"])
def test_every_view_that_is_shown_with_one_stands_and_says_what_is_true_of_it(name: str):
    for lesson, view in places(cache.kind(f"folder:{name}")):
        at = lessons.open_at(lesson, model=f"folder:{name}", **catalogue.entry(lesson).opening(view))
        assert lessons.fine(at), (lesson, view, [e.value for e in (*at.exception, *at.error)])
        assert at.session_state["model"] == f"folder:{name}", (lesson, view)
        assert (lesson, view) in OWN or [line for text in kinds.said(at) for line in told(text)] == [], (lesson, view)


@pytest.mark.parametrize("name", ["blanks", "translator", "restaurants"])
def test_a_bundled_one_that_a_link_asks_for_is_shown_where_its_kind_is(name: str):
    assert name not in cache.model_names() and cache.exists(name)
    for lesson, view in places(cache.kind(name)):
        at = lessons.open_at(lesson, model=name, **catalogue.entry(lesson).opening(view))
        assert lessons.fine(at), (lesson, view, [e.value for e in (*at.exception, *at.error)])
        assert at.session_state["model"] == at.query_params["model"] == name, (lesson, view)
        assert ((lesson, view) == catalogue.live(cache.kind(name))
                or any(c.value.startswith(f"**{name}** is a small") for c in at.caption)), (lesson, view)
    at = lessons.open_at("generation", model=name)
    assert lessons.fine(at) and any("The page shows **stories** in its place" in m.value for m in at.markdown)


@pytest.mark.parametrize("file", FILES)
def test_a_file_names_the_model_of_which_alone_a_sentence_about_encoders_is_true(file: str):
    words = prose.load(file).of_kind(prose.PUBLISHED)
    own = words.of_kind("encoder")
    said = ({*own.sections.items()} - {*words.sections.items()}) | ({*own.labels.items()} - {*words.labels.items()})
    assert [(name, line) for name, text in said for line in told(text) if (file, name) not in TAUGHT] == []
