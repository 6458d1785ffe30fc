"""A fragment that is asked for again while what it has drawn still waits to be sent: the page shows the last of it."""
from __future__ import annotations

import pytest

from tests.browser.serving import ROOT, serve, settle


@pytest.mark.parametrize("waits", ["the same as before", "a fragment inside it"])
def test_the_page_shows_what_was_drawn_last(browser, waits):
    with serve(ROOT / "tests" / "browser" / "apps" / "asked_again.py") as server:
        page, errors = browser.new_page(), []
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(f"{server.url}/?waits={waits}")
        settle(page)
        page.get_by_role("button", name="Ask").click()
        page.get_by_text("Asked again.").wait_for()
        page.close()
    assert errors == []
