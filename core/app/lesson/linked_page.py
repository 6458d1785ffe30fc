"""Pages that lead to the lessons: a title, a sentence, and a picture whose links open their places in the same session.
"""
from collections.abc import Callable, Mapping

import streamlit as st

from core.app.lesson.lesson import Lesson
from core.app.parts.guard import fragment
from core.app.state import reader
from core.base import catalogue, prose

FOLLOWED = "link_followed"      # in the session: page and settings of a link that was followed


def draw(name: str, body: Callable[[Lesson], None]) -> None:
    """Draw the page: its title and its one sentence, and `body`, a fragment.

    name: the stem of its text file.
    """
    page = Lesson(name, prose.load(name), prose.load("app"))
    with st.container(key="lesson_head"):
        st.markdown(f"# {page.text('title')}\n{page.text('sentence')}")

    @fragment
    def whole() -> None:
        if followed := st.session_state.pop(FOLLOWED, None):
            reader.open_lesson(*followed)
        body(page)

    whole()


def follow(places: Mapping[str, tuple[str, dict]], key: str) -> None:
    """Callback: open the place (a page and its settings) that a picture calls `key`; do nothing if there is none."""
    if key in places:
        st.session_state[FOLLOWED] = places[key]


def link(lesson: str, settings: dict) -> dict:
    """A place from which the browser makes an address: the lesson's path and its settings, which override the shared
    ones; None removes a setting from the address.
    """
    values = {key: str(value).lower() if isinstance(value, bool) else value if value is None else str(value)
              for key, value in settings.items()}
    return {"path": catalogue.url_path(lesson), "set": values}
