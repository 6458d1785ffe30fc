"""What all components have in common."""
from streamlit.testing.v1 import AppTest


def picture_that_is_taken_away():
    """A script with a component whose callback reads what it said, called without its state and with it."""
    from pathlib import Path
    from unittest import mock

    import streamlit as st

    from core import components

    heard = []
    with mock.patch.object(st.components.v2, "component",
                           lambda name, **parts: lambda key, on_picked_change: heard.append(on_picked_change)):
        draw = components.declare("picture", Path(components.__file__).with_name("strip") / "strip.js")
        draw(key="picture", on_picked_change=lambda: st.text(f"picked {st.session_state['picture']}"))
    heard[0]()
    st.session_state["picture"] = 3
    heard[0]()


def test_a_pick_that_comes_when_its_picture_is_gone_is_heard_by_nobody():
    at = AppTest.from_function(picture_that_is_taken_away).run()
    assert not at.exception and [t.value for t in at.text] == ["picked 3"]
