"""Which page is open, and which model it shows: the wanted one, where it is loaded and the page has something to show
of its kind.
"""
import streamlit as st

from core.app.base import catalogue, prose
from core.app.compute import cache
from core.app.compute.library import names

AWAITED = "model_awaited"       # in the session: the wanted model, where this run of the page found it not loaded


def enter(page: str) -> None:
    """Says which page is open, by its address relative to the app."""
    st.session_state["page"] = page or catalogue.HOME
    st.session_state.pop(AWAITED, None)


def page() -> str:
    """The id of the open page."""
    return st.session_state.get("page", catalogue.HOME)


def shown() -> str:
    """The model that the open page shows: the wanted one, or the main one while that is not loaded or is of a kind that
    this page has nothing to show of.
    """
    name = loaded()
    return name if name is not None and catalogue.runs(page(), cache.kind(name)) else cache.model_names()[0]


def loaded() -> str | None:
    """The wanted model, of whatever kind, where it is loaded; else None.

    One that comes while a page is drawn waits for the next run of all of it: what was drawn before would speak of
    another model than what is drawn after.
    """
    name = wanted()
    if not cache.exists(name):
        st.session_state[AWAITED] = name
    return None if st.session_state.get(AWAITED) == name else name


def wanted() -> str:
    """The model that the reader or the address asks for."""
    return st.session_state["model"]


def want(name: str) -> None:
    """Callback: the model that the reader asks for from here on; one of the library is then offered, and loaded at the
    reader's word.
    """
    if can_be_asked_for(name):
        st.session_state["model"] = name


def choices() -> tuple[str, ...]:
    """The bundled models, those that this reader has trained, those of the library that are loaded, and the wanted one.
    """
    library = [name for name, _ in cache.shelf.listed() if names.is_offered(name)]
    return tuple(dict.fromkeys((*cache.model_names(), *own(), *library, wanted())))


def named(name: str) -> str:
    """What a model is called among the choices: one of the library with the place that it is from where another has the
    same name.
    """
    short = names.short(name)
    is_alone = sum(names.short(other) == short for other in choices()) < 2
    return short if is_alone else prose.load("library").label(names.place(name), name=short)


def own() -> list[str]:
    """The models that this reader has trained and that are still kept."""
    return [name for name in st.session_state.get("own_models", ()) if cache.exists(name)]


def can_be_asked_for(model: str) -> bool:
    """Whether a model is here, or is one of the library that a reader may load."""
    return names.is_offered(model) if names.is_library_name(model) else cache.exists(model)
