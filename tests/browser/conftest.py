"""One Chromium for all browser tests of a worker; a new reader for each test."""
from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Error, Page, Request

from tests.browser.serving import LIGHT_FLAGS, Server, chromium, prepare, settle


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with chromium(*LIGHT_FLAGS) as running:
        yield running


def is_error(message: ConsoleMessage) -> bool:
    """An error in the console, but for Streamlit's own search for its server: below a page's address it asks for
    /<page>/_stcore/… first. A worksheet's frame may run no script, so it refuses the tests' own (STILL), which is given
    to every frame.
    """
    return (message.type == "error" and "/_stcore/" not in message.location["url"]
            and not message.text.startswith("Blocked script execution in 'about:srcdoc'"))


class Tab:
    """A page that tests use one after the other, each as a new reader: nothing stored of the last one's, and a session
    of its own. What the browser has read and compiled of the app's files stays, which is half of what a page costs.
    """

    def __init__(self, browser: Browser, script: str = "") -> None:
        """script: JavaScript that is run first in every page of the tab, which stays its own."""
        # Playwright's waits are evaluated as text, which the app's policy forbids; test_door.py holds the policy.
        self.page = browser.new_context(bypass_csp=True).new_page()
        prepare(self.page)
        if script:
            self.page.add_init_script(script)
        self.page.errors, self._watch = [], None
        self.page.on("console", lambda message: self.page.errors.append(f"{message.text} {message.location['url']}")
                                                if is_error(message) else None)
        self.page.on("pageerror", lambda error: self.page.errors.append(str(error)))

    def open(self, url: str, size: tuple[int, int], dark: bool = False, still: bool = False,
             watch: Callable[[Request], None] | None = None) -> None:
        self.page.errors = []
        self.page.set_viewport_size(dict(zip(("width", "height"), size, strict=True)))
        self.page.emulate_media(color_scheme="dark" if dark else "light",
                                reduced_motion="reduce" if still else "no-preference")
        if watch is not None:
            self.page.on("request", watch)
        self._watch = watch
        self.page.goto(url)
        settle(self.page)

    def leave(self, server: Server) -> None:
        """The reader goes: what it opened is closed, its session ends, what it stored and was permitted is gone, its
        hand is taken away.
        """
        if self._watch is not None:
            self.page.remove_listener("request", self._watch)
        for other in self.page.context.pages:
            if other is not self.page:
                other.close()
        self.page.context.clear_permissions()
        with contextlib.suppress(Error):        # a page that never came has no storage
            self.page.evaluate("sessionStorage.clear()")
        self.page.goto("about:blank")
        self.page.mouse.move(-1, -1)
        session = self.page.context.new_cdp_session(self.page)
        session.send("Storage.clearDataForOrigin", {"origin": server.url, "storageTypes": "cookies,local_storage"})
        session.detach()


@pytest.fixture(scope="session")
def tabs() -> list[Tab]:
    """The tabs that no test uses at the moment."""
    return []


@pytest.fixture
def open_page(browser: Browser, server: Server, tabs: list[Tab]) -> Iterator[Callable[..., Page]]:
    """open_page("heads?layer=2", width=390, dark=True) -> a settled Page whose console errors stand in `page.errors`;
    still: for a reader who wants no motion; `watch` is called with every request; `script` is run first, in a tab that
    nobody uses afterwards.
    """
    used, own = [], []

    def open_(path: str = "", width: int = 1280, height: int = 900, dark: bool = False, still: bool = False,
              watch: Callable[[Request], None] | None = None, script: str = "") -> Page:
        tab = tabs.pop() if tabs and not script else Tab(browser, script)
        (own if script else used).append(tab)
        tab.open(f"{server.url}/{path}", (width, height), dark, still, watch)
        return tab.page

    yield open_
    for tab in used:
        tab.leave(server)
        tabs.append(tab)
    for tab in own:
        tab.page.context.close()
