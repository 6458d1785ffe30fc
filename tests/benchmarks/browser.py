"""Real Chromium: from the press of a key on a slider, or at the end of a prompt, to the changed picture, each against
an empty Streamlit app in the same run.
"""
from __future__ import annotations

import contextlib
import random
import re
import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from playwright.sync_api import Browser, Page

from core.model.checkpoints import load_bundled
from core.model.tokenizer import Tokenizer
from tests.benchmarks.timing import Figure, figure
from tests.browser.serving import ROOT, Server, chromium, serve, settle

HERE = Path(__file__).parent
LATENCY = (HERE / "latency.js").read_text()
WORDS = ["the", "a", "dog", "girl", "boy", "king", "tree", "boat", "red", "big", "small", "park", "house", "garden",
         "school", "saw", "liked", "lost", "found", "made", "ate", "and", "then", "one", "day"]
# nothing has changed for so long: the picture stands, and Overview has written its words for a print, 400 ms after
QUIET_MILLISECONDS = 500
WARM_UP = 2             # presses


@dataclass(frozen=True)
class Case:
    """One control of one page: what takes the key, and the picture that answers."""

    name: str
    path: str
    control: str
    picture: str
    canvas: bool = True        # the picture is drawn on a canvas
    # pressed in turn: left and back, since a slider may stand at its right end
    keys: tuple[str, ...] = ("ArrowLeft", "ArrowRight")
    # of a field of text: what is written there before the key, one after the other
    texts: tuple[str, ...] = ()
    # the script of apps/ that draws the same picture from the same bytes behind a slider, and nothing else
    alone: str = ""


EMPTY = Case("empty app", "", "[data-testid=stSlider] input", "[data-testid=stMarkdown]", canvas=False)
WINDOW = {"width": 1280, "height": 900}
# The training beside which others are answered: from a seed without a recorded run, so that what the page tells of
# steps is of this one.
TRAINED = "training?training_view=live&training_task=grammar&training_seed=5"
STEPS = re.compile(r"After step [1-9].* ([\d.]+) steps a second")
FIELD = "[data-testid=stTextArea] textarea"
PROMPT = ".st-key-prompt textarea"


@dataclass(frozen=True)
class Press:
    """Milliseconds from the key press to the frame that shows the picture's first change, and its last: the page
    has then settled.
    """

    first: float
    last: float


def press(page: Page, case: Case, key: str) -> Press:
    page.evaluate("([picture, canvas]) => window.__latency.arm(picture, canvas)", [case.picture, case.canvas])
    page.keyboard.press(key)
    page.wait_for_function(
        f"window.__latency.last !== null && performance.now() - window.__latency.last > {QUIET_MILLISECONDS}",
        timeout=15_000)
    return Press(*page.evaluate("() => { const l = window.__latency; return [l.first - l.start, l.last - l.start]; }"))


@dataclass(frozen=True)
class Opened:
    """A case and the page on which it is pressed."""

    page: Page
    case: Case


@contextlib.contextmanager
def opened(browser: Browser, *cases: tuple[Case, str]) -> Iterator[list[Opened]]:
    """The pages of cases, each at the server of its address, as long as the block runs. All are asked for before the
    first is waited for: servers that are new load their packages side by side.
    """
    pages = []
    for case, url in cases:
        pages.append(page := browser.new_context(bypass_csp=True, viewport=WINDOW).new_page())
        page.add_init_script(LATENCY)
        page.goto(f"{url}/{case.path}")
    for page, (case, _) in zip(pages, cases):
        page.bring_to_front()
        settle(page)
        page.locator(case.control).first.focus()
    yield [Opened(page, case) for page, (case, _) in zip(pages, cases)]
    for page in pages:
        page.context.close()


def alternate_presses(pages: Sequence[Opened], repeats: int) -> list[list[Press]]:
    """Each page's presses; the pages take turns, so that all see the same machine. Before them WARM_UP presses of each
    that do not count; before a single one none.
    """
    times: list[list[Press]] = [[] for _ in pages]
    before = min(WARM_UP, repeats - 1)
    for i in range(before + repeats):
        for on, into in zip(pages, times):
            on.page.bring_to_front()
            if on.case.texts:
                on.page.locator(on.case.control).first.fill(on.case.texts[i % len(on.case.texts)])
            into.append(press(on.page, on.case, on.case.keys[i % len(on.case.keys)]))
    return [values[before:] for values in times]


