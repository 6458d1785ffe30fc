"""The page Models in a real Chromium: a reader looks at a model in a folder, loads it, and every lesson runs on it."""
from __future__ import annotations

from playwright.sync_api import Browser

from core.ui import catalogue, text
from core.ui.library import names
from tests import library_models
from tests.browser.conftest import is_error
from tests.browser.serving import serve, settle

WORDS, FRAME = text.load("library"), text.load("app")


def test_a_model_from_a_folder_is_looked_at_loaded_and_run_by_every_lesson(browser: Browser, tmp_path):
    library_models.folder(tmp_path, "llama")
    library_models.other_kind(tmp_path, "t5")
    with serve(env={names.ROOTS: str(tmp_path)}) as server:
        context = browser.new_context(viewport={"width": 1280, "height": 800})
        page, errors = context.new_page(), []
        page.on("console", lambda message: errors.append(message.text) if is_error(message) else None)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(f"{server.url}/tokens?prompt=The%20cat%20sat%20on%20the")
        settle(page)
        page.locator(".st-key-model_drawer button").first.click()
        page.get_by_role("button", name=WORDS.label("another")).click()
        page.get_by_role("heading", name=WORDS.section("title"), exact=True).wait_for()
        page.keyboard.press("Escape")                   # the drawer, which lies over the page
        settle(page)
        page.locator(".st-key-lesson_models_folders").get_by_role("button", name=WORDS.label("look")).first.click()
        page.get_by_role("button", name=WORDS.label("load"), exact=True).click(timeout=60_000)
        page.locator(".st-key-model_drawer", has_text="folder:llama").wait_for(timeout=60_000)
        settle(page)
        assert "model=folder" in page.url and "The%20cat" in page.url.replace("+", "%20")
        assert page.locator(".st-key-model_offer").count() == 0
        page.get_by_text("no better than chance").wait_for()
        for entry in catalogue.existing():
            page.goto(f"{server.url}/{catalogue.url_path(entry.id)}?model=folder:llama")
            settle(page)
            page.locator(".st-key-model_drawer", has_text="folder:llama").wait_for(timeout=60_000)
            assert FRAME.label("error") not in page.locator("[data-testid=stMain]").inner_text(), entry.id
            assert errors == [], entry.id
        page.goto(f"{server.url}/heads?model=folder:t5&prompt=The%20cat")
        page.get_by_role("button", name=WORDS.label("load"), exact=True).click(timeout=60_000)
        page.get_by_role("button", name=WORDS.label("open_in", lesson="Architectures: Translate")).click(timeout=60_000)
        page.locator(".architecture_translate .heat rect").first.wait_for(timeout=60_000)
        settle(page)
        assert "model=folder%3At5" in page.url and "architectures_view=translate" in page.url and "The+cat" in page.url and errors == []
        page.set_viewport_size({"width": 390, "height": 844})
        page.goto(f"{server.url}/models?model=folder:llama")
        settle(page)
        assert page.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth <= innerWidth")
        context.close()
