"""The lesson Limits in a real Chromium: tokens are reached by keys and by a click, the link says which, an item is
picked and opens in Next token.
"""
from __future__ import annotations

import re
from urllib.parse import quote, urlsplit

from playwright.sync_api import expect

from core.base import prose
from tests.browser.pictures import comes
from tests.browser.serving import settle
from tests.browser.views import opened

WORDS = prose.load("limits")
PROMPT = quote("Lily had a red ball. One day, Lily lost her")


def test_tokens_are_reached_by_keys_and_the_link_gives_the_same_picture(open_page):
    page = opened(open_page, "limits", "inputs", f"&model=stories-small&limits_control=other&prompt={PROMPT}")
    columns, picked = page.locator(".limits_inputs .column"), page.locator(".limits_inputs .column.picked")
    last = columns.count() - 1
    columns.nth(3).click()
    page.wait_for_url(re.compile("limits_token=3(&|$)"))
    settle(page)
    picked.press("ArrowRight")
    page.wait_for_url(re.compile("limits_token=4(&|$)"))
    settle(page)
    expect(picked).to_have_attribute("data-token", "4")
    expect(page.locator(".limits_inputs .control")).to_have_count(5 * (last + 1))
    up, down = page.locator(".limits_inputs rect.up").count(), page.locator(".limits_inputs rect.down").count()
    assert up + down == 5 * (last + 1) and up and down
    other = open_page("limits?" + urlsplit(page.url).query)
    other.locator(".limits_inputs .column").first.wait_for()
    settle(other)
    one, two = (tab.locator(".inputs-picture") for tab in (page, other))
    assert comes(page, lambda: one.inner_html() == two.inner_html())
    assert page.errors == [] == other.errors


def test_an_item_is_picked_and_opens_in_next_token(open_page):
    page = opened(open_page, "limits", "meaning", "&model=stories-small&limits_n=20&limits_test=agreement")
    entries = page.locator(".limits_items .entry")
    expect(entries).to_have_count(20)
    asked = entries.nth(2).locator(".ask").text_content()
    entries.nth(2).click()
    page.wait_for_url(re.compile("limits_item=2(&|$)"))
    settle(page)
    link = page.locator('.st-key-limits_stage a[href*="next_token"]')
    expect(page.locator(".limits_items .entry.picked .ask")).to_have_text(asked)
    expect(link).to_have_attribute("href", re.compile(re.escape(quote(asked))))
    there = open_page(link.get_attribute("href").removeprefix("./"))
    settle(there)
    expect(there.locator(".st-key-prompt textarea")).to_have_value(asked)
    assert page.errors == [] == there.errors
