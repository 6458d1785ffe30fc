"""What the address of the open page says: what all lessons share, and the settings of this page, each where it is not
at its default.

It is always written whole, in one message, since Streamlit makes an entry of the browser's history of each. What one
deed of the reader has written in several runs is one entry in the browser (core/components/page/history.js).
"""
from collections.abc import Mapping

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from core.app.base import catalogue
from core.app.state import model_choice

SAID = "settings_said"     # in the session: `settings`


def is_from_history() -> bool:
    """Whether this run is because the reader went back or forward in the browser's history."""
    context = get_script_run_ctx()
    return context is not None and context.is_history_navigation


def settings() -> dict[str, str | None]:
    """The settings of all pages by their keys, as an address says them; None: at its default, so it says nothing."""
    return st.session_state.setdefault(SAID, {})


def take_in() -> None:
    """The open page's settings are what the address says; those that it does not name are at their default again."""
    said, query = settings(), st.query_params.to_dict()
    for key in [key for key in said if _is_of_page(key)]:
        del said[key]
        st.session_state.pop(key, None)
    said.update({key: text for key, text in query.items() if _is_of_page(key)})
    # the short forms of a link, to the glossary and to a step of the tour
    if model_choice.page() == catalogue.COURSE and "term" in query:
        said.update({"course_view": "glossary", "course_term": query["term"]})
    if model_choice.page() == catalogue.TOUR and "tour" in query:
        said["tour_step"] = query["tour"]


def of_page() -> dict[str, str]:
    """What the address says of the open page's settings."""
    return {key: text for key, text in settings().items() if text is not None and _is_of_page(key)}


def write(shared: Mapping[str, str], *, again: bool = False) -> None:
    """Makes the address say what all lessons share, and the settings of the open page.

    again: also where the server believes that it does; a run that the reader left may have written over it.
    """
    wanted = {**shared, **of_page()}
    if again or wanted != st.query_params.to_dict():
        st.query_params.from_dict(wanted)


def _is_of_page(key: str) -> bool:
    return key.startswith(f"{model_choice.page()}_")
