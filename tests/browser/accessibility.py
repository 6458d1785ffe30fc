"""`python -m tests.browser.accessibility`: axe-core over every page, every view and every drawer (those of the frame
once a theme) in both themes, and what it finds of serious or critical impact.

With `--pictures FOLDER` every view is kept as a PNG, as three kinds of colour-blind readers see it. The tests run the
same check on one view a lesson (test_walk.py); all of them take some twenty minutes.
"""
from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import axe_playwright_python
from playwright.sync_api import Page

from core.base import catalogue
from tests.browser.pictures import WALK
from tests.browser.serving import chromium, prepare, rest, serve, settle
from tests.browser.views import LESSONS, reach

AXE = Path(axe_playwright_python.__file__).with_name("axe.min.js")      # axe-core 4.12, as it comes
IMPACTS = ("serious", "critical")
THEMES = ("light", "dark")
DEFICIENCIES = ("protanopia", "deuteranopia", "tritanopia")
OPENERS = "[data-testid=stPopoverButton], .st-key-navigation .opener"
# those that are not the same on every page
OF_A_VIEW = "[data-testid=stMain] [data-testid=stPopoverButton]:not(.st-key-prompt_bar *)"

# What Streamlit draws and the app cannot mend: (rule, CSS of the element): why it is left out.
EXCLUDED = {
    ("color-contrast", "[data-testid=stWidgetLabel][disabled]"):
        "The label of a control that is switched off, which WCAG 1.4.3 leaves out; axe does not see "
        "that the two belong together.",
    ("svg-img-alt", "svg.marks g.role-mark:empty"): "Vega names a group of marks by what is in it, so an empty one has "
                                                    "the role and no name; there is nothing to be read in it.",
    ("scrollable-region-focusable", ".katex-display"): "A formula in Markdown that is wider than its column scrolls. "
                                                       "No attribute can be given to it; Chromium and Firefox let the "
                                                       "Tab key stop at a scroller without controls all the same.",
}

# Pages that are no lessons.
OTHERS = {
    "models": ("",), "map": ("",),
    "tour": tuple(f"tour={step}" for step in range(1, 13)),
    "course": (*(f"course_view={view}" for view in ("lessons", "class", "glossary")),
               *(f"course_view=lectures&course_deck={deck}" for deck in "ABCD"),
               *(f"course_view=sheets&course_sheet={sheet}" for sheet in ("merges", "positions"))),
}

# Elements are matched by the page, which alone can look out of a shadow root; targets are written as axe writes them.
RUN = """async ([impacts, excluded]) => {
    const up = (element, css) => {
        for (let at = element; at; at = at.parentElement
            || (at.getRootNode() instanceof ShadowRoot ? at.getRootNode().host : null)) if (at.matches(css))
                return true;
        return false;
    };
    const {violations} = await axe.run(document, {resultTypes: ["violations"], elementRef: true, iframes: false});
    return violations.filter((found) => impacts.includes(found.impact)).flatMap((found) => found.nodes
        .filter((node) => !excluded.some(([rule, css]) => rule === found.id && up(node.element, css)))
        .map((node) => `${found.id} (${found.impact}) ${node.target.flat().join(" >>> ")} ${node.html.slice(0, 160)} ` +
            `${node.any.concat(node.all, node.none).map((check) => check.message).join("; ")}`));
}"""

# Handlers are assigned as properties in all components; Streamlit's own charts and tables have keys of their own.
UNREACHABLE = "() => {" + WALK + """
    const answers = (e) => ["onclick", "onpointermove", "onpointerdown", "onmousemove"].some((name) => e[name])
        || e.querySelectorAll("title").length > 1;
    const around = (e, root) => { for (let at = e; at && at !== root;
        at = at.parentElement) if (at.onkeydown) return true; return false; };
    return walk(document, []).filter((e) => (e.tagName === "CANVAS" || e.tagName === "svg") && e.checkVisibility()
        && e.getRootNode() instanceof ShadowRoot
        && e.getBoundingClientRect().width > 60 && answers(e) && !around(e) && !("ranges" in e.dataset)
            && !e.querySelector("[tabindex]"))
        .map((e) => `${e.tagName} ${e.getAttribute("class")} in ` +
            `${e.getRootNode().host.closest("[class*=st-key-]")?.className.match(/st-key-\\S+/)}: ` +
            `${e.getAttribute("aria-label")}`);
}"""

# A chart by itself, or one whose marks stand there and the arrow keys find none of them.
UNREAD = """() => [...document.querySelectorAll("[data-testid=stVegaLiteChart], .js-plotly-plot")].filter((chart) => {
    const box = chart.closest(".chart-keys"), press = (key) => box.dispatchEvent(new KeyboardEvent("keydown", {key}));
    if (!box?.getAttribute("aria-label")) return true;
    if (!chart.querySelector("svg.marks :is(.mark-rect, .mark-symbol) > path, .gl-canvas, canvas")) return false;
    press("ArrowRight");
    const said = box.querySelector(".chart-label").textContent;
    press("Escape");
    return !said;
}).map((chart) => `chart in ${chart.closest("[class*=st-key-]")?.className.match(/st-key-\\S+/)}`)"""


