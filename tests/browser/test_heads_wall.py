"""The wall of heads and the opened head in a real Chromium: what they paint, what they read out, and what a hand and a
keyboard do with them.
"""
from __future__ import annotations

import re
import urllib.parse

import numpy as np
import pytest
import torch
from playwright.sync_api import Page, expect

from core.app.compute import cache
from core.app.state import prompts
from core.app.state.run import Run, read
from core.base import prose
from core.figures import style
from core.figures.heads import head_name
from tests.browser.pictures import comes, cut_off, pictures
from tests.browser.serving import go_to, prepare, rest, settle
from tests.browser.test_echoes import Line
from tests.helpers.messages import value_of

WORDS = prose.load("heads")
LONG = "The dog ran to the park and saw a bird. " * 12          # more tokens than travel whole
# Clicks heads of the wall, with the given milliseconds from one to the next.
SWITCH = """async ([heads, milliseconds]) => {
  const [wall] = [...document.querySelectorAll("*")].map((e) => e.shadowRoot?.querySelector(".wall")).filter(Boolean);
  for (const head of heads) {
    wall.querySelectorAll("button.head")[head].click();
    await new Promise((go) => setTimeout(go, milliseconds));
  }
}"""
BUTTERFLY = "Once upon a time there was a beautiful butterfly"
HOSTILE = "<img src=x onerror=alert(1)> <b>bold</b> שלום"


def run_on(prompt: str | None = None) -> Run:
    return read(cache.shared_model(cache.model_names()[0], "cpu"),
                prompts.default_prompt() if prompt is None else prompt)


def patterns(run: Run) -> np.ndarray:
    """(L, h, N, N) from a forward pass of its own."""
    with torch.inference_mode():
        trace = run.model(torch.tensor(run.token_ids))
    return np.stack([block.pattern.numpy() for block in trace.blocks])


def heads_page(open_page, prompt: str | None = None, **query) -> Page:
    settings = query | ({} if prompt is None else {"prompt": prompt})
    page = open_page("heads?" + urllib.parse.urlencode(settings), width=1440, height=900)
    expect(page.locator(".wall button.head")).to_have_count(
        run_on().model.config.n_layers * run_on().model.config.n_heads)
    rest(page)
    return page


def named(heads: set[int]) -> str:
    """The names of heads counted through the whole model."""
    return " ".join(head_name(*divmod(head, run_on().model.config.n_heads)) for head in sorted(heads))


def tile(page: Page, layer: int, head: int) -> dict:
    """The square of a tile, in page pixels: the button without its label."""
    box = page.locator(".wall button.head").nth(layer * run_on().model.config.n_heads + head).bounding_box()
    label = box["height"] - box["width"]
    return {"x": box["x"], "y": box["y"] + label, "side": box["width"]}


def point_at(page: Page, layer: int, head: int, query: float, key: float, n: int) -> None:
    box = tile(page, layer, head)
    page.mouse.move(box["x"] + (key + 0.5) * box["side"] / n, box["y"] + (query + 0.5) * box["side"] / n)


def four_digits(weight: float) -> float:
    return float(f"{weight:.4g}")


def go_there(page: Page, prompt: str | None = None, **query) -> None:
    """To the lesson with other settings, until it stands."""
    settings = query | ({} if prompt is None else {"prompt": prompt})
    go_to(page, f"{page.url.partition('?')[0]}?{urllib.parse.urlencode(settings)}")
    if prompt is not None:
        expect(page.locator(".st-key-prompt textarea")).to_have_value(prompt)
    settle(page)
    rest(page)


def test_hover_reads_weights_arrow_keys_move_between_heads_and_a_click_opens_one(open_page):
    page = heads_page(open_page)
    hover_reads_the_query_the_key_and_the_exact_weight(page)
    arrow_keys_move_between_heads_and_enter_opens_one(page)
    a_click_opens_a_head_and_the_address_says_so(page)
    assert page.errors == []


