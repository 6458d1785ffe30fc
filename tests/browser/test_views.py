"""The lessons of several views in a real Chromium: every view is drawn without an error, stands on the first screen of
a projector, and is whole at every width.
"""
from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.accessibility import unreachable, violations
from tests.browser.pictures import cut_off, unpainted
from tests.browser.serving import rest
from tests.browser.views import LESSONS, end_of, reach


@pytest.mark.parametrize("lesson", LESSONS)
def test_every_view_draws_without_an_error_and_is_whole_at_every_width(open_page, lesson):
    page = open_page(lesson, width=1280, height=720, dark=in_the_dark(lesson))
    for name in LESSONS[lesson]:
        view = reach(page, lesson, name)
        assert page.errors == [], name
        expect(page.get_by_test_id("stAlertContentError"), name).to_have_count(0)
        assert unpainted(page, f".st-key-{lesson}_stage") == 0, name
        assert not view.first_screen or end_of(page, view) <= 720, name
        assert unreachable(page) == [], name
        # a tablet's, and a projector's at a zoom of 200 %, once a lesson: that takes minutes for all
        for width in (1024, 640, 390) if name == next(iter(LESSONS[lesson])) else (390,):
            page.set_viewport_size({"width": width, "height": 844})
            rest(page)
            assert page.evaluate("document.scrollingElement.scrollWidth") <= width and cut_off(page) == [], (
                name, width)
        page.set_viewport_size({"width": 1280, "height": 720})
        expect(page.get_by_test_id("stSidebarNavItems")).to_have_count(0)      # which is there on a phone
    assert violations(page) == []


def in_the_dark(lesson: str) -> bool:
    """Every second lesson; `python -m tests.browser.accessibility` looks at every view in both themes."""
    return bool(list(LESSONS).index(lesson) % 2)
