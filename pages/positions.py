"""Positions: how order gets into a model that has none."""
import streamlit as st

from core.ui import instrument_state, state
from core.ui import lesson as frame
from core.ui.instrument_state import Setting
from core.ui.positions import beyond, biases, concat, learned, measured, rotary, symmetry, waves

VIEWS = {"waves": waves, "learned": learned, "rotary": rotary, "biases": biases, "concat": concat, "symmetry": symmetry, "beyond": beyond, "measured": measured}
# The picture's room is kept free while it loads, so that what stands below does not jump.
RESERVED = "<style>.st-key-positions_stage { min-height: min(100vh - 14rem, 61rem); }</style>"
CHOICE = {"view": Setting("waves", options=tuple(VIEWS))}

page = frame.open_lesson("positions")
run = page.run()


@frame.fragment
def section() -> None:
    """The picture that was chosen and everything below it: one fragment, so that the rest of the app stands still."""
    view = instrument_state.read("positions", CHOICE)["view"]
    with st.container(horizontal=True, vertical_alignment="center", key="positions_bar"):
        st.segmented_control(page.label("view"), list(VIEWS), required=True, format_func=lambda name: page.label(f"view_{name}"), label_visibility="collapsed", wrap=True,
                             **instrument_state.attached("positions", CHOICE, "view"))
        pins = st.container(width="content")
    st.html(RESERVED)
    with st.container(key="positions_stage"):
        shown = VIEWS[view].draw(page, run)
    with pins:
        page.pins(dict(shown.summary))
    if not state.present():
        with st.container(key="lesson_explanation"):
            st.markdown(page.text("explanation" if view == "waves" else f"explanation_{view}"))
    page.numbers(shown.numbers)
    page.experiments()
    if shown.question is not None:
        page.check(shown.question)
    page.code(shown.functions, dict(shown.data), shown.picture, shown.twin)


section()
