"""The cost of a first page: the app's own JavaScript in a browser that has nothing of it yet."""
from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.serving import prepare, rest, settle

MOST = 40_000       # bytes of all modules, compressed


@pytest.mark.parametrize("asks, shown", [("false", ".wall button.head.selected"), ("true", ".prediction .commit")])
def test_the_first_visit_of_heads_loads_little_javascript(browser, server, asks, shown):
    with browser.new_context(bypass_csp=True) as context:
        prepare(context)
        page, modules = context.new_page(), {}
        page.on("requestfinished", lambda request: modules.update({request.url: request.sizes()["responseBodySize"]}
                                                                  if f"{server.url}/js/" in request.url else {}))
        page.goto(f"{server.url}/heads?ask={asks}")
        settle(page)
        expect(page.locator(shown)).to_be_visible()
        rest(page)
    assert len(modules) > 20 and sum(modules.values()) <= MOST, modules
