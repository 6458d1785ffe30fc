"""Add the open view to the reader's own class, with its question and what to look for in it."""
import streamlit as st

from core.app.state import reader
from core.app.teaching import own_class
from core.base import catalogue
from core.base.prose import TextFile


def draw(lesson: str, title: str, words: TextFile) -> None:
    """Draw a drawer below the picture, filled when it opens. title: the step's title unless the reader writes another.
    """
    with st.popover(words.label("add_class"), key=f"{lesson}_add_class", on_change="rerun") as drawer:
        if not drawer.open:
            return
        own_class.in_browser(f"{lesson}_own_class")
        key = f"{lesson}_add_{len(own_class.steps())}"        # after a step was added, the fields are empty again
        st.text_input(words.label("add_title"), value=title, key=f"{key}_title")
        for name in ("ask", "options", "look"):
            st.text_area(words.label(f"add_{name}"), key=f"{key}_{name}", placeholder=words.label(f"add_{name}_help"))
        st.button(words.label("add_do"), key=f"{lesson}_add_do", type="primary",
                  on_click=lambda: _add(lesson, key))
        if steps := own_class.steps():
            st.caption(words.label("add_done", n=len(steps), minutes=sum(step.minutes for step in steps)))
            if st.button(words.label("add_go"), key=f"{lesson}_add_go", type="tertiary"):
                reader.open_lesson(catalogue.COURSE, {"course_view": "class", "course_plan": "own"})


def _add(lesson: str, key: str) -> None:
    """Callback: make a step of the fields whose keys begin with `key`."""
    texts = (st.session_state[f"{key}_{name}"] for name in ("title", "ask", "look", "options"))
    own_class.keep((*own_class.steps(), own_class.here(lesson, *texts)))
