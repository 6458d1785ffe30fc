"""The foot of the screen while a class is taught: its present step, the question to ask, and the way on, also by
the arrow keys.
"""
import streamlit as st

from core.app.base import catalogue
from core.app.base.prose import TextFile
from core.app.frame import class_plan
from core.app.state import reader
from core.components.page.keys import arrow_keys


def draw(words: TextFile) -> None:
    """The present step in one bar. What to look for waits behind a button, until the class has committed."""
    steps = class_plan.steps()
    number = min(reader.class_step(), len(steps))
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
        reader.open_lesson(catalogue.COURSE, {"present": False, "class": 0, "course_view": "class"})
    elif moved and 1 <= number + moved <= len(steps):
        reader.open_lesson(steps[number + moved - 1].lesson, class_plan.opening(number + moved))
