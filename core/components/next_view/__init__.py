"""The link at the end of a view, to the one that comes next."""
from pathlib import Path

import streamlit as st

from core.components import declare

HERE = Path(__file__).parent

_component = declare("next_view", HERE / "next_view.js", html='<div class="component"></div>',
                     styles=(HERE / "next_view.css",))


def next_link(label: str, href: str, key: str) -> bool:
    """Draw the link; return whether a plain click just followed it."""
    gone = f"{key}_gone"
    _component(key=key, data={"label": label, "href": href}, width="content",
               events={"go": lambda to: st.session_state.update({gone: to})})
    return st.session_state.pop(gone, None) == href
