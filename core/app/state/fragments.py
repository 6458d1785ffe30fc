"""The fragments of a page, and the callbacks' requests to run them."""
import contextlib
from collections.abc import Sequence

import streamlit as st
from streamlit.errors import StreamlitAPIException

from core.app.streamlit import context

# keys: the prompt bar, the strip, the picture, the browser's word that the picture stands, the texts on it above and
# below the experiments, and the experiments
BAR, STRIP, PICTURE, STANDING = "bar", "strip", "picture", "standing"
NUMBERS, QUESTION, EXPERIMENTS = "numbers", "question", "experiments"
LATER = "drawn_later"           # in the session: the fragments to draw once the browser shows the next run
ASKED = "fragments_asked"       # in the session: the fragments that callbacks asked for and no run has begun to draw
KEYS = "fragment_keys"          # in the session: the key of each fragment that was drawn, by its id


def rerun(*keys: str) -> None:
    """Callback: run the fragments of these keys again, or the whole page if there is no key or one was not drawn.

    Do nothing during a full run. After a link or Back, Streamlit reports stale widget values as changes; rerunning the
    old page's fragment would draw it into the new page.

    Fragments that earlier callbacks asked for and no run has begun to draw are asked for again: if an event is waiting,
    Streamlit makes one run of both, and ends it before anything is drawn when the event's callback asks for a run. The
    other event's own fragments are asked for as well: its callback may have asked for nothing, since they show it all.
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
    """Note that this run draws the fragment of this key; call it within the fragment."""
    if key is not None:
        st.session_state.setdefault(KEYS, {})[context.this_fragment()] = key
        st.session_state.get(ASKED, {}).pop(key, None)


def begin_all() -> None:
    """Note that this run draws the whole page."""
    st.session_state.pop(ASKED, None)


def rerun_in_turn(first: Sequence[str], later: Sequence[str]) -> None:
    """Callback: run the fragments `first` and, once the browser shows them, `later` and the texts on the picture."""
    st.session_state[LATER] = later
    rerun(*first, STANDING)


def redraw() -> None:
    """Callback: draw the picture and, once the browser shows it, the texts on it."""
    rerun(PICTURE)
