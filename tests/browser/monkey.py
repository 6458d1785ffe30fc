"""Random clicks, keys, drags, typed text, resizes, and steps back and forward, over all pages in a real Chromium; what
fails is told with the deeds before it.

    python -m tests.browser.monkey --minutes 10 --seed 1

A failure is Streamlit's box of an exception, the app's own plain word for one, an error in the console, a dialog, a
request to another address, or a page that no longer answers.
"""
from __future__ import annotations

import argparse
import contextlib
import os
import random
import threading
import time
from collections import deque
from dataclasses import dataclass, field

from playwright.sync_api import Browser, Error, Page

from core.base import catalogue, prose
from tests.browser.conftest import is_error
from tests.browser.serving import READY, chromium, prepare, serve, settle
from tests.helpers import hostile

PAGES = tuple(sorted(catalogue.pages()))
SIZES = ((1440, 900), (1280, 720), (1024, 768), (390, 844))
KEYS = ("ArrowRight", "ArrowLeft", "ArrowUp", "ArrowDown", "Enter", "Escape", "Space", "Tab", "Home", "End", "PageDown",
        "Backspace", "Delete", "a", "1")
TYPED = ("", "a", "The cat sat on the mat.", "שלום עולם", "🐶👩‍👩‍👧‍👦", "9" * 300, "-1", "1e9", "x\ny\n\nz", "\t",
         "The dog ran. " * 200, *hostile.SIGNS)
CONTROLS = ("button, a[href], input, textarea, select, summary, [role=radio], [role=slider], [role=tab], "
            "[role=option], [role=button], [tabindex='0'], canvas, svg")
STAYS = ("/_stcore/", "blob:", "data:")
UNFINISHED = ("() => [...document.querySelectorAll('[data-testid=stSkeleton], [data-testid=stProgress], "
              ".st-key-standing')].map((e) => e.closest('[class*=st-key-]')?.className ?? e.outerHTML)")
REMEMBERED = 12         # deeds told with a failure
HANGS = 240             # seconds after its time from which on the browser counts as dead
PATIENCE = 90_000       # ms until a page that is still busy counts as dead: it may compute, and the machine may be slow


