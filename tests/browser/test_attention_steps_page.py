"""The steps, switches and averages of the lesson on attention in a real Chromium: they draw, they step, numbers open,
links give the same picture.
"""
from __future__ import annotations

import re
from urllib.parse import unquote, urlsplit

import pytest
import torch
from playwright.sync_api import expect

from core.base import prose
from core.model import checkpoints
from tests.browser.pictures import come_alike, comes, starting
from tests.browser.serving import rest, settle
from tests.browser.views import LESSONS, opened
from tests.helpers.messages import value_of

WORDS = prose.load("attention")
PROMPT = "&prompt=The%20cat%20sat%20on%20the%20mat.%20The%20dog%20sat%20on%20the"


def title(page) -> str:
    return page.locator(".instrument .title").text_content()


def stands_at(page, count: str) -> None:
    """Waits for the step that a title begins with: the next frame draws it, and a busy machine takes its time."""
    expect(page.locator(".instrument .title")).to_have_text(re.compile(f"^{count}"))


def largest_weight(position: int) -> float:
    """The first head's largest weight for a query of PROMPT, from a pass of its own."""
    model, tokenizer = checkpoints.load_bundled("stories")
    ids = torch.tensor(tokenizer.prompt(unquote(PROMPT.partition("=")[2]), 256).token_ids)
    with torch.no_grad():
        return float(model(ids).blocks[0].pattern[0, position].max())


def test_steps_go_forward_and_back_by_button_key_and_slider_without_a_rerun_and_the_link_says_so(open_page):
    page = opened(open_page, "attention", "steps", f"&layer=0&head=0{PROMPT}&position=6")
    stands_at(page, "6/9")
    page.get_by_role("slider", name=WORDS.label("steps_slider")).press("Home")
    stands_at(page, "1/9")
    forward, slider = (page.get_by_role("button", name=WORDS.label("steps_forward")),
                       page.get_by_role("slider", name=WORDS.label("steps_slider")))
    forward.click()
    stands_at(page, "2/9")
    slider.press("End")
    stands_at(page, "9/9")
    slider.press("ArrowLeft")
    forward.press("Enter")
    stands_at(page, "9/9")
    expect(forward).to_be_focused()         # though it leads no further
    expect(forward).to_be_disabled()
    expect(page.locator(".matrices canvas")).to_have_count(5)
    stage = page.get_by_role("group", name=WORDS.label("steps_keys"))
    settle(page)        # the last step was reached twice: what Python says of it later than five seconds is news
    for _ in range(3):
        stage.press("ArrowLeft")
    stands_at(page, "6/9")
    weight = pytest.approx(largest_weight(6), abs=6e-5)
    assert comes(page, lambda: float(re.search(r"α = ([\d.]+)$", title(page))[1]) == weight)
    page.wait_for_url(lambda url: "attention_step" not in url)       # where a visit begins
    settle(page)
    other = open_page("attention?" + urlsplit(page.url).query)
    other.locator(LESSONS["attention"]["steps"].end).wait_for()
    assert come_alike(page, other) and title(other) == title(page) and page.errors == []


def test_a_number_opens_the_sum_that_it_came_from(open_page):
    """The terms of q·k as they are written out add up to the product, and the weights to 1."""
    page = opened(open_page, "attention", "steps", f"&attention_step=dot{PROMPT}&position=6")
    number = re.compile(r"= (−?[\d.]+)$")
    stage = page.get_by_role("group", name=WORDS.label("steps_keys"))
    seen = set()
    for _ in range(3):
        product = float(number.search(page.locator(".detail .formula").text_content())[1].replace("−", "-"))
        terms = [value_of(term)
                 for term in page.locator(".detail .term b").all_text_contents()]
        assert len(terms) == 32 and abs(sum(terms) - product) < 32 * 6e-5
        seen.add(product)
        before = page.locator(".detail .formula").text_content()
        stage.press("ArrowDown")
        expect(page.locator(".detail .formula")).not_to_have_text(before)
    assert len(seen) > 1
    rest(page)                      # the sum below has another height than the last one
    box = page.locator(LESSONS["attention"]["steps"].end).bounding_box()
    page.mouse.click(box["x"] + 0.2 * box["width"], box["y"] + 0.5 * box["height"])      # a component of an x
    page.wait_for_url(re.compile("attention_component="))
    settle(page)                    # Python has answered, and what was opened stays open
    expect(page.locator(".detail .formula")).to_have_text(starting("x"))
    page.get_by_role("slider", name=WORDS.label("steps_slider")).press("End")
    page.get_by_role("button", name=WORDS.label("steps_back")).click()
    page.get_by_role("radio", name=WORDS.label("steps_variant_simple")).click()
    stands_at(page, "6/6")
    page.wait_for_url(re.compile("attention_variant=simple"))
    assert page.errors == []


