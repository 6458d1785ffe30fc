"""The lesson "Residual stream" in a real Chromium: hover, keys and clicks in the grid, pictures that change
in place, links.
"""
from __future__ import annotations

import re
from urllib.parse import urlencode, urlsplit

from playwright.sync_api import Page, expect

from core.base import prose
from tests.browser.pictures import comes, pictures
from tests.browser.serving import go_to, pick, rest, settle
from tests.browser.views import LESSONS, address, opened, reach, stand

WORDS = prose.load("residual_stream")

def drawings(page) -> list[str]:
    return page.locator(".grid canvas, .profile").evaluate_all("canvases => canvases.map(canvas => canvas.toDataURL())")


def a_clicked_bar_of_the_waterfall_picks_its_head(page: Page) -> None:
    box = (page.locator(LESSONS["residual_stream"]["contributions"].end)
           .locator("canvas, svg.marks").first.bounding_box())
    # under the bars of block 4: a column is as high as the picture
    page.mouse.click(box["x"] + 0.72 * box["width"], box["y"] + 0.8 * box["height"])
    page.wait_for_url(re.compile(r"layer=4&head=\d"))
    settle(page)


def a_chart_whose_values_change_moves_its_marks_and_is_not_built_anew(page: Page) -> None:
    marks = page.locator(".st-key-residual_stream_vector_standard svg.marks")
    before = marks.evaluate("(svg) => (svg.mine = true, svg.innerHTML)")
    page.locator(".st-key-residual_stream_norm_where_widget input").click()
    page.get_by_role("option", selected=False).first.click()
    page.wait_for_url("**norm_where=*")
    settle(page)
    rest(page)
    assert marks.evaluate("(svg) => svg.mine") and marks.inner_html() != before


def go_there(page: Page, name: str, query: str) -> None:
    """To another of the lesson's views, or the same with other settings, until its picture stands."""
    view = LESSONS["residual_stream"][name]
    settings = urlencode(address("residual_stream", name))
    go_to(page, f"{page.url.partition('?')[0]}?{settings}{query}")
    if "present=true" in query:
        expect(page.locator("[class*=st-key-try_menu_]")).to_have_count(0)
    settle(page)
    stand(page, view)


def test_the_norms_answer_hand_and_keys_and_their_names_are_whole(open_page):
    page = opened(open_page, "residual_stream", "norms")
    hover_over_a_cell_or_the_lines_reads_the_cell(page)
    arrow_keys_walk_the_grid(page)
    the_names_at_the_lines_ends_are_whole(page, (1440, 1024, 390))
    page.set_viewport_size({"width": 1280, "height": 900})
    rest(page)
    a_shorter_text_leaves_no_hand_on_a_token_that_is_gone(page)
    go_there(page, "norms", "&present=true")
    the_names_at_the_lines_ends_are_whole(page, (1280,))
    assert page.errors == []


def the_names_at_the_lines_ends_are_whole(page: Page, widths: tuple[int, ...]) -> None:
    for width in widths:
        page.set_viewport_size({"width": width, "height": 800})
        rest(page)
        ink = page.locator(".profile").evaluate("canvas => Array.from(canvas.getContext('2d').getImageData("
                                                "canvas.width - 2, 0, 2, canvas.height).data).some((value, at) => "
                                                "at % 4 === 3 && value)")
        assert not ink and page.errors == [], width


def a_shorter_text_leaves_no_hand_on_a_token_that_is_gone(page: Page) -> None:
    box = page.locator(".residual-norms canvas").first.bounding_box()
    page.mouse.move(box["x"] + 0.4 * box["width"], box["y"] + 0.6 * box["height"])
    page.locator(".residual-norms .tip").wait_for()
    page.locator(".st-key-prompt textarea").fill("Mia likes")
    page.keyboard.press("Control+Enter")
    page.wait_for_url(re.compile("prompt=Mia"))
    settle(page)
    expect(page.locator(".residual-norms .tip")).not_to_be_visible()


