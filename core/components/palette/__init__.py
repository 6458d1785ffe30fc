"""A button that opens a field that finds every place of the app while the reader types; Ctrl+K, ⌘K and / also open it.

palette.js: the button and the keys; finder.js, loaded when it is first opened: the dialog; search.js: the search.
"""
from pathlib import Path

import streamlit as st

from core.components import declare

HERE = Path(__file__).parent

_component = declare("palette", HERE / "palette.js", html='<div class="component"></div>',
                     styles=(HERE / "palette.css",))


def palette(text: dict[str, str], path: str, key: str) -> str | None:
    """Draw the button; return the id of the place that was just chosen, else None.

    path: the address of all places, a JSON list of objects with id, kind, name, where and says.
    """
    chosen = f"{key}_chosen"
    _component(key=key, data={"text": text, "path": path}, width="content",
               events={"go": lambda name: st.session_state.update({chosen: name})})
    return st.session_state.pop(chosen, None)
