"""The tour as one file that works without a server: its twelve steps, and the model."""
from __future__ import annotations

from collections.abc import Callable

from core.app.lesson import lesson
from core.app.parts import own_file
from core.app.parts.own_file import Parts, refusal  # noqa: F401  (of this file's model)
from core.app.state import Run, prompts
from core.base import catalogue, prose
from core.takeaway.page import Picture
from pages.tour import ending, steps
from pages.tour.shared import STEPS, number
from pages.tour.words import ENGLISH_STORIES

OWN = steps.HERE / "own"


def file_of(run: Run) -> Callable[[], bytes]:
    """The maker of the file, open at the reader's step, of a model that `refusal` finds nothing in."""
    return own_file.maker(run, parts, number())


def opened(run: Run) -> Parts:
    """The parts of the page as it opens by itself."""
    return parts(run, 1)


def parts(run: Run, at: int) -> Parts:
    """The parts of the file, open at step `at`, from 1."""
    page = lesson.Lesson(catalogue.TOUR, prose.load(catalogue.TOUR), prose.load("app"))
    picture = Picture(page.text("title"), "", OWN / "host.js", OWN / "worker.js", steps.CONTENT,
                      own_file.styles(*steps.STYLES))
    return Parts(picture, own_words(page, run), {"at": at})


def own_words(page: lesson.Lesson, run: Run) -> dict:
    """The words that the file's worker reads: those that Python sends with every step, and what Python alone can know
    of this model.
    """
    own = {"sentence_map": page.label("sentence_map_own"),
           "guesses_learn_of": page.label("guesses_learn_of", prompt=run.text)}
    ends = {run.tokenizer.end_of_text, *run.tokenizer.end, *run.model.config.ends} - {None}
    return {"text": page.words.labels | steps.symbols(page, run) | own, "steps": STEPS, "title": page.text("title"),
            "sentences": list(prompts.example_prompts()[:steps.N_SENTENCES]), "model": run.model_name,
            "ends": sorted(ends), "stories": run.model_name in ENGLISH_STORIES, "prompt": run.text,
            "learn": learned(page, run)}


def learned(page: lesson.Lesson, run: Run) -> dict | None:
    """The step "learn" for the run's text, before any guess; None if no model was kept while it learned."""
    step = ending.learn(page, run, {})
    if step.asks is None:
        return None
    after, repeated = ending.repeated_by(run, ending.grown(run))
    told = dict(step.values) | {"step": after, "pieces": ", ".join(f"“{piece}”" for piece in repeated)}
    return {"asks": step.asks, "values": dict(step.values), "told": told,
            "options": {name: page.label(f"{name}_learn") for name in ending.FIRST}}
