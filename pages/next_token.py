"""Next token: logits, temperature, top-k, top-p, the draw; every setting answers while the hand moves."""
import streamlit as st

from core.ui import lesson, next_token, views

st.session_state[next_token.FRESH] = True
views.draw_one(lesson.open_lesson("next_token"), next_token)
