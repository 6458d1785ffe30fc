"""What Streamlit would do many times over in every run: it is told the same as without these, and does it once."""
from __future__ import annotations

import asyncio
import functools
import threading
from types import SimpleNamespace

import pytest
from streamlit import config
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.NewSession_pb2 import CustomThemeConfig
from streamlit.runtime.state import session_state
from streamlit.testing.v1 import AppTest

from core.ui import streamlit_savings
from tests.coroutines import finished
from tests.lessons import fine

SECTIONS = ["theme", *(f"theme.{category.value}" for category in config.CustomThemeCategories)]
asked: list[str] = []           # the ids whose values were presented while one key alone was asked for


def script():
    import streamlit as st
    from streamlit.runtime.state import get_session_state

    from tests import test_streamlit_savings

    st.session_state["mine"] = 3
    st.slider("without a key", 0, 9)
    st.number_input("with a key", 0, 9, 4, key="number")
    st.toggle("on", key="on", value=True)
    test_streamlit_savings.compare(get_session_state())


def compare(state) -> None:
    """In a run, which alone has a state."""
    whole, named, keys = streamlit_savings._all_of(state), streamlit_savings.NamedState(state), [*state._state._keys()]
    assert dict(named) == whole == {"mine": 3, "number": 4, "on": True} and len(named) == 3
    assert any(key not in whole for key in keys), "one has no name of the app's"
    assert all((key in named, named.get(key)) == (key in whole, whole.get(key)) for key in [*keys, *whole, "no such key"])
    asked.clear()
    assert named["number"] == 4 and len(asked) == 1


def test_the_state_by_names_is_streamlits_own_and_looks_up_no_more_than_is_asked_for(monkeypatch: pytest.MonkeyPatch):
    present = session_state.apply_presenter
    monkeypatch.setattr(session_state, "apply_presenter", lambda state, name, value: asked.append(name) or present(state, name, value))
    assert fine(AppTest.from_function(script).run()) and asked


def told(populate, section: str) -> CustomThemeConfig:
    message = CustomThemeConfig()
    populate(message, section)
    return message


@pytest.mark.parametrize("section", SECTIONS)
def test_the_theme_is_told_as_streamlit_tells_it(section: str):
    message = told(streamlit_savings.populate_theme, section)
    assert message == told(streamlit_savings._populate_theme, section) == told(streamlit_savings.populate_theme, section)


def test_a_theme_that_is_read_anew_is_told_anew(monkeypatch: pytest.MonkeyPatch):
    own = config.get_options_for_section("theme")
    options = {"theme": {**own, "primaryColor": "#123456"}}
    streamlit_savings._theme_of.cache_clear()
    monkeypatch.setattr(config, "get_options_for_section", options.get)
    assert told(streamlit_savings.populate_theme, "theme").primary_color == "#123456"
    options["theme"] = {**own, "primaryColor": "#654321"}
    assert told(streamlit_savings.populate_theme, "theme").primary_color == "#123456"
    config._on_config_parsed.send()
    assert told(streamlit_savings.populate_theme, "theme").primary_color == "#654321"
    streamlit_savings._theme_of.cache_clear()


def test_what_a_run_hands_over_wakes_the_loop_once_comes_in_its_order_and_fails_alone():
    wakes, came = [], []
    session = SimpleNamespace(_event_loop=SimpleNamespace(call_soon_threadsafe=wakes.append))

    def fails() -> None:
        raise ValueError("this one")

    for callback in (lambda: came.append(1), fails, lambda: came.append(2), lambda: streamlit_savings.call_soon(session, lambda: came.append(3))):
        streamlit_savings.call_soon(session, callback)
    assert len(wakes) == 1 and not came
    with pytest.raises(ValueError, match="this one"):
        wakes[0]()
    assert came == [1] and len(wakes) == 2, "the rest is not lost"
    for wake in wakes[1:]:
        wake()
    assert came == [1, 2, 3]
    streamlit_savings.call_soon(session, lambda: came.append(4))
    wakes[-1]()
    assert came == [1, 2, 3, 4]


