"""Every control on the stage of every view: from the press to the changed pictures, against an empty app that draws the
same pictures from the same bytes behind a control of the same kind.

What the page sends for a press and for the press back is taken from its websocket; the empty app sends the charts and
components among it again, each in the containers that it stands in, for a picture of another size is another picture.
"""
from __future__ import annotations

import itertools
import json
import sys
import tempfile
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from playwright.sync_api import Browser, Page, WebSocket
from streamlit.proto.Delta_pb2 import Delta
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from core.base import catalogue
from tests.benchmarks.browser import HERE, LATENCY, TUNED, Press
from tests.benchmarks.lessons import views
from tests.benchmarks.reader import STANDING, key_in, query_of
from tests.benchmarks.sizes import Sizes
from tests.benchmarks.timing import Figure, figure
from tests.browser.serving import Server, chromium, serve, settle
from tests.browser.views import has_stage

KINDS = ("vega_lite_chart", "plotly_chart", "bidi_component")
PICTURES = ", ".join(f"[data-testid={name}]" for name in ("stVegaLiteChart", "stPlotlyChart", "stBidiComponentIsolated",
                                                          "stBidiComponentRegular"))
MAIN = 0        # where the paths of all that stands on the page begin, but for menus and what is fixed to its foot
REPLAYED, REPLAY = ".st-key-replayed", ".st-key-replay"      # of the empty app: its control, and where it draws
QUIET_MILLISECONDS = 500
MOST_MILLISECONDS = 8_000       # from a press to rest
# (key, kind) of what is in the place and can be pressed; a view's own switch draws another view.
FIND = """([place, views]) => {
    const names = ["stCheckbox", "stButtonGroup", "stSelectbox", "stSlider", "stNumberInput"];
    const kinds = names.map((name) => `[data-testid=${name}]`);
    const disabled = "input:disabled, button:disabled:not([data-testid^=stNumberInputStep])";
    return [...document.querySelectorAll(`:is(${place}) :is(${kinds.join()})`)]
        .filter((node) => node.checkVisibility() && !node.closest(`[data-testid=stExpander], ${views}`))
        .filter((node) => !node.querySelector(disabled))
        .map((node) => [node.closest("[class*=st-key-]").className.match(/st-key-\\S+/)[0], node.dataset.testid]);
}"""
# Of what is moved by keys: those for one step up and down.
STEPS = {"stSlider": ("ArrowRight", "ArrowLeft"), "stNumberInput": ("ArrowUp", "ArrowDown")}
# In PLACE, and not in the strip or the bar above it.
WITHIN = """const box = (node) => { for (let at = node; at; at = at.getRootNode().host) {
    const found = (at.closest ? at : at.parentElement)?.closest(PICTURES); if (found) return found; } };
    return Boolean(box(node)?.closest(PLACE));""".replace("PICTURES", json.dumps(PICTURES))


def place_of(lesson: str) -> str:
    """CSS of where a lesson's view draws: on its stage; in a lesson of one picture, which has none, whatever has a key
    of the lesson's.
    """
    return f".st-key-{lesson}_stage" if has_stage(lesson) else f"[class*='st-key-{lesson}_']"


def latency(place: str) -> str:
    """latency.js for every picture in the place, from a click or a key."""
    begin, end = LATENCY.index("state.box = state.box"), LATENCY.index("  }\n\n  const watch")
    script = LATENCY[:begin] + WITHIN.replace("PLACE", json.dumps(place)) + "\n" + LATENCY[end:]
    begin = script.index("  addEventListener(\"keydown\"")
    listen = """for (const deed of ["click", "keydown"]) addEventListener(deed, (e) => {
        if (e.isTrusted) Object.assign(state, {start: e.timeStamp, first: null, last: null});
    }, true);
"""
    return script[:begin] + listen + script[script.index("  state.arm"):]


@dataclass
class Recorded:
    """A page's messages: the containers on it, and its charts and components in order, the cached ones looked up. By
    their places.
    """

    known: dict[str, ForwardMsg] = field(default_factory=dict)
    containers: dict[tuple[int, ...], Delta] = field(default_factory=dict)
    pictures: dict[tuple[int, ...], Delta] = field(default_factory=dict)

    def listen(self, socket: WebSocket) -> None:
        socket.on("framereceived", lambda data: self._take(data) if isinstance(data, bytes) else None)

    def _take(self, data: bytes) -> None:
        message = ForwardMsg.FromString(data)
        path = tuple(message.metadata.delta_path)
        if message.WhichOneof("type") == "ref_hash":
            message = self.known[message.ref_hash]
        elif message.hash:
            self.known[message.hash] = message
        if message.WhichOneof("type") != "delta" or path[0] != MAIN:
            return
        if message.delta.WhichOneof("type") == "add_block":
            self.containers = ({other: delta for other, delta in self.containers.items() if other[:len(path)] != path}
                               | {path: message.delta})
        elif (element := message.delta.new_element).WhichOneof("type") in KINDS and (
                key_in(element.bidi_component.id) != STANDING):        # which nobody would answer in an empty app
            self.pictures.pop(path, None)
            self.pictures[path] = message.delta

    def alone(self) -> list[ForwardMsg]:
        """The charts and components in the containers around them, and the columns beside those, as the messages that
        put them and nothing else into a place of its own.
        """
        around = {path[:end] for path in self.pictures for end in range(2, len(path))}
        beside = {path for path in self.containers
                  if any(path[:-1] == column[:-1] and self.containers[column].add_block.HasField("column")
                         for column in around)}
        messages, places = [], {(MAIN,): ()}
        for path, delta in sorted([*self.pictures.items(), *((path, self.containers[path])
                                                             for path in around | beside)], key=lambda one: one[0]):
            places[path] = (*places[path[:-1]], sum(other[:-1] == path[:-1] for other in places))
            messages.append(ForwardMsg(delta=delta))
            messages[-1].delta.fragment_id = ""
            messages[-1].metadata.delta_path[:] = places[path]
        return messages


