"""Asks for a run of the page when the connection is back after it was lost. Draws nothing.

Streamlit asks for one only if a run was cut off. A server that has started anew, or another replica, knows nothing of the reader until then: what the reader did first would be lost,
since the session begins with it and takes its state from the address.
"""
from __future__ import annotations

from pathlib import Path

from core.ui.components import declare

_component = declare("reconnect", Path(__file__).with_name("reconnect.js"))


def run_after_reconnection() -> None:
    """Put it on every page, outside of fragments."""
    _component(key="reconnect", on_back_change=lambda: None)
