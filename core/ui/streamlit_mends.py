"""Three faults of Streamlit 1.67; app.py puts these functions in the place of Streamlit's own.

By two of them a fast hand ended a page: the browser had something to draw in a place that is not there, and showed nothing any more ("Bad delta path"). By the third a page that is opened on a
busy machine showed its controls at their least values beside the picture of the real ones.
"""
from __future__ import annotations

import dataclasses
from typing import Any

from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.state import session_state
from streamlit.runtime.state.common import RegisterWidgetResult, WidgetMetadata

_request_rerun, _clear_queue = AppSession.request_rerun, AppSession._clear_queue
# How the page tells what stays: not a press of a button, and not what Streamlit cannot say to a page, such as a component's state.
_KEPT = ("bool_value", "int_value", "double_value", "double_array_value", "string_value", "string_array_value")


@dataclasses.dataclass
class SessionState(session_state.SessionState):
    """Streamlit's state of one reader, which says a value to the page until the page has told that it has it. `told`: the widgets whose values stood in the page's last message.

    Streamlit says a value that is not the widget's default once. A page that is told of another run before it has drawn the first keeps only what comes last, and leaves the widget at its default.
    Every message of a page tells the values of all widgets that it has; where none comes (`AppTest`) nothing is said again. A press made just before a value comes again would be undone on
    screen: what was chosen is then said too.
    """

    told: frozenset[str] | None = None
    said_again: dict[str, Any] = dataclasses.field(default_factory=dict)

    def register_widget(self, metadata: WidgetMetadata[Any], user_key: str | None) -> RegisterWidgetResult[Any]:
        """`SessionState.register_widget`; only a widget that an earlier run has drawn has anything said again."""
        result = super().register_widget(metadata, user_key)
        if self.told is None or metadata.id not in self._old_state or metadata.value_type not in _KEPT:
            return result
        if metadata.id in self.told:
            missed = metadata.id in self.said_again and self.said_again.pop(metadata.id) != result.value
        elif missed := result.value != metadata.deserializer(None):
            self.said_again[metadata.id] = result.value
        return dataclasses.replace(result, value_changed=result.value_changed or missed)


def request_rerun(session: AppSession, client_state: ClientState | None) -> None:
    """`AppSession.request_rerun` without what a page asks for that its reader has left; it also keeps which widgets the page told the values of (see `SessionState`).

    A hand that has just let go of a slider tells of it a moment later. If the reader has followed a link meanwhile, Streamlit would run the part (fragment) that the slider stood in under
    the old page's name beside the new page, whose parts have the same ids.
    """
    pages = session._pages_manager
    if client_state and client_state.fragment_id and client_state.page_script_hash != (pages.intended_page_script_hash or pages.current_page_script_hash):
        return
    if client_state:
        session.session_state.told = frozenset(widget.id for widget in client_state.widget_states.widgets)
    _request_rerun(session, client_state)


def clear_queue(session: AppSession, fragment_ids_this_run: list[str] | None = None) -> None:
    """`AppSession._clear_queue`, which also takes away what hangs on what it takes away.

    A part that is asked for again while it is drawn takes back what has not been sent of it yet. Streamlit leaves in the queue what the parts within it have drawn, and what the browser is only
    told to be the same as before.
    """
    queue, parts = session._browser_queue, fragment_ids_this_run
    drawn = [message for message in queue._queue if message.WhichOneof("type") in ("delta", "ref_hash")]
    if parts:
        parts = [*parts, *{m.delta.fragment_id for m in drawn if m.delta.fragment_id and session._fragment_storage.has_ancestor_in(m.delta.fragment_id, parts)}]
    _clear_queue(session, parts)
    kept = set(map(id, queue._queue))
    gone = [tuple(message.metadata.delta_path) for message in drawn if id(message) not in kept]
    queue._queue = [message for message in queue._queue if message.WhichOneof("type") != "ref_hash" or not _hangs_on(tuple(message.metadata.delta_path), gone)]


def _hangs_on(path: tuple[int, ...], gone: list[tuple[int, ...]]) -> bool:
    """Whether a place stands within one of those that are gone, or after one in the same row: the browser has no gaps.

    >>> _hangs_on((0, 5, 2, 1), [(0, 5, 2)]), _hangs_on((0, 5, 3), [(0, 5, 2)]), _hangs_on((0, 5, 1), [(0, 5, 2)]), _hangs_on((0, 6), [(0, 5, 2)])
    (True, True, False, False)
    """
    return any(path[:len(one) - 1] == one[:-1] and path[len(one) - 1:len(one)] >= one[-1:] for one in gone)
