"""The page's rules find what they are for: Streamlit may rename what it calls its elements by."""
from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from core.app.shell import page_style
from tests.browser.pictures import comes
from tests.browser.serving import go_to, rest, settle

# Together they show every element that a rule names: a notice, a code drawer, number fields, charts, a page that loads.
PAGES = ("overview?layer=none", "architectures", "heads", "next_token", "training?training_view=live",
         "positions?positions_view=waves&present=true")
HIDDEN = {"stCode", "stBidiComponentRegular"}      # code stands in closed drawers; components of ours are isolated
SEEN = """(() => {
    window.seen = new Set();
    const note = (node) => node.dataset?.testid && window.seen.add(node.dataset.testid);
    new MutationObserver((changes) => {
        for (const node of changes.flatMap(({ addedNodes }) => [...addedNodes])) {
            note(node);
            node.querySelectorAll?.("[data-testid]").forEach(note);
        }
    }).observe(document, {childList: true, subtree: true});
})()"""


def test_every_element_that_a_rule_names_exists(open_page, server):
    named = set(re.findall(r'data-testid="([^"]+)"', "".join(sheet.read_text(encoding="utf-8")
                                                          for sheet in page_style.SHEETS)))
    page = open_page("course", script=SEEN)
    for address in PAGES:
        go_to(page, f"{server.url}/{address}")
        settle(page)
        rest(page)
    assert len(named) > 15 and named - set(page.evaluate("[...window.seen]")) - HIDDEN == set()


@pytest.mark.parametrize(("width", "query"), [(1024, ""), (1280, "&present=true")])
def test_the_prompt_and_what_stands_beside_it_take_one_row(open_page, width: int, query: str):
    """On a narrow window, and in present mode, where the row names a model that is not the main one."""
    page = open_page(f"heads?model=positions-relative{query}", width=width, height=720)
    rest(page)
    prompt, switch = (page.locator(part).bounding_box() for part in (".st-key-prompt_place", ".st-key-present"))
    assert abs(prompt["y"] + prompt["height"] / 2 - switch["y"] - switch["height"] / 2) < 6
    assert prompt["width"] > 180 and switch["x"] + switch["width"] <= width
    if query:
        named = page.locator(".st-key-prompt_model p")
        expect(named).to_have_text("positions-relative")
        box = named.bounding_box()
        assert abs(prompt["y"] + prompt["height"] / 2 - box["y"] - box["height"] / 2) < 6
        expect(page.get_by_text("It is for comparing")).to_have_count(0)
    assert page.errors == []


# how many pixels of the text are left of the field, and how many pixels right of its end the text's end is
ENDS = """(field) => {
  const context = document.createElement("canvas").getContext("2d"), style = getComputedStyle(field);
  context.font = style.font;
  const width = parseFloat(style.paddingLeft) + context.measureText(field.value.split("\\n").at(-1)).width;
  return [field.scrollLeft, width - field.scrollLeft - field.clientWidth, field.hasAttribute("data-cut")];
}"""
LINE = "A text that is longer than its field: the cat sat on the mat, the dog sat on the log, and the last word is "


@pytest.mark.parametrize(("width", "query"), [(1440, ""), (1280, "&present=true"), (390, "")])
def test_the_prompt_shows_the_end_of_its_text_where_nobody_writes(open_page, width: int, query: str):
    page = open_page(f"tokens?prompt={LINE}her{query}", width=width, height=800)
    field = page.locator(".st-key-prompt textarea")
    inner, outer = (box.bounding_box() for box in (field, page.get_by_test_id("stTextAreaRootElement").first))
    assert inner["x"] + inner["width"] < outer["x"] + outer["width"] - 8, "a little air behind the last word"

    def ends(cut: bool) -> bool:
        left, right, is_cut = field.evaluate(ENDS)
        return right < 1 and is_cut is cut is (left > 0)

    assert comes(page, lambda: ends(cut=True))
    for text, cut in ((f"Short.\n{LINE}his", True), (f"{LINE}\nShort.", False)):
        field.fill(text)
        field.press("Control+Enter")
        field.blur()
        assert comes(page, lambda cut=cut: ends(cut)), text
        assert comes(page, lambda: field.evaluate("(f) => f.scrollTop + f.clientHeight > f.scrollHeight - 2"))
    page.set_viewport_size({"width": 640, "height": 800})
    field.fill(f"{LINE}their")
    field.blur()
    assert comes(page, lambda: ends(cut=True)) and page.errors == []
