"""The settings of the course page, and how its links lead into the lessons."""
from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from core.app.base import catalogue
from core.app.frame.lesson import Lesson
from core.app.state import reader
from core.app.state.lesson_settings import Setting, Settings
from core.sheets.exercises import MOST_SEED
from pages.course.course import course

SHEETS = ("merges", "sampling", "chain", "positions", "counting")
SETTINGS = Settings(catalogue.COURSE, {
    "view": Setting("lessons", options=("lessons", "lectures", "class", "glossary", "sheets")),
    "deck": Setting("A", options=("A", "B", "C", "D")),
    "term": Setting(""),
    "group": Setting("letters", options=("letters", "lessons")),
    "sheet": Setting("merges", options=SHEETS),
    "seed": Setting(0, low=0, high=MOST_SEED),
    "solved": Setting(False),
})
_ASKED = "course_open"      # a key of the session: the place that a link asked for


def picture(page: Lesson, kind: str, header: dict, places: Mapping[str, tuple[str, dict]]) -> None:
    """Draws one kind of picture of the component. places: what its links lead to, as lesson and settings, by the name that the picture sends when one is followed."""

    def happened(sent: dict) -> None:
        if (key := str(sent.get("open"))) in places:
            st.session_state[_ASKED] = places[key]
        SETTINGS.keep(**{name: sent[name] for name in ("term", "group", "solved") if name in sent})

    links = {key: link(lesson, settings) for key, (lesson, settings) in places.items()}
    course({"kind": kind, "scale": reader.scale(), "text": page.labels(kind), "base": reader.link(), "links": links} | header, key=f"course_{kind}", on_settings=happened)


def link(lesson: str, settings: dict) -> dict:
    """A place as the browser writes it into an address: the lesson's path, and its settings over the shared ones (None: left out)."""
    return {"path": catalogue.url_path(lesson), "set": {key: None if value is None else str(value).lower() if isinstance(value, bool) else str(value) for key, value in settings.items()}}


def take_asked() -> tuple[str, dict] | None:
    """The place that a link has asked for since the last run, once."""
    return st.session_state.pop(_ASKED, None)
