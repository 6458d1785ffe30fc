"""Residual stream: every token's vector flows through the blocks, and each part adds to it."""
import streamlit as st

from core.ui import lesson as frame
from core.ui.residual_stream import contributions, feed_forward, layer_norm, lens, norms, without_path

VIEWS = {"norms": norms, "lens": lens, "contributions": contributions, "norm": layer_norm, "mlp": feed_forward, "cut": without_path}

page = frame.open_lesson("residual_stream")


@frame.fragment
def lesson() -> None:
    """The picked view and the parts that speak of it: a pick or a control redraws these and nothing else."""
    run = page.run()
    view = st.segmented_control(page.label("view"), list(VIEWS), default="norms", format_func=lambda v: page.label(f"view_{v}"), required=True,
                                key="residual_stream_view", bind="query-params", label_visibility="collapsed")
    reading = VIEWS[view].draw(page, run)
    page.explanation()
    page.numbers(reading.lines, reading.table)
    page.experiments()
    question = reading.question
    page.check(question.question, question.options, question.answer, question.explanation, question.key)
    page.code(reading.functions, reading.data, reading.picture, reading.twin)


lesson()
