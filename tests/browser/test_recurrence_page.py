"""The lesson "From recurrence to attention" in a real Chromium: every view draws, nothing is cut off, strips and tokens
are picked, a training is followed.
"""
from __future__ import annotations

import re
from urllib.parse import urlsplit

from core.base import prose
from tests.browser.own_server import server  # noqa: F401 (a fixture)
from tests.browser.pictures import come_alike
from tests.browser.serving import settle

WORDS = prose.load("recurrence")


def test_keys_and_clicks_pick_and_the_link_gives_the_same_picture(open_page):
    page = open_page("recurrence?prompt=The%20bank%20of%20the%20river&position=4&recurrence_both=true")
    stage = page.locator(".unrolled .stage")
    stage.press("ArrowLeft")
    page.wait_for_url(re.compile("position=3"))
    stage.press("ArrowDown")
    page.wait_for_url(re.compile("recurrence_unit=1"))
    box = stage.bounding_box()
    # the last token: now the path runs backwards
    stage.click(position={"x": box["width"] - 30, "y": box["height"] - 12})
    page.wait_for_url(re.compile("recurrence_from=5"))
    page.get_by_text(re.compile("through the backward cell after 2 steps")).first.wait_for()
    settle(page)
    other = open_page("recurrence?" + urlsplit(page.url).query)
    other.locator(".unrolled canvas").wait_for()
    page.mouse.move(2, 2)
    assert come_alike(page, other)


def test_a_training_is_followed_and_stopped_while_the_page_answers(open_page):
    page = open_page("recurrence?recurrence_view=copy&recurrence_remembered=1&recurrence_delay=8")
    page.get_by_role("button", name=WORDS.label("train"), exact=True).click()
    page.get_by_text(re.compile(r"^After \d+ steps")).first.wait_for()
    page.get_by_role("button", name=WORDS.label("stop"), exact=True).click()
    page.get_by_role("button", name=WORDS.label("train"), exact=True).wait_for()
    page.get_by_text(re.compile(r"^After \d+ steps")).first.wait_for()
    assert page.errors == []
