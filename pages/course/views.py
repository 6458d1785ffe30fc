"""The page: its title, the control of the view, and the view. A link opens a lesson in the same session."""
import streamlit as st

from core.app.lesson import Lesson, linked_page, views
from core.base import catalogue
from pages.course import class_plan, glossary, lectures, lessons, sheets
from pages.course.shared import SETTINGS

VIEWS = {"lessons": lessons, "lectures": lectures, "class": class_plan, "glossary": glossary, "sheets": sheets}


def draw() -> None:
    """Draw the whole page."""
    linked_page.draw(catalogue.COURSE, _body)


def _body(page: Lesson) -> None:
    with st.container(key="course_bar"):
        view = views.choice(SETTINGS, page, "view")
    with st.container(key="course_stage", gap="small"):
        VIEWS[view].draw(page)
    page.explanation(view)
