"""The lesson "Architectures" in a real Chromium: every view draws and is whole on narrow screens, a switch redraws the block, times come when they are asked for, links give the same picture."""
from __future__ import annotations

from urllib.parse import urlsplit

from core.ui import text
from tests.browser.pictures import cut_off, pictures_at_rest
from tests.browser.serving import settle

WORDS = text.load("architectures")
VIEWS = {"design": ".design-diagram", "cost": ".st-key-architectures_operations svg, .st-key-architectures_operations canvas", "cost&architectures_cost=patterns": ".sparse canvas",
         "record": ".st-key-architectures_timeline canvas, .st-key-architectures_timeline svg", "record&architectures_record=scaling": ".st-key-architectures_law_compute canvas, .st-key-architectures_law_compute svg",
         "record&architectures_record=translation": ".st-key-architectures_scores canvas, .st-key-architectures_scores svg", "record&architectures_record=data": ".st-key-architectures_corpora canvas, .st-key-architectures_corpora svg"}


def opened(open_page, view: str, query: str = "", **options):
    page = open_page(f"architectures?architectures_view={view}{query}", **options)
    page.locator(VIEWS[view]).first.wait_for(state="attached")
    page.wait_for_timeout(300)
    return page


def test_every_view_draws_without_an_error_and_its_picture_stands_on_a_projectors_first_screen(open_page):
    for view, picture in VIEWS.items():
        page = opened(open_page, view, width=1280, height=720, dark=view == "design")
        assert page.errors == [] and page.get_by_test_id("stAlertContentError").count() == 0, view
        box = page.locator(picture).last.bounding_box()
        assert box["height"] > 80 and box["y"] + box["height"] <= 720, view
        page.context.close()


def test_every_view_is_whole_on_a_phone(open_page):
    for view in VIEWS:
        page = opened(open_page, view, "&architectures_design=first-base;norm_placement=sandwich", width=390, height=844)
        assert page.evaluate("document.scrollingElement.scrollWidth") <= 390 and cut_off(page) == [], view
        page.context.close()


def test_a_switch_rewires_the_block_and_the_link_shows_it_again(open_page):
    page = opened(open_page, "design")
    assert page.locator(".design-diagram circle").count() == 2 and page.locator(".design-diagram rect.changed").count() == 0
    page.get_by_role("combobox", name="Place of the norm").click()
    page.get_by_role("option", name="sandwich norm").click()
    page.get_by_text("pre-norm → sandwich norm").wait_for()
    settle(page)
    assert page.locator(".design-diagram rect.changed").count() == 4
    other = open_page("architectures?" + urlsplit(page.url).query)
    assert pictures_at_rest(other) == pictures_at_rest(page) and page.errors == [] == other.errors


def test_times_come_only_when_they_are_asked_for(open_page):
    page = opened(open_page, "cost", "&architectures_width=16&architectures_window=16")
    assert page.locator(".st-key-architectures_seconds").count() == 0
    page.get_by_role("button", name=WORDS.label("measure_now")).click()
    page.locator(".st-key-architectures_seconds canvas, .st-key-architectures_seconds svg").first.wait_for(timeout=120_000)
    page.get_by_role("button", name=WORDS.label("measure_again")).wait_for()
    assert "Timed at" in page.locator("body").inner_text() and page.errors == []
