"""The foot of the screen while a class is taught: its present step, the question to ask, and the way on, also by the arrow keys."""
from __future__ import annotations

import streamlit as st

from core.ui import catalogue, lesson_plan, state
from core.ui.components.keys import arrow_keys
from core.ui.text import TextFile


def draw(words: TextFile) -> None:
    """The present step in one bar. What to look for waits behind a button, until the class has committed."""
    steps = lesson_plan.steps()
    number = min(state.class_step(), len(steps))
    step = steps[number - 1]
    moved = 0
    with st.container(key="try_step", horizontal=True, vertical_alignment="center"):
        count = words.label("class_bar", i=number, n=len(steps), minute=step.minute)
        st.markdown(f"{count} · **{step.title}.** {words.label('class_ask')}: *{step.ask}*", width="stretch")
        with st.popover(words.label("class_look"), key=f"class_look_{number}"):
            st.markdown(step.look)
        moved -= st.button(words.label("class_back"), key="class_back", disabled=number == 1)
        moved += st.button(words.label("class_next"), key="class_next", disabled=number == len(steps))
        ended = st.button(words.label("class_end"), key="class_end")
    moved += arrow_keys(key="class_keys")
    if ended:
        state.open_lesson(catalogue.COURSE, {"present": False, "class": 0, "course_view": "class"})
    elif moved and 1 <= number + moved <= len(steps):
        state.open_lesson(steps[number + moved - 1].lesson, lesson_plan.opening(number + moved))
