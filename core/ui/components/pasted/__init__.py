"""Cuts what is pasted or dropped into the prompt before the browser lays it out and sends it, and puts U+FFFD for half a character in any field. Draws nothing.

Ten megabytes keep a browser busy for half a minute, and a server reads what it throws away; more than the server takes in one message ends the connection, and the browser would then
send the same again and again. So it would with half a character (a lone surrogate), which makes a message that the server cannot read.
"""
from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import streamlit as st

from core.ui.components import declare

_component = declare("pasted", Path(__file__).with_name("pasted.js"))
_KEY = "pasted"


def cut_what_is_pasted(field: str, most: int, on_cut: Callable[[int], None]) -> None:
    """Put it on every page, outside of fragments. field: CSS selector of a text area, which keeps the last `most` characters of what it would hold; on_cut is told how many there were."""
    _component(key=_KEY, data={"field": field, "most": most}, on_characters_change=lambda: on_cut(int(st.session_state[_KEY].characters)))
