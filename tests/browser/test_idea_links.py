"""The links of the lectures' ideas in a real Chromium: each opens the picture, brings the idea's element into sight and
frames it until the reader does something.
"""
from __future__ import annotations

import urllib.parse

import pytest
from playwright.sync_api import Page, expect

from core.base import catalogue, tables
from tests.browser.pictures import comes, is_framed
from tests.browser.serving import go_to, settle

IDEAS = {idea.id: idea for idea in tables.ideas()}
SCROLLED = "document.querySelector('[data-testid=stMain]').scrollTop"


def link(name: str, **more: str) -> str:
    lesson, settings = IDEAS[name].target
    return f"{catalogue.url_path(lesson)}?{urllib.parse.urlencode(settings | more)}"


def framed(page: Page, name: str) -> bool:
    return comes(page, lambda: is_framed(page, IDEAS[name].element))


@pytest.mark.parametrize("name", ["D14", "B22"])
def test_a_link_from_outside_leads_to_an_element_low_on_its_page(open_page, name):
    page = open_page(link(name))
    assert framed(page, name) and page.evaluate(SCROLLED) > 100
    assert comes(page, lambda: "idea=" not in page.url)
    page.mouse.move(640, 500)
    page.mouse.wheel(0, -100)
    expect(page.locator(".idea-frame")).to_have_count(0)
    assert page.errors == []


def test_what_is_in_sight_inside_a_component_stays_where_it_is(open_page):
    page = open_page(link("A3"), dark=True)
    assert framed(page, "A3") and page.evaluate(SCROLLED) == 0
    inside = page.locator(IDEAS["A3"].element).first
    assert inside.evaluate("(node) => node.getRootNode() instanceof ShadowRoot")
    frame, accent = page.locator(".idea-frame").evaluate("""(frame) => [getComputedStyle(frame).borderColor,
        getComputedStyle(document.documentElement).getPropertyValue("--tx-accent-ink").trim()]""")
    red, green, blue = (int(accent[k:k + 2], 16) for k in (1, 3, 5))
    assert frame == f"rgb({red}, {green}, {blue})"
    page.keyboard.press("Shift")
    expect(page.locator(".idea-frame")).to_have_count(0)


def test_links_followed_in_the_session_lead_there_too(open_page):
    page = open_page("course?course_view=lectures&course_deck=A&ask=true")
    page.locator(".idea", has_text=IDEAS["A41"].idea).locator("a.go").click()
    assert framed(page, "A41") and "idea=" not in page.url
    expect(page.locator(".prediction .question")).to_have_count(0)
    page.go_back()
    page.locator(".idea", has_text=IDEAS["A2"].idea).locator("a.go").click()
    assert framed(page, "A2")
    assert page.errors == []


def test_the_picture_stands_and_not_the_question_before_it(open_page):
    page = open_page(link("A23", ask="true"))
    assert framed(page, "A23")
    expect(page.locator(".prediction .question")).to_have_count(0)


@pytest.mark.parametrize("name", ["D8", "D14", "D6"])
def test_present_mode_shows_what_it_leaves_out_otherwise(open_page, name):
    """Numbers that wait folded, a part below the picture, and one that is far down."""
    page = open_page(link(name, present="true"), width=1280, height=720)
    assert framed(page, name) and page.errors == []


def test_who_wants_no_motion_gets_none(open_page):
    page = open_page("tokens", still=True)
    page.evaluate("""() => {
        const scroll = Element.prototype.scrollIntoView;
        Element.prototype.scrollIntoView = function (how) { window.motion = how.behavior; scroll.call(this, how); };
    }""")
    go_to(page, f"/{link('B22')}")
    settle(page)
    assert framed(page, "B22") and page.evaluate("window.motion") == "instant"
