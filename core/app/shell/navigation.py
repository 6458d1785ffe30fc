"""The app's pages as Streamlit's navigation takes them, and the row of links at the head of every page: the tour, the
course and the map, one menu of the lessons under their sections in the order of the model, and the models.

Streamlit's own row at the top has a menu for each section and cannot join several in one menu, so it is hidden.
"""
import copy
import functools
import itertools

import streamlit as st

from core.app.parts.guard import fragment
from core.app.state import model_choice, reader
from core.base import catalogue, prose
from core.components.navigation import page_links


def pages() -> list:
    """All pages, as `st.navigation` takes them.

    Streamlit looks each page up in the file system when it is made, and every look lets other readers' runs go first:
    so they are made once, and each run has copies, since Streamlit marks the open page.
    """
    return [copy.copy(page) for page in _pages(tuple(_names().items()))]


@functools.lru_cache(maxsize=2)
def _pages(names: tuple[tuple[str, str], ...]) -> tuple:
    """The pages of these ids and titles."""
    return tuple(st.Page(catalogue.page_path(page), title=title, url_path=page, default=page == catalogue.HOME)
                 for page, title in names)


def draw(*, is_hidden: bool) -> None:
    """Draw the row, a fragment: following a link opens its page with the same prompt and selection.

    A hidden row keeps its place: else everything after it would have another place in present mode, and a fragment
    that still runs for the previous page would draw the prompt a second time.
    """
    with st.container(key="navigation"):
        if not is_hidden:
            fragment(_row)()


def _row() -> None:
    words, names = prose.load("app"), _names()
    lessons = {"name": words.label("page_lessons"), "groups": _groups(names),
               "here": model_choice.page() in {entry.id for entry in catalogue.existing()}}
    links = [*(_link(page, names) for page in (catalogue.TOUR, catalogue.COURSE, catalogue.MAP)), lessons,
             _link(catalogue.MODELS, names)]
    followed = page_links(words.label("navigation_name"), links, key="navigation_links")
    if followed in names.keys() - {model_choice.page()}:
        reader.open_lesson(followed, {})


def _names() -> dict[str, str]:
    """The name of each page by its id."""
    words = prose.load("app")
    return ({page: words.label(f"page_{page}") for page in (catalogue.TOUR, catalogue.COURSE, catalogue.MAP)}
            | {entry.id: words.label(f"lesson_{entry.id}") for entry in catalogue.existing()}
            | {catalogue.MODELS: prose.load("library").label("page")})


def _groups(names: dict[str, str]) -> list[dict]:
    """The lessons under the names of their sections."""
    words = prose.load("app")
    return [{"name": words.label(f"section_{section}"), "links": [_link(entry.id, names) for entry in entries]}
            for section, entries in itertools.groupby(catalogue.existing(), lambda entry: entry.section)]


def _link(page: str, names: dict[str, str]) -> dict:
    return {"id": page, "name": names[page], "href": f"./{catalogue.url_path(page)}",
            "here": page == model_choice.page()}
