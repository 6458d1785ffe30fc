"""The four lectures: a plan of the minutes, the picture of each idea, part by part, what one can answer afterwards, and
what to read.
"""
import itertools
import re

from core.app.lesson import Lesson, views
from core.app.teaching import class_plan
from core.base import catalogue, tables
from core.base.markdown import unmarked
from pages.course.pictures import picture
from pages.course.shared import SETTINGS

_QUESTION = re.compile(r"- ([A-D]\d+): (.+)")
_READING = re.compile(r"- \[(.+)\]\((https://\S+)\): (.+)")


def draw(page: Lesson) -> None:
    """Draw the picked lecture."""
    deck = views.choice(SETTINGS, page, "deck")
    ideas = [idea for idea in tables.ideas() if idea.deck == deck]
    parts = [{"name": name,
              "ideas": [{"id": idea.id, "idea": idea.idea, "seen": unmarked(idea.seen),
                         "where": tables.name_of(idea.place)} for idea in of]}
             for name, of in itertools.groupby(ideas, key=lambda idea: idea.part)]
    plan = class_plan.plans()[deck]
    steps = [{"name": step.title, "from": start, "minutes": step.minutes}
             for step, start in zip(plan.steps, plan.starts)]
    places = {idea.id: idea.target for idea in ideas if tables.name_of(idea.place)}
    places |= {"start": (plan.steps[0].lesson, plan.opening(1)),
               "plan": (catalogue.COURSE, {"course_view": "class", "course_plan": deck})}
    picture(page, "lectures", {"deck": page.label(f"deck_{deck}"), "parts": parts, "steps": steps,
                               "questions": questions(page, deck), "reading": reading(page, deck)}, places)


def questions(page: Lesson, deck: str) -> list[dict]:
    """The lecture's summary as questions, each with the idea, by its id, whose picture answers it."""
    return [{"id": idea, "ask": unmarked(ask)} for idea, ask in _QUESTION.findall(page.text(f"questions_{deck}"))]


def reading(page: Lesson, deck: str) -> list[dict]:
    """The reading list: title, address, and reason."""
    return [{"title": title, "url": url, "why": unmarked(why)} for title, url, why in
            _READING.findall(page.text(f"reading_{deck}"))]
