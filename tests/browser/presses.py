"""Every button, box, option and menu of every view pressed once in a real Chromium, and the server's log read after it.

    python -m tests.browser.presses [--lesson heads ...]

It takes a quarter of an hour for all views. tests/pages/test_every_control.py uses every control of Streamlit's once at
each run of the tests; here also what pictures draw by themselves is pressed.
"""
from __future__ import annotations

import argparse
import contextlib
import re
import urllib.parse
from dataclasses import dataclass, field

from playwright.sync_api import ElementHandle, Error, Page

from core.base import catalogue, prose
from tests.browser.conftest import is_error
from tests.browser.serving import chromium, go_to, prepare, serve, settle
from tests.browser.views import LESSONS
from tests.browser.views import address as address_of

# In the document and in the shadow roots of pictures: what a press answers. Links lead away, downloads are another
# test's, and the bar above is the same on every page.
CONTROLS = """() => {
    const all = (root) => [...root.querySelectorAll("*")].flatMap((node) =>
        [node, ...node.shadowRoot ? all(node.shadowRoot) : []]);
    const bar = ".st-key-prompt_bar, .st-key-navigation, [class*=st-key-strip_], [data-testid=stDownloadButton]";
    return all(document.querySelector("[data-testid=stMain]")).filter((node) =>
        node.matches("button, summary, select, [role=radio], [role=button], [role=option], input[type=checkbox]")
        && !node.disabled && node.checkVisibility({visibilityProperty: true}) && node.getClientRects().length
        && !node.closest(bar) && !node.getRootNode().host?.closest?.(bar));
}"""
NAME = """(node) => (node.getAttribute("aria-label") || node.innerText || node.getAttribute("class") || node.tagName)
    .trim().replace(/\\s+/g, " ").slice(0, 60)"""
FAILED = prose.load("app").label("error")
MOST_ALIKE = 3      # pressed of buttons with one class, such as the tokens of a text
NUMBER = re.compile(r"\d[\d,.]*")


@dataclass
class Presses:
    """A hand that presses. n: controls pressed; faults: what went wrong, each with its view and the control's name."""

    page: Page
    url: str
    n: int = 0
    faults: list[str] = field(default_factory=list)

    def view(self, lesson: str, address: str, name: str) -> None:
        """Press every control of a view once; whatever leads away is followed back."""
        told: set[str] = set()
        alike: dict[str, int] = {}
        self._open(address)
        while (found := self._next(told, alike)) is not None:
            control, said = found
            with contextlib.suppress(Error):         # it went away, or something lies over it
                control.click(timeout=1500)
                self.n += 1
            self._look(f"{lesson}, {name}, {said}")
            self.page.keyboard.press("Escape")       # a menu that it opened
            if not self._is_at(address):
                self._open(address)

    def _next(self, told: set[str], alike: dict[str, int]) -> tuple[ElementHandle, str] | None:
        """A control that was not pressed yet, with its name."""
        for control in self.page.evaluate_handle(CONTROLS).get_properties().values():
            element = control.as_element()
            said, kind = element.evaluate(NAME), element.evaluate("(node) => `${node.tagName} ${node.className}`")
            # of Streamlit's the name tells them apart, but for its numbers: a press may change those
            key, kind = f"{kind} {said}", f"{kind} {NUMBER.sub('', said)}" if "st-" in kind else kind
            if key not in told and alike.get(kind, 0) < MOST_ALIKE:
                told.add(key)
                alike[kind] = alike.get(kind, 0) + 1
                return element, said
        return None

    def _open(self, address: str) -> None:
        go_to(self.page, f"{self.url}/{address}")
        settle(self.page)

    def _is_at(self, address: str) -> bool:
        """Whether the page is still the view of this address."""
        here, wanted = (urllib.parse.urlsplit(text) for text in (self.page.url, f"{self.url}/{address}"))
        settings = dict(urllib.parse.parse_qsl(here.query))
        return here.path == wanted.path and all(settings.get(key, value) == value
                                                for key, value in urllib.parse.parse_qsl(wanted.query))

    def _look(self, what: str) -> None:
        said = []
        try:
            settle(self.page)
        except Error as error:
            said.append(str(error).splitlines()[0])
        said += [*self.page.errors, *self.page.get_by_test_id("stException").all_inner_texts()]
        if self.page.get_by_text(FAILED).count():
            said.append(FAILED)
        self.page.errors.clear()
        self.faults += [f"{what}: {one}" for one in said]
        for one in said:
            print(f"{what}: {one}", flush=True)


def views(lesson: str) -> dict[str, str]:
    """The addresses of a lesson's views by name."""
    places = {name: address_of(lesson, name) | {"ask": "false"} for name in LESSONS[lesson]}
    return {name: f"{catalogue.url_path(lesson)}?{urllib.parse.urlencode(settings)}"
            for name, settings in places.items()}


def main() -> int:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--lesson", nargs="*", default=[entry.id for entry in catalogue.existing()])
    lessons = asked.parse_args().lesson
    with serve() as server, chromium() as browser:
        page = browser.new_context(bypass_csp=True, viewport={"width": 1280, "height": 900},
                                   accept_downloads=True).new_page()
        prepare(page)
        page.errors = []
        page.on("console", lambda message: page.errors.append(message.text) if is_error(message) else None)
        page.on("pageerror", lambda error: page.errors.append(str(error)))
        presses = Presses(page, server.url)
        page.goto(server.url)
        for lesson in lessons:
            for name, address in views(lesson).items():
                presses.view(lesson, address, name)
            print(f"{lesson}: {presses.n} pressed so far, {len(presses.faults)} faults", flush=True)
        log = server.said()
    tracebacks = log.count("Traceback")
    if tracebacks:
        print(log)
    print(f"{presses.n} pressed, {len(presses.faults)} faults, {tracebacks} tracebacks in the server's log")
    return bool(presses.faults or tracebacks)


if __name__ == "__main__":
    raise SystemExit(main())
