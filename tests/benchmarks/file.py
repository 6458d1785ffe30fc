"""The file that is taken along: how soon its picture stands and a typed text is answered, beside torch's pass."""
from __future__ import annotations

import time
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from playwright.sync_api import Page

from core.app.compute import cache
from core.app.parts import own_file
from core.app.state.run import read
from pages.overview import takeaway as overview
from pages.tour import takeaway as tour
from tests.benchmarks.timing import Figure, figure, milliseconds
from tests.browser.serving import chromium
from tests.helpers.prompts import PROMPTS

TOKENS = 64
HEADS = 8       # the step of the tour that shows most
# The ms from the last key of a typed text until the picture is that of its tokens.
TYPED = """async (text) => {
    const field = document.getElementById("prompt"), from = performance.now();
    const { map } = document.getElementById("stage").shadowRoot.querySelector(".map"), before = map.tokens;
    field.value = text;
    field.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter" }));
    while (map.tokens === before) await new Promise(requestAnimationFrame);
    return performance.now() - from;
}"""


def file_figures(repeats: int) -> list[Figure]:
    """The first picture of both files, and a typed text of TOKENS tokens in Overview's, beside a pass of torch with
    everything kept.
    """
    loaded = cache.shared_model("stories", "cpu")
    text = loaded.tokenizer.decode(loaded.tokenizer.encode(PROMPTS["256 tokens"])[:TOKENS - 1])
    run = read(loaded, text)
    with TemporaryDirectory() as folder, chromium() as browser:
        path, steps = Path(folder) / "overview.html", Path(folder) / "tour.html"
        path.write_bytes(own_file.made(run, overview.opened(run)))
        steps.write_bytes(own_file.made(run, tour.parts(run, HEADS)))
        opened, toured, typed, passes = [], [], [], []
        for k in range(repeats):
            page = browser.new_page(viewport={"width": 1440, "height": 900})
            toured.append(_opened(page, steps, ".tour .tile.met"))
            opened.append(_opened(page, path, ".map .head small"))
            typed.append(page.evaluate(TYPED, f"{'AB'[k % 2]} {text}"))
            page.close()
            passes.append(milliseconds(lambda: _pass(run)))
    beside = f"beside torch's pass over {TOKENS} tokens"
    return [figure("Overview's file until its picture", opened, passes, unit="ms", note=beside),
            figure("the tour's file until all heads stand", toured, passes, unit="ms", note=beside),
            figure(f"a typed text of {TOKENS} tokens until its picture", typed, passes, unit="ms", note=beside)]


def _opened(page: Page, path: Path, last: str) -> float:
    began = time.perf_counter()
    page.goto(path.as_uri())
    page.locator(last).first.wait_for()
    return 1000 * (time.perf_counter() - began)


def _pass(run) -> None:
    with torch.inference_mode():
        run.model(torch.tensor(run.token_ids))
