"""Overview as one file that works without a server: the picture, what is inside it, and the model."""
from __future__ import annotations

import json
from collections.abc import Mapping

from core.app.compute import cache
from core.app.state import Run, reader
from core.base import prose
from core.components import COMPONENTS
from core.model.tokenizer import Tokenizer
from core.takeaway import page, weights
from pages.overview.map import CONTENT, HERE, MAP_PARTS, MAP_TEXT, STYLES, own_words
from pages.overview.shared import SETTINGS

OWN = HERE / "own"
MOST_NUMBERS = 6_250_000        # of a model: more do not go into 8 MB
FIRST_XI = 0.5      # of the draw, until a reader draws again


def refusal(run: Run) -> str | None:
    """The reason, in words, why a file cannot hold the run's model; None if it can."""
    words, n = prose.load("takeaway"), run.model.n_parameters
    if setting := weights.refusal(run.model.config):
        return words.label("refused_setting", setting=setting)
    if type(run.tokenizer) is not Tokenizer:
        return words.label("refused_tokenizer")
    return words.label("refused_size", n=f"{n:,}") if n > MOST_NUMBERS else None


def file_of(run: Run) -> bytes:
    """The file, with the reader's place in the picture; of a model that `refusal` finds nothing in."""
    return made(run, {"at": SETTINGS.read("at"), "edit": SETTINGS.read("edit"), "position": reader.picked_position(),
                      "layer": reader.selection().layer})


def made(run: Run, place: Mapping) -> bytes:
    """The file with the run's text. place: "at" and "edit" as in SETTINGS, "position", None for the last token, and
    "layer".
    """
    words, frame = prose.load("overview").of_kind(run.model.config.kind), prose.load("takeaway")
    text = {key: text for key, text in words.labels.items() if key in MAP_TEXT or key.startswith(MAP_PARTS)}
    edits = {key: text for key, text in words.labels.items() if key.startswith("edited_")}
    said = {"tokenizer": json.loads(run.tokenizer.as_json()),
            "words": {"text": text | own_words(words, run), "edited": edits},
            "failed": frame.label("failed"),
            "state": {"prompt": run.text, "xi": FIRST_XI} | dict(place)}
    picture = page.Picture(
        title=words.section("title"), sentence=words.section("sentence"), script=OWN / "host.js",
        engine=OWN / "worker.js", content=CONTENT,
        styles=(COMPONENTS / "lib" / "component.css", *STYLES), said=said)
    names = {name: frame.label(name) for name in ("prompt", "waits", "noscript", "old")}
    about = frame.label("about", model=run.title, n=f"{run.model.n_parameters:,}")
    return page.file_of(picture, _weights(run), names | {"about": about})


def _weights(run: Run) -> str:
    """The packed weights as the file holds them, made once for a model."""
    return cache.result(run.loaded.key("takeaway"), lambda: page.packed(weights.packed(run.model)), len)
