"""The page Models in a real Chromium: a reader looks at a model in a folder, loads it, and every lesson runs on it."""
from __future__ import annotations

import re
import urllib.parse

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from core.app.compute.library import names
from core.base import catalogue, deployment, prose
from tests.browser.conftest import is_error
from tests.browser.serving import go_to, rest, serve, settle
from tests.helpers import hostile, library_models

HOSTILE = urllib.parse.quote(f"{names.IN_FOLDER}{hostile.NAME}")
SHOWN = "**zq** _zq_"       # the beginning of that name, as it is read on the page
# Elements that only a text could have made, in the page and in the components' own trees; and whether one of them ran.
MADE_OF_TEXT = """() => {
    const found = window.zq === undefined ? [] : ["it ran"];
    const look = (root) => {
        for (const made of root.querySelectorAll("img[src='x'], a[href^='https://zq'], a[href^='http://zq'], "
            + "a[href^='http://www.zq'], a[href^='mailto:'], a[href^='javascript:'], [onerror]"))
            found.push(made.outerHTML.slice(0, 200));
        for (const made of root.querySelectorAll("strong, em, del, h1, code + strong, [role=img]"))
            if (/^(zq|home)\\d*$/.test(made.textContent.trim()))
                found.push(made.outerHTML.slice(0, 200));
        for (const inner of root.querySelectorAll("*")) if (inner.shadowRoot) look(inner.shadowRoot);
    };
    look(document);
    return found;
}"""
WORDS, FRAME = prose.load("library"), prose.load("app")


def test_a_model_from_a_folder_is_looked_at_loaded_and_run_by_every_lesson(browser: Browser, tmp_path):
    """The model's name and its tokens are texts that would be markup if a page took them for it; none of them becomes
    an element, runs, or makes the browser ask elsewhere.
    """
    library_models.folder(tmp_path, "deep")
    hostile.folder(tmp_path)
    library_models.other_kind(tmp_path, "t5")
    with serve(env={deployment.ROOTS: str(tmp_path)}) as server:
        context = browser.new_context(bypass_csp=True, viewport={"width": 1280, "height": 800})
        page, errors = context.new_page(), []
        page.on("console", lambda message: errors.append(message.text) if is_error(message) else None)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("dialog", lambda dialog: (errors.append(dialog.message), dialog.dismiss()))
        page.on("request", lambda request: None if request.url.startswith((server.url, "data:", "blob:"))
                                           else errors.append(request.url))
        page.goto(f"{server.url}/tokens?prompt=The%20cat%20sat%20on%20the")
        settle(page)
        page.locator(".st-key-model_drawer button").first.click()
        page.get_by_role("button", name=WORDS.label("another")).click()
        page.get_by_role("heading", name=WORDS.section("title"), exact=True).wait_for()
        page.keyboard.press("Escape")                   # the drawer, which lies over the page
        settle(page)
        # in order: the hostile one, deep, t5
        page.locator(".st-key-lesson_models_folders").get_by_role("button", name=WORDS.label("look")).nth(0).click()
        load(page, page.locator(".st-key-model_drawer", has_text=SHOWN))
        assert "model=folder" in page.url and "The%20cat" in page.url.replace("+", "%20")
        expect(page.locator(".st-key-model_offer")).to_have_count(0)
        page.get_by_text("no better than chance").wait_for()
        for entry in catalogue.existing():
            go_to(page, f"{server.url}/{catalogue.url_path(entry.id)}?model={HOSTILE}"
                        f"&prompt={urllib.parse.quote(hostile.PROMPT)}")
            page.get_by_role("heading", name=prose.load(entry.id).section("title"), exact=True).wait_for()
            settle(page)
            page.locator(".st-key-model_drawer", has_text=SHOWN).wait_for()
            assert page.evaluate(MADE_OF_TEXT) == [], entry.id
            main = page.locator("[data-testid=stMain]")
            expect(main, entry.id).not_to_contain_text(FRAME.label("error"), use_inner_text=True)
            assert errors == [], entry.id
        page.goto(f"{server.url}/heads?model=folder:t5&prompt=The%20cat")
        leads = page.get_by_role("button", name=WORDS.label("open_in", lesson="Architectures: Translate"))
        load(page, leads)
        leads.click()
        page.locator(".architecture_translate .heat rect").first.wait_for()
        settle(page)
        assert ("model=folder%3At5" in page.url and "architectures_view=translate" in page.url and "The+cat" in page.url
                and errors == [])
        _walk_the_wall(page, server.url)
        assert errors == []
        page.set_viewport_size({"width": 390, "height": 844})
        page.goto(f"{server.url}/models?model={HOSTILE}")
        settle(page)
        assert page.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth <= innerWidth")
        context.close()


def load(page: Page, there: Locator) -> None:
    """Press Load, where the model is not loaded yet, and wait for what stands there of a loaded model."""
    button = page.get_by_role("button", name=WORDS.label("load"), exact=True)
    expect(button.or_(there).first).to_be_visible()
    if button.count():
        button.click()
    expect(there).to_be_visible()
    settle(page)


def _walk_the_wall(page: Page, url: str) -> None:
    """The wall of 28 × 16 heads: the keyboard brings a head of the last layer into sight, so does the map, and a click
    there opens the head.
    """
    page.goto(f"{url}/heads?model=folder:deep&layer=0&head=0")
    # a sign without width keeps it from being read as an address
    load(page, page.locator(".st-key-model_drawer", has_text=re.compile(r"\bdeep\b")))
    heads, map_ = page.locator(".wall button.head"), page.locator(".wall .places")
    expect(heads).to_have_count(28 * 16)
    rest(page)                                               # the wall has fitted itself to the window
    heads.first.focus()
    for _ in range(27):
        page.keyboard.press("ArrowDown")
    assert within_its_frame(page, 27 * 16)
    box = map_.bounding_box()
    map_.focus()
    for key in ("ArrowDown", "ArrowRight"):
        page.keyboard.press(key)
    assert within_its_frame(page, 17)
    expect(page.locator(".wall .tip")).to_contain_text("1.1", use_inner_text=True)
    page.mouse.click(box["x"] + box["width"] - 9, box["y"] + box["height"] - 3)
    settle(page)
    expect(page.locator(".view .title")).to_contain_text("Head 27.15")
    assert within_its_frame(page, 27 * 16 + 15)


def within_its_frame(page: Page, head: int) -> bool:
    """Whether the tile of a head lies within the part of the wall that is in sight."""
    frame, tile = (page.locator(".wall .scroll").bounding_box(),
                   page.locator(".wall button.head").nth(head).bounding_box())
    return all(frame[at] - 1 <= tile[at] and tile[at] + tile[size] <= frame[at] + frame[size] + 1
               for at, size in (("x", "width"), ("y", "height")))


@pytest.mark.parametrize(("width", "query"), [(390, ""), (1280, "?present=true")])
def test_every_model_has_its_button_beside_what_is_said_of_it(open_page, width: int, query: str):
    page = open_page(f"models{query}", width=width, height=800)
    rest(page)
    row = page.locator("[class*=st-key-models_row_induction]").first
    button = row.get_by_role("button", name=WORDS.label("use"))
    expect(button).to_be_visible()
    said, pressed = row.locator("p").first.bounding_box(), button.bounding_box()
    assert said["x"] + said["width"] <= pressed["x"] and pressed["x"] + pressed["width"] <= width
    assert said["y"] <= pressed["y"] + pressed["height"] / 2 <= said["y"] + said["height"] and page.errors == []
