"""The lessons in present mode, in a real Chromium: every picture stands whole above the bar, in type that the last row
can read, and so does the first one of each with a guess told above it.
"""
from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from core.app.base import catalogue
from core.app.state.reader import PRESENT_SCALE
from tests.browser.pictures import WATCH_TYPE, small_type
from tests.browser.serving import rest, settle
from tests.browser.views import LESSONS, end_of, guess, reach

# pixels between a picture and the bar below it in present mode: another build of Chromium sets its type a
# few pixels higher
AIR = 12
SMALLEST = 9            # px, of the page's smallest type outside present mode


def present(open_page, lesson: str, query: str = "") -> Page:
    """The lesson on a projector, whose canvases keep what is written on them, with a guess told above its picture."""
    page = open_page("models", width=1280, height=720)
    page.add_init_script(WATCH_TYPE)
    page.goto(f"{page.url.rpartition('/')[0]}/{lesson}?present=true&ask=true{query}")
    settle(page)
    guess(page)
    return page


def unasked(page: Page) -> None:
    """The same page to a reader who is asked nothing."""
    page.goto(page.url.partition("?")[0] + "?present=true")
    settle(page)


def told_above(page: Page, top: float) -> bool:
    """Whether what is told of a guess ends above a height of the window; true where nothing is told."""
    return all(box["y"] + box["height"] <= top for box in (
        strip.bounding_box() for strip in page.locator(".prediction .strip").all()))


@pytest.mark.parametrize("lesson", LESSONS)
def test_present_mode_shows_every_picture_whole_and_legible_above_its_bar(open_page, lesson):
    page, faults = present(open_page, lesson), []
    for place, name in enumerate(LESSONS[lesson]):
        if place == 1:
            unasked(page)
        view = reach(page, lesson, name)
        bar, stage = (page.locator(part).bounding_box() for part in (".st-key-try_step", f".st-key-{lesson}_stage"))
        if not told_above(page, stage["y"]):
            faults.append(f"{name} begins below what is told")
        # what is said below a picture belongs to it
        for ends in (end_of(page, view) + AIR, (stage["y"] + stage["height"]) * view.whole):
            if ends > bar["y"]:
                faults.append(f"{name} ends {ends - bar['y']:.0f} px too low")
        faults += [f"{name} has small type, {small}" for small in small_type(page, PRESENT_SCALE * SMALLEST)]
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize(("lesson", "query", "end"), [
    ("", "", ".st-key-overview_map .dice button.do.append"), ("next_token", "", ""),
    ("next_token", "&next_token_panel=T1_k40_p0.9_x0.6_s1", ".figure canvas"),
    *(("heads", f"&heads_panel={panel}", "") for panel in catalogue.entry("heads").views)])
def test_so_it_does_where_a_lesson_has_one_picture(open_page, lesson, query, end):
    page = present(open_page, lesson, query)
    rest(page)
    assert small_type(page, PRESENT_SCALE * SMALLEST) == []
    expect(page.locator(".prediction .strip")).to_be_visible()
    # what is seen in the picture opens over it and folds again
    for opens in (True, False):
        page.locator(".prediction .unfold").click()
        expect(page.locator(".prediction .statement").first).to_be_visible(visible=opens)
    if end:
        box, bar = (page.locator(place).first.bounding_box() for place in (end, ".st-key-try_step"))
        assert box["y"] + box["height"] <= bar["y"]
