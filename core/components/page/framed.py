"""Bring an element of the page into sight and frame it until the reader does something. Draws nothing else."""
from pathlib import Path

from core.components import declare

_component = declare("framed", Path(__file__).with_name("framed.js"))


def show_element(element: str, at: str) -> None:
    """Show the first element that a CSS selector finds, also in a component's own tree, as soon as it is there: once
    for each `at`, however often this is drawn.
    """
    _component(key="framed", data={"element": element, "at": at})
