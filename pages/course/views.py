"""The page: its title, the control of the view, and the view. A link opens a lesson in the same session."""
import streamlit as st

from core.app.base import catalogue, prose
from core.app.frame import lesson, views
from core.app.state import reader
from pages.course import class_plan, glossary, lectures, lessons, sheets
from pages.course.pictures import ASKED
from pages.course.shared import SETTINGS

VIEWS = {"lessons": lessons, "lectures": lectures, "class": class_plan, "glossary": glossary, "sheets": sheets}


def draw() -> None:
    """Draw the whole page."""
    page = lesson.Lesson(catalogue.COURSE, prose.load(catalogue.COURSE), prose.load("app"))
    with st.container(key="lesson_head"):
        st.markdown(f"## {page.text('title')}\n{page.text('sentence')}")

    @lesson.fragment
    def body() -> None:
        if asked := st.session_state.pop(ASKED, None):
            reader.open_lesson(*asked)
        with st.container(key="course_bar"):
            view = views.choice(SETTINGS, page, "view")
        with st.container(key="course_stage", gap="small"):
            VIEWS[view].draw(page)
        page.explanation(view)

    body()
