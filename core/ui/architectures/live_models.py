"""The lesson's own live models beside the one that the reader has chosen: an encoder, a decoder, an encoder-decoder."""
from __future__ import annotations

from core.ui import cache
from core.ui.lesson import Lesson
from core.ui.run import Run
from core.ui.views import Reading, cannot

FILLS_BLANKS, WRITES_ON, TRANSLATES = "blanks", cache.MAIN_MODEL, "translator"
KINDS = {FILLS_BLANKS: "encoder", WRITES_ON: "decoder", TRANSLATES: "encoder-decoder"}


def loaded(name: str, run: Run) -> cache.LoadedModel | None:
    """One of the models above on the run's device; None where it is not bundled, cannot be read or is of another kind."""
    found = cache.shared_model(name, run.device)
    return found if not found.problem and found.model.config.kind == KINDS[name] else None


def missing(page: Lesson, name: str) -> Reading:
    """Says that a model is not there."""
    return cannot(page.label("model_missing", name=name))
