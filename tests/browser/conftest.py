"""One app server and one Chromium for all browser tests; a fresh browser context, so a fresh reader, for each test."""
from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, Request

from tests.browser.serving import STILL, Server, chromium, serve, settle


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    with serve() as running:
        yield running


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with chromium() as running:
        yield running


def is_error(message: ConsoleMessage) -> bool:
    """An error in the console, but for Streamlit's own search for its server: below a page's address it asks for /<page>/_stcore/… first. A worksheet's frame may run no
    script, so it refuses the tests' own (STILL), which is given to every frame."""
    return message.type == "error" and "/_stcore/" not in message.location["url"] and not message.text.startswith("Blocked script execution in 'about:srcdoc'")


@pytest.fixture
def open_page(browser: Browser, server: Server) -> Iterator[Callable[..., Page]]:
    """open_page("heads?layer=2", width=390, dark=True) -> a settled Page whose console errors stand in `page.errors`; `watch` is called with every request."""
    contexts = []

    def open_(path: str = "", width: int = 1280, height: int = 900, dark: bool = False, watch: Callable[[Request], None] | None = None,
              **options) -> Page:
        context = browser.new_context(viewport={"width": width, "height": height}, color_scheme="dark" if dark else "light", **options)
        contexts.append(context)
        context.add_init_script(STILL)
        page = context.new_page()
        page.errors = []
        page.on("console", lambda message: page.errors.append(f"{message.text} {message.location['url']}") if is_error(message) else None)
        page.on("pageerror", lambda error: page.errors.append(str(error)))
        if watch is not None:
            page.on("request", watch)
        page.goto(f"{server.url}/{path}")
        settle(page)
        return page

    yield open_
    for context in contexts:
        context.close()
