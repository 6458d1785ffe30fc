"""The lesson "Architectures" in a real Chromium: every view draws and is whole on narrow screens, a switch redraws the block, times come when they are asked for, links give the same picture."""
from __future__ import annotations

from urllib.parse import urlsplit

from core.ui import text
from tests.browser.pictures import cut_off, pictures_at_rest
from tests.browser.serving import settle
from tests.browser.views import opened

WORDS = text.load("architectures")


def test_the_widest_diagram_is_whole_on_a_phone(open_page):
    page = opened(open_page, "architectures", "design", "&architectures_design=first-base;norm_placement=sandwich", width=390, height=844)
    assert page.evaluate("document.scrollingElement.scrollWidth") <= 390 and cut_off(page) == []


def test_a_switch_rewires_the_block_and_the_link_shows_it_again(open_page):
    page = opened(open_page, "architectures", "design")
    assert page.locator(".design-diagram circle").count() == 2 and page.locator(".design-diagram rect.changed").count() == 0
    page.get_by_role("combobox", name="Place of the norm").click()
    page.get_by_role("option", name="sandwich norm").click()
    page.get_by_text("pre-norm → sandwich norm").wait_for()
    settle(page)
    assert page.locator(".design-diagram rect.changed").count() == 4
    other = open_page("architectures?" + urlsplit(page.url).query)
    assert pictures_at_rest(other) == pictures_at_rest(page) and page.errors == [] == other.errors


def test_times_come_only_when_they_are_asked_for(open_page):
    page = opened(open_page, "architectures", "cost", "&architectures_width=16&architectures_window=16")
    assert page.locator(".st-key-architectures_seconds").count() == 0
    page.get_by_role("button", name=WORDS.label("measure_now")).click()
    page.locator(".st-key-architectures_seconds canvas, .st-key-architectures_seconds svg").first.wait_for(timeout=120_000)
    page.get_by_role("button", name=WORDS.label("measure_again")).wait_for()
    settle(page)
    assert "Timed at" in page.locator("body").inner_text() and page.errors == []
