"""A hand that is faster than the page: what it asks for while another answer is on its way never leaves the browser
with nothing to show.
"""
from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.serving import go_to, settle

# Moves a slider of the page and follows a stage of the strip so many milliseconds later; the slider's own word to the
# server, 120 ms after the hand, then comes while the new page is drawn.
SLIDE_AND_GO = """(milliseconds) => {
  const roots = [...document.querySelectorAll("*")].map((e) => e.shadowRoot).filter(Boolean), all = (selector) =>
      roots.flatMap((root) => [...root.querySelectorAll(selector)]);
  const [slider] = all(".instrument input[type=range]");
  slider.value = Number(slider.value) + 3;
  for (const name of ["input", "change"]) slider.dispatchEvent(new Event(name, { bubbles: true }));
  setTimeout(() => all("a.stage").find((stage) => stage.textContent.trim() === "stream").click(), milliseconds);
}"""


@pytest.mark.parametrize("milliseconds", [84, 90, 96, 102, 108])
def test_a_link_is_followed_while_a_slider_still_speaks(open_page, milliseconds):
    page = open_page("positions?positions_view=waves&present=true")
    page.evaluate(SLIDE_AND_GO, milliseconds)
    page.wait_for_url("**/residual_stream?**")
    page.wait_for_timeout(600)
    settle(page)
    expect(page.locator(".residual-lens canvas")).to_have_count(1)
    assert page.errors == []


def test_the_history_is_followed_while_a_prompt_of_its_last_entry_is_on_its_way(open_page, server):
    page = open_page("positions?positions_view=waves")
    for milliseconds in range(10, 60, 5):
        go_to(page, f"{server.url}/overview?prompt=Mia%20likes%20apples.")
        settle(page)
        go_to(page, f"{server.url}/overview?prompt=Mia%20likes%20pears.")
        page.wait_for_timeout(milliseconds)
        go_to(page, f"{server.url}/positions?positions_view=biases")
        page.locator(".st-key-positions_stage .instrument").wait_for()
        settle(page)
    assert page.errors == []
