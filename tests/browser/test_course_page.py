"""The course page in a real Chromium: every view whole at every width, links that lead where they say, marks that stay,
sheets that fit on paper.
"""
from __future__ import annotations

import re

from playwright.sync_api import expect

from core.base import prose
from pages.course.shared import SETTINGS, SHEETS
from tests.browser.pictures import comes, cut_off
from tests.browser.serving import rest, settle

COURSE = prose.load("course")
PAGES_AT_MOST = 2


def test_every_view_is_drawn_without_an_error_and_whole_at_every_width(open_page):
    page = open_page("course", width=1280, height=720, dark=True)
    for view in SETTINGS.each["view"].options:
        page.locator(".st-key-course_view_widget").get_by_text(COURSE.label(f"view_{view}"), exact=True).click()
        settle(page)
        page.locator(".st-key-course_stage .course .bar").first.wait_for()
        assert page.errors == [], view
        expect(page.get_by_test_id("stAlertContentError"), view).to_have_count(0)
        for width in (1440, 1024, 390):
            page.set_viewport_size({"width": width, "height": 844})
            rest(page)
            assert page.evaluate("document.scrollingElement.scrollWidth") <= width and cut_off(page) == [], (
                view, width)


def test_links_and_marks(open_page):
    """A tick stays with the browser, the search finds, and a link opens its lesson at the place it names."""
    page = open_page("course")
    page.locator(".lesson input").nth(1).check()
    page.reload()
    settle(page)
    page.locator(".lesson input").nth(1).wait_for()
    expect(page.locator(".lesson input").nth(1)).to_be_checked()
    expect(page.locator(".lesson input").nth(0)).not_to_be_checked()
    page.goto(page.url.partition("?")[0] + "?term=vanishing gradient")
    settle(page)
    expect(page.locator(".term.named b")).to_have_text("vanishing gradient", use_inner_text=True)
    page.locator("input.find").fill("softmax")
    assert comes(page, lambda: 1 < page.locator(".term:visible").count() < 12)
    link = page.locator(".term:visible", has=page.get_by_text("softmax", exact=True)).locator("a.go")
    expect(link).to_have_attribute("href", re.compile("attention_step=softmax"))
    link.click()
    page.locator(".st-key-attention_steps_instrument .picture").first.wait_for()
    expect(page.locator(".st-key-attention_steps_instrument .title")).to_contain_text("6/9")
    assert page.errors == []


def test_a_lecture_leads_to_its_plan_and_its_questions_to_their_pictures(open_page):
    page = open_page("course?course_view=lectures&course_deck=D")
    page.get_by_text(COURSE.label("lectures_whole_plan"), exact=True).click()
    page.locator(".steps .step").first.wait_for()
    expect(page).to_have_url(re.compile("course_plan=D"))
    expect(page.locator(".piece-of-class")).to_have_count(page.locator(".step").count())
    page.go_back()
    page.locator(".asked .go").first.click()
    page.locator(".st-key-training_stage .panels").first.wait_for()
    expect(page).to_have_url(re.compile("training_view=kepler"))
    assert page.errors == []


def test_a_class_ends_at_the_course(open_page):
    """Out of Next token too, whose settings are bound to the address."""
    page = open_page("next_token?next_token_panel=k1_x0.6_s1&present=true&class=6&class_revealed=6")
    page.get_by_role("button", name="Next", exact=True).click()
    page.get_by_text("7 / 8").wait_for()
    settle(page)
    page.get_by_role("button", name=prose.load("app").label("class_end")).click()
    page.locator("a.start").wait_for()
    assert "class=" not in page.url.replace("course_view=class", "") and "present" not in page.url and page.errors == []


def test_every_sheet_and_its_solution_fit_on_their_pages(open_page):
    """Printed as a browser prints them, on A4 and on Letter."""
    page = open_page("course?course_view=sheets")
    paper = page.context.new_page()
    paper.emulate_media(media="print")
    for sheet in SHEETS:
        page.locator(".st-key-course_sheet_widget").get_by_text(COURSE.label(f"sheet_{sheet}"), exact=True).click()
        settle(page)
        page.frame_locator("iframe.paper").get_by_role("heading", name=COURSE.label(f"{sheet}_title")).first.wait_for()
        for key in ("sheet", "solution"):
            with page.expect_download() as waiting:
                page.locator(f".st-key-course_{key}_file button").click()
            paper.set_content(waiting.value.path().read_text(encoding="utf-8"))
            for size in ("A4", "Letter"):
                assert len(re.findall(rb"/Type\s*/Page\b", paper.pdf(format=size))) <= PAGES_AT_MOST, (sheet, key, size)
            assert paper.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.errors == []
