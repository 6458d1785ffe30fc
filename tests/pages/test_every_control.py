"""Every button, box, list and slider of every view is used once, and nothing on the page fails."""
from __future__ import annotations

import importlib
from collections.abc import Iterator

import pytest
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Widget

from core.base import catalogue
from tests.browser.views import LESSONS, address
from tests.helpers import lessons

KINDS = ("button", "checkbox", "toggle", "selectbox", "radio", "slider", "number_input", "button_group")
# used by tests of their own: the view's, the pin's and those of a question
ELSEWHERE = ("_view_widget", "_pin", "_commit", "_given", "heads_panel_widget")


def texts_of(lesson: str, key: str) -> tuple[str, ...]:
    """The texts that the setting of a control may be; none where it is no choice between texts."""
    settings = getattr(importlib.import_module(f"pages.{lesson}.shared"), "SETTINGS", None)
    name = key.removeprefix(f"{lesson}_").removesuffix("_widget")
    return settings.each[name].options if settings and name in settings.each else ()


def controls(at: AppTest, lesson: str) -> Iterator[Widget]:
    """The controls of the picture that stands: buttons, switches, numbers, and choices between texts of a setting."""
    for one in (one for kind in KINDS for one in getattr(at, kind)):
        own = one.key and one.key.startswith(f"{lesson}_") and not one.key.endswith(ELSEWHERE)
        is_choice = one.type in ("selectbox", "radio", "button_group")
        if own and not getattr(one, "disabled", False) and (not is_choice or texts_of(lesson, one.key)):
            yield one


def use(one: Widget, lesson: str) -> None:
    """As a hand does: press it, or give it another value, the last that it has, or the first."""
    match one.type:
        case "button":
            one.click()
        case "checkbox" | "toggle":
            one.set_value(not one.value)
        case "slider" | "number_input":
            one.set_value(one.min if one.value == one.max else one.max)
        case _:
            offered = [option for option in texts_of(lesson, one.key) if is_offered(one, option)]
            one.set_value(offered[0] if offered[-1] == one.value else offered[-1])


def is_offered(one: Widget, option: str) -> bool:
    try:
        return one.format_func(option) in one.options
    except KeyError:            # it has no label, since it is never offered here
        return False


def used_up(lesson: str, settings: dict[str, str]) -> list[str]:
    """Use every control of a picture once, also those that appear meanwhile; return the faults."""
    at, done, found = lessons.open_at(lesson, **settings), set(), []
    while left := [one for one in controls(at, lesson) if one.key not in done]:
        key = left[0].key
        done.add(key)
        use(left[0], lesson)
        at.run()
        found += [f"{lesson}, {settings}, {key}: {error.value}" for error in (*at.exception, *at.error)]
        if not lessons.fine(at):
            at = lessons.open_at(lesson, **settings)
        elif key == f"{lesson}_run":
            at.button(key).click().run()        # and stop it
    return found + drawers(at, lesson, settings)


def drawers(at: AppTest, lesson: str, settings: dict[str, str]) -> list[str]:
    """Open the source of the picture's functions and its tables; return the faults."""
    for name in ("source", "tables"):
        at.session_state[f"{lesson}_{name}_open"] = True
    at.run()
    shown = [element.value for element in (*at.exception, *at.error)]
    return [f"{lesson}, {settings}: {said}" for said in shown or ["no source"] * (not at.code)]


@pytest.mark.parametrize("lesson", [entry.id for entry in catalogue.existing()])
def test_every_control_can_be_used(lesson: str):
    found = [fault for name in LESSONS[lesson] for fault in used_up(lesson, address(lesson, name))]
    assert not found, "\n".join(found)
