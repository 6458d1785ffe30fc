"""The pictures of the page, one kind each: lessons, lectures, a class, the glossary, a sheet as it is printed."""
from collections.abc import Mapping

import streamlit as st

from core.app.base import catalogue
from core.app.frame import Lesson
from core.app.state import reader
from core.components.lib.token_view import token_view
from pages.course.shared import SETTINGS

ASKED = "course_open"      # a key of the session: the place that a link asked for
_picture = token_view("course", __file__)


def picture(page: Lesson, kind: str, header: dict, places: Mapping[str, tuple[str, dict]]) -> None:
    """Draw one kind of picture.

    places: what its links lead to, as lesson and settings, by the name that the picture sends when one is followed.
    """

    def happened(sent: dict) -> None:
        if (key := str(sent.get("open"))) in places:
            st.session_state[ASKED] = places[key]
        SETTINGS.keep(**{name: sent[name] for name in ("term", "group", "solved") if name in sent})

    links = {key: link(lesson, settings) for key, (lesson, settings) in places.items()}
    common = {"kind": kind, "scale": reader.scale(), "text": page.labels(kind), "base": reader.link(), "links": links}
    _picture(common | header, key=f"course_{kind}", on_settings=happened)


def link(lesson: str, settings: dict) -> dict:
    """A place as the browser writes it into an address: the lesson's path, and its settings over the shared ones.

    A setting of None is left out of the address.
    """
    def written(value: object) -> str:
        return str(value).lower() if isinstance(value, bool) else str(value)

    values = {key: None if value is None else written(value) for key, value in settings.items()}
    return {"path": catalogue.url_path(lesson), "set": values}
