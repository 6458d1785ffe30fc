"""What Streamlit would do many times over in every run: it is told the same as without these, and does it once."""
from __future__ import annotations

import pytest
from streamlit import config
from streamlit.proto.NewSession_pb2 import CustomThemeConfig
from streamlit.runtime.state import session_state
from streamlit.testing.v1 import AppTest

from core.ui import streamlit_savings
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
