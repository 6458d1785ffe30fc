"""The mends of Streamlit: left out with another version, and a value is sent until the page reports that it has it.

What the others mend is seen in a browser: tests/browser/test_fast_hands.py, test_asked_again.py and
test_last_messages.py.
"""
from __future__ import annotations

import re
from pathlib import Path

import pytest
import streamlit
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.proto.WidgetStates_pb2 import WidgetState, WidgetStates
from streamlit.runtime import state
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.media_file_manager import MediaFileManager, MediaFileMetadata
from streamlit.runtime.memory_media_file_storage import MemoryMediaFileStorage
from streamlit.runtime.pages_manager import PagesManager
from streamlit.runtime.state.common import WidgetMetadata

from core.app.streamlit import fixes

ROOT = Path(__file__).parents[4]


def test_the_mends_are_for_the_version_that_is_pinned():
    pins = "\n".join(path.read_text(encoding="utf-8") for path in ROOT.glob("**/requirements.txt")
                     if ".venv" not in path.parts)
    assert fixes.VERSION in re.findall(r"^streamlit(?:\[\w+\])?==(\S+)", pins, re.MULTILINE)


def test_another_version_is_left_as_it_is(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture):
    monkeypatch.setattr(streamlit, "__version__", "1.99.0")
    before = AppSession.request_rerun, state.SessionState
    assert not fixes.apply()
    assert (AppSession.request_rerun, state.SessionState) == before
    assert "1.99.0" in caplog.text and fixes.VERSION in caplog.text


class Page:
    """A reader's state, and one widget that the page draws in each run."""

    def __init__(self, kind: str = "int_value", default: object = 0) -> None:
        self.state = fixes.SessionState()
        self.metadata = WidgetMetadata(f"$$ID-of-{kind}-width", lambda value: default if value is None else value,
                                       lambda value: value, kind)

    def run(self, *reported: int, chosen: object = None, heard: bool = True) -> tuple[object, bool]:
        """One run after a message that reports the widget's value or nothing; not `heard`: after no message.

        `chosen`: a value that the run sets itself. Returns the widget's value, and whether it is sent to the page.
        """
        widgets = WidgetStates(widgets=[WidgetState(id=self.metadata.id, int_value=value) for value in reported])
        if heard:
            self.state.reported = frozenset(widget.id for widget in widgets.widgets)
        self.state.on_script_will_rerun(widgets)
        if chosen is not None:
            self.state["width"] = chosen
        result = self.state.register_widget(self.metadata, "width")
        return result.value, result.value_changed


def test_a_value_is_sent_until_the_page_reports_it():
    page = Page()
    assert page.run(chosen=8) == (8, True)
    assert page.run() == page.run() == (8, True)
    assert page.run(8) == (8, False)
    assert page.run(5) == (5, False)


def test_a_choice_on_a_page_that_drew_in_peace_is_not_sent_back():
    page = Page()
    assert page.run(chosen=8) == (8, True)
    assert page.run(5) == (5, False)


def test_a_default_is_not_sent_and_nothing_is_without_a_page():
    page = Page()
    assert page.run() == page.run() == (0, False)
    page = Page()
    assert page.run(chosen=8, heard=False) == (8, True)
    assert page.run(heard=False) == (8, False)


def test_a_choice_that_a_resent_value_undid_on_screen_is_sent_once():
    page = Page()
    page.run(chosen=8)
    assert page.run() == (8, True)
    assert page.run(5) == (5, True)
    assert page.run(5) == page.run(5) == (5, False)
    assert page.run(4) == (4, False)


@pytest.mark.parametrize("kind", ["trigger_value", "json_value", "chat_input_value"])
def test_only_a_widget_that_keeps_a_value_is_sent_again(kind: str):
    page = Page(kind, default=False)
    page.run(chosen=True)
    assert page.run()[1] is False


@pytest.mark.parametrize(("asked", "shown"), [("second", "second"), ("", "first"), ("script", "first")])
def test_the_page_that_a_run_was_asked_for_is_one_of_the_pages_or_the_one_that_the_run_came_to(asked: str, shown: str):
    pages = PagesManager(str(ROOT / "app.py"))
    pages.set_script_intent(asked, "")
    pages.set_current_page_script_hash("first")
    pages.set_pages_and_resolve({name: {"script_path": "", "page_script_hash": name} for name in ("first", "second")})
    assert fixes.shown_page(pages) == shown


@pytest.mark.parametrize(("page", "is_led"), [("left", True), ("", True), ("gone to", True), ("a third", False)])
def test_a_word_after_the_way_back_leads_there_too_unless_it_leads_to_a_third_page(page: str, is_led: bool):
    reader = fixes.SessionState()
    back = ClientState(page_script_hash="gone to", page_name="heads", query_string="layer=2",
                       is_history_navigation=True)
    word = ClientState(page_script_hash=page, query_string="layer=1", fragment_id="picture")
    for message in (back, word):
        fixes.follow_history(reader, message, "left")
    assert word.fragment_id == "picture"
    assert word.is_history_navigation == is_led and word.query_string == ("layer=2" if is_led else "layer=1")
    assert (word.page_script_hash, word.page_name) == (("gone to", "heads") if is_led else (page, ""))


def test_a_word_after_the_run_of_the_way_back_has_begun_stays_as_it_is():
    reader = fixes.SessionState()
    fixes.follow_history(reader, ClientState(query_string="layer=2", is_history_navigation=True), "left")
    reader.gone_to = None           # the run has noted it
    word = ClientState(query_string="layer=1")
    fixes.follow_history(reader, word, "left")
    assert not word.is_history_navigation and word.query_string == "layer=1"


def test_a_file_that_is_saved_waits_a_minute_for_the_browser_however_many_runs_end(monkeypatch: pytest.MonkeyPatch):
    now = [0.0]
    monkeypatch.setattr(MediaFileMetadata, "mark_for_delete", fixes.mark_for_delete)
    monkeypatch.setattr(fixes.time, "monotonic", lambda: now[0])
    files = MediaFileManager(MemoryMediaFileStorage("/media"))
    url = files.execute_deferred(files.add_deferred(lambda: b"a picture", "text/html", "1.0", "picture.html"))

    def is_there() -> bool:
        return files.read_file(url.rpartition("/")[2].partition(".")[0]) is not None

    for now[0] in (1, 1.1, 1.2, 30, 60):
        files.remove_orphaned_files()
        assert is_there()
    for now[0] in (61, 61.1):
        files.remove_orphaned_files()
    assert not is_there()
