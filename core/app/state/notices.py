"""Notices of the frame to the reader: plain sentences, shown for some seconds."""
import time

import streamlit as st

from core.base import prose

NOTICE_SECONDS = 10           # a notice outlasts the reruns that a component asks for when it is mounted


def keep_new() -> None:
    """Drop the notices that have been shown for long enough."""
    st.session_state["notices"] = {told: at for told, at in st.session_state.get("notices", {}).items()
                                   if time.monotonic() - at < NOTICE_SECONDS}


def notice(key: str, **values) -> None:
    """Add a plain sentence (a label of app.md) to the notices, for this run and those of the next seconds.
    """
    st.session_state.setdefault("notices", {})[prose.load("app").label(key, **values)] = time.monotonic()


def notices() -> list[str]:
    return list(st.session_state.get("notices", {}))
