"""The invitation to the tour, on the home page."""
from core.app.base import catalogue, prose
from core.app.frame import live_class
from core.app.frame.guard import fragment
from core.app.state import address, reader
from core.components.tour_invitation import invitation


def draw() -> None:
    """Draw the invitation, a fragment; not where a class looks on, nor for who only looks on."""
    if not (reader.present() or reader.looks_on() or live_class.is_open()):
        fragment(_draw, key="invitation")()


def _draw() -> None:
    words = prose.load(catalogue.TOUR)
    text = {name: words.label(f"invite_{name}") for name in ("title", "text", "start", "resume", "skip")}
    if invitation(text, address.link(lesson=catalogue.TOUR, alone=True), key="tour_invitation"):
        reader.open_lesson(catalogue.TOUR, {})
