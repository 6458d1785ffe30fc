"""Start the app and a real Chromium for tests and benchmarks.

Without Chromium this fails and says how to get it; it never skips.
"""
from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import IO

import psutil
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect, sync_playwright

from assets.deploy.replicas import START_SECONDS, end, free_ports

# pictures stand as soon as a page is opened; a test of what is asked before them asks for it in its address
ASK_FIRST = "TRANSFORMER_ASK_FIRST"
ROOT = Path(__file__).parent.parent.parent
CHROMIUM_FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
                  "--disable-background-networking", "--disable-component-update", "--disable-sync"]
# Scripts are compiled a second time late or not at all, for a run that ends before it would pay, and memory is
# collected seldom: a sixth less of the processor for each page. Not for what is timed.
LIGHT_FLAGS = ["--js-flags=--no-turbofan --no-concurrent-recompilation --invocation-count-for-maglev=4000 "
               "--interrupt-budget-for-maglev=400000 --single-threaded-gc --min-semi-space-size=32 "
               "--max-semi-space-size=64"]
READY = ("html:not([data-asked]) [data-testid=stApp]"
         "[data-test-script-state=notRunning][data-test-connection-state=CONNECTED]")
# Told by the page's own changes: to ask at every frame, as playwright's waits do, keeps a browser without a GPU drawing
# all the while. It must hold for a while, since between two runs of the script the page says for a moment that none is.
SETTLED = """([ready, milliseconds, quiet]) => new Promise((settled, failed) => {
    const unfinished = "[data-testid=stSkeleton], .st-key-working [data-testid=stProgress], .st-key-standing";
    let timer;
    const look = () => {
        if (!document.querySelector(ready) || document.querySelector(unfinished)) timer = clearTimeout(timer);
        else timer ??= setTimeout(() => (watch.disconnect(), settled()), quiet);
    };
    const watch = new MutationObserver(look);
    watch.observe(document, {subtree: true, childList: true, attributes: true,
        attributeFilter: ["data-test-script-state", "data-test-connection-state", "data-asked"]});
    const state = () => JSON.stringify([{...document.querySelector("[data-testid=stApp]")?.dataset},
        {...document.documentElement.dataset},
        [...document.querySelectorAll(unfinished)].map((node) => node.outerHTML.slice(0, 200))]);
    setTimeout(() => failed(new Error(`It did not settle within ${milliseconds} ms: ${state()}`)), milliseconds);
    look();
})"""
# Nothing in the page or in a component's own tree has changed for so long, nothing is asked of the server for a picture
# (.asking), and what moves has come to its end. A chart is drawn in one go as soon as it is there.
RESTED = """([quiet, milliseconds]) => new Promise((rested, failed) => {
    let timer;
    const roots = [];
    const moving = () => roots.some((root) => root.querySelector(".asking")) || document.getAnimations().some(
        (a) => a.playState === "running" && a.effect.getComputedTiming().endTime < Infinity);
    const again = () => { clearTimeout(timer); timer = setTimeout(() => moving() ? again() : (watch.disconnect(),
        rested()), quiet); };
    const watch = new MutationObserver(again);
    const observe = (root) => {
        roots.push(root);
        watch.observe(root, {subtree: true, childList: true, attributes: true, characterData: true});
        for (const element of root.querySelectorAll("*")) if (element.shadowRoot) observe(element.shadowRoot);
    };
    observe(document);
    setTimeout(() => failed(new Error(`The page did not come to rest within ${milliseconds} ms.`)), milliseconds);
    again();
})"""
QUIET = 250        # ms
# ms that a test waits for what must come: only where it never comes does a test take so long, on however slow a machine
PATIENCE = 240_000
expect.set_options(timeout=PATIENCE)
# Streamlit's grey stand-ins pulse, and each frame of it is drawn by the CPU: that costs more than the page
# they stand for.
STILL = """document.addEventListener("DOMContentLoaded", () =>
    document.head.append(Object.assign(document.createElement("style"),
        {textContent: "[data-testid=stSkeleton] {animation: none !important}"})))"""
# data-asked: the page has asked for a run of the script, and none has begun since. On a busy machine that takes a
# while, and until then Streamlit calls its script finished. A run for a page that was left never begins. The numbers
# are those of Streamlit's protocol buffers: BackMsg.rerun_script and ForwardMsg.new_session.
ASKED = """(() => {
    const ASKS = 11, BEGINS = 4, { send } = WebSocket.prototype;
    const has = (bytes, field) => {
        let at = 0;
        const number = () => {
            let value = 0;
            for (let scale = 1; ; scale *= 128) {
                const byte = bytes[at++];
                value += (byte & 127) * scale;
                if (byte < 128) return value;
            }
        };
        while (at < bytes.length) {
            const tag = number(), kind = tag & 7;
            if (Math.floor(tag / 8) === field) return true;
            const length = { 0: () => number() * 0, 1: () => 8, 2: number, 5: () => 4 }[kind]();
            at += length;
        }
        return false;
    };
    let latest;
    WebSocket.prototype.send = function (message) {
        if (message instanceof Uint8Array && has(message, ASKS)) {
            document.documentElement.dataset.asked = "";
            const told = ({ data }) => { if (has(new Uint8Array(data), BEGINS)) answered(); };
            const answered = () => {
                delete document.documentElement.dataset.asked;
                this.removeEventListener("message", told);
            };
            this.addEventListener("message", told);
            this.addEventListener("close", answered, {once: true});
            clearTimeout(latest);
            latest = setTimeout(answered, 10_000);
        }
        return send.call(this, message);
    };
})()"""


