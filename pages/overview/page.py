"""Overview: the whole forward pass on one screen, from the prompt to the next token and round again."""
import streamlit as st

from core.app.base import catalogue
from core.app.frame import invitation, lesson, views
from core.app.state import reader
from pages.overview import map as pass_map

if step := st.query_params.get(catalogue.TOUR):     # /?tour=3, the short form of a link to a step of the tour
    reader.open_lesson(catalogue.TOUR, {catalogue.TOUR: step})
invitation.draw()
views.draw_one(lesson.open_lesson("overview"), pass_map)
