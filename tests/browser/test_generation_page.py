"""The lesson "Generation" in a real Chromium: a text is written and taken back, a branch taken by hand and left, a
future picked, times measured.
"""
from __future__ import annotations

import re
from urllib.parse import quote, urlsplit

from playwright.sync_api import expect

from core.app.base import prose
from tests.browser.serving import rest, settle
from tests.browser.views import opened

WORDS = prose.load("generation")


def test_writing_steps_plays_and_the_link_says_where_it_stands(open_page):
    page = opened(open_page, "generation", "writing", "&generation_written=0")
    tokens, title = page.locator(".written-text .token:not(.plain)"), page.locator(".generation_writing .title")
    assert tokens.count() == 0 and title.text_content() == WORDS.label("writing_begin")
    bars = page.locator(".written-bars")        # the distribution, not yet what is drawn from it
    assert bars.locator(".row").count() > 3 and bars.locator(".die, .choosable").count() == 0
    assert "ξ" not in bars.text_content()
    page.get_by_role("button", name=WORDS.label("writing_forward")).click()
    page.get_by_role("slider", name=WORDS.label("writing_slider")).press("ArrowRight")
    assert tokens.count() == 2
    page.get_by_role("button", name=WORDS.label("writing_end")).click()
    page.get_by_role("button", name=WORDS.label("writing_back")).click()
    assert tokens.count() == 39 and title.text_content().startswith("Token 39 of 40")
    page.wait_for_url(re.compile("generation_written=39(&|$)"))
    settle(page)
    other = open_page("generation?" + urlsplit(page.url).query)
    other.locator(".written-bars .row").first.wait_for()
    assert other.locator(".written-text").inner_html() == page.locator(".written-text").inner_html()
    page.get_by_role("button", name=WORDS.label("writing_play")).click()
    tokens.nth(39).wait_for(timeout=20_000)
    page.get_by_role("button", name=WORDS.label("writing_play")).wait_for()
    assert page.errors == [] and other.errors == []


def test_another_candidate_is_a_branch_and_the_first_text_comes_back(open_page):
    page = opened(open_page, "generation", "writing",
                  "&generation_written=3&generation_picked=1&prompt=" + quote("Once upon a time"))
    drawn = page.locator(".written-text").text_content()
    candidate = page.locator(".written-bars .row.choosable").first
    candidate.focus()
    page.set_viewport_size({"width": 1200, "height": 900})      # the picture is drawn anew
    rest(page)
    expect(candidate).to_be_focused()
    page.keyboard.press("Enter")
    rows = page.locator(".branches .branch")
    rows.nth(1).wait_for(timeout=60_000)
    settle(page)
    assert rows.count() == 2 and page.locator(".written-text .token.hand").count() == 1
    expect(page.locator(".generation_writing .text")).to_be_focused()
    rows.nth(0).click()
    page.wait_for_url(lambda url: "generation_branch=1" not in url)
    settle(page)
    assert (page.locator(".written-text .token.hand").count() == 0
            and page.locator(".written-text").text_content().startswith(drawn[:40]))
    assert rows.count() == 2 and page.errors == []


def test_the_text_becomes_the_prompt_as_often_as_one_asks(open_page):
    page = opened(open_page, "generation", "writing", "&model=stories-small&prompt=Once")
    prompts = ["Once"]
    for _ in range(2):
        page.get_by_role("button", name=WORDS.label("writing_end")).click()
        page.get_by_role("button", name=WORDS.label("writing_take")).click()
        page.wait_for_function("before => document.querySelector('.st-key-prompt textarea').value !== before",
                               arg=prompts[-1])
        settle(page)
        prompts.append(page.locator(".st-key-prompt textarea").input_value())
        assert prompts[-1].startswith(prompts[-2]) and len(prompts[-1]) > len(prompts[-2]) + 40
    assert page.errors == []


def test_a_future_is_picked_with_the_mouse_and_the_keys(open_page):
    page = opened(open_page, "generation", "futures")
    page.locator(".futures-tree .future").first.click()
    assert (page.locator(".futures-tree .future.picked").count() == 1
            and "beginnings of 1 tokens" in page.locator(".head").text_content())
    page.locator(".tree").press("ArrowRight")
    page.wait_for_url(re.compile(r"generation_future=\d+\.\d+"))
    settle(page)
    assert "beginnings of 2 tokens" in page.locator(".head").text_content() and page.errors == []


def test_the_times_are_measured_at_the_press_of_a_button(open_page):
    page = opened(open_page, "generation", "cache", "&model=induction")
    assert page.locator(".st-key-generation_time").count() == 0
    page.get_by_role("button", name=WORDS.label("measure")).click()
    page.locator(".st-key-generation_time svg.marks, .st-key-generation_time canvas").first.wait_for(timeout=120_000)
    assert page.errors == []
