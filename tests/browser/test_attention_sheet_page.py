"""Worksheet, Scaling and Why query and key in a real Chromium: cells are judged as they are typed and kept, the slider
redraws at once, the printed file has two pages.
"""
from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from core.app.lesson.lesson import Lesson
from core.app.state.reader import PRESENT_SCALE
from core.base import prose
from core.sheets import attention_by_hand
from pages.attention import worksheet as worksheet_view
from tests.browser.pictures import comes, pictures_at_rest, starting
from tests.browser.serving import Server, go_to, settle
from tests.browser.views import LESSONS, opened, stand

WORDS = prose.load("attention")
TOLD = """() => {
  const { send } = WebSocket.prototype;
  window.told = "";
  WebSocket.prototype.send = function (data) {
    window.told = new TextDecoder("latin1").decode(data);
    return send.call(this, data);
  };
}"""
# What is typed into every cell of a sheet, without a hand that goes from one to the next.
TYPED = """(cells, typed) => {
  for (const cell of cells) {
    cell.value = typed[cell.dataset.key];
    cell.dispatchEvent(new InputEvent("input", { bubbles: true, composed: true }));
  }
}"""


def test_cells_are_judged_as_they_are_typed_and_nobody_else_sees_them(open_page):
    sheet = attention_by_hand.worksheet(0, 2)
    steps, slips = attention_by_hand.solve(sheet), attention_by_hand.mistakes(sheet)
    page = opened(open_page, "attention", "worksheet", "&attention_sheet_seed=0")
    cell, verdict = (lambda key: page.locator(f"input[data-key='{key}']"),
                     page.locator(".verdict"))  # noqa: E731
    plain = lambda name: WORDS.label(f"sheet_{name}").replace("_", "")  # noqa: E731
    cell("Q.0.0").click()
    page.keyboard.type(f"{steps['Q'][0, 0]:.0f}")
    expect(verdict).to_contain_text(plain("state_right"))
    page.keyboard.press("Enter")
    assert page.evaluate("[...document.querySelectorAll('*')].map((e) => "
                         "e.shadowRoot?.activeElement?.dataset.key).find(Boolean)") == "Q.0.1"
    page.keyboard.press("ArrowDown")
    assert page.evaluate("[...document.querySelectorAll('*')].map((e) => "
                         "e.shadowRoot?.activeElement?.dataset.key).find(Boolean)") == "Q.1.1"
    weight, output = float(steps["weights"][3, 0]), float(steps["output"][3, 0])
    for key, typed, name in (
            ("masked.0.1", "0", "slip_zero"), ("masked.0.1", "-inf", "state_right"),
            ("masked.2.0", "−∞", "slip_allowed"), ("scaled.3.0", f"{steps['products'][3, 0]:.0f}", "slip_undivided"),
            ("weights.3.0", f"{weight:.2f}".replace(".", ","), "state_right"),
            ("weights.3.0", f"{weight:.6f}", "state_right"), ("weights.3.0", f"{weight:.1f}", "slip_coarse"),
            ("weights.3.0", f"{slips['weights']['unscaled'][3, 0]:.4f}", "slip_unscaled"),
            ("weights.0.1", "0.5", "slip_leak"), ("output.3.0", f"{output + 0.004:.4f}", "slip_rounding"),
            ("output.3.0", "<b>1</b>", "slip_unreadable"), ("Q.0.1", "77", "slip_unknown")):
        cell(key).fill(typed)
        expect(verdict, f"{key} {typed}").to_contain_text(plain(name))
    cell("K.1.0").click()
    page.evaluate(TOLD)
    page.locator("button.show").click()
    expect(cell("K.1.0")).to_have_value(f"{steps['K'][1, 0]:.0f}".replace("-", "−"))
    expect(page.locator(".bar .title")).to_contain_text("1 shown")
    page.wait_for_function("told.includes('K.1.0')")          # half a second after the last cell, all go to Python
    settle(page)
    (page.get_by_role("radio", name=WORDS.label("view_scaling"))
     .or_(page.get_by_role("button", name=WORDS.label("view_scaling"))).first.click())
    page.locator(".scaling-charts").wait_for()
    (page.get_by_role("radio", name=WORDS.label("view_worksheet"))
     .or_(page.get_by_role("button", name=WORDS.label("view_worksheet"))).first.click())
    cell("Q.0.0").wait_for()
    expect(cell("Q.0.0")).to_have_value(f"{steps['Q'][0, 0]:.0f}")
    expect(cell("output.3.0")).to_have_value("<b>1</b>")
    other = opened(open_page, "attention", "worksheet", "&attention_sheet_seed=0")
    expect(other.locator("input[data-key='Q.0.0']")).to_have_value("")
    assert page.errors == other.errors == []