@dataclass(frozen=True)
class Server:
    url: str
    process: subprocess.Popen | psutil.Process
    log: IO[str] = field(repr=False)

    def said(self) -> str:
        """The server's output so far."""
        return os.pread(self.log.fileno(), 2 ** 24, 0).decode(errors="replace")


@contextlib.contextmanager
def serve(script: Path = ROOT / "app.py", *flags: str, cwd: Path = ROOT,
          env: dict[str, str] | None = None) -> Iterator[Server]:
    """The Streamlit app `script` on a free local port, stopped at the end."""
    with tempfile.TemporaryFile("w+") as log:
        server = start(script, flags, log, cwd, env or {})
        try:
            yield server
        finally:
            end(server.process)


def start(script: Path, flags: Sequence[str], log: IO[str], cwd: Path = ROOT,
          env: Mapping[str, str] = MappingProxyType({})) -> Server:
    """The same, running until somebody ends it; RuntimeError, with its log, where it does not start."""
    port = free_ports(1)[0]
    process = subprocess.Popen(
        [sys.executable, "-m", "streamlit", "run", str(script), "--server.port", str(port), "--server.address",
         "127.0.0.1", "--server.headless", "true", *flags],
        cwd=cwd, env={ASK_FIRST: "off", **os.environ, **env}, stdout=log, stderr=subprocess.STDOUT)
    try:
        _wait_until_healthy(f"http://127.0.0.1:{port}/_stcore/health", process, log)
    except BaseException:
        end(process)
        raise
    return Server(f"http://127.0.0.1:{port}", process, log)


def _wait_until_healthy(url: str, process: subprocess.Popen, log: IO[str]) -> None:
    ends = time.monotonic() + START_SECONDS
    while time.monotonic() < ends and process.poll() is None:
        with contextlib.suppress(OSError), urllib.request.urlopen(url, timeout=1) as answer:
            if answer.status == 200:
                return
        time.sleep(0.05)
    log.seek(0)
    raise RuntimeError(f"The app did not start:\n{log.read()}")


def chromium_path(own: str) -> str:
    """$CHROMIUM, or Chromium or Chrome on the PATH, or playwright's `own` where that is installed.

    First Chromium's build without windows, which takes a third less of the processor for the same pages.
    """
    installed = [os.environ.get("CHROMIUM"),
                 *map(shutil.which, ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")), own]
    found = next((path for path in installed if path and Path(path).exists()), None)
    if found is None:
        raise RuntimeError("The browser tests need Chromium: run `playwright install chromium`, or set "
                           "CHROMIUM to its path.")
    return found


@contextlib.contextmanager
def chromium(*flags: str) -> Iterator[Browser]:
    """Chromium without a window, with further flags of its command line."""
    with sync_playwright() as playwright:
        path = chromium_path(playwright.chromium.executable_path)
        browser = playwright.chromium.launch(executable_path=path, headless=True, args=[*CHROMIUM_FLAGS, *flags])
        try:
            yield browser
        finally:
            browser.close()


def prepare(context: BrowserContext | Page) -> None:
    """Let every page opened here, or this one, be waited for by `settle`, and by all else as patiently."""
    context.set_default_timeout(PATIENCE)
    for script in (STILL, ASKED):
        context.add_init_script(script)


def settle(page: Page, milliseconds: int = PATIENCE) -> None:
    """Wait until the server has answered, the script has run to its end, nothing is on its way to the page, nothing on
    it still grows or waits for its picture, and every component stands where its grey stand-in was.
    """
    page.evaluate(SETTLED, [READY, milliseconds, QUIET])


def rest(page: Page, milliseconds: int = PATIENCE) -> None:
    """Wait until the page has come to rest: what is drawn in frames of its own (charts, sizes that follow the window,
    motion) stands.
    """
    page.evaluate(RESTED, [QUIET, milliseconds])


def try_menu(page: Page) -> Locator:
    """Open the menu of experiments."""
    page.locator("[class*=st-key-try_menu_] button").first.click()
    menu = page.locator(".st-key-experiments")
    menu.wait_for()
    return menu


def pick(listed: Locator, name: str) -> None:
    """Pick the first entry of a list that contains `name`."""
    listed.get_by_role("combobox").click()
    listed.page.get_by_role("option").filter(has_text=name).first.click()


def go_to(page: Page, url: str) -> None:
    """To another address of the app as by the browser's history: the page is not loaded anew, which takes longer than
    most of what is looked at.
    """
    page.evaluate("(to) => { history.pushState({}, '', to); window.dispatchEvent(new PopStateEvent('popstate')); }",
                  url)
