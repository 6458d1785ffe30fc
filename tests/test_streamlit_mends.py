"""The mends of Streamlit: what a left page asks for is dropped, and what hangs on what a part takes back goes with it."""
from __future__ import annotations

from types import SimpleNamespace

import pytest
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.forward_msg_queue import ForwardMsgQueue

from core.ui import streamlit_mends


@pytest.mark.parametrize("fragment, page, asked", [("part", "new", True), ("part", "old", False), ("", "old", True), ("", "new", True)])
@pytest.mark.parametrize("intended", ["new", ""])
def test_a_part_of_a_page_that_was_left_is_not_run(monkeypatch: pytest.MonkeyPatch, fragment: str, page: str, asked: bool, intended: str):
    runs = []
    monkeypatch.setattr(streamlit_mends, "_request_rerun", lambda session, client_state: runs.append(client_state))
    session = SimpleNamespace(_pages_manager=SimpleNamespace(intended_page_script_hash=intended, current_page_script_hash="old" if intended else "new"))
    streamlit_mends.request_rerun(session, ClientState(fragment_id=fragment, page_script_hash=page))
    streamlit_mends.request_rerun(session, None)
    assert len(runs) == asked + 1


def drawn(path: tuple[int, ...], fragment: str = "", same: bool = False) -> ForwardMsg:
    """A message that draws an element at a path; `same`: that only says which it is."""
    message = ForwardMsg(ref_hash="known") if same else ForwardMsg()
    if not same:
        message.delta.new_element.markdown.body = str(path)
        message.delta.fragment_id = fragment
    message.metadata.delta_path.extend(path)
    return message


def test_what_hangs_on_a_part_that_is_asked_for_again_goes_with_it():
    """Part "outer" stands at (0, 5) with "inner" at (0, 5, 2) in it, "other" beside it; the browser has (0, 5, 0) already."""
    queue = ForwardMsgQueue()
    for message in (drawn((0, 4, 0), "other"), drawn((0, 5, 1), "outer"), drawn((0, 5, 2), "inner"), drawn((0, 5, 2, 0), "inner"), drawn((0, 5, 1, 0), same=True), drawn((0, 5, 3), same=True),
                    drawn((0, 4, 1), same=True), ForwardMsg(script_finished=ForwardMsg.FINISHED_EARLY_FOR_RERUN)):
        queue.enqueue(message)
    storage = SimpleNamespace(has_ancestor_in=lambda fragment, parts: fragment == "inner" and "outer" in parts)
    session = SimpleNamespace(_browser_queue=queue, _fragment_storage=storage)
    streamlit_mends.clear_queue(session, ["outer"])
    left = [tuple(message.metadata.delta_path) for message in queue.flush()]
    assert left == [(0, 4, 0), (0, 4, 1), ()]


def test_a_run_of_the_whole_page_takes_everything_back():
    queue = ForwardMsgQueue()
    for message in (drawn((0, 5), "outer"), drawn((0, 6), same=True), ForwardMsg(script_finished=ForwardMsg.FINISHED_EARLY_FOR_RERUN)):
        queue.enqueue(message)
    streamlit_mends.clear_queue(SimpleNamespace(_browser_queue=queue, _fragment_storage=None))
    assert [message.WhichOneof("type") for message in queue.flush()] == ["script_finished"]
