"""The map of the overview in a real Chromium: it stands on the first screen, reads the Trace's values, walks the pass,
writes a token and takes it back.
"""
from __future__ import annotations

from urllib.parse import parse_qs, quote, urlsplit

import numpy as np
import pytest
from playwright.sync_api import expect

from core.app.compute import cache
from core.app.state.run import Run, read
from pages.overview import shared
from tests.browser.accessibility import violations
from tests.browser.pictures import WALK
from tests.browser.serving import settle
from tests.helpers.prompts import PROMPTS

CATS = "The cat sat on the mat. The dog sat on the"
MAP = "(() => {" + WALK + "return walk(document, []).find((e) => e.map && e.classList.contains('map')).map; })()"


def at(prompt: str, **others) -> str:
    return "?" + "&".join([f"prompt={quote(prompt)}", *(f"{key}={value}" for key, value in others.items())])


def opened(open_page, path: str, **options):
    """The page with its map drawn."""
    page = open_page(path, **options)
    page.locator(".map .head small").first.wait_for()
    return page


def run_of(prompt: str) -> Run:
    return read(cache.shared_model(cache.model_names()[0], "cpu"), prompt)


def hovered(page, place: str) -> str:
    """The reading at a place of the map, an expression for [x, y] in terms of `map` and its geometry `g`."""
    x, y = page.evaluate("(() => { const map = " + MAP
                         + ", g = map.geometry, box = map.over.getBoundingClientRect(), [x, y] = " + place
                         + "; return [box.left + x, box.top + y]; })()")
    page.mouse.move(x, y)
    return page.locator(".tip b").inner_text()


