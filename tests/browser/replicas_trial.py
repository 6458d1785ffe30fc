"""Several replicas behind nginx under load, one of them killed and started again: what becomes of its readers.

Run by hand, where nginx is installed:

    .venv/bin/python -m tests.browser.replicas_trial --replicas 3 --readers 12 --seconds 60 --seed 0

Every reader is a browser context of its own with an own prompt and own settings, who types another prompt every few
seconds. It fails where a reader sees an error, loses something, or where a reader of another replica notices anything.
"""
from __future__ import annotations

import argparse
import collections
import random
import statistics
import time
from dataclasses import dataclass, field

from playwright.sync_api import Browser, Page

from assets.deploy.replicas import Replicas, running
from tests.browser.serving import READY, chromium, prepare, settle

LESSONS = ("heads?layer=2&head=1", "tokens", "next_token?position=2", "positions?positions_view=rotary", "embeddings",
           "attention?attention_view=averages", "residual_stream?layer=3", "generation?generation_view=beam")
WORDS = ["the", "cat", "dog", "girl", "boy", "sat", "on", "under", "a", "red", "ball", "and", "house", "ran", "to",
         "tree", "big", "happy", "saw", "was"]
CONNECTED = "document.querySelector('[data-testid=stApp][data-test-connection-state=CONNECTED]') !== null"
SHOWN = "[data-testid=stMain]"


@dataclass
class Reader:
    """One reader's page. sockets: how many websockets it has opened."""

    page: Page
    errors: list[str] = field(default_factory=list)
    sockets: int = 0

    @property
    def replica(self) -> str:
        """The one that its cookie names."""
        return next((cookie["value"] for cookie in self.page.context.cookies() if cookie["name"] == "replica"), "")

    def state(self) -> tuple[str, str, str]:
        """The address, the prompt, and all that is read on the page."""
        return (self.page.url, self.page.locator(".st-key-prompt textarea").input_value(),
                self.page.locator(SHOWN).inner_text())

    def types(self, prompt: str) -> float:
        """Another prompt; the seconds until the page has settled on it."""
        began = time.monotonic()
        self.page.locator(".st-key-prompt textarea").fill(prompt)
        self.page.keyboard.press("Control+Enter")
        self.page.wait_for_function("prompt => new URL(location).searchParams.get('prompt') === prompt",
                                    arg=prompt, timeout=30_000)
        settle(self.page, 120_000)
        return time.monotonic() - began


def opened(browser: Browser, url: str, path: str) -> Reader:
    """A new reader at an address."""
    context = browser.new_context(bypass_csp=True, viewport={"width": 1280, "height": 900})
    prepare(context)
    reader = Reader(context.new_page())
    reader.page.on("pageerror", lambda error: reader.errors.append(str(error)))
    reader.page.on("websocket", lambda _: setattr(reader, "sockets", reader.sockets + 1))
    reader.page.goto(f"{url}/{path}")
    settle(reader.page, 240_000)
    return reader


def came_back(readers: list[Reader], began: float) -> list[float]:
    """The seconds after which each reader was connected and settled again."""
    seconds = []
    for reader in readers:
        reader.page.wait_for_selector(READY, timeout=240_000)
        settle(reader.page, 240_000)
        seconds.append(time.monotonic() - began)
    return seconds


def trial(here: Replicas, browser: Browser, n_readers: int, seconds: float, seed: int) -> None:
    """The whole of it; prints what it found. AssertionError if a reader lost something."""
    dice = random.Random(seed)
    readers = [opened(browser, here.url, LESSONS[i % len(LESSONS)]) for i in range(n_readers)]
    spread = collections.Counter(reader.replica for reader in readers)
    print(f"{n_readers} readers of one address on the replicas: {dict(sorted(spread.items()))}", flush=True)
    answers = load(readers, dice, seconds / 2)
    ports = list(here.processes)
    fullest = spread.most_common(1)[0][0]
    theirs, others = [r for r in readers if r.replica == fullest], [r for r in readers if r.replica != fullest]
    before, sockets = [reader.state() for reader in theirs], [reader.sockets for reader in others]
    here.kill(ports[int(fullest) - 1])
    began = time.monotonic()
    for reader in theirs:
        reader.page.wait_for_function(f"!({CONNECTED})", timeout=30_000, polling=20) if reader.sockets == 1 else None
    back = came_back(theirs, began)
    lost = [(old, new) for old, new in zip(before, (reader.state() for reader in theirs), strict=True) if old != new]
    assert not lost, lost[0]
    print(f"replica {fullest} killed: its {len(theirs)} readers were back after {min(back):.1f} to {max(back):.1f} s, "
          f"on {dict(collections.Counter(r.replica for r in theirs))}, with prompt, page, selection, settings and "
          f"pictures' text as before", flush=True)
    answers += load(readers, dice, seconds / 4)
    here.start(ports[int(fullest) - 1])
    here.wait(ports[int(fullest) - 1])
    moved = [reader.replica for reader in theirs]
    answers += load(readers, dice, seconds / 4)
    assert [reader.replica for reader in theirs] == moved, "a reader was taken away from where the session is"
    assert [reader.sockets for reader in others] == sockets, "a reader of another replica lost the connection"
    assert not any(reader.errors for reader in readers), [reader.errors for reader in readers]
    new = opened(browser, here.url, "tokens")
    print(f"replica {fullest} started again: all stay where they are; a new reader is on replica {new.replica}")
    print(f"{len(answers)} prompts typed, from the key to the settled page: median {statistics.median(answers):.1f} s, "
          f"95 % within {sorted(answers)[int(0.95 * (len(answers) - 1))]:.1f} s; no error on any page")


def load(readers: list[Reader], dice: random.Random, seconds: float) -> list[float]:
    """Readers type prompts, one after the other, for some seconds and each at least once."""
    end, taken = time.monotonic() + seconds, []
    while time.monotonic() < end or len(taken) < len(readers):
        reader = readers[len(taken) % len(readers)]
        taken.append(reader.types(" ".join(dice.choices(WORDS, k=dice.randint(3, 20)))))
    return taken


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--replicas", type=int, default=3)
    parser.add_argument("--readers", type=int, default=12)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--base-path", default="", help="such as /class")
    asked = parser.parse_args()
    with running(asked.replicas, base=asked.base_path) as here, chromium() as browser:
        trial(here, browser, asked.readers, asked.seconds, asked.seed)


if __name__ == "__main__":
    main()
