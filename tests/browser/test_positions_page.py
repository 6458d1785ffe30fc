"""The lesson Positions in a real Chromium: its pictures say what Python computes, a drag answers in place, a link
reproduces the picture.
"""
from __future__ import annotations

import math
import re
import urllib.parse
from xml.etree import ElementTree

import pytest
import torch
from playwright.sync_api import Locator, Page, expect
from torch import Tensor

from core.app.compute import cache
from core.app.state import prompts
from core.app.state.run import Run, read
from core.figures import positions as figures
from core.figures.numbers import plain_number
from core.model import positional
from pages.positions import biases, concat, rotary
from tests.browser.pictures import come_alike, comes, pictures_at_rest, starting
from tests.browser.readings import Picture, Reading, faults, label
from tests.browser.serving import go_to, rest, settle, try_menu

# Notes what is written on a canvas from now on, and what of it reaches beyond the canvas.
NOTE_WRITING = """() => {
    const pen = CanvasRenderingContext2D.prototype, write = pen.fillText;
    Object.assign(window, {written: [], cut: []});
    pen.fillText = function (text, x, y) {
        const { actualBoundingBoxAscent: above, actualBoundingBoxDescent: below, actualBoundingBoxLeft: before,
            actualBoundingBoxRight: after } = this.measureText(text), { canvas } = this;
        written.push(text);
        if (y < above || y + below > canvas.clientHeight || x < before
            || x + after > canvas.clientWidth) cut.push(`${text} on ${canvas.className}`);
        write.call(this, text, x, y);
    };
}"""
WAVES = positional.sinusoidal(128, 64)
WAVES_OPEN = "positions_view=waves"
HEADS, HEAD, N, QUERY, CLIP = 12, 9, 20, 13, 8
LAYER, OWN_HEAD, POSITION = 1, 2, 3         # of the model, where a picture is of its weights


def picture(address: str, canvas: str, shows: str, *readings: Reading, **others) -> Picture:
    """One of the lesson, which draws in the frame after the hand has moved."""
    return Picture(f"positions?{address}", f".canvas-{canvas}", shows, readings, late=True,
                   **({"points": 60} | others))


def entries(key: str, group: str, tensor: Tensor, *axes: str) -> Reading:
    """A picture's words for some entries of a matrix: the label's `group` is the entry."""
    return Reading(label("positions", key).replace(f"<{group}>", "<value>"), lambda _: tensor, axes, whole=False)


def relative_table() -> Tensor:
    """(N, N) entries of the table that the lesson begins with."""
    entries_, longest = torch.from_numpy(biases.table(biases.SETTINGS["r"].default)), biases.LONGEST
    return entries_[longest - CLIP: longest + CLIP + 1][positional.relative_index(N, N, CLIP)]


def alibi(of_weights: bool) -> Tensor:
    """(N, N) biases of the head, or the attention that they make alone; NaN if the mask hides it."""
    bias = positional.alibi_bias(N, N, HEADS)[HEAD].double()
    hidden = torch.ones(N, N, dtype=torch.bool).triu(1)
    return (torch.softmax(bias.masked_fill(hidden, -torch.inf), -1) if of_weights else bias).masked_fill(
        hidden, torch.nan)


def run_now() -> Run:
    return read(cache.shared_model(cache.model_names()[0], "cpu"), prompts.default_prompt())


