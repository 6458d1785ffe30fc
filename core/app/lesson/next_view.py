"""Links to what follows a view: the lesson's next view, after its last one the next lesson's first, and after the very
last view the map. The first page links to the map as well.
"""
from core.app.compute import cache
from core.app.state import address, model_choice, reader
from core.base import catalogue, prose, tables
from core.base.prose import TextFile
from core.components.next_view import next_links


def draw(lesson: str, view: str, words: TextFile, leads_to: tuple[str, str] | None = None) -> None:
    """Draw the links; none while a class is taught, since its steps have an order of their own. leads_to: the lesson
    and the view that go on from what the picture shows, if not those that follow.
    """
    if reader.class_step():
        return
    places = [_after(lesson, view, words, leads_to)]
    if lesson == catalogue.HOME and not reader.present():
        places.append((words.label("find_map"), catalogue.MAP, {}))
    links = [(label, address.link(settings, catalogue.url_path(page))) for label, page, settings in places]
    if (followed := next_links(links, "next_view")) is not None:
        reader.open_lesson(*places[followed][1:])


def _after(lesson: str, view: str, words: TextFile, leads_to: tuple[str, str] | None) -> tuple[str, str, dict]:
    """The text of the link to the next view, and the page and settings that it opens."""
    kind = cache.kind(model_choice.shown())
    if leads_to and catalogue.is_shown(*leads_to, kind):
        entry, following = catalogue.entry(leads_to[0]), leads_to[1]
    else:
        entry, following = catalogue.after(lesson, view, kind)
    if entry is None:
        name, page, settings = words.label("page_map"), catalogue.MAP, {}
    else:
        name = (prose.load(lesson).label(entry.label(following)) if entry.id == lesson
                else tables.entry_name(entry, following))
        page, settings = entry.id, entry.opening(following)
    return words.label("next_view", name=name), page, settings
