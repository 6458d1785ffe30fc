"""The row of links at the head of every page, drawn in the browser: some pages, and one menu of others under headings.

Each is a real link, which can be copied or opened in a new tab; Python is told which link is followed.
"""
from pathlib import Path

import streamlit as st

from core.components import declare

HERE = Path(__file__).parent

_component = declare("navigation", HERE / "navigation.js", styles=(HERE / "navigation.css",))


def page_links(name: str, links: list[dict], key: str) -> str | None:
    """Draw the row and return the id of the page whose link was just followed, else None.

    name: the row's name for a screen reader. links: dicts with id, name, href and here (whether it is the open page),
    or, for the menu, with name, here and groups: dicts with name and links.
    """
    followed = f"{key}_followed"
    _component(key=key, data={"name": name, "links": links},
               events={"go": lambda page: st.session_state.update({followed: page})})
    return st.session_state.pop(followed, None)
