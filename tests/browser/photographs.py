"""Photograph every view at two revisions and list those that differ, so that a move can be seen to change nothing.

    python -m tests.browser.photographs main                    # main against the working tree
    python -m tests.browser.photographs main~5 main --lessons heads positions --themes light dark
    python -m tests.browser.photographs --look FOLDER           # only photograph the working tree, to look at its pages

Both revisions are opened at the same addresses: those of the checkout that runs this. A line for each view that differs
says which share of its pixels changed and in which box; before, after and difference stand as PNGs in the folder that
--into names, with an index.html. The exit status is 1 if a view differs or could not be opened.
"""
from __future__ import annotations

import argparse
import contextlib
import io
import itertools
import re
import subprocess
import sys
import tempfile
import urllib.parse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image
from playwright.sync_api import Browser, Error, Page

from core.base import catalogue
from tests.browser.accessibility import OTHERS, THEMES
from tests.browser.differences import Photograph, difference, marked, save, write_report
from tests.browser.serving import ROOT, chromium, go_to, prepare, rest, serve, settle
from tests.browser.views import LESSONS
from tests.browser.views import address as address_of

INTO = ROOT / "runs" / "photographs"
BAR = 64            # pixels that a bar may cover at the upper and at the lower edge of the window
TRIES = 5           # photographs of a view that differs, until each page gives the same one twice
FAILED = "[data-testid=stException], [data-testid=stAlertContentError]"
# A chart measures its words once: in another font where its own is still on its way.
FONTS = "() => Promise.all([...document.fonts].map((font) => font.load()))"
# What is below the window has its true height only once it is laid out. Streamlit's tables draw the line below their
# header over itself as often as they are drawn.
STYLE = """document.addEventListener("DOMContentLoaded", () => {
    document.head.append(document.createElement("style"));
    document.head.lastChild.textContent = `* { content-visibility: visible !important; }
        [data-testid=stDataFrame]::after { content: ""; position: absolute; inset: 33px 0 auto; height: 4px;
                                           background: gray; }`;
})"""
# CSS of what is never the same twice -> why.
MASKED = {
    "[data-testid=stMain]:has(.st-key-tokens_training) .st-key-lesson_numbers [data-testid=stDataFrame]":
        "The library that learns Unigram adds in another order in every process: the sixth digits differ.",
}


@dataclass(frozen=True)
class Frame:
    """The window that views are photographed in."""

    width: int
    height: int
    present: bool
    theme: str

    @classmethod
    def parse(cls, size: str, theme: str) -> Frame:
        """From "1280x720", or "1280x720p" for present mode."""
        width, height, present = re.fullmatch(r"(\d+)x(\d+)(p?)", size).groups()
        return cls(int(width), int(height), bool(present), theme)

    def __str__(self) -> str:
        return f"{self.width}x{self.height}{'p' * self.present} {self.theme}"

    def open(self, browser: Browser, url: str) -> Page:
        """A page of this size and theme at the app's first page, for a reader who wants no motion."""
        size = {"width": self.width, "height": self.height}
        page = browser.new_page(bypass_csp=True, viewport=size, color_scheme=self.theme, reduced_motion="reduce")
        prepare(page)
        page.add_init_script(STYLE)
        page.goto(url)
        settle(page)
        page.evaluate(FONTS)
        return page


def addresses(lessons: list[str]) -> dict[str, str]:
    """The address of every view of these pages, of all if there are none, by its name, "lesson: view"."""
    found = {f"{page}: {query}": f"{page}?{query}" for page, queries in OTHERS.items() for query in queries}
    for lesson, views in LESSONS.items():
        for name in views:
            query = urllib.parse.urlencode(address_of(lesson, name))
            found[f"{lesson}: {name}"] = f"{catalogue.url_path(lesson)}?{query}"
    return {name: address for name, address in found.items() if not lessons or name.split(":")[0] in lessons}


def photograph(page: Page) -> Photograph:
    """The whole page once it is at rest, put together from pictures of the window, scrolled: in a window as high as the
    page it would be laid out in another way. RuntimeError if the page shows an error."""
    settle(page)
    rest(page)
    if failed := page.locator(FAILED).all_inner_texts():
        raise RuntimeError(failed[0])
    main, window = page.locator("[data-testid=stMain]"), page.viewport_size
    height = max(main.evaluate("main => main.scrollHeight"), window["height"])
    whole = np.zeros((height, window["width"], 3), np.uint8)
    step = window["height"] - 2 * BAR
    for top in range(0, height - window["height"] + step, step):
        top = round(main.evaluate("(main, top) => { main.scrollTop = top; return main.scrollTop; }", top))
        png = page.screenshot(animations="disabled", mask=[page.locator(css) for css in MASKED])
        covered = BAR if top else 0
        rows = whole[top + covered:top + window["height"]]
        rows[:] = np.asarray(Image.open(io.BytesIO(png)).convert("RGB"))[covered:covered + len(rows)]
    main.evaluate("main => { main.scrollTop = 0; }")
    return whole


