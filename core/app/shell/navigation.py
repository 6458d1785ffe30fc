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
from core.base.catalogue import Entry
from core.base.prose import TextFile
from core.components.navigation import page_links


def pages() -> list:
    """All pages, as `st.navigation` takes them.

    Streamlit looks each page up in the file system when it is made, and every look lets other readers' runs go first:
    so they are made once, and each run has copies, since Streamlit marks the open page.
    """
    return [copy.copy(page) for page in _pages(_names())]


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
    names, here = _names(), model_choice.page()
    words = prose.load("app")
    followed = page_links(words.label("navigation_name"), _links(words, catalogue.existing(), names, here),
                          key="navigation_links")
    if followed in dict(names).keys() - {here}:
        reader.open_lesson(followed, {})


def _names() -> tuple[tuple[str, str], ...]:
    """The id and the name of each page."""
    return _named(prose.load("app"), prose.load("library"), catalogue.existing())


@functools.lru_cache(maxsize=2)
def _named(words: TextFile, library: TextFile, lessons: tuple[Entry, ...]) -> tuple[tuple[str, str], ...]:
    named = {page: words.label(f"page_{page}") for page in (catalogue.TOUR, catalogue.COURSE, catalogue.MAP)}
    named |= {entry.id: words.label(f"lesson_{entry.id}") for entry in lessons}
    return (*named.items(), (catalogue.MODELS, library.label("page")))


@functools.lru_cache(maxsize=64)
def _links(words: TextFile, lessons: tuple[Entry, ...], names: tuple[tuple[str, str], ...], here: str) -> list[dict]:
    """The row as the page `here` has it, the lessons under the names of their sections."""
    link = {page: {"id": page, "name": name, "href": f"./{catalogue.url_path(page)}", "here": page == here}
            for page, name in names}
    groups = [{"name": words.label(f"section_{section}"), "links": [link[entry.id] for entry in entries]}
              for section, entries in itertools.groupby(lessons, lambda entry: entry.section)]
    menu = {"name": words.label("page_lessons"), "groups": groups, "here": here in {entry.id for entry in lessons}}
    return [link[catalogue.TOUR], link[catalogue.COURSE], link[catalogue.MAP], menu, link[catalogue.MODELS]]
