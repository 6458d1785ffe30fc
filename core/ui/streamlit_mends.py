"""Two faults of Streamlit 1.67 by which a fast hand ended a page; app.py puts these functions in the place of Streamlit's own.

Both leave the browser with something to draw in a place that is not there: it shows nothing any more ("Bad delta path").
"""
from __future__ import annotations

from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.runtime.app_session import AppSession

_request_rerun, _clear_queue = AppSession.request_rerun, AppSession._clear_queue


def request_rerun(session: AppSession, client_state: ClientState | None) -> None:
    """`AppSession.request_rerun` without what a page asks for that its reader has left.

    A hand that has just let go of a slider tells of it a moment later. If the reader has followed a link meanwhile, Streamlit would run the part (fragment) that the slider stood in under
    the old page's name beside the new page, whose parts have the same ids.
    """
    pages = session._pages_manager
    if client_state and client_state.fragment_id and client_state.page_script_hash != (pages.intended_page_script_hash or pages.current_page_script_hash):
        return
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
