"""Residual stream: every token's vector flows through the blocks, and each part adds to it."""
import streamlit as st

from core.ui import lesson as frame
from core.ui.markdown import unmarked
from core.ui.residual_stream import contributions, feed_forward, layer_norm, lens, norms, without_path
from core.ui.residual_stream.reading import choice

VIEWS = {"norms": norms, "lens": lens, "contributions": contributions, "norm": layer_norm, "mlp": feed_forward, "cut": without_path}

page = frame.open_lesson("residual_stream")


@frame.fragment
def lesson() -> None:
    """The picked view and the parts that speak of it: a pick or a control redraws these and nothing else."""
    run = page.run()
    with st.container(gap="xsmall"):
        with st.container(horizontal=True, vertical_alignment="center", key="residual_stream_bar"):
            view = choice(page, "view")
            pins = st.container(width="content")
        reading = VIEWS[view].draw(page, run)
    with pins:
        page.pins({page.label(f"view_{view}"): unmarked(reading.title)})
    page.explanation()
    page.numbers(reading.lines)
    page.experiments()
    page.check(reading.question)
    page.code(reading.functions, reading.data, reading.picture, unmarked(reading.title))


lesson()
