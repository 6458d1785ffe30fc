"""A class of fifty minutes, step by step, and a course of four of them."""
from core.app.base import catalogue, prose
from core.app.frame import Lesson, class_plan
from pages.course.pictures import picture

MINUTES = 50


def draw(page: Lesson) -> None:
    """Draw the steps with their minutes, and the button to start."""
    steps, app, existing = class_plan.steps(), prose.load("app"), {entry.id for entry in catalogue.existing()}
    places = ({step.id: (step.lesson, step.settings) for step in steps}
              | {"start": (steps[0].lesson, class_plan.opening(1))})
    rows = [{"id": step.id, "title": step.title, "from": step.minute, "to": end,
             "lesson": app.label(f"lesson_{step.lesson}"), "ask": step.ask, "look": step.look}
            for step, end in zip(steps, [*(step.minute for step in steps[1:]), MINUTES])]
    weeks = []
    for entry in page.words.entries("week"):
        lessons = [lesson for lesson in entry.settings["lessons"].split() if lesson in existing]
        places |= {f"week {entry.id} {lesson}": (lesson, {}) for lesson in lessons}
        weeks.append({"number": entry.id, "title": entry.title, "look": entry.look,
                      "lessons": [{"id": f"week {entry.id} {lesson}", "name": app.label(f"lesson_{lesson}")}
                                  for lesson in lessons]})
    picture(page, "class", {"steps": rows, "weeks": weeks, "minutes": MINUTES}, places)
