"""The lesson Positions in a real Chromium: browser and Python compute the same, a drag answers in place, a link
reproduces the picture.
"""
from __future__ import annotations

import math
import re

import numpy as np
import pytest

from core.figures import positions as figures
from core.figures.numbers import plain_number
from core.model import positional
from pages.positions import rotary
from tests.browser.serving import settle

# The instrument object that a component keeps on its root, found through the shadow trees.
FIND = """const find = (root) => { for (const node of root.querySelectorAll('*')) { if (node.view) return node.view;
    if (node.shadowRoot) { const found = find(node.shadowRoot); if (found) return found; } } return null; };"""

# What the instrument writes on its canvases, drawn once more, that reaches beyond one of them.
CUT_OFF = "() => {" + FIND + """
    const pen = CanvasRenderingContext2D.prototype, write = pen.fillText, cut = [];
    pen.fillText = function (text, x, y) {
        const { actualBoundingBoxAscent: above, actualBoundingBoxDescent: below, actualBoundingBoxLeft: before,
            actualBoundingBoxRight: after } = this.measureText(text), { canvas } = this;
        if (y < above || y + below > canvas.clientHeight || x < before
            || x + after > canvas.clientWidth) cut.push(`${text} on ${canvas.className}`);
        write.call(this, text, x, y);
    };
    find(document).draw();
    pen.fillText = write;
    return cut;
}"""


def view_of(page, expression: str):
    """`expression` of the instrument `view`."""
    page.wait_for_function(f"() => {{ {FIND} const view = find(document); return view && view.frames > 0; }}")
    return page.evaluate(f"() => {{ {FIND} const view = find(document); return {expression}; }}")


def set_now(page, settings: dict) -> None:
    """Draw other settings at once, as a drag does, without telling Python."""
    page.evaluate(f"(settings) => {{ {FIND} const view = find(document); Object.assign(view.settings, settings); "
                  f"view.draw(); }}", settings)


def reading(page) -> str:
    return page.locator(".reading").inner_text()


def test_browser_and_python_compute_the_same_waves(open_page):
    page = open_page("positions")
    view_of(page, "1")
    for n, d, base, i in [(128, 64, 10_000, 40), (256, 512, 10_000, 255), (256, 2, 1, 7), (64, 128, 1_000_000, 63),
                          (200, 30, 3.16, 111)]:
        set_now(page, {"n": n, "d": d, "base": base, "i": i, "j": 0, "pair": 0})
        P = positional.sinusoidal(n, d, base).numpy()
        np.testing.assert_allclose(np.array(view_of(page, "Array.from(view.P)")).reshape(n, d), P, rtol=0, atol=1e-12)
        np.testing.assert_allclose(view_of(page, "Array.from(view.row)"), P @ P[i], rtol=0, atol=1e-11)
        by_distance = [sum(math.cos(t * w) for w in positional.frequencies(d, base).tolist()) for t in range(n)]
        np.testing.assert_allclose(view_of(page, "Array.from(view.distances)"), by_distance, rtol=0, atol=1e-11)


def test_a_drag_changes_the_waves_in_place_and_release_tells_python(open_page):
    page = open_page("positions")
    view_of(page, "1")
    page.evaluate(f"() => {{ {FIND} window.canvas = find(document).panels.heat.surface.canvas; }}")
    slider = page.get_by_role("slider", name="Length N")
    box = slider.bounding_box()
    before, address = reading(page), page.url
    page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + box["height"] / 2)
    page.mouse.down()
    lengths = set()
    for step in range(12):
        page.mouse.move(box["x"] + box["width"] * (0.5 - 0.02 * step), box["y"] + box["height"] / 2)
        page.wait_for_timeout(30)
        lengths.add(view_of(page, "view.heatPicture.width"))
    assert len(lengths) > 6 and page.url == address       # the picture has followed the hand, Python has not been asked
    page.mouse.up()
    page.wait_for_url(re.compile("positions_waves_n="))
    settle(page)
    n = view_of(page, "view.settings.n")
    assert n == view_of(page, "view.heatPicture.width") and f"positions_waves_n={n}" in page.url
    # the same element
    assert page.evaluate(f"() => {{ {FIND} return window.canvas === find(document).panels.heat.surface.canvas; }}")
    assert reading(page) != before or n == 128
    assert page.errors == []


