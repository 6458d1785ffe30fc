"""A walk through a lesson in a real browser: every place is opened once, and handed to a list of checks.

A check looks at the page as it stands and names what is wrong there; one that fails, or cannot be made, leaves the
others their turn.
"""
from __future__ import annotations

import urllib.parse
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from playwright.sync_api import Page

from core.app.state.reader import PRESENT_SCALE
from core.base import catalogue, prose, tables
from core.base.tables import Idea
from core.components import scripts
from core.components.page import framed
from tests.browser import accessibility
from tests.browser.ideas import CHECKS as SEEN
from tests.browser.ideas import (  # noqa: F401  (their checks)
    deck_a,
    deck_b,
    deck_c,
    deck_d,
    landscape,
    learning,
    writing,
)
from tests.browser.pictures import comes, cut_off, is_framed, small_type, unpainted
from tests.browser.serving import go_to, rest, settle
from tests.browser.views import LESSONS, View, address, end_of, has_stage, stand

ENOUGH = 3              # stops that cannot be reached, one after the other
WIDE, PHONE = {"width": 1280, "height": 720}, {"width": 390, "height": 844}
# a tablet's, and a projector's at a zoom of 200 %: once a lesson, that takes minutes for all
MORE_WIDTHS = (1024, 640)
# pixels between a picture and the bar below it in present mode: another build of Chromium sets its type a
# few pixels higher
AIR = 12
IMAGES = """Promise.all([...document.images].filter((image) => !image.complete).map((image) => new Promise((ended) => {
    image.onload = image.onerror = ended; })))"""
COVERED = """() => [...document.querySelectorAll("[class*=st-key-try_menu_] button")].some((button) => {
    const { left, right, top, bottom } = button.getBoundingClientRect();
    return [left + 3, right - 3].some((x) => [top + 3, bottom - 2].some((y) =>
        !button.contains(document.elementFromPoint(x, y))));
})"""
# What was to be drawn in the next frame is drawn, however late a busy machine gives it.
TWO_FRAMES = "new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))"
FIELDS = """() => {
    const all = (root) => [...root.querySelectorAll("*")].flatMap((node) =>
        [node, ...node.shadowRoot ? all(node.shadowRoot) : []]);
    const typed = "input:not([type=range], [type=checkbox], [type=radio]), textarea";
    return all(document).filter((node) => node.matches(typed) && node.clientHeight > 8).map((node) =>
        parseFloat(getComputedStyle(node).fontSize));
}"""
LEAST_FIELD = 16        # px of type in a field on a phone
FRAMED = Path(framed.__file__).with_name("framed.js")
TELL = """async ([address, element, at]) => (await import(new URL(address, location)))
    .default({data: {element, at}, parentElement: document.body})"""
SMALLEST = 9            # px, of the page's smallest type outside present mode


@dataclass(frozen=True)
class Stop:
    """A place of a lesson. view: what stands there as its lesson's table has it, None at an idea's own settings; ideas:
    those that are live there; first: whether it is the lesson's first stop.
    """

    lesson: str
    name: str
    settings: tuple[tuple[str, str], ...]
    view: View | None = None
    ideas: tuple[Idea, ...] = ()
    first: bool = False

    def address(self, **shared: str) -> str:
        return f"{catalogue.url_path(self.lesson)}?{urllib.parse.urlencode(dict(self.settings) | shared)}"


Check = Callable[[Page, Stop], list[str]]


def stops(lesson: str) -> list[Stop]:
    """Every view of a lesson, and every idea at its view's stop where its address says no more, else at its own."""
    found = [Stop(lesson, name, tuple(address(lesson, name).items()), view)
             for name, view in LESSONS[lesson].items()]
    for idea in tables.ideas():
        if idea.place.lesson != lesson or tables.name_of(idea.place) is None:
            continue
        there = next((k for k, stop in enumerate(found) if dict(stop.settings) == idea.place.settings), None)
        if there is None:
            found.append(Stop(lesson, idea.id, tuple(idea.place.settings.items()), None, (idea,)))
        else:
            found[there] = replace(found[there], ideas=(*found[there].ideas, idea))
    return [replace(stop, first=k == 0) for k, stop in enumerate(found)]


def walk(page: Page, origin: str, places: Sequence[Stop], checks: Sequence[Check], **shared: str) -> list[str]:
    """Go from stop to stop as by the browser's history, and tell what is wrong at each; the walk ends where one stop
    after another cannot be reached, since each is waited for.
    """
    found, missing = [], 0
    for stop in places:
        page.errors.clear()
        led = {tables.IDEA: stop.ideas[0].id} if stop.ideas and led_to in checks else {}
        go_to(page, f"{origin}/{stop.address(**shared, **led)}")
        here = faults(page, stop, checks)
        missing = missing + 1 if any(f", {_arrive.__name__}: " in fault for fault in here) else 0
        found += here
        if missing == ENOUGH:
            return [*found, "the walk ends here"]
    return found


def faults(page: Page, stop: Stop, checks: Sequence[Check]) -> list[str]:
    """Each check's faults at a stop that the page is at, or goes to, under the check's name."""
    found: list[str] = []
    for check in (_arrive, *checks, _leave):
        try:
            said = check(page, stop)
        except Exception as error:      # noqa: BLE001 (whatever a check meets is a fault of its own)
            said = [f"{type(error).__name__}: {error}"]
        found += [f"{stop.lesson}, {stop.name}, {check.__name__}: {one}" for one in said]
        if check is _arrive and found:
            break
    return found


