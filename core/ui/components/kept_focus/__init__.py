"""Keeps the focus where the reader put it when Streamlit takes it away. Draws nothing.

A button is switched off while its download is made, or built anew with what it stands in; the keyboard would have to begin again at the top of the page.
"""
from __future__ import annotations

from pathlib import Path

from core.ui.components import declare

_component = declare("kept_focus", Path(__file__).with_name("kept_focus.js"))


def keep_focus() -> None:
    """Put it on every page, outside of fragments."""
    _component(key="kept_focus")
