"""Try this: one-click experiments from a lesson's text file. A click sets prompt, selection and widgets; each is also a link."""
from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from core.ui import state
from core.ui.components.keys import arrow_keys
from core.ui.text import Experiment, TextFile


def draw_all(experiments: Sequence[Experiment], words: TextFile, lesson: str) -> None:
    """Every experiment as a row: the button, what to look for, and the link."""
    for experiment in experiments:
        with st.container(key=f"try_{lesson}_{experiment.id}", horizontal=True, vertical_alignment="top", gap="medium"):
            st.button(experiment.title, key=f"do_{lesson}_{experiment.id}", on_click=state.apply, args=(experiment.settings,), width=260)
            st.markdown(f"{experiment.look} [{words.label('try_link')}]({state.link(experiment.settings)})")


def draw_one(experiments: Sequence[Experiment], words: TextFile, lesson: str) -> None:
    """The present step alone, for the projector: the arrow keys go through them. Nothing is set before the first step."""
    if not experiments:
        return
    step = st.session_state.get(f"{lesson}_step", 0)
    if 0 < step <= len(experiments):
        st.markdown(f"**{experiments[step - 1].title}.** {experiments[step - 1].look}")
    st.caption(words.label("try_step", i=min(step, len(experiments)), n=len(experiments)))
    moved = arrow_keys(key=f"{lesson}_keys")
    if moved:
        go_to = min(max(step + moved, 1), len(experiments))
        if go_to != step:
            state.apply({f"{lesson}_step": go_to} | experiments[go_to - 1].settings)