@dataclass
class Monkey:
    """A reader without sense. `failures` is what went wrong, each with the deeds that led there."""

    page: Page
    url: str
    chance: random.Random
    failures: list[str] = field(default_factory=list)
    deeds: deque = field(default_factory=lambda: deque(maxlen=REMEMBERED))
    n_deeds: int = 0

    def watch(self) -> None:
        """Listens for what a reader of the console would see."""
        self.page.on("console", lambda message: self._fail(f"console: {message.text} {message.location['url']}")
                                                if is_error(message) else None)
        self.page.on("pageerror", lambda error: self._fail(f"page error: {error}"))
        self.page.on("dialog", lambda dialog: (self._fail(f"dialog: {dialog.message}"), dialog.dismiss()))
        self.page.on("request", lambda request: None if request.url.startswith((self.url, *STAYS))
                                                else self._fail(f"request: {request.url}"))
        self.page.on("popup", lambda other: other.close())

    def live(self, seconds: float) -> None:
        """Does one thing after another for that long, at first on a page of its own choice."""
        end = time.monotonic() + seconds
        self._go()
        while time.monotonic() < end:
            deed = self.chance.choices(*zip(*DEEDS))[0]
            with contextlib.suppress(Error):          # what it reached for has gone meanwhile
                deed(self)
            self.n_deeds += 1
            self._look()

    def _did(self, what: str) -> None:
        self.deeds.append(what)

    def _fail(self, what: str) -> None:
        self.failures.append(f"{what}\n    at {self.page.url[:300]}\n    after {' | '.join(self.deeds)}")
        print(self.failures[-1], flush=True)

    def _look(self) -> None:
        """Whether the page still stands."""
        try:
            (settle(self.page, PATIENCE) if self.chance.random() < 0.4
             else self.page.wait_for_timeout(self.chance.choice((0, 30, 200))))
            if not self.page.url.startswith(self.url):          # it stepped back out of the app
                return self._go()
            said = self.page.get_by_test_id("stException").count() + self.page.get_by_text(ERROR).count()
            if said or not self.page.locator("[data-testid=stApp]").count():
                self._fail("the page says that something failed" if said else "the page is gone")
                self._go()
        except Error as error:
            if not self.page.url.startswith(self.url):
                return self._go()
            self._fail(f"the page does not answer: {str(error).splitlines()[0]}; "
                       f"{self.page.locator(READY).count() and 'it is ready' or 'it is busy'}; "
                       f"{self.page.evaluate(UNFINISHED)}")
            self._go()

    def hangs(self) -> None:
        """Ends the process where the browser answers nothing any more: playwright waits for it without end."""
        print(f"the browser answers nothing any more\n    after {' | '.join(self.deeds)}", flush=True)
        os._exit(2)

    # ---- what it does ------------------------------------------------------------------------------------------------

    def _go(self) -> None:
        address = self.chance.choice(PAGES)
        self._did(f"go to {address}")
        self.page.goto(f"{self.url}/{address}")
        self._view()

    def _view(self) -> None:
        """Another view of the lesson, where it has several."""
        self._press_one(self.page.locator("[class*='_bar'] [role=radio]"), "view")

    def _press_one(self, found, kind: str) -> None:
        count = found.count()
        if count:
            one = found.nth(self.chance.randrange(count))
            self._did(f"{kind} {(one.get_attribute('aria-label', timeout=500) or one.inner_text(timeout=500))[:40]!r}")
            one.click(timeout=800, force=True)

    def _click(self) -> None:
        self._press_one(self.page.locator(CONTROLS).locator("visible=true"), "click")

    def _click_anywhere(self) -> None:
        x, y = self._place()
        self._did(f"click at {x},{y}")
        self.page.mouse.click(x, y, click_count=self.chance.choice((1, 1, 2)))

    def _drag(self) -> None:
        here, there = self._place(), self._place()
        self._did(f"drag {here} to {there}")
        steps = self.chance.randint(1, 12)
        way = [[a + (b - a) * k / steps for a, b in zip(here, there)] for k in range(steps + 1)]
        # playwright's own asks every frame whether it takes what is dragged, and a sheet to print runs no scripts: it
        # would wait for ever
        hand = self.page.context.new_cdp_session(self.page)
        for kind, (x, y) in zip(["mousePressed", *["mouseMoved"] * steps, "mouseReleased"], [*way, way[-1]]):
            hand.send("Input.dispatchMouseEvent",
                      {"type": kind, "x": x, "y": y, "button": "left", "buttons": 1, "clickCount": 1})
        hand.detach()

    def _press(self) -> None:
        keys = [self.chance.choice(KEYS) for _ in range(self.chance.randint(1, 6))]
        self._did(f"keys {' '.join(keys)}")
        for key in keys:
            self.page.keyboard.press(key)

    def _type(self) -> None:
        found = self.page.locator("textarea, input:not([type=checkbox]):not([type=radio])").locator("visible=true")
        if count := found.count():
            written, at = self.chance.choice(TYPED), self.chance.randrange(count)
            self._did(f"type {written[:30]!r} into field {at}")
            found.nth(at).fill(written, timeout=800)
            self.page.keyboard.press(self.chance.choice(("Enter", "Control+Enter", "Tab")))

    def _resize(self) -> None:
        width, height = self.chance.choice(SIZES)
        self._did(f"resize to {width}")
        self.page.set_viewport_size({"width": width, "height": height})

    def _scroll(self) -> None:
        self._did("scroll")
        self.page.mouse.wheel(0, self.chance.choice((-900, 500, 2000)))

    def _history(self) -> None:
        back = self.chance.random() < 0.6
        self._did("back" if back else "forward")
        (self.page.go_back if back else self.page.go_forward)(wait_until="commit", timeout=10_000)

    def _reload(self) -> None:
        self._did("reload")
        self.page.reload()

    def _place(self) -> tuple[int, int]:
        size = self.page.viewport_size
        return self.chance.randrange(size["width"]), self.chance.randrange(size["height"])


ERROR = prose.load("app").label("error")
DEEDS = ((Monkey._click, 10), (Monkey._click_anywhere, 5), (Monkey._drag, 4), (Monkey._press, 5), (Monkey._type, 4),
         (Monkey._view, 4), (Monkey._scroll, 3), (Monkey._resize, 1),
         (Monkey._history, 2), (Monkey._go, 2), (Monkey._reload, 1))


def let_loose(browser: Browser, url: str, seconds: float, seed: int) -> Monkey:
    """Let a monkey loose on the app for that long."""
    # as a reader who presses has them
    context = browser.new_context(bypass_csp=True, viewport={"width": SIZES[0][0], "height": SIZES[0][1]},
                                  accept_downloads=True, permissions=["clipboard-read", "clipboard-write"])
    prepare(context)
    page = context.new_page()
    page.set_default_timeout(20_000)
    monkey = Monkey(page, url, random.Random(seed))
    monkey.watch()
    hangs = threading.Timer(seconds + HANGS, monkey.hangs)
    hangs.daemon = True
    hangs.start()
    try:
        monkey.live(seconds)
    finally:
        hangs.cancel()
        context.close()
    return monkey


def main() -> int:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--minutes", type=float, default=10)
    asked.add_argument("--seed", type=int, default=1)
    given = asked.parse_args()
    with serve() as server, chromium() as browser:
        monkey = let_loose(browser, server.url, 60 * given.minutes, given.seed)
        if monkey.failures:
            print(server.said())
    print(f"seed {given.seed}: {monkey.n_deeds} deeds in {given.minutes:g} minutes, {len(monkey.failures)} failures")
    return int(bool(monkey.failures))


if __name__ == "__main__":
    raise SystemExit(main())
