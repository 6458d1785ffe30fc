"""Tokens: how a text becomes a row of numbers."""
import streamlit as st

from core.ui import lesson as frame
from core.ui.markdown import unmarked
from core.ui.tokens import merges, methods, training, vocabulary
from core.ui.tokens.reading import VIEWS, attached, question, read

DRAWN = {"merges": merges, "methods": methods, "train": training, "vocabulary": vocabulary}

page = frame.open_lesson("tokens")
run = page.run()


@frame.fragment
def lesson() -> None:
    """The picked view and the parts that speak of it: a pick redraws these and nothing else."""
    with st.container(gap="xsmall"):
        with st.container(horizontal=True, vertical_alignment="center", key="tokens_bar"):
            st.segmented_control(page.label("view"), VIEWS, format_func=lambda name: page.label(f"view_{name}"), required=True, label_visibility="collapsed", wrap=True,
                                 **attached("view"))
            pins = st.container(width="content")
        reading = DRAWN[read("view")].draw(page, run)
    with pins:
        page.pins(reading.summary)
    page.explanation()
    page.numbers(reading.lines, reading.table)
    page.experiments()
    page.check(question(page, run))
    page.code(reading.functions, reading.data, reading.picture, unmarked(reading.title))


lesson()