def go(page: Page, server: Server, name: str, query: str) -> None:
    """To a view of the lesson by its address, its picture standing, once the hand's last deed is answered."""
    settle(page)
    go_to(page, f"{server.url}/attention?attention_view={name}{query}")
    settle(page)
    stand(page, LESSONS["attention"][name])


def test_a_sheet_is_filled_and_projected_and_the_slider_of_scaling_redraws(open_page, server):
    page = opened(open_page, "attention", "worksheet", "&attention_sheet_width=4&attention_sheet_seed=3", height=720)
    a_sheet_that_is_filled_from_the_solution_is_full(page)
    on_a_projector_the_sheet_has_two_parts_in_type_as_large_as_all_other(page, server)
    go(page, server, "scaling", "&attention_scaling_d=64")
    the_slider_redraws_in_the_browser_and_the_link_says_so(page, server)
    assert page.errors == []


def a_sheet_that_is_filled_from_the_solution_is_full(page: Page) -> None:
    steps = attention_by_hand.solve(attention_by_hand.worksheet(3, 4))
    solution = {f"{step}.{i}.{j}": "-inf" if value == float("-inf") else f"{value:.4f}"
                for step, values in steps.items()
                for i, row in enumerate(values.tolist()) for j, value in enumerate(row)}
    page.locator("input[data-key]").evaluate_all(TYPED, solution)
    expect(page.locator(".bar .title")).to_have_text(WORDS.label("sheet_finished", done=128, all=128, shown=0))
    page.locator("button.reset").click()
    expect(page.locator(".bar .title")).to_have_text(starting("0 of 128"))


def on_a_projector_the_sheet_has_two_parts_in_type_as_large_as_all_other(page: Page, server: Server) -> None:
    sizes = []
    for query in ("", "&present=true"):
        go(page, server, "worksheet", query)
        sizes.append(page.locator("td.given").first.evaluate("(cell) => parseFloat(getComputedStyle(cell).fontSize)"))
    assert sizes[1] >= PRESENT_SCALE * sizes[0] - 0.1
    page.locator("input[data-key='products.3.3']").click()
    page.keyboard.press("Enter")
    expect(page.locator("input[data-key='scaled.0.0']")).to_be_focused()
    expect(page.locator("td.given").first).to_be_hidden()


def the_slider_redraws_in_the_browser_and_the_link_says_so(page: Page, server: Server) -> None:
    slider = page.get_by_role("slider", name=WORDS.label("scaling_slider"))
    before = page.locator(".chart-softmax").get_attribute("aria-label")
    slider.press("End")
    expect(page.locator(".chart-softmax")).not_to_have_attribute("aria-label", before)
    expect(page.locator(".chart-variance")).to_have_attribute("aria-label", re.compile("root 2[23]$"))
    page.wait_for_url(re.compile("attention_scaling_d=512"))
    settle(page)
    link, drawn = page.url, pictures_at_rest(page)
    go(page, server, "scaling", "&attention_scaling_d=64")
    expect(page.locator(".chart-softmax")).to_have_attribute("aria-label", before)
    go_to(page, link)
    settle(page)
    assert comes(page, lambda: pictures_at_rest(page) == drawn)
    page.locator(".chart-variance path.head").first.dispatch_event("click")
    page.wait_for_url(re.compile("head="))
    settle(page)
    name = page.locator(".chart-variance .head-name").text_content()
    expect(page.get_by_text("on your prompt").first).to_contain_text(name)


def test_the_printed_file_fills_two_pages_of_either_paper(browser):
    page = browser.new_page(bypass_csp=True)
    frame = Lesson("attention", WORDS, prose.load("app"))
    for width in attention_by_hand.WIDTHS:
        page.set_content(worksheet_view._printable(frame, worksheet_view.solved(0, width)))
        for paper in ("A4", "Letter"):
            assert len(re.findall(rb"/Type\s*/Page[^s]", page.pdf(format=paper))) == 2, (width, paper)
    page.close()
