"""A run that ends while the server already has the page's next event in its hands: the page shows both."""
from __future__ import annotations

from tests.browser.serving import ROOT, serve, settle


def test_what_was_drawn_last_before_another_event_is_shown(browser):
    with serve(ROOT / "tests" / "browser" / "apps" / "last_messages.py") as server:
        page = browser.new_page()
        page.goto(server.url)
        settle(page)
        page.get_by_role("button", name="One").click()
        page.get_by_text("One has begun.").wait_for()
        page.get_by_role("button", name="Other").click()
        page.get_by_text("The other is drawn.").wait_for()
        page.get_by_text("One is drawn.").wait_for()
        page.close()