def test_the_keyboard_moves_the_cursor_through_all_panels(open_page):
    page = open_page("positions")
    view_of(page, "1")
    page.get_by_role("slider", name="Position i, the solid cursor").focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_url(re.compile("positions_waves_i=41"))
    settle(page)
    product = plain_number(sum(math.cos(11 * w) for w in positional.frequencies(64).tolist()))
    assert product in reading(page)
    # the numbers below have followed
    assert any("P_{41}" in latex for latex in page.locator(".katex annotation").all_text_contents())


def test_in_the_heatmap_hover_reads_and_a_press_picks_position_and_pair(open_page):
    page = open_page("positions")
    view_of(page, "1")
    box = page.locator("canvas.canvas-heat").bounding_box()
    page.mouse.move(box["x"] + box["width"] * 0.6, box["y"] + box["height"] * 0.3)
    page.wait_for_timeout(100)
    i, dimension, value = re.fullmatch(r"position (\d+), dimension (\d+): .* = (.*)",
                                       page.locator(".tip").inner_text()).groups()
    assert (float(value.replace("\u2212", "-"))
            == pytest.approx(float(positional.sinusoidal(128, 64)[int(i), int(dimension)]), abs=5e-5))
    page.mouse.click(box["x"] + box["width"] * 0.7, box["y"] + box["height"] * 0.5)
    page.wait_for_url(re.compile("positions_waves_pair="))
    settle(page)
    i, pair = view_of(page, "[view.settings.i, view.settings.pair]")
    assert i != 40 and pair != 8
    assert f"Pair {pair} turns once" in page.locator(".panel.wave .caption").inner_text()


def test_a_copied_link_reproduces_the_picture(open_page):
    link = ("positions?positions_waves_n=96&positions_waves_d=32&positions_waves_base=500&positions_waves_i=11"
            "&positions_waves_j=70&positions_waves_pair=5")
    first, second = (open_page(link) for _ in range(2))
    settings = view_of(first, "view.settings")
    assert settings == {"n": 96, "d": 32, "base": 500, "pair": 5, "i": 11, "j": 70} == view_of(second, "view.settings")
    assert reading(first) == reading(second)


def test_the_rotary_score_is_pythons_and_stands_still_under_a_shift(open_page):
    page = open_page(
        "positions?positions_view=rotary&positions_rotary_i=30&positions_rotary_j=4&positions_rotary_shift=900")
    q, k, here, there, curve = view_of(
        page, "[Array.from(view.q), Array.from(view.k), view.unshifted, view.shifted, Array.from(view.scores)]")
    assert here == pytest.approx(rotary.score(np.array(q), np.array(k), 30, 4, 1e4), abs=1e-12)
    assert abs(here - there) < 1e-10
    assert curve[128 - 17] == pytest.approx(rotary.score(np.array(q), np.array(k), 0, 17, 1e4), abs=1e-12)


def test_the_biases_are_pythons(open_page):
    page = open_page(
        "positions?positions_view=biases&positions_biases_heads=12&positions_biases_head=9&positions_biases_n=20")
    slopes, weights = view_of(page, "[view.slopes, Array.from(view.weights.alibi)]")
    np.testing.assert_allclose(slopes, positional.alibi_slopes(12).numpy(), rtol=1e-15)
    expected = figures.softmax_of_bias(positional.alibi_bias(20, 20, 12)[9].double().numpy(), 13)
    np.testing.assert_allclose(weights[13 * 20: 13 * 20 + 14], expected, atol=1e-7)   # the bias comes as float32


