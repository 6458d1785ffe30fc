"""The views of the lessons: which stand in the bar, in which order they follow each other, and what each is called."""
from __future__ import annotations

import pytest

from core.base import catalogue, prose
from pages.map import model_map

LESSON_IDS = [entry.id for entry in catalogue.existing()]
EVERY_VIEW = [(entry.id, view) for entry in catalogue.existing() for view in entry.views or ("",)]
LONGEST = 90             # characters of the line that says what a view shows


def test_no_view_is_lost():
    assert len(EVERY_VIEW) >= 76 and len(set(EVERY_VIEW)) == len(EVERY_VIEW)


@pytest.mark.parametrize("lesson", LESSON_IDS)
def test_a_lesson_of_more_than_five_views_has_three_to_five_at_its_core(lesson):
    entry = catalogue.entry(lesson)
    assert len(set(entry.views)) == len(entry.views)
    assert 3 <= len(entry.core) <= 5 if len(entry.views) > 5 else entry.deeper == ()


@pytest.mark.parametrize("lesson", LESSON_IDS)
def test_every_view_has_a_name_and_a_line_of_its_own(lesson):
    entry, words = catalogue.entry(lesson), prose.load(lesson)
    assert set(words.names("about")) == set(entry.views or (lesson,))
    said = [words.about(view) for view in entry.views or ("",)]
    assert len(set(said)) == len(said) and all(len(line) <= LONGEST and line[-1] in ".?" for line in said)
    names = [words.label(entry.label(view)) for view in entry.views]
    assert len(set(names)) == len(names)
    shown = {key.removeprefix(f"{entry.picks}_") for key in words.labels if key.startswith(f"{entry.picks}_")}
    assert shown == set(entry.views)


def test_no_name_of_a_view_means_two_pictures():
    names = [prose.load(entry.id).label(entry.label(view)) for entry in catalogue.existing() for view in entry.views]
    assert len(set(names)) == len(names)


def test_what_comes_next_leads_through_all_views_in_their_order_and_ends():
    gone, place = [], (LESSON_IDS[0], "")
    while place is not None:
        gone.append(place)
        entry, view = catalogue.after(*place, "decoder")
        place = (entry.id, view) if entry else None
    assert gone == EVERY_VIEW


def test_what_comes_next_passes_over_what_is_not_true_of_an_encoder():
    assert catalogue.after("positions", "waves", "encoder")[1] == "learned"
    entry, view = catalogue.after("residual_stream", "cut", "encoder")
    assert entry is None and view == ""


def test_a_view_that_is_none_comes_before_the_first():
    entry, view = catalogue.after("heads", "none", "decoder")
    assert (entry.id, view) == ("heads", "wall")


def test_every_lesson_has_a_place_on_the_map():
    assert list(model_map.TIES) == LESSON_IDS
    words = prose.load("map")
    assert {f"map_part_{part}" for part in model_map.PARTS} <= set(words.labels)
    assert all(model_map.PARTS.values()) and set().union(*model_map.PARTS.values()) == set(LESSON_IDS)
    assert all(lesson in model_map.PARTS[part] for lesson, part in model_map.TIES.items())
