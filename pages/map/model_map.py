"""The map: the model as a drawing, from text to the next token, and every view of every lesson at the part that it
opens.
"""
from core.app.lesson import Lesson, linked_page
from core.app.state import address
from core.base import catalogue, prose, tables
from core.base.markdown import unmarked
from core.components.lib.token_view import token_view

# the parts of the drawing, and the lessons that open each: the first one stands open when the part is pointed at
PARTS = {"whole": ("overview", "training"), "text": ("tokens",), "tokens": ("tokens",), "vectors": ("embeddings",),
         "positions": ("positions",), "block": ("architectures", "residual_stream"),
         "attention": ("attention", "heads", "recurrence"), "stream": ("residual_stream",),
         "mlp": ("residual_stream", "architectures"), "scores": ("next_token",),
         "probabilities": ("next_token", "language_models"), "draw": ("generation", "next_token", "limits")}
# lesson -> the part to which a line leads from its name
TIES = {"overview": "whole", "tokens": "tokens", "embeddings": "vectors", "positions": "positions",
        "attention": "attention", "heads": "attention", "residual_stream": "stream", "next_token": "probabilities",
        "generation": "draw", "language_models": "probabilities", "training": "whole", "architectures": "block",
        "recurrence": "attention", "limits": "draw"}
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
        places |= {entry.id: (entry.id, {})} | {_id(entry, view): (entry.id, entry.opening(view))
                                                for view in entry.views}
    there = {lesson["id"] for lesson in lessons}
    _picture(page.header("map") | {"lessons": lessons, "base": address.link(), "open": OPEN,
                                   "parts": {part: [name for name in names if name in there]
                                             for part, names in PARTS.items()},
                                   "links": {key: linked_page.link(*place) for key, place in places.items()}},
             key="model_map", on_settings=lambda values: linked_page.follow(places, str(values.get("open"))))


def _lesson(entry: catalogue.Entry) -> dict:
    words = prose.load(entry.id)
    views = [{"id": _id(entry, view), "name": words.label(entry.label(view)), "says": words.about(view),
              "core": view in entry.core} for view in entry.views]
    return {"id": entry.id, "name": tables.entry_name(entry), "part": TIES[entry.id], "views": views,
            "section": prose.load("app").label(f"section_{entry.section}"),
            "says": unmarked(words.section("sentence") if views else words.about(""))}


def _id(entry: catalogue.Entry, view: str) -> str:
    return f"{entry.id} {view}"
