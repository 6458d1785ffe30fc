"""The map: the model as a drawing, from text to the next token, and every view of every lesson at the part that it
opens.
"""
from core.app.lesson import Lesson, linked_page
from core.app.state import address
from core.base import catalogue, prose, tables
from core.base.markdown import unmarked
from core.components.lib.token_view import token_view

OPEN = "attention"      # the lesson that stands open at first
_picture = token_view("model_map", __file__)


def draw() -> None:
    """Draw the whole page."""
    linked_page.draw(catalogue.MAP, _map)


def _map(page: Lesson) -> None:
    """Draw the map; a link in it opens its view in the same session."""
    lessons, places = [], {}
    for entry in catalogue.existing():
        lessons.append(_lesson(entry))
        inside = {_inside(part): (entry.id, entry.opening_inside(part)) for part in entry.inside}
        places |= inside | {entry.id: (entry.id, {})} | {_id(entry, view): (entry.id, entry.opening(view))
                                                for view in entry.views}
    _picture(page.header("map") | {"lessons": lessons, "base": address.link(), "open": OPEN,
                                   "parts": parts(),
                                   "links": {key: linked_page.link(*place) for key, place in places.items()}},
             key="model_map", on_settings=lambda values: linked_page.follow(places, str(values.get("open"))))


def parts() -> dict[str, list[str]]:
    """The lessons that each part of the drawing opens: first one from whose name a line leads there, which stands open
    when the part is pointed at, the others in their order.
    """
    found = {part: [entry for entry in catalogue.existing() if part in entry.map] for part in catalogue.PARTS}
    for part, entries in found.items():
        first = next((entry for entry in entries if entry.map[0] == part), None)
        entries.sort(key=lambda entry, first=first: entry is not first)
    return {part: [entry.id for entry in entries] for part, entries in found.items()}


def _lesson(entry: catalogue.Entry) -> dict:
    words = prose.load(entry.id)
    views = [{"id": _id(entry, view), "name": words.label(entry.label(view)), "says": words.about(view),
              "core": view in entry.core} for view in entry.views]
    return {"id": entry.id, "name": tables.entry_name(entry), "part": entry.map[0], "views": views,
            "section": prose.load("app").label(f"section_{entry.section}"),
            "says": unmarked(words.section("sentence") if views else words.about(""))}


def _inside(part: str) -> str:
    return f"inside {part}"


def _id(entry: catalogue.Entry, view: str) -> str:
    return f"{entry.id} {view}"