def slider_figures(lessons: list[Case], repeats: int) -> list[Figure]:
    figures = []
    with (serve() as app, serve(HERE / "apps" / "empty.py", *TUNED, cwd=HERE / "apps") as empty, chromium() as browser,
          opened(browser, (EMPTY, empty.url)) as beside):
        for case in lessons:
            with opened(browser, (case, app.url)) as pages:
                ours, reference = alternate_presses(pages + beside, repeats)
            figures += press_figures(case.name, ours, reference, "reference: an empty Streamlit app")
            if case.alone:
                figures += _same_picture(browser, app, case, repeats)
    return figures


def _same_picture(browser: Browser, app: Server, case: Case, repeats: int) -> list[Figure]:
    """The case against the same picture alone."""
    alone = replace(case, path="", control=EMPTY.control)
    with (serve(HERE / "apps" / case.alone, *TUNED, cwd=HERE / "apps") as empty,
          opened(browser, (case, app.url), (alone, empty.url)) as pages):
        ours, reference = alternate_presses(pages, repeats)
    return press_figures(f"{case.name}, the same picture", ours, reference,
                         "reference: the same picture and bytes in an empty app")


def press_figures(name: str, ours: list[Press], reference: list[Press], note: str) -> list[Figure]:
    """Two lines: the first change, and the page settled (where the browser draws at once, Python's answer comes after).
    """
    settled = [p.last for p in reference]
    return [figure(f"{name}: first change", [p.first for p in ours], settled, "ms", note),
            figure(f"{name}: settled", [p.last for p in ours], settled, "ms", note)]


# The empty apps get the same settings, so that the ratio is the lesson's own cost.
TUNED = ("--runner.postScriptGC", "false")


def wall_figures(wall: Case, alone_control: str, repeats: int) -> list[Figure]:
    """The wall of heads in its lesson, model and all, against the same component with the same bytes in an empty app.

    The Trace, which the lesson's press makes and the empty app's does not, is what the empty app takes longer when it
    makes it too: measured there, it is as slow as beside a busy browser.
    """
    alone, script = (Case("wall alone", "", alone_control, wall.picture, keys=wall.keys),
                     (HERE / "apps" / "pictures.py", *TUNED))
    with (serve() as app, serve(*script, cwd=HERE / "apps", env={"PAGE": "wall.py"}) as empty,
          serve(*script, cwd=HERE / "apps", env={"PAGE": "wall.py", "WITH_TRACE": "1"}) as tracing,
          chromium() as browser, opened(browser, (wall, app.url), (alone, empty.url), (alone, tracing.url)) as pages):
        presses = alternate_presses(pages, repeats)
    ours, reference, traced = ([p.first for p in case] for case in presses)
    trace = max(0.0, statistics.median(traced) - statistics.median(reference))
    note = "reference: the same component and bytes in an empty app"
    return [figure(f"{wall.name}: repainted", ours, reference, "ms", note),
            figure(f"{wall.name}: repainted, less its Trace", [first - trace for first in ours], reference, "ms",
                   f"{note}; the Trace: {trace:.1f} ms")]


def prompt_figures(pages: list[Case], n_tokens: int, repeats: int) -> list[Figure]:
    """A prompt that nobody had before, typed and sent on each page, against a text of the same length in an empty app
    with one field of text. Each page has texts of its own: the server knows the Trace of none.

    The Trace is what the empty app takes longer when it makes it too, as in `wall_figures`: after a pause, as a
    reader's prompt comes, it takes two to three times as long as many in a row.
    """
    _, tokenizer = load_bundled("stories")
    alone = Case("text alone", "", FIELD, "[data-testid=stMarkdown]", canvas=False, keys=("Control+Enter",))
    script, figures = (HERE / "apps" / "text.py", *TUNED), []
    with (serve() as app, serve(*script, cwd=HERE / "apps") as empty,
          serve(*script, cwd=HERE / "apps", env={"WITH_TRACE": "1", "OMP_NUM_THREADS": "1"}) as tracing,
          chromium() as browser, opened(browser, (alone, empty.url), (alone, tracing.url)) as beside):
        for seed, case in enumerate(pages):
            texts = tuple(new_prompts(tokenizer, n_tokens, WARM_UP + repeats, seed))
            with opened(browser, (replace(case, control=PROMPT, keys=alone.keys), app.url)) as ours:
                presses = alternate_presses([replace(on, case=replace(on.case, texts=texts)) for on in ours + beside],
                                            repeats)
            figures += _of_a_prompt(f"{case.name}, new prompt of {n_tokens} tokens", *presses)
    return figures


