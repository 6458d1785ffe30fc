"""The lesson "Generation" in a real Chromium: a text is written and taken back, a branch taken by hand and left, a
future picked, times measured.
"""
from __future__ import annotations

import re
from urllib.parse import quote, urlsplit

from playwright.sync_api import expect

from core.base import prose
from tests.browser.pictures import comes, starting
from tests.browser.serving import rest, settle
from tests.browser.views import opened

WORDS = prose.load("generation")


def test_writing_steps_plays_and_the_link_says_where_it_stands(open_page):
    page = opened(open_page, "generation", "writing", "&generation_written=0")
    tokens, title = page.locator(".written-text .token:not(.plain)"), page.locator(".generation_writing .title")
    expect(tokens).to_have_count(0)
    expect(title).to_have_text(WORDS.label("writing_begin"))
    bars = page.locator(".written-bars")        # the distribution, not yet what is drawn from it
    expect(bars.locator(".row").nth(3)).to_be_attached()
    expect(bars.locator(".die, .choosable")).to_have_count(0)
    expect(bars).not_to_contain_text("ξ")
    page.get_by_role("button", name=WORDS.label("writing_forward")).click()
    page.get_by_role("slider", name=WORDS.label("writing_slider")).press("ArrowRight")
    expect(tokens).to_have_count(2)
    page.get_by_role("button", name=WORDS.label("writing_end")).click()
    page.get_by_role("button", name=WORDS.label("writing_back")).click()
    expect(tokens).to_have_count(39)
    expect(title).to_have_text(starting("Token 39 of 40"))
    page.wait_for_url(re.compile("generation_written=39(&|$)"))
    settle(page)
    other = open_page("generation?" + urlsplit(page.url).query)
    other.locator(".written-bars .row").first.wait_for()
    texts = [tab.locator(".written-text") for tab in (page, other)]
    assert comes(page, lambda: texts[0].inner_html() == texts[1].inner_html())
    page.get_by_role("button", name=WORDS.label("writing_play")).click()
    tokens.nth(39).wait_for()
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
    rows.nth(1).wait_for()
    settle(page)
    expect(rows).to_have_count(2)
    expect(page.locator(".written-text .token.hand")).to_have_count(1)
    expect(page.locator(".generation_writing .text")).to_be_focused()
    rows.nth(0).click()
    page.wait_for_url(lambda url: "generation_branch=1" not in url)
    settle(page)
    expect(page.locator(".written-text .token.hand")).to_have_count(0)
    expect(page.locator(".written-text")).to_have_text(starting(drawn[:40]))
    expect(rows).to_have_count(2)
    assert page.errors == []


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
    expect(page.locator(".futures-tree .future.picked")).to_have_count(1)
    expect(page.locator(".head")).to_contain_text("beginnings of 1 tokens")
    page.locator(".tree").press("ArrowRight")
    page.wait_for_url(re.compile(r"generation_future=\d+\.\d+"))
    settle(page)
    expect(page.locator(".head")).to_contain_text("beginnings of 2 tokens")
    assert page.errors == []


def test_the_times_are_measured_at_the_press_of_a_button(open_page):
    page = opened(open_page, "generation", "cache", "&model=induction")
    expect(page.locator(".st-key-generation_time")).to_have_count(0)
    page.get_by_role("button", name=WORDS.label("measure")).click()
    page.locator(".st-key-generation_time svg.marks, .st-key-generation_time canvas").first.wait_for()
    assert page.errors == []


def test_a_projector_shows_greedy_and_a_drawn_text_from_end_to_end(open_page):
    """The step of a class that asks what becomes of a greedy text: it goes in circles, above the bar."""
    page = opened(open_page, "generation", "strategies", "&model=stories-small&seed=1&present=true&class=7"
                  "&class_revealed=7&prompt=The%20sun%20was%20hot.%20The%20ice%20cream%20started%20to", width=1280,
                  height=720)
    tokens = page.locator("svg.strategies .token")
    expect(tokens).to_have_count(80)
    rest(page)
    assert tokens.evaluate_all("nodes => nodes.filter((node) => node.matches('.again')).length") > 25
    picture, bar = (page.locator(part).bounding_box() for part in ("svg.strategies", ".st-key-class_bar"))
    assert picture["y"] + picture["height"] <= bar["y"]
