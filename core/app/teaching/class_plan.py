"""Plans of classes: which lesson is on the wall for how many minutes, what the class is asked before it sees the
picture, and what to look for in it. Some stand in the course's text; `own_class` has a teacher's own.
"""
import functools
import itertools
from dataclasses import dataclass

from core.app.state import reader
from core.app.teaching import own_class
from core.app.teaching.own_class import Step
from core.base import catalogue, prose

USUAL = "hour"


@dataclass(frozen=True)
class Plan:
    """The plan of a class. `name`, as in an address: the id of a plan in the course's text, or a teacher's whole plan.
    """

    name: str
    title: str
    about: str
    steps: tuple[Step, ...]

    @functools.cached_property
    def starts(self) -> tuple[int, ...]:
        """The minute at which each step begins; last, the minute at which the class ends."""
        return tuple(itertools.accumulate((step.minutes for step in self.steps), initial=0))

    def opening(self, number: int, *, revealed: bool = False) -> dict:
        """The settings that open step `number`, from 1, in present mode, for `reader.open_lesson` and `address.link`.

        Model, prompt and selection are the defaults if the step does not name them, not those of the previous step.
        """
        return reader.picture_defaults() | self.steps[number - 1].settings | {
            "present": True, "class": number, "class_plan": "" if self.name == USUAL else self.name,
            "class_revealed": number if revealed else 0}


def plans() -> dict[str, Plan]:
    """The plans `# plan: id` of the course's text by id, with the steps whose lessons exist."""
    text, there = prose.load(catalogue.COURSE), {entry.id for entry in catalogue.existing()}
    steps = {entry.id: entry for entry in text.entries("step") if entry.settings["lesson"] in there}
    return {entry.id: Plan(entry.id, entry.title, entry.look,
                           tuple(_step(steps[step], int(minutes)) for step, minutes in _of(entry) if step in steps))
            for entry in text.entries("plan")}


def present() -> Plan:
    """The plan that is being taught; the usual one if the address names no valid plan."""
    name, known = reader.class_plan(), plans()
    return known.get(name) or own(name) or known[USUAL]


def own(packed: str) -> Plan | None:
    """A teacher's own plan from its form in an address; None if the text is no plan."""
    steps = own_class.unpacked(packed)
    return Plan(packed, prose.load(catalogue.COURSE).label("plan_own"), "", steps) if steps else None


def _of(plan: prose.Experiment) -> list[list[str]]:
    """The steps of a plan, [id, minutes] each, from its line `steps: whole 5, tokens 7`."""
    return [step.split() for step in plan.settings["steps"].split(",")]


def _step(entry: prose.Experiment, minutes: int) -> Step:
    settings = dict(entry.settings)
    lesson, ask = (settings.pop(name) for name in ("lesson", "ask"))
    options, answer = (str(settings.pop(name, "")) for name in ("options", "answer"))
    return Step(entry.title, minutes, lesson, settings, ask, entry.look,
                tuple(options.split(" | ")) if options else (), answer)
