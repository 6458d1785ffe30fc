"""The map of the overview in a real Chromium: it stands on the first screen, reads the Trace's values, walks the pass,
writes a token and takes it back.
"""
from __future__ import annotations

import re
from urllib.parse import parse_qs, quote, urlsplit

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from core.app.compute import cache
from core.app.state import reader
from core.app.state.run import Run, read
from tests.browser.accessibility import violations
from tests.browser.pictures import comes
from tests.browser.serving import go_to, rest, settle
from tests.helpers.messages import value_of
from tests.helpers.prompts import PROMPTS

CATS = "The cat sat on the mat. The dog sat on the"
# What the arrow keys read of every row of the map in the place number `column`: the texts of its tip.
ROWS = """(over, [column, rows]) => {
  const press = (key) => over.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true}));
  const tip = over.getRootNode().querySelector(".tip"), said = [];
  for (const [key, times] of [["Escape", 1], ["Home", 2], ["ArrowUp", rows], ["ArrowRight", column]])
    for (let k = 0; k < times; k++) press(key);
  for (let row = 0; row < rows; row++) { said.push([...tip.children].map((e) => e.textContent)); press("ArrowDown"); }
  return said;
}"""
# The colour that most of the opaque pixels of the picture have, and that of the page's panels.
PAINTED = """(base) => {
  const { data } = base.getContext("2d").getImageData(0, 0, base.width, base.height), counts = new Map();
  for (const colour of new Uint32Array(data.buffer)) if (colour >>> 24 === 255)
    counts.set(colour, (counts.get(colour) ?? 0) + 1);
  const [[most]] = [...counts].sort((a, b) => b[1] - a[1]), channels = [0, 8, 16].map((at) => (most >> at) & 255);
  return ["#" + channels.map((c) => c.toString(16).padStart(2, "0")).join(""),
    getComputedStyle(base).getPropertyValue("--tx-panel").trim().toLowerCase()];
}"""


def at(prompt: str, **others) -> str:
    return "?" + "&".join([f"prompt={quote(prompt)}", *(f"{key}={value}" for key, value in others.items())])


def opened(open_page, path: str, **options):
    """The page with its map drawn."""
    page = open_page(path, **options)
    page.locator(".map .head small").first.wait_for()
    return page


def run_of(prompt: str) -> Run:
    return read(cache.shared_model(cache.model_names()[0], "cpu"), prompt)


def number(shown: str) -> float:
    """A reading as a number, or what stands first in brackets."""
    return value_of(re.match(r"\(?([^;]+)", shown)[1])


def test_the_map_is_whole_on_the_first_screen_in_the_pages_colours_and_says_what_the_model_does(open_page):
    page = opened(open_page, at(CATS), width=1280, height=720)
    the_strip_the_sentence_and_the_whole_map_stand_on_the_first_screen(page)
    is_painted_in_the_pages_own_colours(page)
    the_bars_are_the_softmax_of_the_last_row(page)
    # every formula is set
    page.locator(".katex").nth(3).wait_for(state="attached")
    expect(page.locator(".katex-error")).to_have_count(0)
    hover_on_a_token_says_its_id(page)


def the_strip_the_sentence_and_the_whole_map_stand_on_the_first_screen(page: Page) -> None:
    for width, height in ((1280, 720), (1440, 900)):
        page.set_viewport_size({"width": width, "height": height})
        rest(page)
        box = page.locator(".map .stage").bounding_box()
        assert box["y"] + box["height"] <= height and box["x"] + box["width"] <= width
        assert page.locator(".map .stage").evaluate("stage => stage.scrollWidth") <= box["width"] + 1
        for name in (".dice", ".bars", ".chips", ".labels"):
            part = page.locator(f".map {name}").bounding_box()
            assert part["y"] + part["height"] <= height, (name, width)


def hover_on_a_token_says_its_id(page: Page) -> None:
    run = run_of(CATS)
    page.locator(".chips .chip").nth(3).hover()
    expect(page.locator(".tip b")).to_contain_text(str(run.token_ids[3]), use_inner_text=True)
    expect(page.locator(".tip span")).to_contain_text(run.tokens[3], use_inner_text=True)


def is_painted_in_the_pages_own_colours(page: Page) -> None:
    rest(page)
    most, panel = page.locator(".map canvas.base").evaluate(PAINTED)
    assert most == panel


def test_in_the_dark_the_map_has_the_pages_own_colours_and_axe_finds_nothing_in_it_and_its_source(open_page):
    page = opened(open_page, at(CATS), dark=True, width=1024)         # narrower than the longest line of the source
    is_painted_in_the_pages_own_colours(page)
    page.locator(".st-key-overview_source_open summary").click()
    page.get_by_test_id("stCode").first.wait_for()
    settle(page)
    assert violations(page) == []


