"""The models that this lesson runs beside the one of all lessons: an encoder, a decoder, an encoder-decoder.

The reader's model from the library replaces the bundled one of its kind.
"""
from core.app.compute import cache
from core.app.compute.library import loading, names
from core.app.lesson import Lesson, Reading, cannot
from core.app.state import Run, model_choice

FILLS_BLANKS, WRITES_ON, TRANSLATES, SAYS_ROWS = "blanks", cache.MAIN_MODEL, "translator", "restaurants"
KINDS = {FILLS_BLANKS: "encoder", WRITES_ON: "decoder", TRANSLATES: "encoder-decoder", SAYS_ROWS: "encoder-decoder"}


def loaded(name: str, run: Run) -> cache.LoadedModel | None:
    """One of the models above on the run's device, or the reader's encoder or encoder-decoder in its place; None if it
    is missing or cannot be read.
    """
    chosen = model_choice.loaded()
    stands_in = chosen is not None and chosen not in KINDS and cache.kind(chosen) == KINDS[name] != "decoder"
    model = cache.shared_model(chosen if stands_in else name, run.device)
    return model if not model.problem and model.model.config.kind == KINDS[name] else None


def is_bundled(model: cache.LoadedModel) -> bool:
    """Whether the model is one of the lesson's bundled ones, with known tokens and task."""
    return not names.is_library_name(model.name)


def missing(page: Lesson, name: str) -> Reading:
    """The Reading that says that a model is missing."""
    return cannot(page.label("model_missing", name=name))


def about(page: Lesson, model: cache.LoadedModel) -> str:
    """A description of a model of the library in plain text; it says so if the model is no better than chance."""
    text = page.label("loaded_about", name=names.short(model.name), n=model.model.n_parameters)
    return (f"{text} {page.label('loaded_chance')}"
            if loading.is_chance(model.loss, model.model.config.vocab_size) else text)
