"""The open page and the model that it shows: the wanted model, if it is loaded and the page can show something of a
model of its kind.
"""
import streamlit as st

from core.app.compute import cache
from core.app.compute.library import names
from core.base import catalogue, prose

AWAITED = "model_awaited"       # in the session: the wanted model, if this run of the page found it not loaded


def enter(page: str) -> None:
    """Set the open page, by its address relative to the app."""
    st.session_state["page"] = page or catalogue.HOME
    st.session_state.pop(AWAITED, None)


def page() -> str:
    """The id of the open page."""
    return st.session_state.get("page", catalogue.HOME)


def shown() -> str:
    """The model that the open page shows: the wanted one, or the main one if the wanted one is not loaded or this page
    shows nothing of its kind.
    """
    name = loaded()
    return name if name is not None and catalogue.runs(page(), cache.kind(name)) else cache.model_names()[0]


def loaded() -> str | None:
    """The wanted model, of whatever kind, if it is loaded; else None.

    A model that arrives while a page is drawn waits for the page's next full run: otherwise the parts drawn before and
    after would speak of two models.
    """
    name = wanted()
    if not cache.exists(name):
        st.session_state[AWAITED] = name
    return None if st.session_state.get(AWAITED) == name else name


def wanted() -> str:
    """The model that the reader or the address asks for."""
    return st.session_state["model"]


def want(name: str) -> None:
    """Callback: ask for this model from now on; a model of the library is then offered, and loaded when the reader says
    so.
    """
    if can_be_asked_for(name):
        st.session_state["model"] = name


def choices() -> tuple[str, ...]:
    """The bundled models, those that this reader has trained, the loaded ones of the library, and the wanted one."""
    library = [name for name, _ in cache.shelf.listed() if names.is_offered(name)]
    return tuple(dict.fromkeys((*cache.model_names(), *own(), *library, wanted())))


def named(name: str) -> str:
    """A model's name among the choices; if two share a name, a library model's name says where it is from."""
    short = names.short(name)
    is_alone = sum(names.short(other) == short for other in choices()) < 2
    return short if is_alone else prose.load("library").label(names.place(name), name=short)


def own() -> list[str]:
    """The models that this reader has trained and that still exist."""
    return [name for name in st.session_state.get("own_models", ()) if cache.exists(name)]


def can_be_asked_for(model: str) -> bool:
    """Whether a model is here, or is a model of the library that a reader may load."""
    return names.is_offered(model) if names.is_library_name(model) else cache.exists(model)
