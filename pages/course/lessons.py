"""The lessons in order, each with its duration and goals, what the reader predicted in it, and a mark if it is done."""
from core.app.lesson import Lesson, prediction
from core.base import catalogue, prose
from core.base.markdown import unmarked
from pages.course.pictures import picture


def draw(page: Lesson) -> None:
    """Draw one row a lesson. The browser stores the marks and the predictions, and shows them by itself."""
    existing, app = {entry.id: entry for entry in catalogue.existing()}, prose.load("app")
    rows, places = [], {}
    for entry in page.words.entries("lesson"):
        if entry.id not in existing:
            continue
        settings = {key: value for key, value in entry.settings.items() if key != "minutes"}
        places[entry.id] = (entry.id, settings)
        lesson = prose.load(entry.id)
        rows.append({"id": entry.id, "name": app.label(f"lesson_{entry.id}"),
                     "section": app.label(f"section_{existing[entry.id].section}"),
                     "minutes": entry.settings["minutes"], "sentence": lesson.section("sentence"),
                     "questions": [asked.id for asked in lesson.entries("before")],
                     "goals": [unmarked(line.removeprefix("- ")) for line in entry.look.splitlines()]})
    picture(page, "lessons", {"lessons": rows}, places)
    prediction.offer_switch(app)
