"""Try this: one-click experiments from a lesson's text file.

A click sets prompt, selection and widgets; each is also a link.
"""
from collections.abc import Sequence

import streamlit as st

from core.app.base.prose import Experiment, TextFile
from core.app.state import reader
from core.components.page.keys import presenters_keys


def draw_all(experiments: Sequence[Experiment], words: TextFile, lesson: str) -> None:
    """Every experiment as a row of a grid (page.css): the button, what to look for, and the link, which carries no
    setting of the lesson but the experiment's own: so a changed setting need not draw them again.

    Rows of their own would be boxes that the browser goes over at every change of the page.
    """
    with st.container(key="experiments"):
        for experiment in experiments:
            st.button(experiment.title, key=f"do_{lesson}_{experiment.id}", on_click=reader.apply,
                      args=(experiment.settings,), width="stretch")
            link = reader.link(experiment.settings, alone=True)
            st.markdown(f"{experiment.look} [{words.label('try_link')}]({link})")


def draw_one(experiments: Sequence[Experiment], words: TextFile, lesson: str) -> None:
    """The present step alone, in a line at the foot of the screen; the arrow keys go through the steps.

    Nothing is set before the first.
    """
    if not experiments:
        return
    step = min(st.session_state.get(f"try_{lesson}_step", 0), len(experiments))
    with st.container(key="try_step"):
        count = words.label("try_step", i=step, n=len(experiments))
        shown = experiments[step - 1] if step else None
        st.markdown(f"{count} **{shown.title}.** {shown.look}" if shown else f"{count} {words.label('try_keys')}")
    moved = presenters_keys([experiment.title for experiment in experiments], step, words, key=f"{lesson}_keys")
    if moved.by or moved.to:
        go_to = moved.to or min(max(step + moved.by, 1), len(experiments))
        if go_to != step:
            st.session_state[f"try_{lesson}_step"] = go_to
            reader.apply(experiments[go_to - 1].settings)
