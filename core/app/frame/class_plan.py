"""The plans of classes: which lesson stands on the wall for how many minutes, what the class is asked before it sees
the picture, and what to look for in it. The course's text has some; a teacher's own is `own_class`'s.
"""
import functools
import itertools
from dataclasses import dataclass

from core.app.base import catalogue, prose
from core.app.frame import own_class
from core.app.frame.own_class import Step
from core.app.state import reader

USUAL = "hour"


@dataclass(frozen=True)
class Plan:
    """A class. `name`: as an address has it: the id of a plan of the course's text, or a whole plan of a teacher's own.
    """

    name: str
    title: str
    about: str
    steps: tuple[Step, ...]

    @functools.cached_property
    def starts(self) -> tuple[int, ...]:
        """The minute at which each step begins, and at last the one at which the class ends."""
        return tuple(itertools.accumulate((step.minutes for step in self.steps), initial=0))

    def opening(self, number: int, *, revealed: bool = False) -> dict:
        """What opens step `number`, from 1, in present mode: settings for `reader.open_lesson` and `address.link`.

        Model, prompt and selection that the step does not name are the usual ones, not those of the step before.
        """
        return reader.picture_defaults() | self.steps[number - 1].settings | {
            "present": True, "class": number, "class_plan": "" if self.name == USUAL else self.name,
            "class_revealed": number if revealed else 0}


def plans() -> dict[str, Plan]:
    """The plans `# plan: id` of the course's text by their ids, with those steps whose lessons exist."""
    text, there = prose.load(catalogue.COURSE), {entry.id for entry in catalogue.existing()}
    steps = {entry.id: entry for entry in text.entries("step") if entry.settings["lesson"] in there}
    return {entry.id: Plan(entry.id, entry.title, entry.look,
                           tuple(_step(steps[step], int(minutes)) for step, minutes in _of(entry) if step in steps))
            for entry in text.entries("plan")}


def present() -> Plan:
    """The plan that is being taught; the usual one where the address names none that can be."""
    name, known = reader.class_plan(), plans()
    return known.get(name) or own(name) or known[USUAL]


def own(packed: str) -> Plan | None:
    """A teacher's own plan as an address has it; None for what is none."""
    steps = own_class.unpacked(packed)
    return Plan(packed, prose.load(catalogue.COURSE).label("plan_own"), "", steps) if steps else None


def _of(plan: prose.Experiment) -> list[list[str]]:
    """The steps of a plan, [id, minutes] each, of its line `steps: whole 5, tokens 7`."""
    return [step.split() for step in plan.settings["steps"].split(",")]


def _step(entry: prose.Experiment, minutes: int) -> Step:
    settings = dict(entry.settings)
    lesson, ask = (settings.pop(name) for name in ("lesson", "ask"))
    options, answer = (str(settings.pop(name, "")) for name in ("options", "answer"))
    return Step(entry.title, minutes, lesson, settings, ask, entry.look,
                tuple(options.split(" | ")) if options else (), answer)
