"""The fragments of a page, and which of them a callback asks for."""
import contextlib
from collections.abc import Sequence

import streamlit as st
from streamlit.errors import StreamlitAPIException

from core.app.streamlit import context

# keys: the prompt bar, the strip, the picture, what the browser says of that, what speaks of it above and below the
# experiments, and those
BAR, STRIP, PICTURE, STANDING = "bar", "strip", "picture", "standing"
NUMBERS, QUESTION, EXPERIMENTS = "numbers", "question", "experiments"
LATER = "drawn_later"           # in the session: the fragments to draw once the browser shows the run that follows
ASKED = "fragments_asked"       # in the session: the fragments that callbacks asked for and no run has begun to draw
KEYS = "fragment_keys"          # in the session: the key of each fragment that was drawn, by its id


def rerun(*keys: str) -> None:
    """Callback: run the fragments of these keys again, or the whole page where none is named or one was not drawn.

    Nothing is to be done where the whole page is drawn anyway: a link, or the browser's history, may bring with it a
    value that the browser had not heard of yet. Streamlit calls that a change, and to ask for a fragment of the page
    that is left would put that fragment in the new page's place.

    What callbacks asked for before and no run has begun to draw is asked for again: where an event waits already,
    Streamlit makes one run of both, and ends it, nothing drawn, when the event's callback asks for a run of its own.
    So are the fragments of the other event, whose callback may ask for nothing since its own fragment shows all of it.
    """
    if not (here := context.fragments_of_this_run()):
        return
    if keys:
        drawn = st.session_state.get(KEYS, {})
        both = [drawn[name] for name in here if name in drawn] if len(here) > 1 else ()
        asked = st.session_state[ASKED] = dict.fromkeys((*keys, *both, *st.session_state.get(ASKED, ())))
        with contextlib.suppress(StreamlitAPIException):
            st.rerun(tuple(asked))
    st.rerun()


def begin(key: str | None) -> None:
    """A run draws the fragment of this key, and this is called in it."""
    if key is not None:
        st.session_state.setdefault(KEYS, {})[context.this_fragment()] = key
        st.session_state.get(ASKED, {}).pop(key, None)


def begin_all() -> None:
    """A run draws the whole page."""
    st.session_state.pop(ASKED, None)


def rerun_in_turn(first: Sequence[str], later: Sequence[str]) -> None:
    """Callback: run the fragments `first`, and once the browser shows them, `later` and what speaks of the picture."""
    st.session_state[LATER] = later
    rerun(*first, STANDING)


def redraw() -> None:
    """Callback: draw the picture, and what speaks of it once the browser shows that."""
    rerun(PICTURE)
