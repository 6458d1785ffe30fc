"""The app's pages as Streamlit's navigation takes them: the tour, the course and the map, then the existing lessons
under their sections in the order of the model, and the models.
"""
import copy
import functools

import streamlit as st

from core.app.base import catalogue, prose


def sections() -> dict[str, list]:
    """Name of a section -> its pages.

    Streamlit looks each page up in the file system when it is made, and every look lets other readers' runs go first:
    so they are made once, and each run has copies, since Streamlit marks the one that is open.
    """
    words = prose.load("app")
    lessons = ((entry.id, words.label(f"section_{entry.section}"), words.label(f"lesson_{entry.id}"))
               for entry in catalogue.existing())
    pages = _pages((*((page, "", words.label(f"page_{page}")) for page in (catalogue.TOUR, catalogue.COURSE,
                                                                           catalogue.MAP)), *lessons,
                    (catalogue.MODELS, words.label("section_whole"), prose.load("library").label("page"))))
    return {section: [copy.copy(page) for page in own] for section, own in pages.items()}


@functools.lru_cache(maxsize=2)
def _pages(entries: tuple[tuple[str, str, str], ...]) -> dict[str, list]:
    """Pages by section, of entries (id of the page, section, title)."""
    pages: dict[str, list] = {}
    for page, section, title in entries:
        pages.setdefault(section, []).append(st.Page(catalogue.page_path(page), title=title, url_path=page,
                                                    default=page == catalogue.HOME))
    return pages
