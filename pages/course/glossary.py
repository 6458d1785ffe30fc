"""The glossary: every term by letter or by lesson, with a search in the browser and a link to the lesson that uses it.
"""
from core.app.lesson import Lesson
from core.base import catalogue, prose, tables
from pages.course.pictures import picture
from pages.course.shared import SETTINGS


def draw(page: Lesson) -> None:
    """Draw all terms, first the one that the address names."""
    terms, app = tables.glossary(), prose.load("app")
    lessons = [{"id": entry.id, "name": app.label(f"lesson_{entry.id}")} for entry in catalogue.existing()]
    rows = [{"term": term.term, "symbol": term.symbol, "shape": term.shape, "definition": term.definition,
             "lesson": term.place.lesson, "where": tables.name_of(term.place)} for term in terms]
    header = {"terms": rows, "lessons": lessons, "term": SETTINGS.read("term"), "group": SETTINGS.read("group")}
    picture(page, "glossary", header, {term.term: term.place.target for term in terms if tables.name_of(term.place)})
