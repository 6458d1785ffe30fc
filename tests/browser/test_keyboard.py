"""The keyboard alone: Tab reaches every control of a page and leaves it again, what has the focus shows it, and the
arrow keys read a picture.
"""
from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.pictures import WALK
from tests.browser.serving import settle

MOST_STOPS = 250
FOCUSED = """() => {
    let e = document.activeElement;
    while (e?.shadowRoot?.activeElement) e = e.shadowRoot.activeElement;
    window.visited ??= new Set();
    const around = visited.has(e) || e === document.body;
    visited.add(e);
    return around;
}"""
# Of radio buttons the picked one alone is a stop of the Tab key: the arrow keys go to the others.
LEFT_OUT = "() => {" + WALK + """
    return walk(document.body, []).filter((e) =>
        e.matches("button, a[href], input, textarea, select, summary, [tabindex]") && e.tabIndex >= 0 && !e.disabled
        && e.type !== "radio" && e.getAttribute("role") !== "radio"
        && e.checkVisibility({visibilityProperty: true}) && e.getBoundingClientRect().width > 0 && !visited.has(e))
        .map((e) => `${e.tagName} ${e.getAttribute("aria-label") || e.textContent.slice(0, 60)} ` +
            `${e.closest("[data-testid]")?.dataset.testid}`);
}"""
SHOWN = """() => {
    let e = document.activeElement;
    while (e?.shadowRoot?.activeElement) e = e.shadowRoot.activeElement;
    return {outline: getComputedStyle(e).outlineStyle, labelled: Boolean(e.getAttribute("aria-label"))};
}"""
# Whether a button has been switched off since, or taken out.
WATCH_AWAY = """(button) => {
    window.away = false;
    new MutationObserver(() => { window.away ||= button.disabled || !button.isConnected; })
        .observe(document, {subtree: true, childList: true, attributes: true, attributeFilter: ["disabled"]});
}"""


@pytest.mark.parametrize("address, picture", [("positions?positions_view=waves", "canvas.canvas-heat"),
                                              ("attention?attention_view=scaling", "svg.chart-entropy")])
def test_tab_reaches_every_control_and_the_arrow_keys_read_the_picture(open_page, address, picture):
    page = open_page(address)
    for _ in range(MOST_STOPS):
        page.keyboard.press("Tab")
        if page.evaluate(FOCUSED):
            break
    else:
        pytest.fail(f"After {MOST_STOPS} stops Tab has not come round.")
    assert page.evaluate(LEFT_OUT) == []
    page.locator(picture).focus()
    spoken = page.locator(f"{picture} + .spoken")
    page.keyboard.press("ArrowRight")
    expect(spoken).not_to_be_empty()
    first = spoken.inner_text()
    assert page.evaluate(SHOWN) == {"outline": "solid", "labelled": True}
    page.keyboard.press("ArrowRight")
    expect(spoken).not_to_have_text(first)
    expect(spoken).not_to_be_empty()
    assert page.errors == []


@pytest.mark.parametrize("address, pressed, then",
                         [("", "[class*=st-key-overview_next_tokens] button", "next_tokens.csv"),
                          ("models", ".st-key-lesson_models_bundled [class*=st-key-models_use_] button", "Use")])
def test_the_focus_stays_where_a_pressed_button_is_switched_off_or_goes(open_page, address, pressed, then):
    page = open_page(address)
    button = page.locator(pressed).first
    button.focus()
    button.evaluate(WATCH_AWAY)
    page.keyboard.press("Enter")
    page.wait_for_function("away")
    settle(page)
    page.wait_for_function("() => document.activeElement !== document.body")
    assert page.evaluate("document.activeElement.textContent") == then and page.errors == []
    page.mouse.click(2, 300)
    page.locator("[data-testid=stMain]").evaluate("(main) => main.append(document.createElement('i'))")
    assert page.evaluate("document.activeElement.tagName") != "BUTTON"        # the reader let go of it


def test_a_cell_picked_by_keys_keeps_the_focus_and_its_place_through_a_new_run(open_page):
    page = open_page("heads?prompt=The cat sat on the mat&layer=1&head=2&heads_panel=head")
    page.locator("canvas.cells").focus()
    spoken = page.locator("[aria-live]", has_text="→")
    for key in ("ArrowLeft", "ArrowLeft", "ArrowUp"):
        page.keyboard.press(key)
    expect(spoken).to_contain_text("·the → ‹end›")
    page.keyboard.press("Enter")
    page.wait_for_url("**position=5&**heads_key=0")
    settle(page)
    assert page.evaluate(SHOWN)["labelled"]
    expect(spoken).to_contain_text("·the → ‹end›")
    page.keyboard.press("ArrowUp")
    expect(spoken).to_contain_text("·on → ‹end›")
    assert page.errors == []
