"""Six mends of faults in Streamlit 1.67, in one place.

`apply` puts them in; with another version it leaves Streamlit as it is.

1. `request_rerun`: a slider that a hand has just let go of reports a moment later. If the reader has followed a link
   meanwhile, Streamlit runs the slider's fragment under the old page's name beside the new page, whose fragments have
   the same ids, and the page goes blank. Browser test: tests/browser/test_fast_hands.py.
2. `clear_queue`: a fragment that is asked for again while it is drawn takes back its messages that were not sent yet.
   Streamlit leaves the messages of the fragments inside it, and those that only say "the same as before"; the browser
   then draws at a place that does not exist ("Bad delta path") and shows nothing any more. Browser test:
   tests/browser/test_asked_again.py.
3. `SessionState`: Streamlit sends a value that is not the widget's default only once. A browser that gets a second run
   before it has drawn the first keeps only the last message, and the widget stands at its default beside the picture of
   the real value. Browser test: tests/browser/test_slow_page.py.
4. `request_rerun`: when a run has ended, Streamlit gives an event to a new ScriptRunner, and from then on ignores
   elements of the old one that the event loop has not taken up yet. A part of the page then stays outdated for good:
   the bar names the new model above the picture of the old one. Browser test: tests/browser/test_last_messages.py.
5. `request_rerun`: a word of the page that comes before the run of *back* or *forward* has begun takes that run's place
   and forgets what it was for: the reader stays where they were. Streamlit calls this an accepted limitation. Browser
   test: tests/browser/test_fast_hands.py.
6. `mark_for_delete`: a file that a reader saves is made at the press and then fetched. Streamlit throws it away once
   two runs of any reader have ended meanwhile, which in a class takes no time, and the browser says that there is no
   such file. Test: tests/core/app/streamlit/test_fixes.py.
"""
import dataclasses
import logging
import time
from typing import Any, NamedTuple

import streamlit
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.runtime import state
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.media_file_manager import MediaFileMetadata
from streamlit.runtime.pages_manager import PagesManager
from streamlit.runtime.scriptrunner_utils.script_requests import ScriptRequestType
from streamlit.runtime.state import session_state
from streamlit.runtime.state.common import RegisterWidgetResult, WidgetMetadata

VERSION = "1.67.0"      # the version that these mends were written for and that requirements pin
LOG = logging.getLogger(__name__)
# Kinds of values that a page reports as they stand: not a press of a button, and no value that Streamlit cannot send to
# a page, such as the state of a component.
_REPORTED = ("bool_value", "int_value", "double_value", "double_array_value", "string_value", "string_array_value")
_request_rerun = AppSession.request_rerun
_clear_queue = getattr(AppSession, "_clear_queue", None)
_mark_for_delete = MediaFileMetadata.mark_for_delete
KEPT = 60       # seconds from the first run after which nobody seems to need a file


def apply() -> bool:
    """Put the mends in place of Streamlit's own functions; False, with a line in the log, for another version."""
    if streamlit.__version__ != VERSION:
        LOG.warning("Streamlit is %s, not %s: its six mended faults are left as they are. A fast hand may blank a "
                    "page, and a slow one may show sliders at their least values.", streamlit.__version__, VERSION)
        return False
    AppSession.request_rerun, AppSession._clear_queue = request_rerun, clear_queue
    state.SessionState = SessionState
    MediaFileMetadata.mark_for_delete = mark_for_delete
    return True


class Place(NamedTuple):
    """A page and its query, as a page's message names them."""

    page_script_hash: str
    page_name: str
    query_string: str


@dataclasses.dataclass
class SessionState(session_state.SessionState):
    """Streamlit's state of one reader, which sends a value to the page until the page reports that it has the widget.

    `reported`: ids of the widgets in the page's last message; every message has the values of all widgets on the page.
    Without messages (`AppTest`) nothing is sent again. `resent`: values sent again, by widget; if a choice is made just
    before a resent value arrives, the value would undo it on the screen, so the choice is then sent as well.
    """

    reported: frozenset[str] | None = None
    resent: dict[str, Any] = dataclasses.field(default_factory=dict)
    gone_to: Place | None = None

    def register_widget(self, metadata: WidgetMetadata[Any], user_key: str | None) -> RegisterWidgetResult[Any]:
        """`SessionState.register_widget`, which sends a value again only if an earlier run has drawn the widget."""
        result = super().register_widget(metadata, user_key)
        if self.reported is None or metadata.id not in self._old_state or metadata.value_type not in _REPORTED:
            return result
        if metadata.id in self.reported:
            missed = metadata.id in self.resent and self.resent.pop(metadata.id) != result.value
        elif missed := result.value != metadata.deserializer(None):
            self.resent[metadata.id] = result.value
        return dataclasses.replace(result, value_changed=result.value_changed or missed)


def request_rerun(session: AppSession, client_state: ClientState | None) -> None:
    """`AppSession.request_rerun`; if the last run has ended, after the event loop has taken up all that it drew."""
    runner = session._scriptrunner
    if runner is not None and runner._requests._state is ScriptRequestType.STOP:
        session._event_loop.call_soon(take_up, session, client_state)
    else:
        take_up(session, client_state)


def take_up(session: AppSession, client_state: ClientState | None) -> None:
    """`AppSession.request_rerun`, except for fragments of a page that its reader has left; note which widgets the page
    reports, and where its history has led.
    """
    if client_state and client_state.fragment_id and client_state.page_script_hash != shown_page(
            session._pages_manager):
        return
    if client_state:
        session.session_state.reported = frozenset(widget.id for widget in client_state.widget_states.widgets)
        follow_history(session.session_state, client_state, session._pages_manager.current_page_script_hash)
    _request_rerun(session, client_state)


def follow_history(reader: SessionState, message: ClientState, left: str) -> None:
    """Let a message that comes while the reader's way back or forward waits for its run lead there too, unless it leads
    to a third page. left: the hash of the page that the last run has drawn.
    """
    if message.is_history_navigation:
        reader.gone_to = Place(*(getattr(message, name) for name in Place._fields))
    elif reader.gone_to and message.page_script_hash in ("", left, reader.gone_to.page_script_hash):
        message.is_history_navigation = True
        for name, value in reader.gone_to._asdict().items():
            setattr(message, name, value)
    else:
        reader.gone_to = None


def shown_page(pages: PagesManager) -> str:
    """The hash of the page that the last run was asked for. A page that asks again before it has heard which one it is
    names none, or the script of the whole app: then the page that the run came to.
    """
    asked = pages.intended_page_script_hash
    return asked if asked in pages.get_pages() else pages.current_page_script_hash


def clear_queue(session: AppSession, fragment_ids_this_run: list[str] | None = None) -> None:
    """`AppSession._clear_queue`, which takes nothing back for a fragment: waiting messages are sent first, as they
    would have been a moment earlier.
    """
    if fragment_ids_this_run:
        # else a message of the new run would replace one of the old run, ahead of the rest of its own run
        session._browser_queue._delta_index_map = {}
    else:
        _clear_queue(session)


def mark_for_delete(file: MediaFileMetadata) -> None:
    """`MediaFileMetadata.mark_for_delete`, for a file that has had the time to be fetched."""
    first = vars(file).setdefault("unused_since", time.monotonic())
    if time.monotonic() - first >= KEPT:
        _mark_for_delete(file)
