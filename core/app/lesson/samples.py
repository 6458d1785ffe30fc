"""Count a sample only, if the whole would keep a large model busy for minutes.

The size of the sample depends only on the model's size, so that everybody in a class sees the same. The page says how
much was counted, and a button counts the whole. Every sentence and number is true of what was counted.
"""
import streamlit as st

from core.app.lesson.lesson import Lesson
from core.app.state import Run
from core.app.state.fragments import redraw
from core.app.state.lesson_settings import Settings

BUDGET = 2.5e11     # parameters × tokens that are counted unasked: 2,000 tokens for the smallest GPT-2
MOST = 8            # for the largest models every MOST-th item is counted
NTH = {2: "nth_2", 4: "nth_4", 8: "nth_8"}     # labels


def every(n_parameters: int, n_tokens: int) -> int:
    """The step n, 1, 2, 4 or 8: every n-th item is counted. n_tokens: the whole costs as much as predicting this many
    tokens.

    >>> every(12_000_000, 7_000), every(124_000_000, 7_000), every(10**12, 7_000)
    (1, 4, 8)
    """
    step = 1
    while step < MOST and n_parameters * n_tokens > BUDGET * step:
        step *= 2
    return step


def step_of(settings: Settings, run: Run, n_tokens: int) -> int:
    """`every` for the reader's model; 1 if the reader wants the whole, by the setting "whole"."""
    return 1 if settings.read("whole") else every(run.model.n_parameters, n_tokens)


def say(page: Lesson, settings: Settings, run: Run, n_tokens: int, name: str, **values: int) -> None:
    """Say how much is counted, beside the button for the whole, or for the sample again; draw nothing if the model is
    small enough. The labels are sample_<name>, with {nth} and the values, and whole_<name> for the button.
    """
    step = every(run.model.n_parameters, n_tokens)
    if step == 1:
        return
    is_whole = settings.read("whole")

    def turn() -> None:
        settings.keep(whole=not is_whole)
        redraw()

    words = page.frame_words
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key=f"{page.id}_sample"):
        said = page.label(f"sample_{name}", nth=words.label(NTH[step]), **values)
        st.caption(words.label("sample_whole" if is_whole else "sample", said=said), width="content")
        st.button(words.label("sample_again") if is_whole else page.label(f"whole_{name}", **values),
                  key=f"{page.id}_sample_turn", type="tertiary", on_click=turn)
