"""The way into the overview's picture and out again: frames that come late, beside an empty canvas in the same browser.
"""
from __future__ import annotations

import urllib.parse

from playwright.sync_api import Page

from core.model.checkpoints import load_bundled
from tests.benchmarks.timing import Figure, figure
from tests.browser.serving import chromium, prepare, rest, serve, settle
from tests.helpers.prompts import PROMPTS

TOKENS = 64
# The ways, with the depths between which each leads, in a model of 48 heads.
WAY = ("block.4", "heads.4", "head.4.3", "look.4.3.63", "product.4.3.63.0", "number.4.3.63.0.7", "head.4.3", "")
# The gaps between frames, in ms, while the picture is on its way to each place in turn.
GOES = """async (root, places) => {
    const { dive } = root.map, gaps = [];
    for (const place of places) {
        const [depth, ...at] = place ? place.split(".") : ["model"];
        let last = null, going = true;
        const frame = (now) => {
            if (last !== null && dive.root.classList.contains("asking")) gaps.push(now - last);
            last = dive.root.classList.contains("asking") ? now : null;
            if (going) requestAnimationFrame(frame);
        };
        requestAnimationFrame(frame);
        await dive.goTo({ depth, at: at.map(Number) }, { tells: false });
        going = false;
        await new Promise((go) => setTimeout(go, 300));
    }
    return gaps;
}"""
# The same for a canvas of the same size that is only cleared.
EMPTY = """async (milliseconds) => {
    const canvas = document.createElement("canvas"), context = canvas.getContext("2d"), gaps = [];
    Object.assign(canvas, { width: innerWidth, height: innerHeight });
    document.body.replaceChildren(canvas);
    const from = performance.now();
    let last = from;
    await new Promise((done) => {
        const frame = (now) => {
            gaps.push(now - last);
            last = now;
            context.clearRect(0, 0, canvas.width, canvas.height);
            if (now - from < milliseconds) requestAnimationFrame(frame); else done();
        };
        requestAnimationFrame(frame);
    });
    return gaps;
}"""


def frame_figures(repeats: int) -> list[Figure]:
    """Late frames in a hundred, more than half a frame behind, on the ways of WAY and on an empty canvas."""
    _, tokenizer = load_bundled("stories")
    text = tokenizer.decode(tokenizer.encode(PROMPTS["256 tokens"])[:TOKENS - 1])
    with serve() as server, chromium() as browser:
        page = browser.new_page(bypass_csp=True, viewport={"width": 1440, "height": 900})
        prepare(page)
        empty = browser.new_page(viewport={"width": 1440, "height": 900})
        page.goto(f"{server.url}/?{urllib.parse.urlencode({'prompt': text})}")
        settle(page)
        rest(page)
        page.locator(".map").evaluate(GOES, list(WAY))          # asks the server for what the ways show
        ours, alone = [], []
        for _ in range(repeats):
            page.bring_to_front()
            ours.append(_late(page.locator(".map").evaluate(GOES, list(WAY))))
            alone.append(_late(_on(empty, EMPTY, 3000)))
    return [figure(f"late frames on the way, {TOKENS} tokens, 48 heads", ours, alone, unit="of 100")]


def _on(page: Page, script: str, value: object) -> list[float]:
    page.bring_to_front()
    return page.evaluate(script, value)


def _late(gaps: list[float]) -> float:
    return 100 * sum(gap > 1.5 * 1000 / 60 for gap in gaps) / len(gaps)
