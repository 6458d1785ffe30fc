"""The views of the lessons: which stand in the bar, in which order they follow each other, and what each is called."""
from __future__ import annotations

import fnmatch
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from core import files
from core.base import catalogue, prose
from pages.map import model_map
from tests.browser.views import LESSONS
from tests.helpers.addresses import SETTINGS

LESSON_IDS = [entry.id for entry in catalogue.existing()]
EVERY_VIEW = [(entry.id, view) for entry in catalogue.existing() for view in entry.views or ("",)]
LONGEST = 90             # characters of the line that says what a view shows
STARS = """order = 1
section = "use"
stages = ["scores"]
map = ["draw"]

[core.far]
prompt = true
kinds = {encoder = true, encoder-decoder = false}

[deeper.near]
prompt = false
kinds = {encoder = false, encoder-decoder = false}
"""


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


def test_every_part_of_the_map_has_a_name_and_opens_a_lesson_to_which_its_line_leads_if_there_is_one():
    words, parts = prose.load("map"), model_map.parts()
    assert {f"map_part_{part}" for part in parts} <= set(words.labels) and all(parts.values())
    for entry in catalogue.existing():
        assert all(entry.id in parts[part] for part in entry.map)
        assert catalogue.entry(parts[entry.map[0]][0]).map[0] == entry.map[0]


def test_no_part_of_the_overviews_picture_opens_two_lessons():
    parts = [part for entry in catalogue.existing() for part in entry.overview]
    assert len(set(parts)) == len(parts) > 0


def test_the_order_of_the_lessons_is_that_of_their_numbers():
    assert [entry.order for entry in catalogue.existing()] == list(range(1, len(LESSON_IDS) + 1))


@pytest.mark.parametrize("kind", catalogue.OTHER_KINDS)
def test_a_model_that_is_no_decoder_is_at_work_in_one_view(kind):
    assert [view.kinds[kind] for entry in catalogue.existing() for view in entry.each.values()].count("live") == 1


def test_a_model_that_a_view_shows_is_a_bundled_one():
    models = [model for entry in catalogue.existing() for view in entry.each.values()
              for model in (view.model, *(other for others in view.model_with.values() for other in others.values()))]
    bundled = {folder.name for folder in (files.ASSETS / "models").iterdir()}
    assert any(models) and all(fnmatch.filter(bundled, model) for model in models if model)


def test_every_setting_that_a_view_names_is_one_of_its_lesson():
    for entry in catalogue.existing():
        for name, view in entry.each.items():
            for setting in (*view.prompt_unless, *view.model_unless, *view.model_with):
                assert setting in SETTINGS[entry.id], (entry.id, name, setting)


def test_a_model_that_is_no_decoder_opens_the_view_that_its_lesson_names_or_the_first_that_is_true_of_it():
    first = {entry.id: entry.first("encoder") for entry in catalogue.existing() if catalogue.runs(entry.id, "encoder")}
    assert first == {"overview": "", "tokens": "vocabulary", "embeddings": "neighbours", "positions": "waves",
                     "attention": "steps", "heads": "", "residual_stream": "norms"}
    assert catalogue.entry("residual_stream").first("encoder-decoder") == "block"


@pytest.mark.parametrize("lesson", LESSON_IDS)
def test_the_browser_tests_know_every_view(lesson):
    views = catalogue.entry(lesson).each.keys()
    assert views <= LESSONS[lesson].keys() and {name.split(",")[0] for name in LESSONS[lesson]} == views


# ---- a file that declares a lesson -----------------------------------------------------------------------------------


@pytest.fixture
def declared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """A folder of pages with one lesson, which declares what the test writes."""
    monkeypatch.setattr(catalogue, "PAGES", tmp_path)

    def declare(text: str) -> None:
        shutil.rmtree(tmp_path / "stars", ignore_errors=True)      # a folder that has come is read
        (tmp_path / "stars").mkdir()
        (tmp_path / "stars" / "views.toml").write_text(text)

    return declare


@pytest.mark.parametrize(("before", "after", "said"), [
    ("section", "sektion", "stars/views.toml: the key 'sektion' is unknown."),
    ('section = "use"', "", "stars/views.toml: the key 'section' is missing."),
    ('"use"', "3", "stars/views.toml: section = 3 is of another type."),
    ('["draw"]', '["moon"]', "stars/views.toml: map must be one of whole, .*, not 'moon'."),
    ("order = 1", 'order = 1\nopens = "moon"', "stars/views.toml: opens must be one of far, near, not 'moon'."),
    ("[core.far]", "[core.far]\nhead = 1", "stars/views.toml: the key 'head' is unknown."),
    ("prompt = true", "", "stars/views.toml: the key 'prompt' is missing."),
    ("prompt = true", 'prompt = "true"', "stars/views.toml: prompt = 'true' is of another type."),
    (", encoder-decoder = false", "", "stars/views.toml: kinds must say encoder and encoder-decoder."),
    ("encoder = true", 'encoder = "yes"', "stars/views.toml: kinds must be true, false or 'live', not 'yes'."),
    ("[core.far]", "[core.far", "stars/views.toml: "),
])
def test_a_wrong_key_is_told_with_its_file(declared, before, after, said):
    declared(STARS)
    assert catalogue.entry("stars").views == ("far", "near")
    declared(STARS.replace(before, after, 1))
    with pytest.raises(ValueError, match=said):
        catalogue.existing()


def test_a_lesson_that_has_come_is_read(declared):
    declared(STARS)
    assert catalogue.is_shown("stars", "far", "encoder") and catalogue.after("stars", "far", "encoder") == (None, "")
    declared(STARS.replace("encoder = true", "encoder = false"))
    assert not catalogue.runs("stars", "encoder") and catalogue.runs("stars", "decoder")