def violations(page: Page, impacts: tuple[str, ...] = IMPACTS, axe: Path = AXE) -> list[str]:
    """Run axe-core on the page as it stands, also in open shadow roots: one line for each element and rule."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(axe.read_text(encoding="utf-8"))
    # what is being computed anew Streamlit draws faintly
    page.wait_for_function("!document.querySelector('[data-stale=true]')")
    return page.evaluate(RUN, [list(impacts), [list(left_out) for left_out in EXCLUDED]])


def unreachable(page: Page) -> list[str]:
    """The pictures that answer the pointer and no key: neither they nor what stands around or in them takes the focus,
    and no ranges beside them do the same; and charts that the arrow keys do not read.
    """
    return page.evaluate(UNREACHABLE) + page.evaluate(UNREAD)


def found_on(page: Page, impacts: tuple[str, ...], axe: Path) -> list[str]:
    """Faults of the page as it stands: axe's findings, and pictures without keys."""
    return [*violations(page, impacts, axe), *(f"keyboard {picture}" for picture in unreachable(page))]


def drawers(page: Page, openers: str = OPENERS) -> Iterator[str]:
    """Open every drawer of the page, one popover after another and then all that unfold in place, and give its name
    while it stands open.
    """
    for opener in page.locator(openers).all():
        if opener.is_visible() and opener.is_enabled():
            opener.click()
            settle(page)
            yield opener.inner_text().strip()
            page.keyboard.press("Escape")
    closed = page.locator("[data-testid=stExpander] details:not([open]) > summary")
    while closed.count():
        closed.first.click()
        settle(page)
    yield "unfolded"


def see(page: Page, folder: Path, name: str) -> None:
    """Keep what each kind of colour-blind reader sees of the window, as Chromium simulates it."""
    session = page.context.new_cdp_session(page)
    for deficiency in DEFICIENCIES:
        session.send("Emulation.setEmulatedVisionDeficiency", {"type": deficiency})
        page.screenshot(path=folder / f"{re.sub(r'[^a-z0-9]+', '_', name.lower())}_{deficiency}.png")
    session.send("Emulation.setEmulatedVisionDeficiency", {"type": "none"})
    session.detach()


def walk(page: Page, url: str, only: str) -> Iterator[str]:
    """Go to every page and every view of it whose name begins with `only`, and give the name once it stands: an
    address, or "lesson: view".
    """
    for address in (f"{name}?{query}".rstrip("?") for name, queries in OTHERS.items() for query in queries):
        if address.startswith(only):
            page.goto(f"{url}/{address}")
            settle(page)
            rest(page)
            yield address
    for lesson, views in LESSONS.items():
        if not f"{lesson}:".startswith(only):
            continue
        page.goto(f"{url}/{catalogue.url_path(lesson)}")
        settle(page)
        for name in views:
            reach(page, lesson, name)
            yield f"{lesson}: {name}"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.browser.accessibility", description=__doc__)
    parser.add_argument("--only", default="", help="pages whose address begins like this (default: all)")
    parser.add_argument("--themes", nargs="+", choices=THEMES, default=THEMES)
    parser.add_argument("--impacts", nargs="+", default=IMPACTS,
                        help="minor, moderate, serious, critical (default: the last two)")
    parser.add_argument("--axe", type=Path, default=AXE,
                        help="another axe.min.js, such as a newer one of npm's axe-core")
    parser.add_argument("--pictures", type=Path, help="a folder for what colour-blind readers see")
    parser.add_argument("--closed", action="store_true", help="leave the drawers closed")
    chosen = parser.parse_args()
    total = 0
    if chosen.pictures:
        chosen.pictures.mkdir(parents=True, exist_ok=True)
    with serve() as server, chromium() as browser:
        for theme in chosen.themes:
            page = browser.new_page(bypass_csp=True, viewport={"width": 1280, "height": 900}, color_scheme=theme)
            prepare(page)
            for k, name in enumerate(walk(page, server.url, chosen.only)):
                if chosen.pictures:
                    see(page, chosen.pictures, f"{name} {theme}")
                found = found_on(page, tuple(chosen.impacts), chosen.axe)
                for drawer in () if chosen.closed else drawers(page, OF_A_VIEW if k else OPENERS):
                    found += [f"in {drawer}: {one}" for one in found_on(page, tuple(chosen.impacts), chosen.axe)]
                total += len(found)
                print(f"{theme} {name}: {len(found)}", *found, sep="\n    ", flush=True)
            page.close()
    sys.exit(f"{total} found" if total else None)


if __name__ == "__main__":
    main()