@dataclass(frozen=True)
class Side:
    """One of the revisions, "before" or "after", or the only one, "view": its server and a page of it."""

    name: str
    url: str
    page: Page

    def photograph(self) -> Photograph:
        """Photograph its page; RuntimeError if that does not come to rest or shows an error."""
        try:
            return photograph(self.page)
        except (RuntimeError, Error) as error:
            raise RuntimeError(f"could not be opened {self.name}: {str(error).splitlines()[0]}") from error


def photographs(sides: list[Side], address: str) -> list[Photograph]:
    """One photograph of a view from each side. Where two differ, they are taken again until each is the same twice:
    what a page draws late is no difference. RuntimeError if a side does not show the view."""
    for side in sides:
        go_to(side.page, f"{side.url}/{address}")
    taken = [side.photograph() for side in sides]
    for _ in range(TRIES):
        if difference(taken[0], taken[-1]) is None:
            break
        last, taken = taken, [side.photograph() for side in sides]
        if all(map(np.array_equal, last, taken)):
            break
    return taken


def told(title: str, taken: dict[str, Photograph]) -> Iterator[tuple[str, dict[str, Photograph]]]:
    """The report on a view and the pictures to keep: nothing if its two photographs are the same."""
    if len(taken) == 1:
        yield title, taken
    elif found := difference(**taken):
        left, top, right, bottom = found.box
        line = f"{title}: {found.share:.3%} of the pixels, in {left},{top} to {right},{bottom}"
        yield line, taken | {"difference": marked(taken["after"], found)}


@contextlib.contextmanager
def served(revision: str | None) -> Iterator[str]:
    """The address of the app as it is at a revision; None is the working tree as it stands."""
    with contextlib.ExitStack() as stack:
        tree = ROOT
        if revision:
            tree = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "tree"
            subprocess.run(["git", "worktree", "add", "--quiet", "--detach", tree, revision], cwd=ROOT, check=True)
            stack.callback(subprocess.run, ["git", "worktree", "remove", "--force", tree], cwd=ROOT, check=True)
        yield stack.enter_context(serve(tree / "app.py", cwd=tree)).url


def look(browser: Browser, urls: dict[str, str], frame: Frame, views: dict[str, str]) -> Iterator[tuple]:
    """Go through the views; for each that is to be told of, its line and the pictures to keep, by kind."""
    sides = [Side(name, url, frame.open(browser, url)) for name, url in urls.items()]
    for k, (name, address) in enumerate(views.items(), 1):
        title = f"{name} ({frame})"
        print(f"{k}/{len(views)} {title}", file=sys.stderr, flush=True)
        try:
            taken = photographs(sides, address + "&present=true" * frame.present)
        except RuntimeError as error:
            yield f"{title} {error}", {}
            for side in sides:
                side.page.goto(side.url)
        else:
            yield from told(title, dict(zip(urls, taken, strict=True)))
    for side in sides:
        side.page.close()


def keep(pictures: dict[str, Photograph], folder: Path, line: str) -> list[str]:
    """Write the pictures of a view and return their names."""
    stem = re.sub(r"[^a-z0-9]+", "_", line.partition(")")[0].lower())
    for kind, picture in pictures.items():
        save(picture, folder / f"{stem}_{kind}.png")
    return [f"{stem}_{kind}.png" for kind in pictures]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.browser.photographs", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", nargs="?", help="a revision")
    parser.add_argument("after", nargs="?", help="another (default: the working tree)")
    parser.add_argument("--look", type=Path, metavar="FOLDER", help="photograph the working tree alone")
    parser.add_argument("--into", type=Path, default=INTO, metavar="FOLDER", help=f"default: {INTO.relative_to(ROOT)}")
    parser.add_argument("--sizes", nargs="+", default=["1440x900"], help="in pixels; with a p, in present mode")
    parser.add_argument("--themes", nargs="+", choices=THEMES, default=["light"])
    parser.add_argument("--lessons", nargs="+", default=[], help="only these pages, as in an address, or overview")
    chosen = parser.parse_args()
    if bool(chosen.before) == bool(chosen.look):
        parser.error("name a revision, or a folder with --look")
    folder, lines = chosen.look or chosen.into, {}
    folder.mkdir(parents=True, exist_ok=True)
    revisions = {"view": None} if chosen.look else {"before": chosen.before, "after": chosen.after}
    with contextlib.ExitStack() as stack:
        urls = {name: stack.enter_context(served(revision)) for name, revision in revisions.items()}
        browser = stack.enter_context(chromium())
        for size, theme in itertools.product(chosen.sizes, chosen.themes):
            for line, pictures in look(browser, urls, Frame.parse(size, theme), addresses(chosen.lessons)):
                print(line, flush=True)
                lines[line] = keep(pictures, folder, line)
    title = " and ".join(revision or "the working tree" for revision in revisions.values())
    report = write_report(folder, title, lines)
    print(f"{len(lines)} views in {report}", file=sys.stderr)
    sys.exit(int(bool(chosen.before and lines)))


if __name__ == "__main__":
    main()
