"""The links at the end of a view: to the next view and, on the first page, to the map of all."""
from collections.abc import Sequence
from pathlib import Path

import streamlit as st

from core.components import declare

HERE = Path(__file__).parent

_component = declare("next_view", HERE / "next_view.js", html='<div class="component"></div>',
                     styles=(HERE / "next_view.css",))


def next_links(links: Sequence[tuple[str, str]], key: str) -> int | None:
    """Draw the links, each a label and an address; return the index of the link that a plain click just followed."""
    gone = f"{key}_gone"
    _component(key=key, data=[{"label": label, "href": href} for label, href in links], width="content",
               events={"go": lambda href: st.session_state.update({gone: href})})
    followed = st.session_state.pop(gone, None)
    return next((i for i, (_, href) in enumerate(links) if href == followed), None)
