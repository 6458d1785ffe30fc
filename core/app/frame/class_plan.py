"""The plan of one class, step by step, from the course's text: which lesson stands on the wall at which minute, and
what the class is asked.
"""
from dataclasses import dataclass

from core.app.base import catalogue, prose


@dataclass(frozen=True)
class Step:
    """One picture of the class: from which minute, in which lesson, under which settings; the question before it, and
    what to look for in it.
    """

    id: str
    title: str
    minute: int
    lesson: str
    settings: dict
    ask: str
    look: str


def steps() -> tuple[Step, ...]:
    """The steps `# step: id` of the course's text whose lessons exist, in their order."""
    there = {entry.id for entry in catalogue.existing()}
    return tuple(step for step in map(_step, prose.load(catalogue.COURSE).entries("step")) if step.lesson in there)


def opening(number: int) -> dict:
    """What opens step `number`, from 1, in present mode: settings for `reader.open_lesson` and `reader.link`."""
    return steps()[number - 1].settings | {"present": True, "class": number}


def _step(entry: prose.Experiment) -> Step:
    settings = dict(entry.settings)
    minute, lesson, ask = (settings.pop(name) for name in ("minute", "lesson", "ask"))
    return Step(entry.id, entry.title, minute, lesson, settings, ask, entry.look)
