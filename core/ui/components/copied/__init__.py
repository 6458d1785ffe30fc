"""Lets the buttons that copy a link or code do so where a class reaches the app at a plain http address. Draws nothing."""
from __future__ import annotations

from pathlib import Path

from core.ui.components import declare

_component = declare("copied", Path(__file__).with_name("copied.js"))


def copy_over_http() -> None:
    """Put it on every page, outside of fragments."""
    _component(key="copied")
