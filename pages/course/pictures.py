"""The component of the page, which draws lessons, lectures, a class, the glossary or a printed sheet."""
from collections.abc import Mapping

import streamlit as st

from core.app.base import catalogue
from core.app.frame import Lesson
from core.app.state import reader
from core.components.lib.token_view import token_view
from pages.course.shared import SETTINGS

ASKED = "course_open"      # key of the session: the place of a followed link
_picture = token_view("course", __file__)


def picture(page: Lesson, kind: str, header: dict, places: Mapping[str, tuple[str, dict]]) -> None:
    """Draw one kind of picture.

    places: lesson and settings of each link, by the name that the picture sends when it is followed.
    """

    def receive(values: dict) -> None:
        if (key := str(values.get("open"))) in places:
            st.session_state[ASKED] = places[key]
        SETTINGS.keep(**{name: values[name] for name in ("term", "group", "solved") if name in values})

    links = {key: link(lesson, settings) for key, (lesson, settings) in places.items()}
    common = {"kind": kind, "scale": reader.scale(), "text": page.labels(kind), "base": reader.link(), "links": links}
    _picture(common | header, key=f"course_{kind}", on_settings=receive)


def link(lesson: str, settings: dict) -> dict:
    """A place for the browser to make an address of: the lesson's path, and its settings, which override the shared
    ones; None removes a setting from the address.
    """
    values = {key: str(value).lower() if isinstance(value, bool) else value if value is None else str(value)
              for key, value in settings.items()}
    return {"path": catalogue.url_path(lesson), "set": values}