def test_a_bar_of_the_relative_table_bends_the_matrix_and_the_link(open_page):
    page = open_page("positions?positions_view=biases&positions_biases_n=96")
    before = view_of(page, "view.entry(3)")
    assert page.evaluate(CUT_OFF) == []
    box = page.locator("canvas.canvas-table").bounding_box()
    x = box["x"] + 40 + (box["width"] - 48) * (3 + 8 + 0.5) / 17
    page.mouse.click(x, box["y"] + 12)
    page.wait_for_url(re.compile("positions_biases_r="))
    settle(page)
    after = view_of(page, "view.entry(3)")
    assert after > 3 > before and view_of(page, "view.bias.relative(9, 6)") == after


def test_both_roads_through_the_weights_meet(open_page):
    page = open_page(
        "positions?positions_view=concat&positions_concat_mode=add&positions_concat_width=64&positions_concat_i=9")
    view_of(page, "1")
    for mode, width in (("add", 64), ("concatenate", 64), ("concatenate", 10)):
        set_now(page, {"mode": mode, "width": width})
        x, W_X, W_P, p, whole, k, worst = view_of(page,
                                                  "[Array.from(view.x), Array.from(view.W_X), Array.from(view.W_P), "
                                                  "Array.from(view.p), Array.from(view.whole), view.k, view.worst]")
        W_X, W_P = np.array(W_X).reshape(-1, k), np.array(W_P).reshape(-1, k)
        d_p = len(x) if mode == "add" else width
        np.testing.assert_allclose(p, positional.sinusoidal(10, d_p)[9].numpy(), atol=1e-14)
        expected = ((np.array(x) + p) @ W_X if mode == "add"
                    else np.concatenate([x, p]) @ np.concatenate([W_X, W_P[:width]]))
        np.testing.assert_allclose(whole, expected, atol=1e-12)
        assert worst < 1e-13


def test_the_four_cases_of_the_symmetry_experiment(open_page):
    page = open_page("positions?positions_view=symmetry", width=1280)
    view_of(page, "1")
    cases = page.locator("button.case")
    assert [cases.nth(k).get_attribute("class") for k in range(4)] == ["case follows", "case", "case", "case"]
    cases.nth(1).click()
    page.wait_for_url(re.compile("positions_symmetry_case=mask"))
    settle(page)
    assert view_of(page, "Math.max(...view.differences)") > 1e-2
    page.get_by_text("Line up by token").click()
    page.wait_for_function(f"() => {{ {FIND} return find(document).progress === 1; }}")
    assert page.errors == []


def test_an_experiment_moves_the_instrument_and_the_address(open_page):
    page = open_page("positions")
    view_of(page, "1")
    page.get_by_role("button", name="Base 1: all pairs alike").click()
    page.wait_for_url(re.compile("positions_waves_base=1.0"))
    settle(page)
    assert view_of(page, "[view.settings.base, view.settings.j]") == [1, 84]
    # 44 positions are 7.003 turns: P40 and P84 are nearly one vector
    assert view_of(page, "Math.abs(view.distances[44] - 32)") < 0.01


def test_learned_positions_and_their_sinusoids_are_pythons(open_page):
    page = open_page("positions?positions_view=learned&positions_learned_principal=true")
    learned, sinusoids, turned, cosines, n, d, axes = view_of(
        page, "[Array.from(view.stored.learned), Array.from(view.stored.sinusoidal), Array.from(view.turned.learned), "
              "Array.from(view.cos.learned), view.n, view.d, view.shownAxes]")
    found = figures.geometry(np.array(learned).reshape(n, d))
    np.testing.assert_allclose(np.array(sinusoids).reshape(n, d), positional.sinusoidal(n, d).numpy(), atol=1e-12)
    np.testing.assert_allclose(np.array(cosines).reshape(n, n), found.cosines, atol=1e-6)
    # an axis has no sign
    np.testing.assert_allclose(np.abs(np.array(turned).reshape(n, axes)[:, 0]), np.abs(found.turned[:, 0]), atol=1e-5)