def all_pictures() -> dict[str, Picture]:
    """The lesson's pictures whose numbers the browser computes, or is given by Python."""
    P = run_now().model.P.detach().double()
    table, alike = relative_table(), figures.geometry(P.numpy())
    learned = "positions_view=learned&positions_learned_more=true&positions_learned_principal="
    linear = (f"positions_view=biases&positions_biases_heads={HEADS}&positions_biases_head={HEAD}"
              f"&positions_biases_n={N}")
    return {
        "waves": picture(WAVES_OPEN, "heat", ".tip", Reading(
            r"position (?P<i>\d+), dimension (?P<dimension>\d+): .* = (?P<value>.+)", lambda _: WAVES,
            ("i", "dimension"), whole=False)),
        "their products": picture(WAVES_OPEN, "products", ".tip", Reading(
            r"P\n40\n · P\n(?P<j>\d+)\n = (?P<value>.+), distance \d+", lambda _: WAVES @ WAVES[40], ("j",)),
            points=0, keys=(128, 1)),
        "ALiBi": picture(linear, "alibi-weights", ".reading", *(
            entries("bias_tip", group, alibi(group == "weight"), "i", "j") for group in ("bias", "weight")),
            besides=label("positions", "bias_tip_masked")),
        "relative table": picture(linear, "relative-weights", ".reading",
                                  entries("bias_tip", "bias", table, "i", "j"),
                                  entries("bias_tip", "weight", torch.softmax(table, -1), "i", "j")),
        "learned": picture(f"{learned}true", "learned", ".reading", Reading(
            # an axis has no sign
            label("positions", "learned_tip_turned").replace("(?P<value>", "−?(?P<value>"),
            lambda _: torch.from_numpy(alike.turned).abs(), ("i", "dimension"), whole=False)),
        "cosines": picture(f"{learned}false", "learned-cosines", ".reading",
                           entries("learned_tip_cosine", "value", torch.from_numpy(alike.cosines), "i", "j")),
        "sinusoids": picture(f"{learned}false", "sinusoidal", ".reading",
                             entries("learned_tip", "value", positional.sinusoidal(*P.shape), "i", "dimension")),
    }


def standing(open_page, address: str = WAVES_OPEN, **options) -> Page:
    page = open_page(f"positions?{address}", **options)
    rest(page)
    return page


def go_there(page: Page, address: str) -> None:
    """To another picture of the lesson, until it stands."""
    go_to(page, f"{page.url.partition('?')[0]}?{address}")
    settle(page)
    rest(page)


def reading(page: Page) -> str:
    return page.locator(".reading").inner_text()


def settings_in(page: Page) -> dict[str, str]:
    """The settings of the address, without the lesson's own name."""
    query = urllib.parse.parse_qsl(urllib.parse.urlsplit(page.url).query)
    return {key.removeprefix("positions_"): value for key, value in query}


def value_of(page: Page, name: str) -> Locator:
    """The value that a range shows."""
    return page.locator(f".range.{name} .value")


def test_what_the_pictures_say_is_what_python_computes(open_page, server):
    page, found = open_page("positions"), {}
    for name, shown in all_pictures().items():
        go_to(page, f"{server.url}/{shown.address}")
        settle(page)
        rest(page)
        found[name] = faults(shown, page, None)
    assert {name: wrong for name, wrong in found.items() if wrong} == {} and page.errors == []


def test_the_waves_answer_the_keyboard_a_press_a_drag_and_an_experiment_and_a_copied_link_reproduces_them(open_page):
    page = standing(open_page)
    the_keyboard_moves_the_cursor_through_all_panels(page)
    a_press_in_the_heatmap_picks_position_and_pair(page)
    a_drag_changes_the_waves_in_place_and_release_tells_python(page)
    go_there(page, WAVES_OPEN)
    an_experiment_moves_the_instrument_and_the_address(page)
    a_copied_link_reproduces_the_picture(page, open_page)
    assert page.errors == []


def a_drag_changes_the_waves_in_place_and_release_tells_python(page: Page) -> None:
    heat, slider = page.locator("canvas.canvas-heat"), page.get_by_role("slider", name="Length N")
    heat.evaluate("canvas => { canvas.kept = true; }")
    box = slider.bounding_box()
    before, address = reading(page), page.url
    page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + box["height"] / 2)
    page.mouse.down()
    drawn = set()
    for step in range(12):
        page.mouse.move(box["x"] + box["width"] * (0.5 - 0.02 * step), box["y"] + box["height"] / 2)
        drawn.add(heat.evaluate("canvas => new Promise((told) => requestAnimationFrame(() => requestAnimationFrame("
                                "() => told(canvas.toDataURL()))))"))
    assert len(drawn) > 6 and page.url == address         # the picture has followed the hand, Python has not been asked
    page.mouse.up()
    page.wait_for_url(re.compile("positions_waves_n="))
    settle(page)
    n = value_of(page, "n").inner_text()
    assert comes(page, lambda: settings_in(page)["waves_n"] == n)
    expect(slider).to_have_value(n)
    assert heat.evaluate("canvas => canvas.kept")
    expect(heat).to_have_attribute("aria-label", re.compile(re.escape(f"{n} positions across")))
    assert reading(page) != before or n == "128"