def the_bars_are_the_softmax_of_the_last_row(page: Page) -> None:
    run = run_of(CATS)
    probs = np.exp(run.logits() - run.logits().max())
    probs /= probs.sum()
    best = np.argsort(-probs, kind="stable")
    bars = page.locator(".bars li")
    expect(bars.nth(4)).to_be_attached()
    for place in range(bars.count()):
        expect(bars.nth(place).locator(".chip")).to_have_text(run.tokenizer.visible(int(best[place])))
        shown = pytest.approx(probs[best[place]], rel=5e-2, abs=5.1e-4)       # two digits below 1 %, else one decimal
        assert comes(page, lambda: value_of(bars.nth(place).locator("b").inner_text()) == shown)


def test_the_dice_are_thrown_the_token_is_fed_back_and_taken_back_and_a_row_is_picked(open_page):
    page = opened(open_page, at(CATS))
    another_xi_is_thrown_and_stands_in_the_link(page)
    the_drawn_token_is_fed_back_and_taken_back(page)
    a_clicked_token_and_the_arrow_keys_pick_a_row_and_the_link_keeps_it(page)
    assert page.errors == []


def a_clicked_token_and_the_arrow_keys_pick_a_row_and_the_link_keeps_it(page: Page) -> None:
    run = run_of(CATS)
    page.locator(".chips .chip").nth(5).click()
    page.wait_for_url("**position=5**")
    settle(page)
    page.locator(".chips .chip").nth(5).press("ArrowUp")
    page.wait_for_url("**position=4**")
    settle(page)
    expect(page.locator(".chips .chip").nth(4)).to_have_attribute("aria-checked", "true")
    expect(page.locator(".chips .chip[aria-checked=true]")).to_have_text([run.tokens[4]])
    following = run.logits(4)
    rank = 1 + int((following > following[run.token_ids[5]]).sum())
    expect(page.locator(".actual .chip")).to_have_text(run.tokens[5])
    expect(page.locator(".actual")).to_have_text(re.compile(rf"rank {rank}$"), use_inner_text=True)
    expect(page.locator(".dice")).to_be_hidden()


def the_drawn_token_is_fed_back_and_taken_back(page: Page) -> None:
    n = len(run_of(CATS).tokens)
    chips, said = page.locator(".chips .chip"), page.locator(".dice .said")
    drawn, token = said.inner_text(), said.locator(".chip").inner_text()
    page.locator(".do.append").click()
    expect(chips).to_have_count(n + 1)
    settle(page)
    prompt = parse_qs(urlsplit(page.url).query)["prompt"][0]
    assert prompt == CATS + token.replace("·", " ")
    assert comes(page, lambda: xi(said.inner_text()) != xi(drawn))
    undo = page.locator(".do.undo")
    undo.press("Enter")
    expect(chips).to_have_count(n)
    settle(page)
    expect(said).to_have_text(drawn, use_inner_text=True)
    expect(undo).to_be_disabled()
    expect(undo).to_be_focused()
    undo.press("Enter")
    settle(page)
    expect(chips).to_have_count(n)


def xi(said: str) -> float:
    """The number that was drawn, as the sentence under the bars says it."""
    return float(re.search(r"ξ = ([\d.]+)", said)[1])


def another_xi_is_thrown_and_stands_in_the_link(page: Page) -> None:
    said = page.locator(".dice .said")
    before = said.inner_text()
    page.locator(".do.throw").click()
    page.wait_for_url(f"**seed={reader.FIRST_SEED + 1}**")
    expect(said).not_to_have_text(before)
    assert comes(page, lambda: xi(said.inner_text()) != xi(before))
    settle(page)


# For how many ms the walk lets its first stage stand, as it asks for it; what is asked for meanwhile comes at once.
STANDS = """(map) => new Promise((done) => {
  const own = window.setTimeout, caption = map.querySelector(".caption"), at = () => caption.textContent[0];
  window.setTimeout = (call, milliseconds, ...more) => own(() => {
    const before = at();
    call(...more);
    if (before === "①" && at() === "②") { window.setTimeout = own; done(milliseconds); }
  });
  map.querySelector(".play").click();
})"""


def test_the_pass_is_walked_stage_by_stage_and_a_stage_stands_long_enough_to_be_read(open_page):
    page = opened(open_page, at(CATS), still=True)
    whole = page.locator(".map .caption").inner_text()
    assert page.locator(".map").evaluate(STANDS) >= 4000
    page.locator(".map .play").press("Escape")
    expect(page.locator(".map .caption")).to_have_text(whole, use_inner_text=True)
    the_pass_is_walked_stage_by_stage(page)
    assert page.errors == []