def _of_a_prompt(name: str, presses: list[Press], reference: list[Press], traced: list[Press]) -> list[Figure]:
    """Three lines: the picture's first change, the same less the Trace, and the page settled."""
    floor, first = [p.last for p in reference], [p.first for p in presses]
    trace = max(0.0, statistics.median(p.last for p in traced) - statistics.median(floor))
    note = f"reference: a field of text in an empty app; the Trace: {trace:.1f} ms"
    return [figure(f"{name}: repainted", first, floor, "ms", note),
            figure(f"{name}: repainted, less its Trace", [one - trace for one in first], floor, "ms", note),
            figure(f"{name}: settled", [p.last for p in presses], floor, "ms", note)]


def new_prompts(tokenizer: Tokenizer, n_tokens: int, count: int, seed: int) -> Iterator[str]:
    """Yield `count` texts, each read as n_tokens tokens with the one before the text; all differ, even from another
    seed's.
    """
    dice = random.Random(seed)
    while count:
        text = " ".join(dice.choice(WORDS) for _ in range(n_tokens))
        text = tokenizer.decode(tokenizer.encode(text)[:n_tokens - len(tokenizer.begin)])
        if len(tokenizer.prompt(text, 10 * n_tokens).token_ids) == n_tokens:
            count -= 1
            yield text


def training_figures(case: Case, repeats: int) -> list[Figure]:
    """A reader's press while another trains a model on the same server, against the same press on a server
    where nobody does.
    """
    with serve() as busy, serve() as idle, chromium() as browser:
        trainer = browser.new_context(bypass_csp=True, viewport=WINDOW).new_page()
        trainer.goto(f"{busy.url}/{TRAINED}")
        settle(trainer, 120_000)
        trainer.locator(".st-key-training_run button").click()
        told = trainer.locator(".st-key-training_stage", has_text=STEPS)
        told.wait_for(timeout=60_000)
        with opened(browser, (case, busy.url), (case, idle.url)) as pages:
            ours, reference = alternate_presses(pages, repeats)
        trainer.bring_to_front()
        steps = STEPS.search(told.inner_text())
    return press_figures(f"{case.name}, while another reader trains", ours, reference,
                         f"reference: the same beside no training; meanwhile {steps[1]} steps a second")


def setting_figures(case: Case, repeats: int) -> list[Figure]:
    """The gain of two server settings: the app as it is, with a full collection after every rerun, and without uvloop.
    """
    no_uvloop = {"PYTHONPATH": str(HERE / "apps" / "without_uvloop")}
    with (serve() as tuned, serve(ROOT / "app.py", "--runner.postScriptGC", "true") as collecting,
          serve(env=no_uvloop) as plain, chromium() as browser,
          opened(browser, *((case, server.url) for server in (tuned, collecting, plain))) as pages):
        times = alternate_presses(pages, repeats)
    settled = {name: [p.last for p in presses] for name, presses in zip(
        ("as it is", "with a full collection after every rerun", "without uvloop"), times)}
    return [figure(f"{case.name}, {name}", values, settled["as it is"], "ms", "reference: as it is")
            for name, values in settled.items()]


def first_picture(browser: Browser, app: Server, path: str, picture: str) -> float:
    """Milliseconds from the address to the first frame in which the picture stands, in a fresh context."""
    page = browser.new_context(bypass_csp=True, viewport=WINDOW).new_page()
    start = time.perf_counter()
    page.goto(f"{app.url}/{path}")
    page.wait_for_selector(picture, timeout=120_000)
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    elapsed = 1e3 * (time.perf_counter() - start)
    page.context.close()
    return elapsed