def number(shown: str) -> float:
    """A reading as a number: 1.23 or 1.23·10⁻⁵."""
    mantissa, _, exponent = shown.partition("·10")
    return float(mantissa) * 10 ** int(exponent.translate(str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")) or 0)


@pytest.mark.parametrize("width, height", [(1280, 720), (1440, 900)])
def test_the_strip_the_sentence_and_the_whole_map_stand_on_the_first_screen(open_page, width, height):
    page = opened(open_page, at(CATS), width=width, height=height)
    box = page.locator(".map .stage").bounding_box()
    assert box["y"] + box["height"] <= height and box["x"] + box["width"] <= width
    assert page.evaluate(MAP + ".area.scrollWidth") <= box["width"] + 1
    for name in (".dice", ".bars", ".chips", ".labels"):
        part = page.locator(f".map {name}").bounding_box()
        assert part["y"] + part["height"] <= height, name


def test_hover_reads_the_traces_own_values(open_page):
    page, trace = opened(open_page, at(CATS)), run_of(CATS).trace
    place = ("[g.blocks[2].tiles.x + 3 * 0 + 0.5 * g.blocks[2].tiles.size / map.n, g.blocks[2].tiles.y + 7.5 * "
             "g.blocks[2].tiles.size / map.n]")
    assert number(hovered(page, place)) == pytest.approx(float(trace.blocks[2].pattern[0, 7, 0]), rel=1e-3)
    assert number(hovered(page, "[g.blocks[1].x + 2, (g.blocks[1].lanes[4] + g.blocks[1].lanes[5]) / 2]")) \
        == pytest.approx(float(np.linalg.norm(trace.blocks[1].resid_pre[4].numpy())), rel=1e-3)
    shown = number(hovered(page, "[g.images[0].x + 0.5, (g.rows[3] + g.rows[4]) / 2]"))
    assert np.abs(trace.embedding[3].numpy() - shown).min() < 1e-3 * abs(shown)


def test_hover_on_a_token_says_its_id(open_page):
    page, run = opened(open_page, at(CATS)), run_of(CATS)
    page.locator(".chips .chip").nth(3).hover()
    assert (str(run.token_ids[3]) in page.locator(".tip b").inner_text()
            and run.tokens[3] in page.locator(".tip span").inner_text())


@pytest.mark.parametrize("dark", [False, True])
def test_the_map_is_painted_in_the_pages_own_colours(open_page, dark):
    page = opened(open_page, at(CATS), dark=dark)
    panel, pixel = page.evaluate("(() => { const map = " + MAP + """, b = map.geometry.blocks[1];
      const [x, y] = [b.x + b.inner / 2, b.bottom - 2].map((v) => Math.round(v * map.ratio));
      const rgb = [...map.base.getContext("2d").getImageData(x, y, 1, 1).data].slice(0, 3);
      return [getComputedStyle(map.root).getPropertyValue("--tx-panel").trim().toLowerCase(), "#" + rgb.map((c) =>
          c.toString(16).padStart(2, "0")).join("")]; })()""")
    assert pixel == panel


def test_the_map_and_its_source_have_nothing_that_axe_finds_in_the_dark(open_page):
    page = opened(open_page, at(CATS), dark=True, width=1024)         # narrower than the longest line of the source
    page.locator(".st-key-overview_source_open summary").click()
    page.get_by_test_id("stCode").wait_for()
    settle(page)
    assert violations(page) == []


def test_every_formula_is_set(open_page):
    page = opened(open_page, at(CATS))
    page.locator(".katex").nth(3).wait_for(state="attached")
    assert page.locator(".katex-error").count() == 0


def test_the_bars_are_the_softmax_of_the_last_row(open_page):
    page, run = opened(open_page, at(CATS)), run_of(CATS)
    probs = np.exp(run.logits() - run.logits().max())
    probs /= probs.sum()
    best = np.argsort(-probs, kind="stable")
    bars = page.locator(".bars li")
    assert bars.count() >= 5
    for place in range(bars.count()):
        assert bars.nth(place).locator(".chip").text_content() == run.tokenizer.visible(int(best[place]))
        assert float(bars.nth(place).locator("b").inner_text()) == pytest.approx(probs[best[place]], rel=5e-3)


def test_a_clicked_token_and_the_arrow_keys_pick_a_row_and_the_link_keeps_it(open_page):
    page, run = opened(open_page, at(CATS)), run_of(CATS)
    page.locator(".chips .chip").nth(5).click()
    page.wait_for_url("**position=5**")
    settle(page)
    page.locator(".chips .chip").nth(5).press("ArrowUp")
    page.wait_for_url("**position=4**")
    settle(page)
    assert page.evaluate(MAP + ".position") == 4
    assert page.locator(".chips .chip[aria-checked=true]").text_content() == run.tokens[4]
    following = run.logits(4)
    rank = 1 + int((following > following[run.token_ids[5]]).sum())
    assert (page.locator(".actual .chip").text_content() == run.tokens[5]
            and page.locator(".actual").inner_text().endswith(f"rank {rank}"))
    assert page.locator(".dice").is_hidden()


def test_the_drawn_token_is_fed_back_and_taken_back(open_page):
    page = opened(open_page, at(CATS, overview_seed=3))
    drawn = page.evaluate(MAP + ".draw")
    page.locator(".do.append").click()
    page.locator(".chips .chip").nth(len(run_of(CATS).tokens)).wait_for(state="attached")
    settle(page)
    prompt = parse_qs(urlsplit(page.url).query)["prompt"][0]
    assert prompt == CATS + run_of(CATS).tokenizer.decode([drawn["id"]])
    assert page.evaluate(MAP + ".draw.xi") != drawn["xi"]
    undo = page.locator(".do.undo")
    undo.press("Enter")
    page.wait_for_function("n => " + MAP + ".n === n", arg=len(run_of(CATS).tokens))
    settle(page)
    assert page.evaluate(MAP + ".draw") == drawn
    expect(undo).to_be_disabled()
    expect(undo).to_be_focused()
    undo.press("Enter")
    settle(page)
    assert page.evaluate(MAP + ".n") == len(run_of(CATS).tokens)


def test_another_xi_is_thrown_and_stands_in_the_link(open_page):
    page = opened(open_page, at(CATS))
    before = page.evaluate(MAP + ".draw.xi")
    page.locator(".do.throw").click()
    page.wait_for_url(f"**overview_seed={shared.FIRST_SEED + 1}**")
    settle(page)
    assert page.evaluate(MAP + ".draw.xi") != before


def test_the_pass_is_walked_stage_by_stage(open_page):
    page = opened(open_page, at(CATS), still=True)
    whole, n = page.locator(".map .caption").inner_text(), page.evaluate(MAP + ".stages.length")
    forth = page.locator(".map .forth")
    captions = []
    for _ in range(n):
        forth.click()
        captions.append(page.locator(".map .caption").inner_text())
    assert n == 3 + 2 * len(run_of(CATS).trace.blocks) + 4 and len(set(captions)) == n
    assert captions[0].startswith("①") and captions[-2].startswith("⑥")
    forth.click()
    assert page.locator(".map .caption").inner_text() == whole
    page.locator(".map .play").click()
    page.wait_for_function("() => " + MAP + ".stage > 1")
    page.locator(".map .play").click()
    assert page.evaluate(MAP + ".playing") is False and page.errors == []


def test_the_walk_ends_where_the_reader_goes_to_another_page(open_page):
    page = opened(open_page, at(CATS))
    page.locator(".map .play").click()
    # where a light runs
    page.wait_for_function("() => " + MAP + ".stages[" + MAP + ".stage]?.name === 'attention'")
    page.evaluate("window.map = " + MAP)
    page.locator(".labels .label.block").nth(2).click()
    page.wait_for_function("() => !map.root.isConnected")
    page.wait_for_timeout(300)
    assert page.errors == []


def test_a_part_opens_its_lesson_with_the_same_prompt(open_page):
    page = opened(open_page, at(CATS))
    page.locator(".labels .label.block").nth(2).click()
    page.wait_for_url("**/heads**")
    settle(page)
    assert parse_qs(urlsplit(page.url).query)["prompt"] == [CATS]


COVERED = "(() => { const map = " + MAP + """;
  const words = [...map.labels.querySelectorAll(".label:not(.halo) b, .label:not(.halo) small"),
      ...map.out.querySelectorAll(".head b, .head small")];
  const boxes = words.filter((node) => node.textContent.trim()).map((node) => {
    const range = document.createRange();
    range.selectNodeContents(node);
    return [node.textContent, range.getBoundingClientRect()];
  });
  return boxes.flatMap(([a, p], i) => boxes.slice(i + 1).filter(([, q]) => Math.min(p.right,
      q.right) - Math.max(p.left, q.left) > 1
    && Math.min(p.bottom, q.bottom) - Math.max(p.top, q.top) > 3).map(([b]) => `${a} | ${b}`));
})()"""


@pytest.mark.parametrize("prompt", [CATS, PROMPTS["256 tokens"].strip(), ""], ids=["short", "long", "empty"])
def test_no_label_covers_another_and_every_row_has_its_place_at_any_width(open_page, prompt):
    page, n = opened(open_page, at(prompt)), len(run_of(prompt).tokens)
    for width in (1440, 1280, 1024, 390):
        page.set_viewport_size({"width": width, "height": 800})
        page.wait_for_function("width => Math.abs(" + MAP + ".shownWidth - width) < 120", arg=width)
        assert page.evaluate(COVERED) == [], width
        rows, lanes, height = page.evaluate("(() => { const g = " + MAP
                                            + ".geometry; return [[...g.rows], [...g.blocks[0].lanes], g.height]; })()")
        for edges in (rows, lanes):
            assert len(edges) == n + 1 and all(a < b for a, b in zip(edges, edges[1:])) and edges[-1] <= height + 1
