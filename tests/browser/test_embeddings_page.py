"""The lesson "Embeddings" in a real Chromium: every view is drawn and whole, a click picks, the map moves and keeps its points, links."""
from __future__ import annotations

import pytest

from tests.browser.pictures import cut_off, pictures
from tests.browser.serving import settle

DRAWN = {"product": ".product canvas", "neighbours": ".st-key-embeddings_spread", "map": ".st-key-embeddings_map .nsewdrag", "contexts": ".st-key-embeddings_alike",
         "arithmetic": ".st-key-embeddings_verdict"}
RESTING = 900      # ms: a drawn chart has come to rest

# Where token i of the map stands on the page, in pixels.
PLACE = """(i) => {
  const graph = document.querySelector(".js-plotly-plot"), { xaxis, yaxis } = graph._fullLayout, { x, y } = graph._fullData[0];
  const box = graph.querySelector(".nsewdrag").getBoundingClientRect();
  return [box.left + xaxis.d2p(x[i]), box.top + yaxis.d2p(y[i])];
}"""


def opened(open_page, view: str, query: str = "", **options):
    page = open_page(f"embeddings?embeddings_view={view}{query}", **options)
    settle(page)
    place = page.locator(DRAWN[view])
    (place.locator("canvas, svg.marks") if "st-key" in DRAWN[view] and view != "map" else place).first.wait_for(timeout=60_000)
    page.wait_for_timeout(RESTING)
    return page


@pytest.mark.parametrize("view, dark", [*((view, False) for view in DRAWN), ("product", True)])
def test_every_view_draws_without_an_error(open_page, view, dark):
    page = opened(open_page, view, dark=dark)
    assert page.errors == [] and page.get_by_test_id("stAlertContentError").count() == 0
    assert pictures(page)


@pytest.mark.parametrize("view", DRAWN)
def test_every_view_is_whole_on_a_phone(open_page, view):
    page = opened(open_page, view, width=390, height=844)
    assert page.evaluate("document.scrollingElement.scrollWidth") <= 390
    assert cut_off(page) == []


@pytest.mark.parametrize("view", DRAWN)
def test_the_whole_picture_is_on_the_first_screen_of_a_projector(open_page, view):
    page = opened(open_page, view, width=1280, height=720)
    notice = page.get_by_test_id("stAlertContainer")
    spare = notice.first.bounding_box()["height"] + 12 if notice.count() else 0      # a model without training says so on top
    box = page.locator(DRAWN[view]).first.bounding_box()
    assert box["y"] + box["height"] - spare <= 720


@pytest.mark.parametrize("view", DRAWN)
def test_present_mode_shows_the_whole_picture_above_its_bar(open_page, view):
    page = opened(open_page, view, "&present=true", width=1280, height=720)
    box = page.locator(DRAWN[view]).first.bounding_box()
    assert box["y"] + box["height"] <= page.locator(".st-key-try_step").bounding_box()["y"]


def test_a_row_is_picked_by_click_and_by_arrow_keys(open_page):
    page = opened(open_page, "product", "&prompt=The cat sat on the mat")
    box = page.locator(DRAWN["product"]).bounding_box()
    page.mouse.click(box["x"] + 0.1 * box["width"], box["y"] + 60)
    page.wait_for_url("**position=*")
    at = int(page.url.split("position=")[1].split("&")[0])
    page.locator(".product .stage").focus()
    page.keyboard.press("ArrowDown")
    page.wait_for_url(f"**position={at + 1}*")
    assert page.errors == []


def test_hover_reads_an_entry_of_E(open_page):
    page = opened(open_page, "product")
    box = page.locator(DRAWN["product"]).bounding_box()
    page.mouse.move(box["x"] + 0.55 * box["width"], box["y"] + 0.5 * box["height"])
    page.locator(".product .tip").wait_for()
    assert "E, row" in page.locator(".product .tip").text_content()


def test_a_neighbour_that_is_clicked_becomes_the_word(open_page):
    page = opened(open_page, "neighbours")
    box = page.locator(".st-key-embeddings_neighbours").locator("canvas, svg.marks").first.bounding_box()
    page.mouse.click(box["x"] + 0.5 * box["width"], box["y"] + 0.2 * box["height"])
    page.wait_for_url("**embeddings_word=*")
    settle(page)
    assert page.errors == []


def test_the_map_names_a_point_under_the_hand_and_a_click_makes_it_the_word(open_page):
    page = opened(open_page, "map")
    token_id = page.evaluate("() => { const { x } = document.querySelector('.js-plotly-plot')._fullData[0]; return x.indexOf(Math.min(...x)); }")
    x, y = page.evaluate(PLACE, token_id)
    page.mouse.move(x, y)
    page.wait_for_function("id => document.querySelector('.hoverlayer').textContent.endsWith(String(id))", arg=token_id)
    page.mouse.click(x, y)
    page.wait_for_url("**embeddings_word=*")
    settle(page)
    assert page.errors == []


def test_a_failed_analogy_can_be_clicked(open_page):
    page = opened(open_page, "arithmetic")
    box = page.locator(DRAWN["arithmetic"]).locator("canvas, svg.marks").first.bounding_box()
    page.mouse.click(box["x"] + 0.7 * box["width"], box["y"] + 0.4 * box["height"])
    page.wait_for_url("**embeddings_a=*")
    settle(page)
    other = opened(open_page, "arithmetic", "&" + page.url.split("?")[1].replace("embeddings_view=arithmetic&", ""))
    assert pictures(other) == pictures(page)