def hover_over_a_cell_or_the_lines_reads_the_cell(page: Page) -> None:
    before = pictures(page)
    box = page.locator(".residual-norms canvas").first.bounding_box()
    page.mouse.move(box["x"] + 0.4 * box["width"], box["y"] + 0.6 * box["height"])
    tip = page.locator(".residual-norms .tip")
    tip.wait_for()
    expect(tip).to_have_text(re.compile(r"‖x‖ = [\d.]+"))
    changed = lambda: sum(old != new for old, new in zip(before, pictures(page), strict=True))  # noqa: E731
    assert comes(page, lambda: changed() == 2), "the grid and the lines both follow the hand, and nothing else does"
    page.mouse.move(box["x"] + 0.4 * box["width"], box["y"] - 40)
    expect(tip).not_to_be_visible()
    box = page.locator(".residual-norms .profile").bounding_box()
    page.mouse.move(box["x"] + 0.4 * box["width"], box["y"] + 0.5 * box["height"])
    tip.wait_for()


SHORT = "&prompt=The cat sat on the mat."        # nothing to scroll sideways


def test_a_click_picks_for_python_and_the_link_gives_the_same_picture(open_page):
    """A new reader, and one who is there already."""
    page = opened(open_page, "residual_stream", "norms", SHORT)
    a_click_picks(page, "norms")
    other = open_page("residual_stream?" + urlsplit(page.url).query)
    stand(other, LESSONS["residual_stream"]["norms"])
    assert comes(page, lambda: drawings(other) == drawings(page))
    go_there(page, "lens", SHORT)
    a_click_picks(page, "lens")
    go_to(other, page.url)
    settle(other)
    stand(other, LESSONS["residual_stream"]["lens"])
    assert comes(page, lambda: drawings(other) == drawings(page))
    assert page.errors == other.errors == []


def a_click_picks(page: Page, view: str) -> None:
    box = page.locator(".grid canvas").bounding_box()
    page.mouse.click(box["x"] + 0.6 * box["width"], box["y"] + 0.5 * box["height"])
    page.wait_for_url("**position=*")
    page.mouse.move(5, 5)
    settle(page)
    stand(page, LESSONS["residual_stream"][view])
    for name in ("layer=", {"norms": "stream_row=", "lens": "stream_depth="}[view]):
        expect(page).to_have_url(re.compile(name))


def arrow_keys_walk_the_grid(page: Page) -> None:
    page.locator(".residual-norms .scroller").focus()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowUp")
    page.wait_for_url("**residual_stream_row=*")
    settle(page)
    expect(page.locator(".residual-norms .spoken")).not_to_be_empty()
    expect(page).to_have_url(re.compile("position="))


def test_the_lens_follows_the_hand_before_it_lets_go_and_the_page_afterwards(open_page):
    page = opened(open_page, "residual_stream", "lens", "&residual_stream_depth=6")
    slider, title, guesses = (page.locator(".residual-lens input"), page.locator(".residual-lens .title"),
                              page.locator(".guesses li"))
    formulas, url, box = page.locator(".st-key-lesson_numbers").inner_text(), page.url, slider.bounding_box()
    before, grid = (title.inner_text(), guesses.all_inner_texts()), drawings(page)
    page.mouse.move(box["x"] + box["width"] - 4, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + box["height"] / 2, steps=4)
    expect(slider).to_have_value("3")
    expect(title).not_to_have_text(before[0], use_inner_text=True)
    expect(guesses).not_to_have_text(before[1], use_inner_text=True)
    assert comes(page, lambda: drawings(page) != grid)
    expect(guesses.first.locator("code")).to_have_text(title.locator(".chip").first.inner_text(), use_inner_text=True)
    expect(title).to_contain_text(guesses.first.locator("output").inner_text(), use_inner_text=True)
    assert page.url == url
    expect(page.locator(".st-key-lesson_numbers")).to_have_text(formulas, use_inner_text=True)
    held = title.inner_text(), guesses.all_inner_texts(), drawings(page)
    page.mouse.up()
    page.wait_for_url("**residual_stream_depth=3*")
    settle(page)
    assert comes(page, lambda: (title.inner_text(), guesses.all_inner_texts(), drawings(page)) == held)
    expect(page.locator(".st-key-lesson_numbers")).not_to_have_text(formulas, use_inner_text=True)
    assert page.errors == []


# each view's picture that stays the same element
STAYING = {"contributions": ".st-key-residual_stream_waterfall :is(canvas, svg.marks)",
           "norm": ".st-key-residual_stream_vector_after :is(canvas, svg.marks)",
           "cut": ".st-key-residual_stream_cut_tokens :is(canvas, svg.marks)", "mlp": ".neurons-bars"}


