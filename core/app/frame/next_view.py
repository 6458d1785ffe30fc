"""What comes after a view: the next one in the lesson's order, then the next lesson's first, and after the last view of
all the map.
"""
from core.app.base import catalogue, prose, tables
from core.app.base.prose import TextFile
from core.app.compute import cache
from core.app.state import model_choice, reader
from core.components.next_view import next_link


def draw(lesson: str, view: str, words: TextFile) -> None:
    """The link to it; none while a class is taught, whose steps have an order of their own."""
    if reader.class_step():
        return
    entry, following = catalogue.after(lesson, view, cache.kind(model_choice.shown()))
    if entry is None:
        page, name, settings = catalogue.MAP, words.label("page_map"), {}
    else:
        name = (prose.load(lesson).label(entry.label(following)) if entry.id == lesson
                else tables.entry_name(entry, following))
        page, settings = entry.id, entry.opening(following)
    if next_link(words.label("next_view", name=name), reader.link(settings, catalogue.url_path(page)), "next_view"):
        reader.open_lesson(page, settings)
