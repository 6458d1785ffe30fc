"""A lesson as a link opens it, through AppTest."""
from __future__ import annotations

import re
import tempfile
from pathlib import Path

from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Selectbox

from core.app.lesson.lesson import PICTURE_SEEN
from core.base import catalogue

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "core" / "app" / "server" / "script.py"
_NAMES = tempfile.TemporaryDirectory()


def open_at(lesson: str, seen: bool = True, **query: str | None) -> AppTest:
    """The page of `lesson` after its first run, at an address with these parameters; None leaves one out. seen: as a
    browser that has shown a picture; there is none here to say so.
    """
    at = AppTest.from_file(str(SCRIPT), default_timeout=600)
    at.session_state[PICTURE_SEEN] = seen
    for key, value in query.items():
        if value is not None:
            at.query_params[key] = value
    # its page alone, as a link does: no run of the home page before it
    return at.switch_page(file_named(lesson)).run()


def file_named(page: str) -> str:
    """An empty file of the page's name: before its first run AppTest knows a page by the name of a file that exists."""
    path = Path(_NAMES.name) / f"{page}.py"
    path.touch()
    return str(path)


def go(at: AppTest, page: str) -> AppTest:
    """The same session on another page, not run yet."""
    return at.switch_page(str(catalogue.page_path(page)))


def listed(at: AppTest, key: str) -> Selectbox:
    """The list whose key begins so and ends with the mark of the names that it offers."""
    return next(box for box in at.selectbox if re.fullmatch(rf"{key}_[0-9a-f]{{8}}", box.key))


def fine(at: AppTest) -> bool:
    """Whether nothing on the page has failed."""
    return not at.exception and not at.error


def opened(lesson: str, settings: dict[str, str], **shared: str | None) -> AppTest:
    """The same with the lesson's own settings, named without its prefix; it must not fail."""
    at = open_at(lesson, **{f"{lesson}_{name}": value for name, value in settings.items()}, **shared)
    assert fine(at), [e.value for e in (*at.exception, *at.error)]
    return at


def turn(at: AppTest, lesson: str, **settings) -> AppTest:
    """Sets some of the lesson's settings in the same session."""
    for name, value in settings.items():
        at.session_state[f"{lesson}_{name}"] = value
    return at.run()


def answer(at: AppTest, key: str, right: int) -> None:
    """Commits to the option of the page's question `key` that a second computation found, and is told that it is right.
    """
    given = next(radio for radio in at.radio if radio.key.endswith(f"_{key}_given"))
    given.set_value(right).run()
    at.button(given.key.replace("_given", "_commit")).click().run()
    assert fine(at) and any(m.value.startswith("Yes") for m in at.markdown), key
