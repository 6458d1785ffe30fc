"""Overview as one file that works without a server: the picture, what is inside it, and the model."""
from __future__ import annotations

from collections.abc import Callable, Mapping

from core.app.parts import own_file
from core.app.parts.own_file import Parts, refusal  # noqa: F401  (of this file's model)
from core.app.state import Run, reader
from core.base import prose
from core.takeaway.page import Picture
from pages.overview.map import CONTENT, HERE, MAP_PARTS, MAP_TEXT, STYLES, own_words
from pages.overview.shared import SETTINGS

OWN = HERE / "own"
FIRST_XI = 0.5      # of the draw, until a reader draws again


def file_of(run: Run) -> Callable[[], bytes]:
    """The maker of the file, with the reader's place in the picture, of a model that `refusal` finds nothing in."""
    place = {"at": SETTINGS.read("at"), "edit": SETTINGS.read("edit"), "position": reader.picked_position(),
             "layer": reader.selection().layer}
    return own_file.maker(run, parts, place)


def opened(run: Run) -> Parts:
    """The parts of the page as it opens by itself."""
    return parts(run, {"at": "", "edit": "", "position": None, "layer": 0})


def parts(run: Run, place: Mapping) -> Parts:
    """The parts of the file. place: "at" and "edit" as in SETTINGS, "position", None for the last token, and "layer".
    """
    words = prose.load("overview").of_kind(run.model.config.kind)
    text = {key: text for key, text in words.labels.items() if key in MAP_TEXT or key.startswith(MAP_PARTS)}
    edits = {key: text for key, text in words.labels.items() if key.startswith("edited_")}
    picture = Picture(words.section("title"), words.section("sentence"), OWN / "host.js", OWN / "worker.js", CONTENT,
                      own_file.styles(*STYLES))
    return Parts(picture, {"text": text | own_words(words, run), "edited": edits}, {"xi": FIRST_XI} | dict(place))
