"""The session and the fragments of the present run; None or empty outside a run, as in a test or a thread."""
from __future__ import annotations

from collections.abc import Sequence

from streamlit import runtime
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.scriptrunner_utils.script_run_context import ThreadState

from core.app.streamlit.fixes import SessionState


def session_id() -> str | None:
    """The id of the session whose page this thread runs; None in a thread that runs no page."""
    context = get_script_run_ctx(suppress_warning=True)
    return None if context is None else context.session_id


def is_connected(session: str) -> bool:
    """Whether a browser is connected to the session with this id; True without a server."""
    return not runtime.exists() or runtime.get_instance().is_active_session(session) is not False


def is_from_history() -> bool:
    """Whether the reader has caused this run by going back or forward in the browser's history."""
    context = get_script_run_ctx(suppress_warning=True)
    return context is not None and context.is_history_navigation


def note_history() -> None:
    """The run has taken note of `is_from_history`: what the page says from here on is said at its new place."""
    context = get_script_run_ctx(suppress_warning=True)
    if context is not None and isinstance(state := context.session_state._state, SessionState):
        state.gone_to = None


def fragments_of_this_run() -> Sequence[str]:
    """The ids of the fragments that this run draws; empty if it draws the whole page."""
    context = get_script_run_ctx(suppress_warning=True)
    return () if context is None else context.fragment_ids_this_run or ()


def this_fragment() -> str | None:
    """The id of the fragment that is being drawn; None outside of fragments."""
    return ThreadState.get().fragment_id
