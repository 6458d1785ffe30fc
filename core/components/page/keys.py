"""The arrow keys of the keyboard as steps, for present mode. Draws nothing."""
from pathlib import Path

import streamlit as st

from core.components import declare

_component = declare("arrow_keys", Path(__file__).with_name("keys.js"))


def arrow_keys(key: str) -> int:
    """The steps that were just taken outside any control: +1 for each press of the right arrow or Page Down (a
    presenter's remote), −1 for left or Page Up.
    """
    taken = f"{key}_taken"

    def take(step: int) -> None:
        st.session_state[taken] = st.session_state.get(taken, 0) + step

    _component(key=key, events={"step": take})
    return st.session_state.pop(taken, 0)
