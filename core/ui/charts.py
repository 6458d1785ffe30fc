"""How an altair chart comes on the page: over the whole width, in the look that its figure gave it, and without a second check of what tests have checked.

What a chart says is checked against the schema of Vega-Lite where figures are tested. In the app that would take as long as all the rest of drawing it, and Streamlit writes
out the charts of one reader at a time.
"""
from __future__ import annotations

import functools

import altair as alt
import streamlit as st
from altair.utils import schemapi

schemapi.disable_debug_mode()       # which checks every part of a chart when it is made


def show(chart: alt.TopLevelMixin, **options) -> None:
    """st.altair_chart with these options. Always as SVG, whose marks the keys read (components.chart_keys): of more than 2,000 Streamlit makes a canvas."""
    chart.usermeta = {"embedOptions": {"renderer": "svg"}}
    object.__setattr__(chart, "to_dict", functools.partial(chart.to_dict, validate=False))       # a plain assignment would be a property of the chart
    st.altair_chart(chart, theme=None, width="stretch", **options)
