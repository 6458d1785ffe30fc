"""The paths of one block in a real Chromium, of models that are wired otherwise than the main one: where each
leaves and where it arrives, and that the numbers under the pointer add up along them.
"""
from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from core.base import deployment
from tests.browser.serving import Server, prepare, serve, settle
from tests.browser.test_models_page import load
from tests.core.huggingface import test_tokens
from tests.helpers import huggingface_models
from tests.helpers.messages import value_of

# name of a folder: its model's case, the rows from which and to which paths pass others, and what the pointer reads
MODELS = {
    "parallel": ("pythia", [("X", "norm2"), ("X", "H"), ("attention", "H")],
                 r"X (\S+), normed \S+; attention (\S+); X normed again \S+; FFN (\S+); X plus both gives H (\S+)\."),
    "shared": ("gpt-j", [("norm", "hidden"), ("X", "H"), ("attention", "H")],
               r"X (\S+), normed \S+; attention (\S+); FFN (\S+); X plus both gives H (\S+)\."),
    "sandwich": ("gemma2", [("X", "O"), ("O", "H")],
                 r"X (\S+), normed \S+; attention \S+, added as (\S+) gives O (\S+), .+"),
}
# of each path its two rows, where it starts, passes and ends from the left, and how far its ends are from its rows
DRAWN = """(paths) => {
  const rows = paths.closest(".rows"), top = rows.getBoundingClientRect().top;
  const middle = (kind) => {
    const { y, height } = rows.querySelector(`.row.${kind}`).getBoundingClientRect();
    return y - top + height / 2;
  };
  return [...paths.querySelectorAll(".path")].map((path) => {
    const { from, to } = path.dataset, [x, y1, lane, y2, back] = path.getAttribute("d").match(/[\\d.]+/g).map(Number);
    return { from, to, x, lane, back, off: Math.max(Math.abs(y1 - middle(from)), Math.abs(y2 - middle(to))) };
  });
}"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    root = tmp_path_factory.mktemp("wired")
    for name, (case, *_) in MODELS.items():
        _save(root / name, case)
    with serve(env={deployment.ROOTS: str(root)}) as server:
        yield server


def _save(place: Path, case: str) -> None:
    place.mkdir()
    size = test_tokens.written(*test_tokens.gpt2(), place)
    huggingface_models.saved(case, place, vocab_size=size, bos_token_id=0, eos_token_id=0, pad_token_id=None)


def opened(browser: Browser, server: Server, name: str) -> tuple[Page, list[str]]:
    """The view with the model loaded, and the errors of its page."""
    page, errors = browser.new_page(bypass_csp=True, viewport={"width": 1280, "height": 900}), []
    page.on("pageerror", lambda error: errors.append(str(error)))
    prepare(page)
    page.goto(f"{server.url}/residual_stream?residual_stream_view=block&layer=1&model=folder:{name}"
              "&prompt=The%20cat%20sat%20on%20the%20mat.")
    load(page, page.locator(".st-key-model_drawer", has_text=name))
    settle(page)
    return page, errors


@pytest.mark.parametrize("name", MODELS)
def test_the_paths_leave_and_arrive_at_their_rows_and_the_numbers_add_up(browser: Browser, server: Server, name: str):
    _, paths, reading = MODELS[name]
    page, errors = opened(browser, server, name)
    expect(page.locator(".residual_block .paths .path")).to_have_count(len(paths))
    drawn = page.locator(".residual_block .paths").evaluate(DRAWN)
    assert [(path["from"], path["to"]) for path in drawn] == paths
    for path in drawn:
        assert path["off"] < 1 and path["x"] == path["back"]
        # what attention adds passes on the right, all else on the left
        assert (path["lane"] > path["x"]) is (path["from"] == "attention")
    sums = {to for _, to in paths} & {"O", "H"}
    expect(page.locator(".residual_block .paths circle.plus")).to_have_count(len(sums))
    page.locator(".residual_block .row.H .strip").first.hover()
    read = page.locator(".residual_block .reading")
    expect(read).to_have_text(re.compile("^Dimension"))
    *terms, total = map(value_of, re.fullmatch(rf"Dimension \d+: {reading}", read.inner_text()).groups())
    assert sum(terms) == pytest.approx(total, abs=0.02) and errors == []
    page.close()


@pytest.mark.parametrize(("width", "height", "present"), [(1280, 720, "true"), (1440, 900, "false"),
                                                          (390, 844, "false")])
def test_the_memory_enters_a_decoders_block_from_the_side(browser: Browser, server: Server, width: int, height: int,
                                                          present: str):
    page, errors = browser.new_page(bypass_csp=True, viewport={"width": width, "height": height}), []
    page.on("pageerror", lambda error: errors.append(str(error)))
    prepare(page)
    page.goto(f"{server.url}/residual_stream?residual_stream_view=block&model=translator&layer=1&present={present}"
              "&prompt=the%20twenty-first%20of%20march%20nineteen%20eighty-four")
    settle(page)
    expect(page.locator(".residual_block .paths circle.plus")).to_have_count(3)
    drawn = page.locator(".residual_block .paths").evaluate(DRAWN)
    assert [(path["from"], path["to"]) for path in drawn] == [("X", "sum"), ("O", "cross_sum"), ("C", "sum2")]
    arrow, row = (page.locator(f".residual_block {what}") for what in (".paths .memory", ".row.cross"))
    expect(arrow).to_have_count(1)
    start, end = (arrow.evaluate(f"(path) => path.getPointAtLength({part}).x") for part in ("0", "13"))
    box, of_row = arrow.bounding_box(), row.bounding_box()
    assert start > end > drawn[0]["x"] and abs(box["y"] + box["height"] / 2 - of_row["y"] - of_row["height"] / 2) < 2
    if present == "true":           # all of it stands above the bar at the foot
        reading = page.locator(".residual_block .reading").bounding_box()
        assert reading["y"] + reading["height"] < height - 50
    page.locator(".residual_block .row.H .strip").first.hover()
    read = page.locator(".residual_block .reading")
    expect(read).to_have_text(re.compile("^Dimension"))
    sums = re.search(r"normed O (\S+); plus cross-attention to memory (\S+) is (\S+), normed C", read.inner_text())
    stream, added, total = map(value_of, sums.groups())
    assert stream + added == pytest.approx(total, abs=0.02) and errors == []
    page.close()
