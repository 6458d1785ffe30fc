"""What can be found: all there is, each thing once, at a place that makes sense."""
from __future__ import annotations

import json
import urllib.parse
from collections import Counter

from core.app.base import catalogue, finder, prose, tables
from core.app.base.tables import Place
from tests.helpers.lessons import fine, open_at
from tests.helpers.places import nonsense

EVERYTHING = tuple(finder.everything())
LARGEST = 100_000           # bytes that a browser loads when the field is first opened


def test_all_lessons_views_terms_ideas_and_experiments_are_there_once():
    count = Counter(found.kind for found in EVERYTHING)
    lessons = catalogue.existing()
    assert count["lesson"] == len(lessons) and count["view"] == sum(len(entry.views) for entry in lessons)
    assert count["term"] == len(tables.glossary()) and count["idea"] == len(tables.ideas()) >= 96
    assert count["try"] == sum(len(prose.load(entry.id).experiments) for entry in lessons)
    assert len({found.id for found in EVERYTHING}) == len(EVERYTHING)


def test_every_kind_has_a_name_and_everything_a_text():
    words = prose.load("app")
    assert all(words.label(f"find_{found.kind}") and found.name for found in EVERYTHING)
    assert all(found.says for found in EVERYTHING if found.kind != "idea")
    assert not any("**" in found.says or "$" in found.says for found in EVERYTHING)


def test_every_place_makes_sense():
    pages = set(catalogue.pages())
    for found in EVERYTHING:
        assert found.lesson in pages, found.id
        written = {key: str(value).lower() if isinstance(value, bool) else value
                   for key, value in found.settings.items() if value is not None}
        if found.kind in ("view", "try"):
            assert nonsense(Place(found.lesson, urllib.parse.urlencode(written))) == [], found.id


def test_the_browser_is_sent_it_as_text_and_what_it_chooses_is_looked_up():
    sent = finder.answer({})
    assert len(sent) < LARGEST
    assert [place["id"] for place in json.loads(sent)] == [found.id for found in EVERYTHING]
    assert finder.opening("view positions learned") == ("positions", {"positions_view": "learned"})
    assert finder.opening("nothing") is None


def test_a_lesson_is_found_by_the_words_on_the_page():
    by_id = {found.id: found for found in EVERYTHING}
    view = by_id["view residual_stream norms"]
    assert (view.name, view.where) == ("Vector lengths", "Residual stream")
    assert by_id["term softmax"].where == "Attention, step by step › Step by step"


def test_the_map_opens():
    at = open_at(catalogue.MAP)
    assert fine(at)
