"""The ways from the home page into the tour: the invitation, and the short form of a link to a step."""
import streamlit as st

from core.app.base import catalogue, prose
from core.app.frame.guard import fragment
from core.app.state import address, reader
from core.components.tour_invitation import invitation


def follow_link() -> None:
    """Go to the step of the tour that the home address names (/?tour=3); not where the reader comes back from there."""
    step = st.query_params.get(catalogue.TOUR)
    if step and not address.is_from_history():
        reader.open_lesson(catalogue.TOUR, {f"{catalogue.TOUR}_step": step})


def draw() -> None:
    """Draw the invitation, a fragment; not in present mode, where a class looks on."""
    if not reader.present():
        fragment(_draw)()


def _draw() -> None:
    words = prose.load(catalogue.TOUR)
    text = {name: words.label(f"invite_{name}") for name in ("title", "text", "start", "resume", "skip")}
    if invitation(text, reader.link(lesson=catalogue.TOUR, alone=True), key="tour_invitation"):
        reader.open_lesson(catalogue.TOUR, {})