def the_pass_is_walked_stage_by_stage(page: Page) -> None:
    caption, forth, play = (page.locator(f".map .{name}") for name in ("caption", "forth", "play"))
    whole, n = caption.inner_text(), 3 + 2 * len(run_of(CATS).trace.blocks) + 4
    captions = []
    for _ in range(n):
        forth.click()
        captions.append(caption.inner_text())
    assert len({whole, *captions}) == n + 1
    assert captions[0].startswith("①") and captions[-2].startswith("⑥")
    forth.click()
    expect(caption).to_have_text(whole, use_inner_text=True)
    play.click()
    expect(caption).to_have_text(captions[0])
    expect(play).to_have_attribute("aria-pressed", "true")
    for said in captions[1:5]:                   # a key does not wait for the next stage, and the walk goes on
        play.press("ArrowRight")
        expect(caption).to_have_text(said)
    expect(play).to_have_attribute("aria-pressed", "true")
    expect(caption).to_have_text(captions[5])
    play.press("ArrowLeft")
    expect(caption).to_have_text(captions[4])
    expect(play).to_have_attribute("aria-pressed", "false")
    play.press("Escape")
    expect(caption).to_have_text(whole, use_inner_text=True)


TWO_FRAMES = "() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))"


def test_a_part_opens_its_lesson_with_the_same_prompt_and_the_walk_ends_there(open_page):
    page = opened(open_page, at(CATS))
    page.locator(".map .play").click()
    for _ in range(3):
        page.locator(".map .play").press("ArrowRight")
    # where a light runs
    expect(page.locator(".map .caption")).to_contain_text("attention")
    page.locator(".labels .label.block").nth(2).click()
    page.locator(".map .play").wait_for(state="detached")      # the wall of heads also has a map
    page.evaluate(TWO_FRAMES)                                   # the walk's next frame was asked for before
    page.wait_for_url("**/heads**")
    settle(page)
    assert parse_qs(urlsplit(page.url).query)["prompt"] == [CATS]
    assert page.errors == []




COVERED = """(map) => {
  const words = [...map.querySelectorAll(".labels .label:not(.halo) :is(b, small), .out .head :is(b, small)")];
  const boxes = words.filter((node) => node.textContent.trim()).map((node) => {
    const range = document.createRange();
    range.selectNodeContents(node);
    return [node.textContent, range.getBoundingClientRect()];
  });
  return boxes.flatMap(([a, p], i) => boxes.slice(i + 1).filter(([, q]) => Math.min(p.right,
      q.right) - Math.max(p.left, q.left) > 1
    && Math.min(p.bottom, q.bottom) - Math.max(p.top, q.top) > 3).map(([b]) => `${a} | ${b}`));
}"""


def test_no_label_covers_another_and_every_row_has_its_place_at_any_width(open_page, server):
    page = opened(open_page, at(CATS))
    labels_and_rows_have_their_places(page, CATS)
    for prompt in (PROMPTS["256 tokens"].strip(), ""):
        go_to(page, f"{server.url}/{at(prompt)}")
        expect(page.locator(".st-key-prompt textarea")).to_have_value(prompt)
        settle(page)
        labels_and_rows_have_their_places(page, prompt)
    page.set_viewport_size({"width": 1280, "height": 600})
    go_to(page, f"{server.url}/?present=true")
    expect(page.locator("[class*=st-key-try_menu_]")).to_have_count(0)
    settle(page)
    the_names_of_a_blocks_rows_are_whole_where_the_rows_are_low(page)
    assert page.errors == []


def labels_and_rows_have_their_places(page: Page, prompt: str) -> None:
    run = run_of(prompt)
    n, stream = len(run.tokens), run.trace.blocks[0].resid_pre.norm(dim=-1).tolist()
    for width in (1440, 1280, 1024, 390):
        page.set_viewport_size({"width": width, "height": 800})
        rest(page)
        assert page.locator(".map").evaluate(COVERED) == [], width
        # the strip of E, and the stream before block 0, which stands after three strips and the block's heads
        embedded, lengths = (page.locator(".map canvas.over").evaluate(ROWS, [column, n])
                             for column in (0, 3 + run.model.config.n_heads))
        assert [int(re.search(r"position (\d+)", what)[1]) for what, _ in embedded] == list(range(n)), width
        assert [number(shown) for _, shown in lengths] == pytest.approx(stream, rel=1e-3), width


def the_names_of_a_blocks_rows_are_whole_where_the_rows_are_low(page: Page) -> None:
    rest(page)
    names = page.locator(".label.row b")
    expect(names).to_have_count(3)
    assert names.evaluate_all("""(names) => names.filter((name) => {
        const box = name.closest(".label").getBoundingClientRect(), range = document.createRange();
        range.selectNodeContents(name);
        const ink = range.getBoundingClientRect();
        return ink.top < box.top - 1 || ink.bottom > box.bottom + 1;
    }).map((name) => name.textContent)""") == []
