"""The mends of Streamlit: what a left page asks for is dropped, what hangs on what a part takes back goes with it, and a value is said until the page has told that it has it."""
from __future__ import annotations

from types import SimpleNamespace

import pytest
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState, WidgetStates
from streamlit.runtime.forward_msg_queue import ForwardMsgQueue
from streamlit.runtime.state.common import WidgetMetadata

from core.ui import streamlit_mends


@pytest.mark.parametrize("fragment, page, asked", [("part", "new", True), ("part", "old", False), ("", "old", True), ("", "new", True)])
@pytest.mark.parametrize("intended", ["new", ""])
def test_a_part_of_a_page_that_was_left_is_not_run(monkeypatch: pytest.MonkeyPatch, fragment: str, page: str, asked: bool, intended: str):
    runs = []
    monkeypatch.setattr(streamlit_mends, "_request_rerun", lambda session, client_state: runs.append(client_state))
    session = SimpleNamespace(_pages_manager=SimpleNamespace(intended_page_script_hash=intended, current_page_script_hash="old" if intended else "new"), session_state=SimpleNamespace(told=None))
    streamlit_mends.request_rerun(session, ClientState(fragment_id=fragment, page_script_hash=page, widget_states=WidgetStates(widgets=[WidgetState(id="width", int_value=3)])))
    streamlit_mends.request_rerun(session, None)
    assert len(runs) == asked + 1
    assert session.session_state.told == (frozenset(["width"]) if asked else None)


class Page:
    """A reader's state, and one widget that the page draws in each run."""

    def __init__(self, kind: str = "int_value", default: object = 0) -> None:
        self.state = streamlit_mends.SessionState()
        self.metadata = WidgetMetadata(f"$$ID-of-{kind}-width", lambda value: default if value is None else value, lambda value: value, kind)

    def run(self, *told: int, chosen: object = None, heard: bool = True) -> tuple[object, bool]:
        """One run, in which the page chooses a value itself, for a message that tells the widget's value or nothing (not `heard`: for none): its value, and whether that is said to the page."""
        widgets = WidgetStates(widgets=[WidgetState(id=self.metadata.id, int_value=value) for value in told])
        if heard:
            self.state.told = frozenset(widget.id for widget in widgets.widgets)
        self.state.on_script_will_rerun(widgets)
        if chosen is not None:
            self.state["width"] = chosen
        result = self.state.register_widget(self.metadata, "width")
        return result.value, result.value_changed


def test_a_value_is_said_until_the_page_tells_that_it_has_it():
    page = Page()
    assert page.run(chosen=8) == (8, True)
    assert page.run() == page.run() == (8, True)
    assert page.run(8) == (8, False)
    assert page.run(5) == (5, False)


def test_what_is_chosen_on_a_page_that_drew_in_peace_is_not_said():
    page = Page()
    assert page.run(chosen=8) == (8, True)
    assert page.run(5) == (5, False)


def test_a_default_is_not_said_and_nothing_is_without_a_page():
    page = Page()
    assert page.run() == page.run() == (0, False)
    page = Page()
    assert page.run(chosen=8, heard=False) == (8, True)
    assert page.run(heard=False) == (8, False)


def test_a_press_that_a_value_said_again_undid_on_screen_is_said_once():
    page = Page()
    page.run(chosen=8)
    assert page.run() == (8, True)
    assert page.run(5) == (5, True)
    assert page.run(5) == page.run(5) == (5, False)
    assert page.run(4) == (4, False)


@pytest.mark.parametrize("kind", ["trigger_value", "json_value", "chat_input_value"])
def test_only_a_widget_that_keeps_a_value_is_said(kind: str):
    page = Page(kind, default=False)
    page.run(chosen=True)
    assert page.run()[1] is False


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
