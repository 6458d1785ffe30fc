"""Rules for all components."""
import struct

from streamlit.testing.v1 import AppTest

from core.components.lib.bytes import pack


def picture_that_tells():
    """A script with a component whose events are told: without its state, then with it, then with more."""
    from pathlib import Path
    from types import SimpleNamespace
    from unittest import mock

    import streamlit as st

    from core import components

    callbacks = []
    with mock.patch.object(st.components.v2, "component",
                           lambda name, **parts: lambda key, on_told_change: callbacks.append(on_told_change)):
        draw = components.declare("picture", Path(components.__file__).with_name("strip") / "strip.js")
        draw(key="picture", events={"picked": lambda cell: st.text(f"picked {cell}"),
                                    "moved": lambda factor: st.text(f"moved to {factor}")})
    tell = callbacks[0]
    tell()
    for told in ([[100, "picked", 3]], [[100, "picked", 3]],
                 [[100, "picked", 3], [101, "moved", 0.5], [102, "picked", 4]], None):
        st.session_state["picture"] = SimpleNamespace(told=told)
        tell()


def test_each_event_is_passed_on_once_and_in_order_and_none_without_its_picture():
    at = AppTest.from_function(picture_that_tells).run()
    assert not at.exception and [t.value for t in at.text] == ["picked 3", "moved to 0.5", "picked 4"]


def picture_whose_events_ask():
    """A script with a component of which two events are told, and the first one's callback breaks off."""
    from pathlib import Path
    from types import SimpleNamespace
    from unittest import mock

    import streamlit as st

    from core import components

    def broken_off(_):
        st.text("first")
        raise KeyboardInterrupt

    callbacks = []
    with mock.patch.object(st.components.v2, "component",
                           lambda name, **parts: lambda key, on_told_change: callbacks.append(on_told_change)):
        draw = components.declare("picture", Path(components.__file__).with_name("strip") / "strip.js")
        draw(key="picture", events={"first": broken_off, "second": lambda _: st.text("second")})
    st.session_state["picture"] = SimpleNamespace(told=[[1, "first", True], [2, "second", True]])
    try:
        callbacks[0]()
    except KeyboardInterrupt:
        st.text("asked")


def test_an_event_that_asks_for_a_run_keeps_none_behind_it_from_being_heard():
    at = AppTest.from_function(picture_whose_events_ask).run()
    assert not at.exception and [t.value for t in at.text] == ["first", "second", "asked"]


def picture_that_is_set():
    """A script with a component that is drawn before its browser has set anything, then after each of three words."""
    from pathlib import Path
    from unittest import mock

    import streamlit as st

    from core import components
    from core.components.lib.bytes import pack

    drawn = []
    with mock.patch.object(st.components.v2, "component", lambda name, **parts: lambda **given: drawn.append(given)):
        draw = components.declare("picture", Path(components.__file__).with_name("strip") / "strip.js")
        for state in (None, {}, {"settings": {"step": 3, "sent": 101}}, {"settings": {"step": 2, "sent": 104}},
                      {"settings": {"step": 5}}):
            if state is not None:
                st.session_state["picture"] = state
            draw(key="picture", data=pack({"n": 1}), on_settings=st.json)
            st.text(drawn[-1]["data"].hex())
            if state:
                drawn[-1]["on_settings_change"]()


def test_a_picture_is_told_which_of_its_words_was_heard_last_and_its_page_only_what_is_set():
    at = AppTest.from_function(picture_that_is_set).run()
    assert not at.exception and [json.value for json in at.json] == ['{"step": 3}', '{"step": 2}', '{"step": 5}']
    sent = [bytes.fromhex(text.value) for text in at.text]
    assert {data[:-8] for data in sent} == {pack({"n": 1})}
    assert [struct.unpack("<d", data[-8:]) for data in sent] == [(0.0,), (0.0,), (101.0,), (104.0,), (0.0,)]
