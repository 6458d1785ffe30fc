"""One class of fifty minutes, step by step, and a course of four of them."""
from __future__ import annotations

from core.ui import catalogue, lesson_plan, text
from core.ui.course.reading import picture
from core.ui.lesson import Lesson

MINUTES = 50


def draw(page: Lesson) -> None:
    """The steps with their minutes, and the way to start."""
    steps, app, there = lesson_plan.steps(), text.load("app"), {entry.id for entry in catalogue.existing()}
    places = {step.id: (step.lesson, step.settings) for step in steps} | {"start": (steps[0].lesson, lesson_plan.opening(1))}
    shown = [{"id": step.id, "title": step.title, "from": step.minute, "to": end, "lesson": app.label(f"lesson_{step.lesson}"), "ask": step.ask, "look": step.look}
             for step, end in zip(steps, [*(step.minute for step in steps[1:]), MINUTES])]
    weeks = []
    for entry in page.words.entries("week"):
        lessons = [lesson for lesson in entry.settings["lessons"].split() if lesson in there]
        places |= {f"week {entry.id} {lesson}": (lesson, {}) for lesson in lessons}
        weeks.append({"number": entry.id, "title": entry.title, "look": entry.look, "lessons": [{"id": f"week {entry.id} {lesson}", "name": app.label(f"lesson_{lesson}")} for lesson in lessons]})
    picture(page, "class", {"steps": shown, "weeks": weeks, "minutes": MINUTES}, places)
