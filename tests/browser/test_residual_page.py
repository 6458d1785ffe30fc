"""The lesson "Residual stream" in a real Chromium: hover, keys and clicks in the grid, pictures that change in place, links."""
from __future__ import annotations

import re
from urllib.parse import urlsplit

import pytest

from core.ui import text
from tests.browser.pictures import cut_off, pictures
from tests.browser.serving import settle

WORDS = text.load("residual_stream")
VIEWS = {
    "norms": "", "turns": "residual_stream_measure=turn", "lens": "residual_stream_view=lens", "contributions": "residual_stream_view=contributions",
    "vector": "residual_stream_view=norm", "batch": "residual_stream_view=norm&residual_stream_norm_view=batch",
    "placement": "residual_stream_view=norm&residual_stream_norm_view=placement", "mlp": "residual_stream_view=mlp", "cut": "residual_stream_view=cut",
}
DRAWN = {
    "norms": ".residual-norms .profile", "turns": ".residual-grid canvas", "lens": ".residual-grid canvas", "contributions": ".st-key-residual_stream_waterfall",
    "vector": ".st-key-residual_stream_vector_after", "batch": ".st-key-residual_stream_matrix_tokens", "placement": ".st-key-residual_stream_placement",
    "mlp": ".st-key-residual_stream_neurons", "cut": ".st-key-residual_stream_cut_lines",
}
RESTING = 700      # ms: a drawn chart has come to rest


def rest(page, view: str) -> None:
    """Until the last picture of the view stands."""
    settle(page)
    place = page.locator(DRAWN[view])
    (place if "canvas" in DRAWN[view] or "profile" in DRAWN[view] else place.locator("canvas, svg.marks")).first.wait_for(timeout=60_000)
    page.wait_for_timeout(RESTING)


def drawings(page) -> list[str]:
    return page.locator(".grid canvas, .profile").evaluate_all("canvases => canvases.map(canvas => canvas.toDataURL())")


def opened(open_page, view: str, **options):
    page = open_page(f"residual_stream?{VIEWS[view]}", **options)
    rest(page, view)
    return page


@pytest.mark.parametrize("view, dark", [*((view, False) for view in VIEWS), ("norms", True)])
def test_every_view_draws_without_an_error(open_page, view, dark):
    page = opened(open_page, view, dark=dark)
    assert page.errors == [] and page.get_by_test_id("stAlertContentError").count() == 0
    assert pictures(page)


@pytest.mark.parametrize("view", VIEWS)
def test_every_view_is_whole_on_a_phone(open_page, view):
    page = opened(open_page, view, width=390, height=844)
    assert page.evaluate("document.scrollingElement.scrollWidth") <= 390
    assert cut_off(page) == []


@pytest.mark.parametrize("view", ["norms", "turns", "lens", "contributions", "cut"])
def test_the_whole_picture_is_on_the_first_screen_of_a_projector(open_page, view):
    page = opened(open_page, view, width=1280, height=720)
    notice = page.get_by_test_id("stAlertContainer")
    spare = notice.first.bounding_box()["height"] + 12 if notice.count() else 0      # a model without training says so on top
    box = page.locator(DRAWN[view]).bounding_box()
    assert box["y"] + box["height"] - spare <= 720


@pytest.mark.parametrize("view", VIEWS)
def test_present_mode_shows_the_whole_picture_above_its_bar(open_page, view):
    page = open_page(f"residual_stream?{VIEWS[view]}&present=true", width=1280, height=720)
    rest(page, view)
    box = page.locator(DRAWN[view]).bounding_box()
    assert box["y"] + box["height"] <= page.locator(".st-key-try_step").bounding_box()["y"]


def test_a_clicked_bar_of_the_waterfall_picks_its_head(open_page):
    page = opened(open_page, "contributions")
    box = page.locator(DRAWN["contributions"]).locator("canvas, svg.marks").first.bounding_box()
    page.mouse.click(box["x"] + 0.72 * box["width"], box["y"] + 0.8 * box["height"])       # under the bars of block 4: a column is as high as the picture
    page.wait_for_url(re.compile(r"layer=4&head=\d"))
    settle(page)
    assert page.errors == []


def test_hover_reads_a_cell_and_its_lines(open_page):
    page = opened(open_page, "norms")
    before = pictures(page)
    box = page.locator(".residual-norms canvas").first.bounding_box()
    page.mouse.move(box["x"] + 0.4 * box["width"], box["y"] + 0.6 * box["height"])
    tip = page.locator(".residual-norms .tip")
    tip.wait_for()
    assert re.search(r"‖x‖ = [\d.]+", tip.text_content())
    changed = [old != new for old, new in zip(before, pictures(page))]
    assert sum(changed) == 2, "the grid and the lines both follow the hand, and nothing else does"
    page.mouse.move(box["x"] + 0.4 * box["width"], box["y"] - 40)
    assert not tip.is_visible()


def test_hover_over_the_lines_shows_the_cell(open_page):
    page = opened(open_page, "norms")
    box = page.locator(".residual-norms .profile").bounding_box()
    page.mouse.move(box["x"] + 0.4 * box["width"], box["y"] + 0.5 * box["height"])
    page.locator(".residual-norms .tip").wait_for()


@pytest.mark.parametrize("view", ["norms", "lens"])
def test_a_click_picks_for_python_and_the_link_gives_the_same_picture(open_page, view):
    page = open_page(f"residual_stream?prompt=The cat sat on the mat.&{VIEWS[view]}")      # short: nothing to scroll sideways
    rest(page, view)
    box = page.locator(".grid canvas").bounding_box()
    page.mouse.click(box["x"] + 0.6 * box["width"], box["y"] + 0.5 * box["height"])
    page.wait_for_url("**position=*")
    page.mouse.move(5, 5)
    rest(page, view)
    assert "residual_stream_depth=" in page.url and "layer=" in page.url
    other = open_page("residual_stream?" + urlsplit(page.url).query)
    rest(other, view)
    assert drawings(other) == drawings(page)


def test_arrow_keys_walk_the_grid(open_page):
    page = opened(open_page, "norms")
    page.locator(".residual-norms .scroller").focus()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowUp")
    page.wait_for_url("**residual_stream_depth=*")
    settle(page)
    assert page.locator(".residual-norms .spoken").text_content().strip()
    assert "position=" in page.url


@pytest.mark.parametrize("view, chart", [("contributions", "waterfall"), ("mlp", "neurons"), ("vector", "vector_after"), ("cut", "cut_tokens")])
def test_a_slider_changes_the_chart_in_place(open_page, view, chart):
    page = opened(open_page, view)
    drawing = page.locator(f".st-key-residual_stream_{chart} canvas, .st-key-residual_stream_{chart} svg.marks").first
    drawing.evaluate("node => { node.kept = true; }")
    before = pictures(page)
    page.get_by_role("slider", name=WORDS.label("token_slider")).press("ArrowLeft")
    rest(page, view)
    assert pictures(page) != before
    assert drawing.evaluate("node => node.kept === true"), "the chart was mounted anew"
