"""Next token: logits, temperature, top-k, top-p, the draw; the panel follows every setting while it moves."""
import streamlit as st

from core.app.lesson import lesson, views
from pages.next_token import panel

st.session_state[panel.FRESH] = True
views.draw_one(lesson.open_lesson("next_token"), panel)
