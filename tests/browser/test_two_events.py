"""Two events at a time: all that they ask for is drawn."""
from __future__ import annotations

from tests.browser.serving import ROOT, serve, settle


def test_what_is_asked_for_while_another_callback_runs_is_drawn(browser):
    with serve(ROOT / "tests" / "browser" / "apps" / "two_events.py") as server:
        page = browser.new_page()
        page.goto(server.url)
        settle(page)
        for name in ("first", "second"):
            page.get_by_role("button", name=f"The {name}").click()
        for name in ("first", "second"):
            page.get_by_text(f"The {name} is asked for.").wait_for()
        page.close()


def test_an_event_whose_own_fragment_shows_it_is_drawn_beside_one_that_asks_for_another(browser):
    """Both wait for the same run."""
    with serve(ROOT / "tests" / "browser" / "apps" / "two_events.py") as server:
        page = browser.new_page()
        page.goto(server.url)
        settle(page)
        for name in ("Wait", "Keep", "The second"):
            page.get_by_role("button", name=name).click()
        page.get_by_text("The second is asked for.").wait_for()
        page.get_by_text("It is kept.").wait_for()
        page.close()
