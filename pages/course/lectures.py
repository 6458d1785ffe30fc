"""The four lectures, part by part, with a link to the picture of each idea."""
import itertools

from core.app.base import tables
from core.app.frame import Lesson, views
from pages.course.pictures import picture
from pages.course.shared import SETTINGS


def draw(page: Lesson) -> None:
    """Draw the picked lecture."""
    deck = views.choice(SETTINGS, page, "deck")
    ideas = [idea for idea in tables.ideas() if idea.deck == deck]
    parts = [{"name": name,
              "ideas": [{"id": idea.id, "idea": idea.idea, "where": tables.name_of(idea.place)} for idea in of]}
             for name, of in itertools.groupby(ideas, key=lambda idea: idea.part)]
    picture(page, "lectures", {"deck": page.label(f"deck_{deck}"), "parts": parts},
            {idea.id: idea.place.target for idea in ideas if tables.name_of(idea.place)})