def _arrive(page: Page, stop: Stop) -> list[str]:
    """Wait until the lesson and its picture stand."""
    title = prose.load(stop.lesson).section("title")
    page.locator(f".st-key-lesson_head >> text={title}").first.wait_for(state="attached")     # present mode hides it
    settle(page)
    if stop.view is not None:
        stand(page, stop.view)
    page.evaluate(TWO_FRAMES)
    return []


def _leave(page: Page, _: Stop) -> list[str]:
    """Wait for the pictures that are on their way: the server drops those of a page that was left."""
    page.evaluate(IMAGES)
    return []


# ---- checks ----------------------------------------------------------------------------------------------------------


def led_to(page: Page, stop: Stop) -> list[str]:
    """Ideas whose element the page does not bring into sight and frame. The first one's link led here; the page is told
    of the others as their links tell it.
    """
    found = []
    for idea in stop.ideas:
        if idea is not stop.ideas[0]:
            page.evaluate(TELL, [scripts.address(FRAMED), idea.element, idea.id])
        if not comes(page, lambda element=idea.element: is_framed(page, element)):
            found.append(f"{idea.id}: {idea.element} is not framed in sight")
        page.keyboard.press("Shift")
    page.evaluate("document.querySelector('[data-testid=stMain]').scrollTo(0, 0)")
    return found


def no_errors(page: Page, _: Stop) -> list[str]:
    """Errors on the page and in its console."""
    return page.errors + page.get_by_test_id("stAlertContentError").all_inner_texts()


def painted(page: Page, stop: Stop) -> list[str]:
    n = unpainted(page, f".st-key-{stop.lesson}_stage") if stop.view and has_stage(stop.lesson) else 0
    return [f"{n} canvases with nothing on them"] * bool(n)


def first_screen(page: Page, stop: Stop) -> list[str]:
    """A picture that ends below a projector's screen."""
    ends = end_of(page, stop.view) if stop.view and stop.view.first_screen else 0
    return [f"ends at {ends:.0f} px"] * (ends > WIDE["height"])


def uncovered(page: Page, _: Stop) -> list[str]:
    """The menu of experiments, where what stands below lies over it."""
    return ["what is below lies over the menu of experiments"] * page.evaluate(COVERED)


def keys(page: Page, _: Stop) -> list[str]:
    """Pictures that answer the pointer alone."""
    return accessibility.unreachable(page)


def whole(page: Page, stop: Stop) -> list[str]:
    """Parts cut off on a phone, and once a lesson at further widths."""
    if stop.view is None:
        return []
    found = []
    for width in (*MORE_WIDTHS, PHONE["width"]) if stop.first else (PHONE["width"],):
        page.set_viewport_size(PHONE | {"width": width})
        rest(page)
        scrolls = page.evaluate("document.scrollingElement.scrollWidth")
        found += [f"{width} px wide: {one}" for one in cut_off(page)]
        found += [f"{width} px wide: scrolls to {scrolls}"] * (scrolls > width)
    found += [f"a field of {size} px type" for size in page.evaluate(FIELDS) if size < LEAST_FIELD]
    page.set_viewport_size(WIDE)
    page.get_by_test_id("stSidebarNavItems").first.wait_for(state="detached")       # which is there on a phone
    rest(page)
    return found


def axe(page: Page, stop: Stop) -> list[str]:
    """axe-core's faults, once a lesson: `python -m tests.browser.accessibility` looks at every view."""
    return accessibility.violations(page) if stop.first else []


def ideas(page: Page, stop: Stop) -> list[str]:
    """Sights that an idea promises and the page lacks; last, since some press and drag."""
    found = []
    for idea in stop.ideas:
        try:
            page.locator(idea.element).first.wait_for()
            SEEN[idea.id](page)
            settle(page)
        except Exception as error:      # noqa: BLE001 (as above)
            found.append(f"{idea.id}: {type(error).__name__} {error}")
    return found


READ = (led_to, no_errors, painted, first_screen, uncovered, keys, axe, whole, ideas, no_errors)


def above_the_bar(page: Page, stop: Stop) -> list[str]:
    """In present mode a picture, or what is said below it, that reaches under the bar, or begins under what is told of
    a guess.
    """
    bar, stage = (page.locator(part).bounding_box() for part in (".st-key-try_step", f".st-key-{stop.lesson}_stage"))
    told = [box["y"] + box["height"] for box in
            (strip.bounding_box() for strip in page.locator(".prediction .strip").all())]
    ends = {"ends": end_of(page, stop.view) + AIR, "says what": (stage["y"] + stage["height"]) * stop.view.whole}
    return (["begins below what is told"] * any(end > stage["y"] for end in told)
            + [f"{what} {end - bar['y']:.0f} px too low" for what, end in ends.items() if end > bar["y"]])


def large_type(page: Page, _: Stop) -> list[str]:
    """In present mode what the last row cannot read."""
    return small_type(page, PRESENT_SCALE * SMALLEST)


PRESENT = (no_errors, above_the_bar, large_type)
