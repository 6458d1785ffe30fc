"""A second browser engine: Firefox, led over WebDriver BiDi, the protocol of the W3C that it speaks by itself.

playwright leads a Firefox of its own build alone; this one is the system's.
"""
from __future__ import annotations

import contextlib
import itertools
import json
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from websockets.sync.client import ClientConnection, connect

from assets.deploy.replicas import end
from tests.browser import serving
from tests.browser.serving import ASKED, QUIET, READY, SETTLED, STILL

PATIENCE = serving.PATIENCE / 1000        # seconds for one answer
# its own look for updates, experiments and blocked pages, which would ask the internet
PREFERENCES = {"app.normandy.enabled": False, "browser.safebrowsing.malware.enabled": False,
               "browser.safebrowsing.phishing.enabled": False, "datareporting.policy.dataSubmissionEnabled": False,
               "messaging-system.rsexperimentloader.enabled": False, "network.captive-portal-service.enabled": False,
               "services.settings.server": "data:,", "toolkit.telemetry.enabled": False,
               # An eighth of the processor's time less: no process and no page ahead of need, ten frames a second,
               # memory collected seldom and at once.
               "browser.newtab.preload": False, "dom.ipc.processCount": 1, "dom.ipc.processPrelaunch.enabled": False,
               "extensions.webextensions.remote": False, "fission.autostart": False, "layout.frame_rate": 10,
               "javascript.options.mem.gc_incremental": False, "javascript.options.mem.nursery.min_kb": 32 * 1024,
               "javascript.options.mem.nursery.max_kb": 128 * 1024}
# of a formula whose parts React has not all put in yet
UNFINISHED = "Invalid markup: Incorrect number of children"
ABORTED = "status=2152398850"       # NS_BINDING_ABORTED: a font was still on its way when the page was left
KEYS = {"Enter": "\ue007", "Control": "\ue009", "ArrowRight": "\ue014", "Escape": "\ue00c"}
# The first visible element that a selector finds, in shadow roots too, with a text in it where one is given.
FIND = """(selector, text) => {
    const all = (root) => [...root.querySelectorAll("*")].flatMap((node) =>
        [node, ...node.shadowRoot ? all(node.shadowRoot) : []]);
    return all(document).find((node) => node.matches(selector) && node.textContent.includes(text)
        && node.getClientRects().length) ?? null;
}"""


def program() -> str | None:
    """The path of Firefox; None if there is none."""
    return next(filter(None, map(shutil.which, ("firefox-esr", "firefox"))), None)


@contextlib.contextmanager
def firefox() -> Iterator[Firefox]:
    """Firefox without a window and without a past, on one tab."""
    with tempfile.TemporaryDirectory() as profile:
        preferences = [f"user_pref({json.dumps(name)}, {json.dumps(value)});" for name, value in PREFERENCES.items()]
        Path(profile, "user.js").write_text("\n".join(preferences))
        process = subprocess.Popen([program(), "--headless", "--no-remote", "--remote-debugging-port", "0",
                                    "--profile", profile], stderr=subprocess.PIPE, text=True)
        try:
            found = next(filter(None, (re.search(r"ws://\S+", line) for line in process.stderr)))
            with connect(f"{found[0]}/session", max_size=None) as socket:
                yield Firefox(socket)
        finally:
            end(process)


class Firefox:
    """A tab of Firefox. errors: what its pages have told the console as errors, and have thrown."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket, self._numbers, self.errors = socket, itertools.count(1), []
        self.version = self._ask("session.new", capabilities={})["capabilities"]["browserVersion"]
        self._tab = self._ask("browsingContext.getTree")["contexts"][0]["context"]
        self._ask("session.subscribe", events=["log.entryAdded"])
        for script in (STILL, ASKED):
            self._ask("script.addPreloadScript", functionDeclaration=f"() => {{ {script} }}")

    def resize(self, width: int, height: int) -> None:
        """Give the tab a width and a height in pixels."""
        self._ask("browsingContext.setViewport", context=self._tab, viewport={"width": width, "height": height})

    def open(self, url: str) -> None:
        """Go to an address."""
        self._ask("browsingContext.navigate", context=self._tab, url=url, wait="complete")

    def settle(self) -> None:
        """As serving.settle."""
        self.call(SETTLED, [READY, PATIENCE * 1000, QUIET])

    def call(self, function: str, *arguments: object) -> object:
        """The answer of a JavaScript function; arguments and answer are what JSON can say."""
        asked = f"async (given) => JSON.stringify(await ({function})(...JSON.parse(given)) ?? null)"
        return json.loads(self._call(asked, {"type": "string", "value": json.dumps(arguments)})["value"])

    def find(self, selector: str, text: str = "") -> dict:
        """The first visible element that fits, as soon as there is one."""
        ends = time.monotonic() + PATIENCE
        while time.monotonic() < ends:
            found = self._call(FIND, *({"type": "string", "value": value} for value in (selector, text)))
            if found["type"] == "node":
                return {"type": "element", "element": {"sharedId": found["sharedId"]}}
            time.sleep(0.05)
        raise AssertionError(f"there is no {selector} {text}")

    def click(self, selector: str, text: str = "") -> None:
        """Press the pointer on the middle of an element."""
        origin = self.find(selector, text)
        self._call("(node) => node.scrollIntoView({ block: 'nearest', behavior: 'instant' })", origin["element"])
        self._act("pointer", {"type": "pointerMove", "x": 0, "y": 0, "origin": origin},
                  {"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0})

    def type(self, *keys: str) -> None:
        """Press keys one after the other, where the focus is; "Control+a" holds one."""
        for key in keys:
            *held, last = [KEYS.get(one, one) for one in key.split("+")] if len(key) > 1 else [key]
            self._act("key", *({"type": "keyDown", "value": one} for one in (*held, last)),
                      *({"type": "keyUp", "value": one} for one in (last, *reversed(held))))

    def text(self, selector: str) -> str:
        """The text of the first visible match, in any shadow root."""
        return self._call("(node) => node.textContent", self.find(selector)["element"])["value"]

    def _act(self, kind: str, *actions: dict) -> None:
        self._ask("input.performActions", context=self._tab,
                  actions=[{"type": kind, "id": kind, "actions": [*actions]}])

    def _call(self, function: str, *arguments: dict) -> dict:
        answer = self._ask("script.callFunction", functionDeclaration=function, awaitPromise=True,
                           arguments=[*arguments], target={"context": self._tab})
        if answer["type"] == "exception":
            raise AssertionError(answer["exceptionDetails"]["text"])
        return answer["result"]

    def _ask(self, method: str, **parameters: object) -> dict:
        number = next(self._numbers)
        self._socket.send(json.dumps({"id": number, "method": method, "params": parameters}))
        while (told := json.loads(self._socket.recv(PATIENCE))).get("id") != number:
            if (told.get("method") == "log.entryAdded" and told["params"]["level"] == "error"
                    and not told["params"]["text"].startswith(UNFINISHED) and ABORTED not in told["params"]["text"]):
                self.errors.append(told["params"]["text"])
        if told["type"] == "error":
            raise AssertionError(f"{method}: {told['message']}")
        return told["result"]