def the_keyboard_moves_the_cursor_through_all_panels(page: Page) -> None:
    page.get_by_role("slider", name="Position i, the solid cursor").focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_url(re.compile("positions_waves_i=41"))
    settle(page)
    product = plain_number(sum(math.cos(11 * w) for w in positional.frequencies(64).tolist()))
    assert product in reading(page)
    # the numbers below have followed
    expect(page.locator(".katex annotation", has_text="P_{41}").first).to_be_attached()


def a_press_in_the_heatmap_picks_position_and_pair(page: Page) -> None:
    box = page.locator("canvas.canvas-heat").bounding_box()
    page.mouse.click(box["x"] + box["width"] * 0.7, box["y"] + box["height"] * 0.5)
    page.wait_for_url(re.compile("positions_waves_pair="))
    settle(page)
    i, pair = (settings_in(page)[f"waves_{name}"] for name in ("i", "pair"))
    assert i not in ("40", "41") and pair != "8"
    expect(value_of(page, "i")).to_have_text(i, use_inner_text=True)
    expect(page.locator(".panel.wave .caption")).to_contain_text(f"Pair {pair} turns once", use_inner_text=True)


def a_copied_link_reproduces_the_picture(first: Page, open_page) -> None:
    """One who has moved everything gets what a new reader gets."""
    chosen = {"n": "96", "d": "32", "base": "500", "pair": "5", "i": "11", "j": "70"}
    link = "&".join([WAVES_OPEN, *(f"positions_waves_{name}={value}" for name, value in chosen.items())])
    go_there(first, link)
    second = standing(open_page, link)
    for page in (first, second):
        for name, value in chosen.items():
            expect(value_of(page, name)).to_have_text(value, use_inner_text=True)
    assert reading(first) == reading(second) and come_alike(first, second)


def an_experiment_moves_the_instrument_and_the_address(page: Page) -> None:
    try_menu(page).get_by_role("button", name="Base 1: all pairs alike").click()
    page.wait_for_url(re.compile("positions_waves_base=1.0"))
    settle(page)
    expect(value_of(page, "base")).to_have_text("1", use_inner_text=True)
    expect(value_of(page, "j")).to_have_text("84", use_inner_text=True)
    # 44 positions are 7.003 turns: P40 and P84 are nearly one vector
    product = float(re.search(r"Multiplied out, P40 · P84 = ([\d.]+)\.", reading(page).replace("\n", ""))[1])
    assert abs(product - 32) < 0.01


def test_the_rotary_score_is_pythons_and_stands_still_under_a_shift(open_page):
    page = standing(open_page, "positions_view=rotary&positions_rotary_i=30&positions_rotary_j=4"
                               f"&positions_rotary_shift=900&layer={LAYER}&head={OWN_HEAD}&position={POSITION}")
    q, k = rotary.query_and_key(run_now(), LAYER, OWN_HEAD, POSITION)
    here, there = re.findall(r"= (−?\d+\.\d{4})", page.locator(".reading").text_content())
    assert float(here.replace("−", "-")) == pytest.approx(rotary.score(q, k, 30, 4, 1e4), abs=6e-5) and here == there
    for _ in range(17):
        page.get_by_role("slider", name="Query's position i").press("ArrowLeft")
    expect(page.locator(".panel.curve .caption")).to_contain_text("at 9")
    shown = re.search(r"distance i − j: (\S+) at 9", page.locator(".panel.curve .caption").inner_text())[1]
    assert float(shown.replace("−", "-")) == pytest.approx(rotary.score(q, k, 9, 0, 1e4), abs=6e-5)


