"""Embeddings: a token's row of E, its neighbours, the map of the vocabulary, a word in two contexts, and word arithmetic."""
import streamlit as st

from core.ui import lesson as frame
from core.ui import state
from core.ui.embeddings import arithmetic, contexts, neighbours, one_hot, vocabulary_map
from core.ui.embeddings.reading import choice
from core.ui.markdown import unmarked

VIEWS = {"product": one_hot, "neighbours": neighbours, "map": vocabulary_map, "contexts": contexts, "arithmetic": arithmetic}

page = frame.open_lesson("embeddings")


@frame.fragment
def lesson() -> None:
    """The picked view and the parts that speak of it: a pick or a control redraws these and nothing else."""
    run = page.run()
    with st.container(gap="xsmall"):
        with st.container(horizontal=True, vertical_alignment="center", key="embeddings_bar"):
            view = choice(page, "view")
            pins = st.container(width="content")
        reading = VIEWS[view].draw(page, run)
    with pins:
        page.pins({page.label(f"view_{view}"): unmarked(reading.title)})
    if not state.present():
        with st.container(key="lesson_explanation"):
            st.markdown(page.text("explanation" if view == "product" else f"explanation_{view}"))
    page.numbers(reading.lines)
    page.experiments()
    page.check(reading.question)
    page.code(reading.functions, reading.data, reading.picture, unmarked(reading.title))


lesson()
