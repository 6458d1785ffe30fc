"""The lesson "Architectures" in a real Chromium: every view draws and is whole on narrow screens, a switch redraws the
block, times come when they are asked for, links give the same picture.
"""
from __future__ import annotations

import re
from urllib.parse import urlsplit

from playwright.sync_api import expect

from core.base import prose
from core.cost import sparse
from tests.browser.pictures import come_alike, cut_off
from tests.browser.serving import settle
from tests.browser.views import opened

WORDS = prose.load("architectures")


def test_the_widest_diagram_is_whole_on_a_phone(open_page):
    page = opened(open_page, "architectures", "design", "&architectures_design=first-base;norm_placement=sandwich",
                  width=390, height=844)
    assert page.evaluate("document.scrollingElement.scrollWidth") <= 390 and cut_off(page) == []


def test_a_switch_rewires_the_block_and_the_link_shows_it_again(open_page):
    page = opened(open_page, "architectures", "design")
    expect(page.locator(".design-diagram circle")).to_have_count(2)
    expect(page.locator(".design-diagram rect.changed")).to_have_count(0)
    page.get_by_role("combobox", name="Place of the norm").click()
    page.get_by_role("option", name="sandwich norm").click()
    page.get_by_text("pre-norm → sandwich norm").wait_for()
    settle(page)
    expect(page.locator(".design-diagram rect.changed")).to_have_count(4)
    other = open_page("architectures?" + urlsplit(page.url).query)
    assert come_alike(page, other) and page.errors == [] == other.errors


def test_the_table_of_norms_is_whole_on_a_tablet(open_page):
    page = open_page("architectures?architectures_view=norms", width=1024)
    assert page.locator(".norms-table").evaluate("(table) => [table.offsetWidth <= table.parentElement.clientWidth, "
                                                 "table.rows[1].cells.length]") == [True, 5]


def test_times_come_only_when_they_are_asked_for(open_page):
    page = opened(open_page, "architectures", "cost", "&architectures_width=16&architectures_window=16")
    expect(page.locator(".st-key-architectures_seconds")).to_have_count(0)
    page.get_by_role("button", name=WORDS.label("measure_now")).click()
    page.locator(".st-key-architectures_seconds canvas, .st-key-architectures_seconds svg.marks").first.wait_for()
    page.get_by_role("button", name=WORDS.label("measure_again")).wait_for()
    settle(page)
    expect(page.locator("body")).to_contain_text("Timed at", use_inner_text=True)
    assert page.errors == []


def test_the_patterns_follow_the_hand_and_the_page_follows_when_it_rests(open_page):
    page = opened(open_page, "architectures", "cost, patterns")
    hand, title = page.get_by_role("slider", name=WORDS.label("slider_near")), page.locator(".sparse .title")
    lines = page.locator(".sparse figure").nth(2).locator(".muted").first
    box, before, numbers = hand.bounding_box(), title.inner_text(), page.locator(".st-key-lesson_numbers").inner_text()
    page.mouse.move(box["x"] + box["width"] * 0.25, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.8, box["y"] + box["height"] / 2, steps=6)
    near = int(hand.input_value())
    kept = int(sparse.pattern_mask("window", 32, near).sum())
    assert near > 4
    expect(lines).to_contain_text(f"{kept} of 1,024 pairs")
    assert "architectures_near" not in page.url
    expect(page.locator(".st-key-lesson_numbers")).to_have_text(numbers, use_inner_text=True)
    expect(title).not_to_have_text(before, use_inner_text=True)
    page.mouse.up()
    expect(page).to_have_url(re.compile(f"architectures_near={near}(&|$)"))
    expect(page.locator(".st-key-lesson_numbers")).not_to_have_text(numbers)
    expect(lines).to_contain_text(f"{kept} of 1,024 pairs")
    expect(hand).to_have_value(str(near))
    assert page.errors == []


def test_two_hands_on_the_patterns_do_not_undo_each_other(open_page):
    page = opened(open_page, "architectures", "cost, patterns")
    length, drawn = (page.get_by_role("slider", name=WORDS.label(f"slider_{name}"), exact=True)
                     for name in ("length", "drawn"))
    length.focus()
    page.keyboard.press("ArrowLeft")
    drawn.focus()
    page.keyboard.press("ArrowRight")
    expect(page).to_have_url(re.compile("(?=.*architectures_length=31)(?=.*architectures_drawn=3)"))
    page.get_by_role("spinbutton").fill("2")      # the seed, which goes with what the hands ask
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("architectures_seed=2"))
    settle(page)
    length.focus()
    page.keyboard.press("ArrowLeft")
    expect(page).to_have_url(re.compile("architectures_length=30"))
    expect(length).to_have_value("30")
    expect(drawn).to_have_value("3")
    assert page.errors == []
    mask = sparse.pattern_mask("random", 30, n_random=3, seed=2)
    expect(page.locator(".sparse figure").nth(4).locator(".muted")).to_contain_text(
        [f"{int(mask.sum())} of 900 pairs", f"{int(sparse.layers_between(mask).max())} layers"])