def test_a_bar_of_the_relative_table_bends_the_matrix_and_the_link_and_is_high_enough_on_a_projector(open_page):
    page = standing(open_page, "positions_view=biases&positions_biases_n=96")
    page.evaluate(NOTE_WRITING)
    page.set_viewport_size({"width": 1270, "height": 900})        # the panels are drawn anew
    rest(page)
    assert page.evaluate("[written.length > 40, cut]") == [True, []]
    box = page.locator("canvas.canvas-table").bounding_box()
    x, own = box["x"] + 40 + (box["width"] - 48) * (3 + 8 + 0.5) / 17, r"distance 3: r = (\S+)"
    page.mouse.move(x, box["y"] + 40)
    expect(page.locator(".reading")).to_have_text(re.compile(own))
    before = re.search(own, reading(page))[1]
    page.mouse.click(x, box["y"] + 12)
    page.wait_for_url(re.compile("positions_biases_r="))
    settle(page)
    after = value_of(page, "value").inner_text()
    assert float(after) > 3 > float(before.replace("−", "-"))
    matrix = page.locator("canvas.canvas-relative")
    matrix.focus()
    for _ in range(4):              # the first shows where they begin
        matrix.press("ArrowDown")
    expect(page.locator(".reading")).to_contain_text(f"query 3, key 0, distance 3: bias {float(after):.4f},")
    page.set_viewport_size({"width": 1280, "height": 720})
    go_there(page, "positions_view=biases&present=true")
    expect(page.locator("[class*=st-key-try_menu_]")).to_have_count(0)      # present mode
    page.get_by_role("radio", name="Relative table").click()
    rest(page)
    assert page.locator(".canvas-table").bounding_box()["height"] >= 140 and page.errors == []


def test_the_four_cases_of_the_symmetry_experiment(open_page):
    page = standing(open_page, "positions_view=symmetry")
    cases = page.locator("button.case")
    expect(cases).to_have_class(["case follows", "case", "case", "case"])
    cases.nth(1).click()
    page.wait_for_url(re.compile("positions_symmetry_case=mask"))
    settle(page)
    expect(cases.nth(1)).to_have_attribute("aria-checked", "true")
    assert comes(page, lambda: float(cases.nth(1).locator(".number").inner_text()) > 1e-2)
    apart = pictures_at_rest(page)
    page.get_by_text("Line up by token").click()
    settle(page)
    assert pictures_at_rest(page) != apart and page.errors == []


def concat_at(mode: str) -> str:
    return (f"positions_view=concat&positions_concat_mode={mode}&positions_concat_i=9"
            f"&layer={LAYER}&head={OWN_HEAD}&position={POSITION}")


def test_the_products_side_by_side_and_added_are_those_of_numpy(open_page):
    page = standing(open_page, concat_at("concatenate"))
    are_those_of_numpy(page, same=False)
    go_there(page, concat_at("add"))
    expect(page.locator(".verdict")).to_have_text(starting("="), use_inner_text=True)
    are_those_of_numpy(page, same=True)
    assert page.errors == []


def are_those_of_numpy(page: Page, same: bool) -> None:
    run = run_now()
    x, W = run.trace.embedding[POSITION][:4].double(), run.model.blocks[LAYER].W_Q[OWN_HEAD].detach().double()
    W_X, p = W[:4, :3], torch.tensor([math.sin(9), math.cos(9)], dtype=torch.float64)
    W_P = W_X[:2] if same else torch.from_numpy(concat.made_up_weights(3, float(W.numpy().std())))
    for side, expected in (("concatenate", x @ W_X + p @ W_P), ("add", x @ W_X + p @ W_X[:2])):
        shown = page.locator(f".side.{side} tr.whole td").all_inner_texts()
        assert [float(cell.replace("−", "-")) for cell in shown] == pytest.approx(expected.tolist(), abs=6e-4)
    expect(page.locator(".verdict")).to_have_text(starting("=" if same else "≠"), use_inner_text=True)
    with page.expect_download() as saved:      # tables, which have neither canvas nor SVG
        page.get_by_role("button", name="SVG", exact=True).click()
    picture = ElementTree.parse(saved.value.path()).getroot()
    texts, rects = ([*picture.iter(f"{{http://www.w3.org/2000/svg}}{tag}")] for tag in ("text", "rect"))
    cells = page.locator(".panels td").all_inner_texts()
    assert sorted(text.text for text in texts if text.text in cells) == sorted(cells) and len(rects) > len(cells) // 2
    assert float(picture.get("width")) > 400 and float(picture.get("height")) > 150