# what else is done in a view once another token is picked
THERE = {"contributions": a_clicked_bar_of_the_waterfall_picks_its_head,
         "norm": a_chart_whose_values_change_moves_its_marks_and_is_not_built_anew}


def test_another_token_changes_the_pictures_in_place_and_so_do_a_clicked_bar_and_another_norm(open_page):
    page = open_page("residual_stream")
    for position, (name, picture) in enumerate(STAYING.items(), 3):
        view, drawing, address = reach(page, "residual_stream", name), page.locator(picture).first, page.url
        drawing.evaluate("node => { node.kept = true; }")
        before = pictures(page)
        pick(page.locator("[class*=residual_stream_pick_position]"), f"{position} ")
        page.wait_for_function("before => location.href !== before", arg=address)
        settle(page)
        stand(page, view)
        assert comes(page, lambda before=before: pictures(page) != before) and page.errors == [], name
        assert drawing.evaluate("node => node.kept === true"), f"{name}: the picture was mounted anew"
        if name in THERE:
            THERE[name](page)
    assert page.errors == []


def test_a_neuron_is_read_by_hand_and_keys_and_nothing_said_of_one_is_cut(open_page):
    page = opened(open_page, "residual_stream", "mlp")
    the_hand_and_the_keys_read_a_neuron_in_both_pictures_and_a_click_keeps_it(page)
    no_token_that_a_neuron_promotes_is_cut(page, (1440, 390), 12)
    page.set_viewport_size({"width": 1280, "height": 720})
    go_there(page, "mlp", "&present=true")
    no_token_that_a_neuron_promotes_is_cut(page, (1280,), 4)
    what_is_read_of_a_neuron_is_whole(page)
    assert page.errors == []


def the_hand_and_the_keys_read_a_neuron_in_both_pictures_and_a_click_keeps_it(page: Page) -> None:
    said, dot, bars = (page.locator(".residual_neurons .read"), page.locator(".neurons-curve .dot"),
                       page.locator(".neurons-bars"))
    strongest, place = said.inner_text(), dot.get_attribute("cx")
    box = bars.bounding_box()
    at = (box["x"] + 0.35 * box["width"], box["y"] + 0.5 * box["height"])
    page.mouse.move(*at)
    expect(said).not_to_have_text(strongest, use_inner_text=True)
    expect(dot).not_to_have_attribute("cx", place)
    held = said.inner_text()
    neuron = re.match(r"Neuron (\d+)", held)[1]
    page.mouse.move(5, 5)
    expect(said).to_have_text(strongest, use_inner_text=True)
    expect(dot).to_have_attribute("cx", place)
    page.mouse.click(*at)
    page.wait_for_url(f"**residual_stream_neuron={neuron}*")
    settle(page)
    page.mouse.move(5, 5)
    expect(said).to_have_text(held, use_inner_text=True)
    expect(page.locator(".neurons-table tbody button").first).to_have_text(neuron, use_inner_text=True)
    expect(page.locator(".neurons-table [aria-pressed=true]")).to_have_count(1)
    bars.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    expect(said).to_have_text(re.compile(rf"^Neuron {int(neuron) + 1}\b"), use_inner_text=True)
    page.locator(".neurons-table tbody button").first.press("Enter")          # once more lets it go
    page.wait_for_function("() => !location.search.includes('residual_stream_neuron')")
    settle(page)
    expect(said).to_have_text(strongest, use_inner_text=True)


def no_token_that_a_neuron_promotes_is_cut(page: Page, widths: tuple[int, ...], least: int) -> None:
    for width in widths:
        page.set_viewport_size({"width": width, "height": 720})
        rest(page)
        cut = page.locator(".neurons-table td").evaluate_all(
            "cells => cells.map(cell => [...cell.children].filter(one => !one.hidden && "
            "one.getBoundingClientRect().right > cell.getBoundingClientRect().right + 1).length)")
        assert len(cut) >= least and not any(cut), width


def what_is_read_of_a_neuron_is_whole(page: Page) -> None:
    read = page.locator(".neurons .read, .read").first
    expect(read).to_have_text(re.compile(r"^Neuron \d+: input z = .*, activation a = [−\d.]+$"))
    assert read.evaluate("(line) => line.scrollWidth <= line.clientWidth")