def test_another_query_is_picked_for_every_lesson_and_text_stays_text(open_page):
    page = opened(open_page, "attention", "steps",
                  "&prompt=%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E%20%3Cb%3Ebold%3C%2Fb%3E")
    page.get_by_label(WORDS.label("steps_position"), exact=True).select_option("2")
    page.wait_for_url(re.compile("position=2"))
    settle(page)
    expect(page.locator(".instrument img")).to_have_count(0)
    assert page.errors == []


def test_the_temperature_moves_the_output_to_the_plain_mean_and_to_one_value(open_page):
    page = opened(open_page, "attention", "averages")
    slider = page.get_by_role("slider", name=re.compile("Temperature"))
    picture, said = page.locator(LESSONS["attention"]["averages"].end), r"largest weight is ([\d.]+)"
    largest = lambda: float(re.search(said, picture.get_attribute("aria-label"))[1])  # noqa: E731
    slider.press("Home")
    assert comes(page, lambda: largest() > 0.99)
    slider.press("End")
    assert comes(page, lambda: largest() < 2 / 26)
    page.wait_for_url(re.compile("attention_temperature=6"))
    assert page.errors == []


def test_a_visit_to_a_projector_sees_the_strongest_key_and_every_column_whole(open_page):
    page = opened(open_page, "attention", "steps", "&present=true", width=1280, height=720)
    stands_at(page, "6/9")
    expect(page.locator(".instrument .title .chip")).to_have_text("·ball")
    detail = page.locator(".detail")
    assert comes(page, lambda: detail.evaluate("node => node.scrollHeight - node.clientHeight") <= 1)
    for weights in ("off", "on"):
        page = opened(open_page, "attention", "three", f"&present=true&attention_three_weights={weights}", width=1280,
                      height=720)
        expect(page.locator(".instrument tbody tr.sum td").last).to_have_text(re.compile(r"^\(.*\)$"))
        table = page.locator(".instrument div.table")
        assert comes(page, lambda: table.evaluate("node => node.scrollWidth - node.clientWidth") <= 0)


# Paint the matrices where each has so little room: how many names that makes on each, or the error.
PAINTED = """(root, height) => {
    const { view } = root, names = [];
    for (const canvas of view.canvases) {
        canvas.parentNode.style.cssText = `height: ${height}px; min-height: 0; overflow: hidden`;
        const context = canvas.getContext("2d"), write = context.fillText.bind(context);
        names.push(0);
        context.fillText = (...text) => {
            names[names.length - 1] += 1;
            if (names.at(-1) > 1000) throw Error("without end");
            write(...text);
        };
        view.heatmap(view.panels[names.length - 1], view[`m${names.length - 1}`], canvas);
        delete context.fillText;
    }
    return names;
}"""


def test_a_matrix_that_has_no_room_yet_names_no_rows(open_page):
    page = open_page("attention?attention_view=roles&attention_roles_part=relabel")
    matrices = page.locator(".matrices").first.locator("xpath=..")
    assert all(count > 10 for count in matrices.evaluate(PAINTED, 300))
    for height in (40, 30, 10, 2):
        assert all(count <= 2 for count in matrices.evaluate(PAINTED, height)), height      # its own name alone
    assert page.errors == []
