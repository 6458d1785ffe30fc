"""The search for elements cut off at a page's edge, on a page with one too wide."""
from __future__ import annotations

import pytest

from tests.browser.pictures import cut_off

# Adds a component of 2000 pixels to a place, in a box of its own with this style.
WIDEN = """([place, scroller]) => {
  const host = document.querySelector(place).appendChild(document.createElement("div"));
  host.style.width = "100%";
  host.attachShadow({mode: "open"}).innerHTML =
    `<div style="${scroller}"><div class="wide" style="width: 2000px; height: 20px">wide</div></div>`;
}"""
PLACES = ("[data-testid=stMainBlockContainer]", ".st-key-tokens_stage", ".st-key-lesson_numbers", ".st-key-lesson_code")


@pytest.mark.parametrize("place", PLACES)
def test_what_overhangs_streamlits_column_is_cut_off_and_what_scrolls_within_it_is_not(open_page, place):
    page = open_page("tokens", width=390, height=844)
    assert cut_off(page) == []
    page.evaluate(WIDEN, [place, "overflow-x: auto"])
    assert cut_off(page) == []
    page.evaluate(WIDEN, [place, ""])
    assert [line for line in cut_off(page) if line.startswith("DIV.wide")], place
