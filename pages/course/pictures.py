"""The component of the page, which draws lessons, lectures, a class, the glossary or a printed sheet."""
from collections.abc import Callable, Mapping

from core.app.lesson import Lesson, linked_page
from core.app.state import address, reader
from core.components.lib.token_view import token_view
from pages.course.shared import SETTINGS

_picture = token_view("course", __file__)


def picture(page: Lesson, kind: str, header: dict, places: Mapping[str, tuple[str, dict]],
            on_deed: Callable[[dict], None] | None = None) -> None:
    """Draw one kind of picture.

    places: lesson and settings of each link, by the name that the picture sends when it is followed. on_deed: called,
    as a callback, with what else the reader does.
    """

    def receive(values: dict) -> None:
        linked_page.follow(places, str(values.get("open")))
        if on_deed and "deed" in values:
            on_deed(values)
        SETTINGS.keep(**{name: values[name] for name in ("term", "group", "solved") if name in values})

    links = {key: linked_page.link(lesson, settings) for key, (lesson, settings) in places.items()}
    common = {"kind": kind, "scale": reader.scale(), "text": page.labels(kind), "base": address.link(), "links": links}
    _picture(common | header, key=f"course_{kind}_picture", on_settings=receive)
