"""The lesson "From recurrence to attention" in a real Chromium: every view draws, nothing is cut off, strips and tokens are picked, a training is followed."""
from __future__ import annotations

import re
from urllib.parse import urlsplit

from core.ui import text
from tests.browser.pictures import cut_off, pictures_at_rest
from tests.browser.serving import settle

WORDS = text.load("recurrence")
VIEWS = {"unrolled": ".unrolled canvas", "gradient": ".st-key-recurrence_gradient svg, .st-key-recurrence_gradient canvas", "serial": ".st-key-recurrence_flops svg, .st-key-recurrence_flops canvas",
         "copy": ".st-key-recurrence_accuracy svg, .st-key-recurrence_accuracy canvas", "bottleneck": ".st-key-recurrence_alignment svg, .st-key-recurrence_alignment canvas"}


def walk(page) -> None:
    """Every view after the first, by the control that picks it."""
    for view, picture in VIEWS.items():
        page.get_by_role("radio", name=WORDS.label(f"view_{view}"), exact=True).click()
        page.locator(picture).first.wait_for()
        settle(page)
        yield view


def test_every_view_draws_without_an_error_and_ends_on_the_first_screen(open_page):
    page = open_page("recurrence", width=1280, height=720)
    for view in walk(page):
        page.wait_for_timeout(700)
        box = page.locator(VIEWS[view]).last.bounding_box()
        assert page.errors == [] and page.get_by_test_id("stAlertContentError").count() == 0, view
        assert box["y"] + box["height"] <= 720, view


def test_every_view_is_whole_on_a_phone(open_page):
    page = open_page("recurrence", width=390, height=844, dark=True)
    for view in walk(page):
        page.wait_for_timeout(400)
        assert page.evaluate("document.scrollingElement.scrollWidth") <= 390 and cut_off(page) == [], view
    assert page.errors == []


def test_keys_and_clicks_pick_and_the_link_gives_the_same_picture(open_page):
    page = open_page("recurrence?prompt=The%20bank%20of%20the%20river&position=4&recurrence_both=true")
    stage = page.locator(".unrolled .stage")
    stage.press("ArrowLeft")
    page.wait_for_url(re.compile("position=3"))
    stage.press("ArrowDown")
    page.wait_for_url(re.compile("recurrence_unit=1"))
    box = stage.bounding_box()
    stage.click(position={"x": box["width"] - 30, "y": box["height"] - 12})       # the last token: now the path runs backwards
    page.wait_for_url(re.compile("recurrence_from=5"))
    page.get_by_text(re.compile("through the backward cell after 2 steps")).first.wait_for()
    settle(page)
    other = open_page("recurrence?" + urlsplit(page.url).query)
    other.locator(VIEWS["unrolled"]).wait_for()
    page.mouse.move(2, 2)
    assert pictures_at_rest(other) == pictures_at_rest(page)


def test_a_training_is_followed_and_stopped_while_the_page_answers(open_page):
    page = open_page("recurrence?recurrence_view=copy&recurrence_remembered=1&recurrence_delay=8")
    page.get_by_role("button", name=WORDS.label("train"), exact=True).click()
    page.get_by_text(re.compile(r"^After \d+ steps")).first.wait_for(timeout=60_000)
    page.get_by_role("button", name=WORDS.label("stop"), exact=True).click()
    page.get_by_role("button", name=WORDS.label("train"), exact=True).wait_for(timeout=60_000)
    page.get_by_text(re.compile(r"^After \d+ steps")).first.wait_for()
    assert page.errors == []
