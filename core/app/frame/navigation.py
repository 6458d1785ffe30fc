"""The app's pages as Streamlit's navigation takes them: the course, then the existing lessons under their sections in
the order of the model, and the models.
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
    here = tuple((entry.id, words.label(f"section_{entry.section}"), words.label(f"lesson_{entry.id}"))
                 for entry in catalogue.existing())
    made = _made(here, words.label("page_course"), words.label("section_whole"), prose.load("library").label("page"))
    return {section: [copy.copy(page) for page in pages] for section, pages in made.items()}


@functools.lru_cache(maxsize=2)
def _made(lessons: tuple[tuple[str, str, str], ...], course: str, whole: str, models: str) -> dict[str, list]:
    found: dict[str, list] = {"": [st.Page(catalogue.page_path(catalogue.COURSE), title=course,
                                           url_path=catalogue.COURSE)]}
    for lesson, section, title in lessons:
        found.setdefault(section, []).append(st.Page(catalogue.page_path(lesson), title=title, url_path=lesson,
                                                    default=lesson == catalogue.HOME))
    found[whole].append(st.Page(catalogue.page_path(catalogue.MODELS), title=models, url_path=catalogue.MODELS))
    return found
