"""Every lesson, place by place, in a real browser: whole, legible, reachable by keys, and showing what each idea of the
lectures says.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from core.app.state.reader import PRESENT_SCALE
from core.base import catalogue, tables
from tests.browser.conftest import Tab
from tests.browser.pictures import WATCH_TYPE, small_type
from tests.browser.serving import Server, rest
from tests.browser.views import guess, has_stage
from tests.browser.walk import PRESENT, READ, SEEN, SMALLEST, WIDE, faults, large_type, no_errors, stops, walk

PLACES = [entry.id for entry in catalogue.existing()]


def in_the_dark(lesson: str) -> bool:
    """Every second lesson; `python -m tests.browser.accessibility` looks at every view in both themes."""
    return bool(PLACES.index(lesson) % 2)


def test_every_idea_that_says_what_is_seen_is_held_to_it():
    assert set(SEEN) == {idea.id for idea in tables.ideas() if idea.seen}
    assert set(SEEN) == {idea.id for lesson in PLACES for stop in stops(lesson) for idea in stop.ideas}


@pytest.mark.parametrize("lesson", PLACES)
def test_every_place_is_whole_and_shows_what_its_ideas_say(open_page, server, lesson):
    page = open_page(catalogue.url_path(lesson), width=WIDE["width"], height=WIDE["height"], dark=in_the_dark(lesson))
    found = walk(page, server.url, stops(lesson), READ)
    assert not found, "\n".join(found)


@pytest.fixture(scope="session")
def projector(browser: Browser) -> Tab:
    """A tab whose canvases keep what is written on them."""
    return Tab(browser, WATCH_TYPE)


@pytest.fixture
def presented(projector: Tab, server: Server) -> Iterator[Callable[[str], Page]]:
    """presented("heads?present=true"): the page on a projector, with a guess told above its picture."""
    def open_(address: str) -> Page:
        projector.open(f"{server.url}/{address}", (WIDE["width"], WIDE["height"]))
        guess(projector.page)
        return projector.page

    yield open_
    projector.leave(server)


@pytest.mark.parametrize("lesson", filter(has_stage, PLACES))
def test_present_mode_shows_every_picture_whole_and_legible_above_its_bar(presented, server, lesson):
    first, *others = [stop for stop in stops(lesson) if stop.view]
    page = presented(first.address(present="true", ask="true"))
    found = faults(page, first, PRESENT) + walk(page, server.url, others, PRESENT, present="true", ask="false")
    assert not found, "\n".join(found)


@pytest.mark.parametrize(("lesson", "query", "end"), [
    ("", "", ".st-key-overview_map .dice button.do.append"), ("next_token", "", ""),
    ("next_token", "&next_token_panel=T1_k40_p0.9_x0.6_s1", ".figure canvas"),
    *(("heads", f"&heads_panel={panel}", "") for panel in catalogue.entry("heads").views)])
def test_so_it_does_where_a_lesson_has_one_picture(presented, lesson, query, end):
    page = presented(f"{lesson}?present=true&ask=true{query}")
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


def test_a_check_that_fails_names_the_place_and_leaves_the_others_their_turn(open_page, server):
    page, stop = open_page("tokens", width=WIDE["width"], height=WIDE["height"]), stops("tokens")[0]

    def broken(page: Page, _) -> list[str]:
        raise ValueError("no such thing")

    def cut(page: Page, _) -> list[str]:
        page.evaluate("""() => document.querySelector("[data-testid=stMainBlockContainer]").prepend(
            Object.assign(document.createElement("p"), {textContent: "small", style: "font-size: 4px"}))""")
        return large_type(page, _)

    found = faults(page, stop, (broken, cut, no_errors))
    assert found[0] == f"tokens, {stop.name}, broken: ValueError: no such thing"
    assert any("4.0: small" in fault for fault in found) and not any("no_errors" in fault for fault in found)
