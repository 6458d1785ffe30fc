"""The map: the model as a drawing, from text to the next token, and every view of every lesson at the part that it
opens.
"""
from core.app.base import catalogue, prose, tables
from core.app.frame import Lesson, linked_page
from core.app.state import address
from core.components.lib.token_view import token_view

# lesson -> the part of the drawing that it opens, and where its list stands
PARTS = {"overview": ("whole", "right"), "tokens": ("tokens", "left"), "embeddings": ("vectors", "left"),
         "positions": ("positions", "left"), "attention": ("attention", "right"), "heads": ("attention", "right"),
         "residual_stream": ("stream", "right"), "next_token": ("probabilities", "left"),
         "generation": ("draw", "left"), "language_models": ("probabilities", "right"), "training": ("whole", "below"),
         "architectures": ("block", "below"), "recurrence": ("attention", "below"), "limits": ("draw", "below")}
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

    _picture(page.header("map") | {"lessons": lessons, "base": address.link(),
                                   "links": {key: linked_page.link(*place) for key, place in places.items()}},
             key="model_map", on_settings=lambda values: linked_page.follow(places, str(values.get("open"))))


def _lesson(entry: catalogue.Entry) -> dict:
    words, (part, side) = prose.load(entry.id), PARTS[entry.id]
    views = [{"id": _id(entry, view), "name": words.label(entry.label(view)), "says": words.about(view),
              "core": view in entry.core} for view in entry.views]
    return {"id": entry.id, "name": tables.entry_name(entry), "part": part, "side": side, "views": views,
            "says": "" if views else words.about("")}


def _id(entry: catalogue.Entry, view: str) -> str:
    return f"{entry.id} {view}"