def test_nothing_that_many_threads_hand_over_is_lost():
    n, came = 300, {name: [] for name in "abcd"}

    async def all_of_them() -> None:
        session, done = SimpleNamespace(_event_loop=asyncio.get_running_loop()), asyncio.Event()

        def take(name: str, i: int) -> None:
            came[name].append(i)
            if all(len(those) == n for those in came.values()):
                done.set()

        def hand_over(name: str) -> None:
            for i in range(n):
                streamlit_savings.call_soon(session, functools.partial(take, name, i))

        for name in came:
            threading.Thread(target=hand_over, args=(name,), daemon=True).start()
        await asyncio.wait_for(done.wait(), 60)

    finished(all_of_them())
    assert all(those == [*range(n)] for those in came.values())


def test_a_loop_that_has_a_message_itself_is_not_woken_through_the_system():
    wakes = []

    async def on_the_loop() -> bool:
        objects = SimpleNamespace(eventloop=asyncio.get_running_loop(), need_send_data=asyncio.Event())
        streamlit_savings.enqueued_some_message(SimpleNamespace(_get_async_objs=lambda: objects))
        return objects.need_send_data.is_set()

    assert finished(on_the_loop()), "at once"
    objects = SimpleNamespace(eventloop=SimpleNamespace(call_soon_threadsafe=wakes.append), need_send_data=asyncio.Event())
    streamlit_savings.enqueued_some_message(SimpleNamespace(_get_async_objs=lambda: objects))
    assert wakes == [objects.need_send_data.set] and not objects.need_send_data.is_set(), "from another thread it is"


def test_what_a_session_is_sent_is_sent_together(monkeypatch: pytest.MonkeyPatch):
    queue, sent = [ForwardMsg(hash=name) for name in "abc"], []
    monkeypatch.setattr(streamlit_savings, "_flush", lambda session: [queue.pop(0) for _ in range(len(queue))])
    monkeypatch.setattr(streamlit_savings, "_send", lambda runtime, info, message: sent.append((info, message.hash)))
    together, = streamlit_savings.flush_browser_queue(SimpleNamespace(id="one"))
    assert streamlit_savings.flush_browser_queue(SimpleNamespace(id="one")) == []
    streamlit_savings.send_message(SimpleNamespace(), "one", together)
    streamlit_savings.send_message(SimpleNamespace(), "one", ForwardMsg(hash="d"))
    assert sent == [("one", name) for name in "abcd"]


class Held:
    """A session whose runs draw; `came` is what the loop took of it, in pieces."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.id, self.queue, self.came = "mine", [], []
        monkeypatch.setattr(streamlit_savings, "Runtime", SimpleNamespace(exists=lambda: True, instance=lambda: None))
        monkeypatch.setattr(streamlit_savings, "get_script_run_ctx", lambda suppress_warning: SimpleNamespace(session_id=self.id))
        monkeypatch.setattr(streamlit_savings, "enqueued_some_message", lambda runtime: self.look())
        monkeypatch.setattr(streamlit_savings, "_flush", lambda session: [self.queue.pop(0) for _ in range(len(self.queue))])

    def look(self) -> None:
        self.came += [list(messages) for messages in streamlit_savings.flush_browser_queue(self)]

    def draw(self, *messages: str) -> None:
        for message in messages:
            self.queue.append(message)
            self.look()


def test_what_a_run_draws_together_goes_in_one_piece_also_where_it_fails(monkeypatch: pytest.MonkeyPatch):
    held = Held(monkeypatch)

    async def run() -> None:
        held.draw("the run begins")
        with pytest.raises(ValueError), streamlit_savings.together():
            held.draw("title", "picture")
            assert held.came == [["the run begins"]]
            raise ValueError
        held.draw("what is below")

    finished(run())
    assert held.came == [["the run begins"], ["title", "picture"], ["what is below"]] and held.queue == []


def test_what_takes_long_is_not_held_back(monkeypatch: pytest.MonkeyPatch):
    held = Held(monkeypatch)

    async def run() -> None:
        with streamlit_savings.together():
            held.draw("title", "controls")
            await asyncio.sleep(3 * streamlit_savings.MOST_HELD)
            assert held.came == [["title", "controls"]]
            held.draw("progress")

    finished(run())
    assert held.came == [["title", "controls"], ["progress"]]


def test_a_run_holds_back_no_other_session(monkeypatch: pytest.MonkeyPatch):
    held = Held(monkeypatch)

    async def run() -> None:
        with streamlit_savings.together():
            held.id = "another"
            held.draw("title")
            held.id = "mine"
            assert held.came == [["title"]]

    finished(run())
    assert held.came == [["title"]] and not streamlit_savings._held
