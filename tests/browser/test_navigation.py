"""The row of links at the head of every page in a real Chromium: its one menu of lessons by pointer, by keys, on a
phone.
"""
from __future__ import annotations

import itertools

import pytest
from playwright.sync_api import Page, expect

from core.base import catalogue, prose
from tests.browser.accessibility import violations
from tests.browser.pictures import cut_off
from tests.browser.serving import settle

APP = prose.load("app")
LESSONS = catalogue.existing()
NAMES = [APP.label(f"lesson_{entry.id}") for entry in LESSONS]


def row(page: Page):
    return page.get_by_role("navigation", name=APP.label("navigation_name"))


def opener(page: Page):
    return row(page).get_by_role("button", name=APP.label("page_lessons"), exact=True)


def menu(page: Page):
    return row(page).get_by_role("group", name=APP.label("page_lessons"), exact=True)


def test_one_menu_has_every_lesson_under_its_section_and_the_other_pages_stand_beside_it(open_page):
    page = open_page("heads")
    beside = [*(APP.label(f"page_{name}") for name in ("tour", "course", "map")), prose.load("library").label("page")]
    expect(row(page).get_by_role("link")).to_have_text(beside)
    expect(row(page).get_by_role("button")).to_have_count(1)
    opener(page).click()
    expect(menu(page).get_by_role("link")).to_have_text(NAMES)
    for section, entries in itertools.groupby(LESSONS, lambda entry: entry.section):
        group = menu(page).get_by_role("group", name=APP.label(f"section_{section}"), exact=True)
        expect(group.get_by_role("link")).to_have_text([APP.label(f"lesson_{entry.id}") for entry in entries])
    expect(menu(page).locator("[aria-current=page]")).to_have_text(APP.label("lesson_heads"))
    page.evaluate("window.kept = true")
    menu(page).get_by_role("link", name=APP.label("lesson_limits"), exact=True).click()
    page.wait_for_url("**/limits*")
    settle(page)
    expect(menu(page)).to_be_hidden()
    row(page).get_by_role("link", name=APP.label("page_map"), exact=True).click()
    page.wait_for_url("**/map*")
    settle(page)
    expect(row(page).locator("[aria-current=page]:visible")).to_have_text(APP.label("page_map"))
    assert page.evaluate("window.kept") and page.errors == []


def test_the_keys_open_the_menu_go_through_it_and_back(open_page):
    page = open_page("positions")
    opener(page).focus()
    page.keyboard.press("ArrowDown")
    assert_at(page, "positions")
    expect(opener(page)).to_have_attribute("aria-expanded", "true")
    page.keyboard.press("ArrowDown")
    assert_at(page, "attention")
    page.keyboard.press("Escape")
    expect(menu(page)).to_be_hidden()
    expect(opener(page)).to_be_focused()
    page.keyboard.press("Enter")
    expect(menu(page)).to_be_visible()
    page.keyboard.press("Tab")
    assert_at(page, "overview")
    page.keyboard.press("ArrowUp")
    assert_at(page, LESSONS[-1].id)
    page.keyboard.press("Tab")          # out of the menu, which closes
    expect(menu(page)).to_be_hidden()
    page.keyboard.press("Shift+Tab")
    expect(opener(page)).to_be_focused()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowUp")
    assert_at(page, "embeddings")
    page.keyboard.press("Enter")
    page.wait_for_url("**/embeddings*")
    settle(page)
    assert page.errors == []


def assert_at(page: Page, lesson: str) -> None:
    expect(menu(page).get_by_role("link", name=APP.label(f"lesson_{lesson}"), exact=True)).to_be_focused()


@pytest.mark.parametrize(("width", "height"), [(390, 844), (1280, 720)])
def test_the_row_and_the_whole_menu_fit_the_window(open_page, width, height):
    page = open_page("heads", width=width, height=height)
    opener(page).click()
    for box in (row(page).bounding_box(), menu(page).bounding_box()):
        assert box["x"] >= 0 and box["x"] + box["width"] <= width and box["y"] + box["height"] <= height
    assert menu(page).evaluate("(node) => node.scrollHeight") <= menu(page).evaluate("(node) => node.clientHeight")
    assert row(page).evaluate("(node) => node.scrollWidth") <= row(page).evaluate("(node) => node.clientWidth")
    assert cut_off(page) == []
    menu(page).get_by_role("link", name=APP.label("lesson_tokens"), exact=True).click()
    page.wait_for_url("**/tokens*")
    settle(page)
    assert page.errors == []


@pytest.mark.parametrize("dark", [False, True])
def test_the_open_menu_is_easy_to_read(open_page, dark):
    page = open_page("heads", dark=dark)
    opener(page).click()
    expect(menu(page)).to_be_visible()
    assert violations(page) == []


@pytest.mark.parametrize("dark", [False, True])
def test_nothing_shines_through_the_row_when_the_page_is_scrolled(open_page, dark):
    page = open_page("overview", dark=dark)
    clip = {"x": 0, "y": 0, "width": 1000, "height": 39}
    before = page.screenshot(clip=clip)
    page.locator("[data-testid=stMain]").evaluate("(main) => { main.scrollTop = 400; }")
    page.wait_for_function("document.querySelector('[data-testid=stMain]').scrollTop > 100")
    settle(page)
    assert page.screenshot(clip=clip) == before


def test_the_wall_has_no_row(open_page):
    page = open_page("heads?present=true")
    expect(row(page)).to_have_count(0)
