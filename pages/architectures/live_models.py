"""The models that this lesson runs beside the one of all lessons: an encoder, a decoder, an encoder-decoder.

One of the library that the reader has chosen stands in for the bundled one of its kind.
"""
from core.app.compute import cache
from core.app.compute.library import loading, names
from core.app.frame import Lesson, Reading, cannot
from core.app.state import Run, model_choice

FILLS_BLANKS, WRITES_ON, TRANSLATES = "blanks", cache.MAIN_MODEL, "translator"
KINDS = {FILLS_BLANKS: "encoder", WRITES_ON: "decoder", TRANSLATES: "encoder-decoder"}


def loaded(name: str, run: Run) -> cache.LoadedModel | None:
    """One of the models above on the run's device, or the reader's encoder or encoder-decoder in its place; None where
    there is none, or it cannot be read.
    """
    chosen = model_choice.loaded()
    stands_in = chosen is not None and cache.kind(chosen) == KINDS[name] != "decoder"
    found = cache.shared_model(chosen if stands_in else name, run.device)
    return found if not found.problem and found.model.config.kind == KINDS[name] else None


def is_bundled(model: cache.LoadedModel) -> bool:
    """Whether the model is one of the lesson's own, whose tokens and task are known."""
    return not names.is_library_name(model.name)


def missing(page: Lesson, name: str) -> Reading:
    """Say that a model is not there."""
    return cannot(page.label("model_missing", name=name))


def about(page: Lesson, model: cache.LoadedModel) -> str:
    """What a model of the library is, in plain text; one that guesses, with random weights perhaps, is called so."""
    said = page.label("loaded_about", name=names.short(model.name), n=model.model.n_parameters)
    return (f"{said} {page.label('loaded_chance')}"
            if loading.is_chance(model.loss, model.model.config.vocab_size) else said)