def hover_reads_the_query_the_key_and_the_exact_weight(page: Page) -> None:
    run = run_on()
    weights, n = patterns(run), len(run.token_ids)
    for layer, head, query, key, aside in ((0, 0, n - 1, 0, 0.3), (3, 5, n - 2, n - 3, -0.3), (5, 7, n // 2, 1, 0.3)):
        point_at(page, layer, head, query + aside, key + aside, n)
        reading = page.locator(".wall .tip")
        expect(reading.locator("b")).to_have_text(f"{layer}.{head}")
        expect(reading.locator(".chip")).to_have_text([run.tokens[query], run.tokens[key]])
        shown = pytest.approx(four_digits(weights[layer, head, query, key]), rel=1e-9)
        assert comes(page, lambda shown=shown: value_of(reading.locator("output").inner_text()) == shown)
    point_at(page, 2, 2, 1, n - 1, n)
    expect(page.locator(".wall .tip output")).to_have_text("masked")


def on_a_long_prompt_the_exact_weight_of_any_head_is_fetched(page: Page) -> None:
    weights = patterns(run_on(LONG))
    box = tile(page, 4, 3)
    page.mouse.move(box["x"] + 0.3 * box["side"], box["y"] + 0.8 * box["side"])
    expect(page.locator(".wall .tip output")).to_have_text(re.compile(r"\d"))
    query, key = map(int, re.match(r"(\d+) → (\d+)", page.locator(".wall .tip small").inner_text()).groups())
    shown = pytest.approx(four_digits(weights[4, 3, query, key]), rel=1e-9)
    assert comes(page, lambda: value_of(page.locator(".wall .tip output").inner_text()) == shown)


def pixel(page: Page, layer: int, head: int, query: float, key: float, n: int) -> tuple[int, ...]:
    """The colour that the tiles' canvas has in the middle of a cell."""
    box = tile(page, layer, head)
    return tuple(page.locator(".wall canvas.tiles").evaluate("""(canvas, [x, y]) => {
        const box = canvas.getBoundingClientRect(), ratio = canvas.width / box.width;
        return [...canvas.getContext("2d").getImageData(Math.round((x - box.left) * ratio),
            Math.round((y - box.top) * ratio), 1, 1).data].slice(0, 3); }""",
        [box["x"] + (key + 0.5) * box["side"] / n, box["y"] + (query + 0.5) * box["side"] / n]))


def on_the_scale(weight: float) -> np.ndarray:
    """The colour of a weight: its square root on the nine stops of the sequential scale."""
    stops = np.array([[int(colour[i:i + 2], 16) for i in (1, 3, 5)] for _, colour in style.sequential("light")])
    return np.array([np.interp(np.sqrt(weight) * 8, range(9), stops[:, channel]) for channel in range(3)])


def test_tiles_are_painted_on_the_scale_and_on_a_long_prompt_any_weight_is_fetched(open_page):
    page = heads_page(open_page, "Tom has a ball")
    tiles_are_painted_on_the_scale_and_the_masked_part_is_empty_with_a_hatch(page, run_on("Tom has a ball"))
    go_there(page, LONG)
    on_a_long_prompt_the_exact_weight_of_any_head_is_fetched(page)
    assert page.errors == []


def tiles_are_painted_on_the_scale_and_the_masked_part_is_empty_with_a_hatch(page: Page, run: Run) -> None:
    weights, n = patterns(run), len(run.token_ids)
    for layer, head, query, key in ((0, 0, 0, 0), (1, 2, n - 1, 0), (4, 6, n - 1, n - 1)):
        assert np.abs(np.array(pixel(page, layer, head, query, key, n))
                      - on_the_scale(float(weights[layer, head, query, key]))).max() <= 3
    masked = {pixel(page, 2, 2, 0.05 * step, n - 1, n) for step in range(-8, 9)}
    allowed = {tuple(int(style.colour(name, "light")[i:i + 2], 16) for i in (1, 3, 5)) for name in ("page", "grid")}
    assert masked == allowed


def a_click_opens_a_head_and_the_address_says_so(page: Page) -> None:
    """The next test holds that this address opens the head."""
    run = run_on()
    page.locator(".wall button.head").nth(2 * run.model.config.n_heads + 3).click()
    settle(page)
    expect(page.locator(".view .title")).to_contain_text("Head 2.3")
    expect(page).to_have_url(re.compile("(?=.*heads_panel=head)(?=.*layer=2)(?=.*head=3)"))
    expect(page.locator(".wall button.selected")).to_have_attribute("aria-label", re.compile("^2.3"))


def arrow_keys_move_between_heads_and_enter_opens_one(page: Page) -> None:
    page.locator(".wall button.head").first.focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowDown", "ArrowLeft", "ArrowUp", "ArrowDown"):
        page.keyboard.press(key)
    page.keyboard.press("Enter")
    settle(page)
    expect(page.locator(".view .title")).to_contain_text("Head 1.1")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    settle(page)
    expect(page.locator(".view .title")).to_contain_text("Head 1.2")


def test_the_opened_head_answers_keys_zoom_click_and_a_hand_on_its_lines_and_tokens_stay_text(open_page):
    page = heads_page(open_page, heads_panel="head", layer=1, head=4, position=5, heads_key=2)
    expect(page.locator(".view .title")).to_contain_text("Head 1.4")
    the_opened_head_answers_keys_zoom_and_click(page)
    go_there(page, heads_panel="head", heads_shows="lines", layer=1, head=4)
    lines_say_the_weights_of_the_query_under_the_hand(page)
    go_there(page, HOSTILE, heads_panel="head", heads_shows="lines")
    tokens_are_text_and_never_markup(page)
    page.set_viewport_size({"width": 1280, "height": 720})
    go_there(page, BUTTERFLY, heads_panel="head", present="true")
    expect(page.locator("[class*=st-key-try_menu_]")).to_have_count(0)
    a_long_last_token_is_written_whole_over_its_column(page)
    assert page.errors == []


# keeps what is written on canvases from here on
WRITTEN = """() => {
  const of = CanvasRenderingContext2D.prototype, { fillText } = of;
  window.written = new Set();
  of.fillText = function (text, ...place) { window.written.add(text); return fillText.call(this, text, ...place); };
}"""


def the_opened_head_answers_keys_zoom_and_click(page: Page) -> None:
    run = run_on()
    weights = patterns(run)[1, 4]
    cells = page.locator(".view canvas.cells")
    page.evaluate(WRITTEN)
    cells.focus()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowRight")
    assert {WORDS.label("key_axis"), WORDS.label("query_axis"), run.tokens[4]} <= {*page.evaluate("[...written]")}
    reading = page.locator(".view .tip")
    expect(reading.locator(".chip")).to_have_text([run.tokens[4], run.tokens[3]])
    shown = pytest.approx(four_digits(weights[4, 3]), rel=1e-9)
    assert comes(page, lambda: value_of(reading.locator("output").inner_text()) == shown)
    page.keyboard.press("Enter")
    settle(page)
    expect(page).to_have_url(re.compile("(?=.*position=4)(?=.*heads_key=3)"))
    # the wall marks the picked query when the hand has rested
    rest(page)
    whole, box = pictures(page), cells.bounding_box()
    page.mouse.move(box["x"] + 0.4 * box["width"], box["y"] + 0.5 * box["height"])
    page.mouse.down()
    page.mouse.move(box["x"] + 0.6 * box["width"], box["y"] + 0.8 * box["height"], steps=4)
    page.mouse.up()
    assert comes(page, lambda: pictures(page) != whole)
    cells.focus()
    page.keyboard.press("Escape")
    page.mouse.move(5, 5)
    assert comes(page, lambda: pictures(page) == whole)


def lines_say_the_weights_of_the_query_under_the_hand(page: Page) -> None:
    weights = patterns(run_on())[1, 4]
    page.locator(".queries button").nth(6).hover()
    amounts = page.locator(".keys .amount")
    for place, weight in enumerate(weights[6]):
        expect(amounts.nth(place)).to_have_text(re.compile(r"\d" if weight >= 0.01 else "^$"))
    shown = [value_of(text) for text in amounts.all_text_contents() if text]
    assert shown == pytest.approx([four_digits(w) for w in weights[6] if w >= 0.01], rel=1e-9)


def a_long_last_token_is_written_whole_over_its_column(page: Page) -> None:
    assert len(run_on(BUTTERFLY).tokens[-1]) > 8
    ink = page.locator(".matrix canvas.cells").evaluate(
        "(canvas) => canvas.getContext('2d').getImageData(canvas.width - 2, 0, 2, canvas.height).data"
        ".some((value, at) => at % 4 === 3 && value)")
    assert not ink


def test_heads_are_switched_off_and_on_and_undo_takes_it_back(open_page):
    page = heads_page(open_page, heads_panel="change", heads_changed="none")
    a_click_switches_a_head_off_and_undo_brings_it_back(page)
    every_head_is_switched_that_is_clicked_while_another_is_drawn(page)
    assert page.errors == []


def a_click_switches_a_head_off_and_undo_brings_it_back(page: Page) -> None:
    before = pictures(page)[0]
    page.locator(".wall button.head").nth(9).click()
    settle(page)
    expect(page).to_have_url(re.compile("heads_changed=1.1"))
    expect(page.get_by_text("KL divergence").first).to_be_visible()
    assert comes(page, lambda: pictures(page)[0] != before)
    page.get_by_role("button", name="Undo").click()
    settle(page)
    expect(page).to_have_url(re.compile("heads_changed=none"))


def every_head_is_switched_that_is_clicked_while_another_is_drawn(page: Page) -> None:
    """No click takes the place of another."""
    off, names = set(), page.get_by_label(WORDS.label("changed"), exact=True)
    for milliseconds, switched in ((10, (3, 9, 14, 20)), (30, (9, 2, 20, 5)), (80, (3, 4, 14, 7)), (150, (1, 2, 4))):
        page.evaluate(SWITCH, [switched, milliseconds])
        off ^= set(switched)
        expect(names).to_have_value(named(off))
    page.get_by_role("button", name=WORDS.label("undo"), exact=True).click()
    expect(names).to_have_value(named(off ^ {4}))


def test_while_a_question_waits_another_panel_can_be_picked_and_asks_its_own(open_page):
    page = open_page("heads?ask=true", width=1440, height=900)
    asked = page.locator(".prediction .question")
    expect(asked).to_contain_text("48 heads")
    expect(page.locator(".wall")).to_have_count(0)
    page.get_by_role("radio", name=WORDS.label("panel_head")).click()
    settle(page)
    expect(asked).to_contain_text("gets most of its attention")
    page.locator(".prediction .token input").nth(3).check(force=True)
    page.locator(".prediction .commit").click()
    settle(page)
    expect(page.locator(".prediction .tag.answer")).to_be_visible()
    expect(page.locator(".wall button.head")).to_have_count(48)
    page.locator(".wall button.head").nth(11).click()         # the guess was about another head
    settle(page)
    expect(page.locator(".view .title")).to_contain_text("Head 1.3")
    expect(page.locator(".prediction .tag.answer")).to_have_count(0)
    page.get_by_role("radio", name=WORDS.label("panel_wall")).click()
    settle(page)
    expect(asked).to_contain_text("48 heads")
    assert page.errors == []


def tokens_are_text_and_never_markup(page: Page) -> None:
    expect(page.locator(".queries .chip")).to_have_text(run_on(HOSTILE).tokens)
    expect(page.locator(".view img, .view .chip *")).to_have_count(0)


def test_every_panel_stands_whole_on_a_phone(open_page, server):
    page = open_page("heads", width=390, height=844)
    for panel in ("wall", "head", "roles", "write", "change", "prompts", "rollout"):
        go_to(page, f"{server.url}/heads?heads_panel={panel}&heads_changed=0.*")
        page.get_by_role("radio", name=WORDS.label(f"panel_{panel}"), checked=True).wait_for()
        settle(page)
        rest(page)
        assert cut_off(page) == [] and page.errors == [], panel
        assert page.evaluate("document.scrollingElement.scrollWidth") <= 390, panel


def test_no_press_of_a_quick_hand_is_lost(browser, server):
    """Half of them come while Python's answer to the others is on its way."""
    page = browser.new_context(bypass_csp=True, viewport={"width": 1440, "height": 900}).new_page()
    prepare(page)
    line = Line(page)
    page.goto(f"{server.url}/heads?heads_panel=change&heads_changed=0.*&heads_action=scale")
    settle(page)
    page.get_by_role("slider").last.focus()
    line.hold()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    answer = line.await_answer()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    line.let(answer)
    line.release()
    expect(page.locator(".wall button.head").first).to_have_attribute(
        "aria-label", re.compile(r"^0\.0 ×1\.1"))
    # The address is written only after the wall has its numbers.
    expect(page).to_have_url(re.compile("heads_factor=1.1"))
    page.context.close()


def test_a_new_prompt_draws_the_wall_once_and_leaves_no_hand_on_a_token_that_is_gone(open_page):
    """The wall asks for the rest of the page where it was drawn alone; with a new prompt the frame does."""
    page = open_page("heads?prompt=The%20cat%20sat")
    page.evaluate("() => { const send = WebSocket.prototype.send; WebSocket.prototype.send = function (...data) { "
                  "window.sent = (window.sent ?? 0) + 1; return send.apply(this, data); }; }")
    field = page.locator(".st-key-prompt textarea")
    field.fill("One day a girl found a box")
    field.press("Control+Enter")
    page.wait_for_url("**box*")
    settle(page)
    rest(page)
    assert page.evaluate("window.sent") == 2
    a_shorter_text_leaves_no_hand_on_a_token_that_is_gone(page)
    assert page.errors == []


def a_shorter_text_leaves_no_hand_on_a_token_that_is_gone(page: Page) -> None:
    box = page.locator(".wall button.head").first.bounding_box()
    page.mouse.move(box["x"] + 0.95 * box["width"], box["y"] + 0.97 * box["height"])
    page.locator(".wall .tip").wait_for()
    page.locator(".st-key-prompt textarea").fill("Mia")
    page.keyboard.press("Control+Enter")
    page.wait_for_url("**prompt=Mia**")
    settle(page)
    expect(page.locator(".wall .tip")).to_be_hidden()


def test_a_projector_shows_a_head_as_wide_as_its_screen_and_every_head_at_a_size_to_be_read(open_page):
    """Matrix and lines stand beside each other, row for row and without a scrollbar; a tile has 60 pixels; the axes of
    the scatter have the names of their measures.
    """
    page = open_page("heads?heads_panel=head&present=true", width=1280, height=720)
    matrix, lines = (page.locator(f".view {part}") for part in (".matrix", ".lines"))
    expect(lines).to_be_visible()
    rest(page)
    bar = page.locator(".st-key-try_step").bounding_box()["y"]
    left, right = matrix.bounding_box(), lines.bounding_box()
    assert left["width"] > 0.45 * 1280 and right["x"] + right["width"] > 0.9 * 1280
    assert left["y"] + left["height"] <= bar and right["y"] + right["height"] <= bar + 1
    assert lines.evaluate("node => node.scrollHeight - node.clientHeight") <= 3
    last = page.locator(".queries button").last.bounding_box()
    assert last["y"] + last["height"] <= bar
    page.mouse.move(left["x"] + 0.25 * left["width"], left["y"] + 0.6 * left["height"])     # another query
    expect(page.locator(".queries .reached:not(.picked)")).to_have_count(1)

    go_there(page, heads_panel="wall", present="true")
    expect(page.locator(".wall.aside .title")).to_contain_text(WORDS.label("role_first_token"))
    heights = page.locator(".wall button.head").evaluate_all("heads => heads.map((head) => head.clientHeight)")
    last = page.locator(".wall button.head").last.bounding_box()
    assert min(heights) > 60 and last["y"] + last["height"] <= bar

    go_there(page, heads_panel="roles", present="true")
    for measure in ("previous_token", "first_token"):
        expect(page.locator(".st-key-heads_scatter svg").get_by_text(WORDS.label(f"measure_{measure}"))).to_be_visible()


def test_the_wall_takes_the_room_that_the_parts_above_leave_whenever_they_change(open_page):
    page = heads_page(open_page, heads_panel="wall")
    tiles = page.locator(".wall canvas.tiles")
    before = tiles.bounding_box()["height"]
    push = "(head, pixels) => { head.style.marginBottom = pixels; }"
    page.locator(".st-key-lesson_head").evaluate(push, "250px")
    assert comes(page, lambda: tiles.bounding_box()["height"] < before - 40)
    page.locator(".st-key-lesson_head").evaluate(push, "")
    assert comes(page, lambda: tiles.bounding_box()["height"] == before)
