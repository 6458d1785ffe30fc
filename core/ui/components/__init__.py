"""Small pictures and controls of hand-written JavaScript and CSS, each beside its Python face."""
from __future__ import annotations

from collections.abc import Callable

import streamlit as st


def declare(name: str, **parts: str) -> Callable:
    """`st.components.v2.component`, whose callbacks are called only while the component has a state to read.

    A picture tells of a pick with a little delay. What a reader does meanwhile may have taken the picture off the page, and its state with it; the pick comes nevertheless.
    """
    component = st.components.v2.component(name, **parts)

    def mounted(*, key: str, **arguments):
        return component(key=key, **{said: _while_it_stands(key, value) if said.startswith("on_") else value for said, value in arguments.items()})

    return mounted


def _while_it_stands(key: str, callback: Callable[[], None]) -> Callable[[], None]:
    def call() -> None:
        if key in st.session_state:
            callback()

    return call