def press(page: Page, key: str, kind: str) -> Press | None:
    """One press of the control on what is not picked, and the pictures' first and last change; None if none does.
    """
    page.evaluate("() => window.__latency.arm('body', false)")
    if kind == "stCheckbox":
        page.locator(f"{key} label").first.click()
    elif kind == "stButtonGroup":
        page.locator(f"{key} button[aria-checked=false]").first.click()
    elif kind in STEPS:
        _step(page, key, *STEPS[kind])
    else:
        page.locator(f"{key} input").first.click()
        page.get_by_role("option", selected=False).first.click()
    page.wait_for_timeout(QUIET_MILLISECONDS)
    settle(page)
    page.wait_for_function(f"() => performance.now() - (window.__latency.last ?? window.__latency.start) > "
                           f"{QUIET_MILLISECONDS}", timeout=MOST_MILLISECONDS)
    first, last = page.evaluate("() => { const l = window.__latency; return l.first === null ? [null, null] : [l.first "
                                "- l.start, l.last - l.start]; }")
    return None if first is None else Press(first, last)


def _step(page: Page, key: str, up: str, down: str) -> None:
    """One step by keys, and the next time one back; the first is down where it stands at its end."""
    control = page.locator(f"{key} input").first
    control.focus()
    is_up = control.evaluate("""(control, key) => {
        const steps = window.__steps ??= {};
        return steps[key] = key in steps ? !steps[key] : !control.max || Number(control.value) < Number(control.max);
    }""", key)
    page.keyboard.press(up if is_up else down)


def opened(browser: Browser, url: str, place: str, recorded: Recorded | None = None) -> Page:
    page = browser.new_context(bypass_csp=True, viewport={"width": 1280, "height": 900}).new_page()
    page.set_default_timeout(MOST_MILLISECONDS)
    page.add_init_script(latency(place))
    if recorded is not None:
        page.on("websocket", recorded.listen)
    page.goto(url, timeout=60_000)
    settle(page)
    page.wait_for_timeout(800)
    return page


@dataclass(frozen=True)
class Control:
    """A control of a view. place: CSS of where the view draws; key: of the control, and its kind."""

    name: str
    url: str
    place: str
    key: str
    kind: str


def control_figures(sizes: Sizes) -> list[Figure]:
    with serve() as app, chromium() as browser:
        measured = (_compared(browser, control, sizes.repeats) for control in _controls(browser, app, sizes.lessons))
        return [*itertools.chain(*itertools.islice(filter(None, measured), sizes.cases))]


def _controls(browser: Browser, app: Server, lessons: Collection[str]) -> Iterator[Control]:
    """Every control of every view of these lessons; none named: of all."""
    for lesson, view, settings in views(lessons):
        url, place = f"{app.url}/{catalogue.url_path(lesson)}?{query_of(**settings)}", place_of(lesson)
        page = opened(browser, url, place)
        found = page.evaluate(FIND, [place, f".st-key-{lesson}_{catalogue.entry(lesson).picks}_widget"])
        page.context.close()
        for key, kind in dict.fromkeys(map(tuple, found)):
            name = key.removeprefix(f"st-key-{lesson}_").removesuffix("_widget")
            yield Control(f"{', '.join(filter(None, (lesson, view)))}: {name}", url, place, f".{key}", kind)


def _compared(browser: Browser, control: Control, repeats: int) -> list[Figure]:
    """Two lines: the first and the last change of a picture; none of a control that leaves the pictures as they were.
    """
    recorded, name, key, kind = Recorded(), control.name, control.key, control.kind
    page = opened(browser, control.url, control.place, recorded)
    states = []
    for _ in range(2):
        recorded.pictures.clear()
        if press(page, key, kind) is None or page.locator(key).count() == 0:
            page.context.close()
            return []
        settle(page)
        states.append([message.SerializeToString() for message in recorded.alone()])
    with tempfile.TemporaryDirectory() as folder:
        for k, state in enumerate(states):
            for i, message in enumerate(state):
                (Path(folder) / f"{k}_{i:03}").write_bytes(message)
        with serve(HERE / "apps" / "pictures.py", *TUNED, cwd=HERE / "apps",
                   env={"PAGE": "replay.py", "REPLAYED": folder, "CONTROL": kind}) as empty:
            alone = opened(browser, empty.url, REPLAY)
            ours, reference = [], []
            for _ in range(repeats + 1):
                for tab, into, pressed in ((page, ours, (key, kind)), (alone, reference, (REPLAYED, kind))):
                    tab.bring_to_front()
                    into.append(press(tab, *pressed))
                    settle(tab)
            alone.context.close()
    page.context.close()
    if None in ours[1:] + reference[1:]:
        print(f"{name}: no figure, a press left the pictures as they were", file=sys.stderr)
        return []
    note = f"reference: the same {len(recorded.pictures)} charts and components in an empty app"
    return [figure(f"{name}: first change", [p.first for p in ours[1:]], [p.first for p in reference[1:]], "ms", note),
            figure(f"{name}: last change", [p.last for p in ours[1:]], [p.last for p in reference[1:]], "ms", note)]
