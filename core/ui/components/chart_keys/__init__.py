"""Lets the keys read every chart of Altair and Plotly as the pointer reads it. Draws nothing."""
from __future__ import annotations

from pathlib import Path

from core.ui.components import declare

_component = declare("chart_keys", Path(__file__).with_name("chart_keys.js"))


def read_charts_by_keys(hint: str) -> None:
    """Put it on every page, outside of fragments. A chart becomes a stop of the Tab key, named after its axes, the picture's text twin and the `hint`; the arrow keys go from mark to mark
    of those that hover says something of, Home and End to the first and the last, Enter or Space clicks it, Escape lets go. What is shown is said in a live region too."""
    _component(key="chart_keys", data=hint)
