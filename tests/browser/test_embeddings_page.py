"""The lesson "Embeddings" in a real Chromium: every view is drawn and whole, a click picks, the map moves and keeps its
points, links.
"""
from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from tests.browser.pictures import come_alike
from tests.browser.serving import settle
from tests.browser.views import LESSONS, opened

# The token that stands leftmost on the map, and where that is on the page, in pixels.
LEFTMOST = """() => {
  const graph = document.querySelector(".js-plotly-plot"), { xaxis, yaxis } = graph._fullLayout,
      box = graph.querySelector(".nsewdrag").getBoundingClientRect();
  const points = graph._fullData.flatMap((trace) => Array.from(trace.x, (x, i) => [trace.customdata[i], x,
      trace.y[i]]));
  const [id, x, y] = points.reduce((one, other) => (other[1] < one[1] ? other : one));
  return [id, box.left + xaxis.d2p(x), box.top + yaxis.d2p(y)];
}"""


def test_a_row_is_picked_by_click_and_by_arrow_keys(open_page):
    page = opened(open_page, "embeddings", "product", "&prompt=The cat sat on the mat")
    box = page.locator(LESSONS["embeddings"]["product"].end).bounding_box()
    page.mouse.click(box["x"] + 0.1 * box["width"], box["y"] + 60)
    page.wait_for_url("**position=*")
    at = int(page.url.split("position=")[1].split("&")[0])
    page.locator(".product .stage").focus()
    page.keyboard.press("ArrowDown")
    page.wait_for_url(f"**position={at + 1}*")
    assert page.errors == []


def test_hover_reads_an_entry_of_E(open_page):
    page = opened(open_page, "embeddings", "product")
    box = page.locator(LESSONS["embeddings"]["product"].end).bounding_box()
    page.mouse.move(box["x"] + 0.55 * box["width"], box["y"] + 0.5 * box["height"])
    page.locator(".product .tip").wait_for()
    expect(page.locator(".product .tip")).to_contain_text("E, row")


def test_a_phone_shows_the_whole_product(open_page):
    page = open_page("embeddings?embeddings_view=product&prompt=The cat sat on the mat", width=390)
    canvas = page.locator(LESSONS["embeddings"]["product"].end)
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    assert box["x"] >= 0 and box["x"] + box["width"] <= 390
    page.mouse.move(box["x"] + 0.45 * box["width"], box["y"] + 0.75 * box["height"])
    expect(page.locator(".product .tip")).to_contain_text("E, row")
    page.mouse.click(box["x"] + 0.9 * box["width"], box["y"] + box["height"] / 2 + 44)      # the first row of X
    page.wait_for_url("**position=0*")
    page.mouse.click(box["x"] + 0.9 * box["width"], box["y"] + 100)                          # a row of the tokens
    page.wait_for_url(re.compile("position=[1-9]"))
    assert page.errors == []


def picked_by_keys(page: Page, place: str, *keys: str) -> list[str]:
    """The words of the chart in `place`, a CSS selector, after each key; Enter then picks, and the focus stays where it
    was.
    """
    chart, before, said = page.locator(f"{place} .chart-keys"), page.url, []
    chart.focus()
    for key in keys:
        page.keyboard.press(key)
        said.append(chart.get_by_role("status").inner_text())
    page.keyboard.press("Enter")
    page.wait_for_url(lambda url: url != before)
    settle(page)
    expect(chart).to_be_focused()          # waited for: the new chart takes the focus over when it is mounted
    expect(chart).to_have_attribute("aria-label", re.compile("."))
    return said


def test_a_neighbour_that_is_clicked_or_reached_by_keys_becomes_the_word(open_page):
    page = opened(open_page, "embeddings", "neighbours")
    box = page.locator(".st-key-embeddings_neighbours").locator("canvas, svg.marks").first.bounding_box()
    page.mouse.click(box["x"] + 0.5 * box["width"], box["y"] + 0.2 * box["height"])
    page.wait_for_url("**embeddings_word=*")
    settle(page)
    first, second = picked_by_keys(page, ".st-key-embeddings_neighbours", "ArrowRight", "ArrowDown")
    assert "# 1," in first and "# 2," in second
    word = page.locator(".st-key-embeddings_word_widget input, .st-key-embeddings_word input").first
    expect(word).to_have_value(second.split(",")[0].lstrip("·"))
    assert page.errors == []


def test_the_map_names_a_point_under_the_hand_and_a_click_makes_it_the_word(open_page):
    page = opened(open_page, "embeddings", "map")
    token_id, x, y = page.evaluate(LEFTMOST)
    page.mouse.move(x, y)
    page.wait_for_function("id => document.querySelector('.hoverlayer').textContent.endsWith(String(id))", arg=token_id)
    page.mouse.click(x, y)
    page.wait_for_url("**embeddings_word=*")
    settle(page)
    # the first key begins at the word
    own, other = picked_by_keys(page, ".st-key-embeddings_map", "ArrowLeft", "ArrowRight")
    assert own.endswith(f", {token_id}") and other != own
    assert page.errors == []


def test_a_failed_analogy_can_be_clicked(open_page):
    page = opened(open_page, "embeddings", "arithmetic")
    box = page.locator(LESSONS["embeddings"]["arithmetic"].end).locator("canvas, svg.marks").first.bounding_box()
    page.mouse.click(box["x"] + 0.7 * box["width"], box["y"] + 0.4 * box["height"])
    page.wait_for_url("**embeddings_a=*")
    settle(page)
    other = opened(open_page, "embeddings", "arithmetic",
                   "&" + page.url.split("?")[1].replace("embeddings_view=arithmetic&", ""))
    assert come_alike(page, other)
