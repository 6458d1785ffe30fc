"""The lessons in order, each with its duration and goals, and a mark if it is done."""
from core.app.base import catalogue, prose
from core.app.frame import Lesson
from pages.course.pictures import picture


def draw(page: Lesson) -> None:
    """Draw one row a lesson. The browser stores the marks."""
    existing, app = {entry.id: entry for entry in catalogue.existing()}, prose.load("app")
    rows, places = [], {}
    for entry in page.words.entries("lesson"):
        if entry.id not in existing:
            continue
        settings = {key: value for key, value in entry.settings.items() if key != "minutes"}
        places[entry.id] = (entry.id, settings)
        rows.append({"id": entry.id, "name": app.label(f"lesson_{entry.id}"),
                     "section": app.label(f"section_{existing[entry.id].section}"),
                     "minutes": entry.settings["minutes"], "sentence": prose.load(entry.id).section("sentence"),
                     "goals": [line.removeprefix("- ") for line in entry.look.splitlines()]})
    picture(page, "lessons", {"lessons": rows}, places)
