"""How an altair chart comes on the page: with the project's own look, and without a second check of what tests have checked."""
from __future__ import annotations

import functools

import altair as alt
import streamlit as st


def show(chart: alt.TopLevelMixin, **options) -> None:
    """st.altair_chart over the whole width. What a chart says is checked against the schema of Vega-Lite where figures are tested, not here: that takes as long as all the
    rest of drawing it, and Streamlit lets one reader at a time do it."""
    object.__setattr__(chart, "to_dict", functools.partial(chart.to_dict, validate=False))       # a plain assignment would be a property of the chart
    st.altair_chart(chart, theme=None, width="stretch", **options)
