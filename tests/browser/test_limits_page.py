"""The lesson "Limits" in a real Chromium: the threshold moves under the hand, a dot is picked, the link keeps both, and
nothing is HTML.
"""
from __future__ import annotations

import re
from urllib.parse import quote, urlsplit

from playwright.sync_api import expect

from tests.browser.pictures import comes
from tests.browser.serving import settle
from tests.browser.views import opened, reach


def counted(page) -> tuple[list[list[int]], list[int]]:
    """The four counts of each row, and what the sentence below makes of them: said, wrong, lost."""
    rows = [[int(n) for n in re.findall(r"(\d+) (?:right|wrong)", text)]
            for text in page.locator(".group .counts").all_text_contents()]
    said = re.search(r"on: (\d+) answers, (\d+) of them wrong .*; (\d+) right ones",
                     page.locator(".foot .verdict").text_content())
    return rows, [int(n) for n in said.groups()]


def test_the_threshold_moves_and_a_dot_is_picked(open_page):
    page = opened(open_page, "limits", "facts")
    before = counted(page)
    slider = page.locator(".foot input[type=range]")
    slider.focus()
    for _ in range(20):
        page.keyboard.press("ArrowLeft")
    rows, (said, wrong, lost) = counted(page)
    assert all(sum(row) == 88 for row in rows) and said > before[1][0]
    assert [said, wrong, lost] == [sum(row[0] + row[1] for row in rows), sum(row[1] for row in rows),
                                   sum(row[2] for row in rows)]
    expect(page.locator(".dot:not(.held)")).to_have_count(said)
    page.wait_for_url(re.compile("limits_threshold=0.5"))
    settle(page)
    page.locator(".group.untaught .dot").nth(30).dispatch_event("click")
    page.wait_for_url(re.compile("limits_relation="))
    settle(page)
    ask = page.locator(".group.untaught .ask").text_content()
    assert "Robinson" not in ask
    other = open_page("limits?" + urlsplit(page.url).query)
    other.locator(".facts-rows .dot").first.wait_for()
    rows = [tab.locator(".facts-rows") for tab in (page, other)]
    assert comes(page, lambda: rows[0].inner_html() == rows[1].inner_html())
    assert page.errors == [] == other.errors


def test_html_stays_text(open_page):
    bad = quote("<img src=x onerror=alert(1)> <b>bold</b>")
    page = opened(open_page, "limits", "facts", f"&prompt={bad}&limits_subject={bad}&limits_source=prompt")
    expect(page.locator(".group.invented .ask")).to_contain_text("<b>bold</b>")
    for view in ("facts", "memory", "calibration"):
        reach(page, "limits", view)
        expect(page.locator(".tokens-view img, .tokens-view b"), view).to_have_count(0)
    assert page.errors == []
