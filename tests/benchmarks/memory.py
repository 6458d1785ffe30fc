"""The memory of a session and of a model, and the time of a cold start."""
from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from playwright.sync_api import Page

from core import huggingface
from core.app.compute.library import names
from core.base import deployment
from tests.benchmarks import comparison
from tests.benchmarks.browser import first_picture
from tests.benchmarks.timing import Figure, figure, resident_megabytes
from tests.browser.serving import chromium, serve, settle
from tests.helpers import library_models

HERE = Path(__file__).parent


def start_figures(picture: str, starts: int) -> list[Figure]:
    """The overview's first picture in a browser, from starting the process and for a second reader, each against a page
    that only imports the same packages.
    """
    apps = {"ours": (HERE.parents[1] / "app.py", HERE.parents[1], picture),
            "imports": (HERE / "apps" / "imports.py", HERE / "apps", "[data-testid=stSlider]")}
    cold: dict[str, list[float]] = {name: [] for name in apps}
    second: dict[str, list[float]] = {name: [] for name in apps}
    with chromium() as browser:
        for _ in range(starts):
            for name, (script, cwd, what) in apps.items():
                start = time.perf_counter()
                with serve(script, cwd=cwd) as server:
                    first_picture(browser, server, "", what)
                    cold[name].append(time.perf_counter() - start)
                    second[name] += [first_picture(browser, server, "", what) for _ in range(starts)]
    note = "reference: a page that only imports streamlit, torch, plotly and altair"
    return [figure("cold start to first picture", cold["ours"], cold["imports"], "s", note),
            figure("first picture of another reader", second["ours"], second["imports"], "ms", note)]


def session_figures(n_sessions: int) -> list[Figure]:
    """Resident memory of the server, and what each of n_sessions readers with a prompt of their own adds."""
    with serve() as server, chromium() as browser:
        def reader(i: int):
            context = browser.new_context(bypass_csp=True)
            page = context.new_page()
            page.goto(f"{server.url}/heads?prompt=Reader {i} has a dog and a cat. "
                      + "One day they went to the park. " * 5)
            settle(page)
            return context

        first = reader(0)
        base = resident_megabytes(server.process.pid)
        contexts = [reader(i + 1) for i in range(n_sessions)]
        each = (resident_megabytes(server.process.pid) - base) / n_sessions
        for context in [first, *contexts]:
            context.close()
    return [figure("server with one reader", [base], None, "MB"),
            figure("each further reader, own prompt of 60 tokens", [each], None, "MB",
                   f"mean of {n_sessions}; traces are bounded at 512 MiB for all")]


def model_figures(shape: Mapping[str, int]) -> list[Figure]:
    """Resident memory of the server before a GPT-2 of that shape is loaded, with it and its pass on Heads, and when it
    has given its place to a tiny model.
    """
    with tempfile.TemporaryDirectory() as root:
        comparison.saved(Path(root) / "small", shape)
        library_models.folder(Path(root), "neox")
        n_bytes = huggingface.preview(Path(root) / "small").n_bytes
        # for the one or the other, not for both
        room = {deployment.ROOTS: root, deployment.GIGABYTES: str((n_bytes + 50_000) / 1e9)}
        with serve(env=room) as server, chromium() as browser:
            page = browser.new_context(bypass_csp=True, viewport={"width": 1280, "height": 900}).new_page()
            page.goto(f"{server.url}/heads")
            settle(page)
            before = resident_megabytes(server.process.pid)
            page.goto(f"{server.url}/heads?model={names.IN_FOLDER}small")
            _load(page, "small")
            held = resident_megabytes(server.process.pid)
            page.locator(".st-key-model_drawer button").first.click()
            # not by an address: the reader's session would stay a while, and hold what it shows
            page.locator(".st-key-another_model button").click()
            page.locator(".st-key-models_use_folder-neox button").click(timeout=120_000)
            _load(page, "neox")
            after = resident_megabytes(server.process.pid)
    return [figure("server before a model is loaded", [before], None, "MB"),
            figure(f"with a GPT-2 of {shape['n_layer']} blocks", [held], [before], "MB",
                   f"its weights are {n_bytes / 1e6:.0f} MB; reference: before"),
            figure("when it has given its place to a tiny model", [after], [before], "MB", "reference: before")]


def _load(page: Page, name: str) -> None:
    """A reader who has asked for a model loads it, and sees a page with it."""
    page.locator(".st-key-model_load button").click(timeout=120_000)
    page.locator(".st-key-model_drawer", has_text=f"{name} ·").wait_for(timeout=60_000)
    settle(page)
