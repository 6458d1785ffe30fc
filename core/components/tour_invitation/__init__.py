"""The invitation to the tour, which a browser shows in its first visit of the home page; memory.js is what it remembers
of the tour.
"""
from pathlib import Path

import streamlit as st

from core.components import declare

HERE = Path(__file__).parent

_component = declare("tour_invitation", HERE / "invitation.js", html='<div class="component invitation"></div>',
                     styles=(HERE / "invitation.css",))


def invitation(text: dict[str, str], href: str, key: str) -> bool:
    """Draw the invitation, where this browser has not been here before; return whether it was just taken.

    text: title, text, start, resume (with {i}, the step where the reader left) and skip. href: the tour's address.
    """
    taken = f"{key}_taken"
    _component(key=key, data={"text": text, "href": href},
               events={"take": lambda _: st.session_state.update({taken: True})})
    return st.session_state.pop(taken, False)
