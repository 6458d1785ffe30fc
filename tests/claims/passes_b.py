"""Passes that tests of several text files share."""
from functools import cache as kept

from core.app.base import prose
from core.app.base.prose import Experiment
from core.app.compute import cache
from core.app.state.run import Run, read


@kept
def run(prompt: str, model: str = "stories") -> Run:
    """The prompt as a bundled model reads it."""
    return read(cache.shared_model(model, "cpu"), prompt)


def experiment(lesson: str, name: str) -> Experiment:
    """One "Try this" of a lesson, or a step of the course."""
    file = prose.load(lesson)
    return next(one for one in (*file.experiments, *file.entries("step")) if one.id == name)


def prompt_of(one: Experiment) -> Run:
    """What an experiment lets its model read."""
    return run(one.settings["prompt"], one.settings.get("model", "stories"))


def says(there: Run, position: int = -1) -> tuple[str, float]:
    """The most probable next token as it is shown, and its probability."""
    p, token_id = there.trace.probs[position].max(-1)
    return there.tokenizer.visible(int(token_id)), float(p)


def probability(there: Run, token: str, position: int = -1) -> float:
    """The probability of a token, given as text, next."""
    [token_id] = there.tokenizer.encode(token)
    return float(there.trace.probs[position, token_id])
