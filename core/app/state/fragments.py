"""The fragments of a page, and which of them a callback asks for."""
import contextlib

import streamlit as st
from streamlit.errors import StreamlitAPIException

# keys: the prompt bar, the strip, the picture, what the browser says of that, and what speaks of it
BAR, STRIP, PICTURE, STANDING, BELOW = "bar", "strip", "picture", "standing", "below"
TOGETHER = "drawn_together"     # in the session: the run that follows draws the picture and what speaks of it


def rerun(*keys: str) -> None:
    """Callback: run the fragments of these keys again, or the whole page where it has not drawn one of them."""
    with contextlib.suppress(StreamlitAPIException):
        st.rerun(keys)
    st.rerun()


def redraw() -> None:
    """Callback: draw the picture and what speaks of it in one run, which costs the server less than two."""
    st.session_state[TOGETHER] = True
    rerun(PICTURE, BELOW)
