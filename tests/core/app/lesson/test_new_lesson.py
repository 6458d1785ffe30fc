"""A new lesson is its folder and its texts: whatever walks the lessons finds it, and no table names it."""
from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import pages
from core.base import catalogue, finder, prose, tables
from tests.helpers import predictions, view_words
from tests.helpers.lessons import fine, open_at
from tests.helpers.messages import given, unpacked

FILES = {
    "views.toml": """order = 99
section = "use"
stages = ["draw"]
map = ["draw"]

[core.sky]
prompt = false
prompt_unless = {on = ["true"]}
kinds = {encoder = true, encoder-decoder = false}
""",
    "__init__.py": "",
    "shared.py": """from core.app.state.lesson_settings import Setting, Settings, view_setting
SETTINGS = Settings("stars", {"view": view_setting("stars"), "on": Setting(False)})
""",
    "sky.py": """import streamlit as st
from core.app.lesson import Reading
def draw(page, run):
    st.markdown("So many stars")
    return Reading([], None, [draw], {}, ".sky", "So many stars.")
""",
    "page.py": """from core.app.lesson import lesson, views
from pages.stars import sky
from pages.stars.shared import SETTINGS
views.draw(lesson.open_lesson("stars"), SETTINGS, {"sky": sky})
""",
}
TEXT = """# title
Stars

# sentence
A lesson of one view.

# about
sky: What is seen at night.

# labels
view: View
view_sky: Night sky

# explanation
Look up.

# try: night
title: Wait for the night
stars_view: sky

It is dark.

# before: sky
ask: How many?

- Many.
- None.
"""


@pytest.fixture(autouse=True)
def stars(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The lesson, beside all others, in folders of its own."""
    lessons, text = tmp_path / "pages", tmp_path / "text"
    (lessons / "stars").mkdir(parents=True)
    for folder in catalogue.PAGES.iterdir():
        (lessons / folder.name).symlink_to(folder)
    for name, body in FILES.items():
        (lessons / "stars" / name).write_text(body)
    shutil.copytree(prose.FOLDER / prose.LANGUAGE, text / prose.LANGUAGE)
    (text / prose.LANGUAGE / "stars.md").write_text(TEXT)
    for file, added in (("app", "\n# labels\nlesson_stars: Stars\n"),
                        ("course", "\n# lesson: stars\nminutes: 10\n\n- Name a star.\n- Find it.\n")):
        path = text / prose.LANGUAGE / f"{file}.md"
        body = path.read_text()
        path.write_text(body.replace("# labels\n", added.lstrip(), 1) if file == "app" else body + added)
    monkeypatch.setattr(catalogue, "PAGES", lessons)
    monkeypatch.setattr(prose, "FOLDER", text)
    monkeypatch.setattr(pages, "__path__", [*pages.__path__, str(lessons)])
    monkeypatch.setattr(view_words, "PAGES", lessons)
    yield
    for name in [name for name in sys.modules if name.startswith("pages.stars")]:
        del sys.modules[name]


def row(at, name: str) -> str:
    """The message to a row at the head of the page, "navigation" or "strip", as JSON."""
    return next(each.proto.json for each in at.get("bidi_component") if each.proto.component_name == name)


def test_its_page_stands_with_its_view_in_the_bar():
    at = open_at("stars")
    assert fine(at), [e.value for e in (*at.exception, *at.error)]
    assert "So many stars" in [m.value for m in at.markdown] and '"name": "Stars"' in row(at, "navigation")
    [bar] = [each for each in at.button_group if each.key == "stars_view_widget"]
    assert bar.options == ["Night sky"] and bar.value == "sky"
    assert re.findall(r'"lit": (true|false)', row(at, "strip")) == 9 * ["false"] + ["true"]


def test_the_bar_of_the_prompt_says_when_it_is_read():
    unread = prose.load("app").label("prompt_unread")
    for settings, is_read in (({}, False), ({"stars_on": "true"}, True)):
        assert (unread in [caption.value for caption in open_at("stars", **settings).caption]) == (not is_read)


def test_it_is_on_the_map_at_its_part_and_in_the_course():
    header = given(open_at("map"), "model_map")
    assert header["parts"]["draw"][-1] == "stars" and header["lessons"][-1] == {
        "id": "stars", "name": "Stars", "part": "draw", "section": "Learning and use", "says": "A lesson of one view.",
        "views": [{"id": "stars sky", "name": "Night sky", "says": "What is seen at night.", "core": True}]}
    sent = [unpacked(element.proto.bytes) for element in open_at("course").get("bidi_component")
            if "-course_" in element.proto.id]
    assert sent[0]["lessons"][-1]["goals"] == ["Name a star.", "Find it."]


def test_it_is_found_with_its_view_and_its_experiment():
    found = {each.id: each for each in finder.everything()}
    assert {"lesson stars", "view stars sky", "try stars night"} <= set(found)
    assert finder.opening("view stars sky") == ("stars", {"stars_view": "sky"}) and b"Night sky" in finder.answer({})
    assert tables.name_of(tables.Place("stars", "stars_view=sky")) == "Stars › Night sky"


def test_it_follows_the_last_lesson_and_ends_the_way():
    *_, last, entry = catalogue.existing()
    assert catalogue.after(last.id, last.views[-1], "decoder") == (entry, "sky")
    assert catalogue.after("stars", "sky", "decoder") == (None, "")
    assert f"{catalogue.url_path('stars')}" in catalogue.pages()


def test_it_shows_the_kinds_of_model_that_it_names():
    assert catalogue.runs("stars", "encoder") and not catalogue.runs("stars", "encoder-decoder")
    for model, is_refused in (("blanks", False), ("translator", True)):
        at = open_at("stars", model=model)
        assert fine(at) and ("model_stay" in {button.key for button in at.button}) == is_refused
    names = {button.label for button in open_at("generation", model="blanks").button}
    assert prose.load("library").label("open_in", lesson="Stars") in names


def test_the_tests_walk_it():
    assert "stars/sky" in view_words.names() and ("stars", "sky") in predictions.all_asked()
