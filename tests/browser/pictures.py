"""A page's pictures, read back from a real browser: every canvas and drawing, also in components."""
from __future__ import annotations

import re
from collections.abc import Callable

from playwright.sync_api import Page

from tests.browser.serving import PATIENCE, rest

WALK = """
const walk = (root, found) => {
  for (const element of root.querySelectorAll("*")) {
    found.push(element);
    if (element.shadowRoot) walk(element.shadowRoot, found);
  }
  return found;
};
"""

PICTURES = "() => {" + WALK + """
  // What is drawn, without the ids that a chart library makes up anew each time; in no order, since a new mark of an
  // axis comes after those that stay.
  const marks = (svg) => [...svg.querySelectorAll("path, rect, line, circle, text")].map((m) =>
    ["d", "x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "r", "width", "height", "transform", "fill", "stroke"]
        .map((a) => m.getAttribute(a) ?? "").join(" ")
    + (m.tagName === "text" ? m.textContent : "")).sort().join("; ");
  return walk(document, []).flatMap((e) =>
    e.tagName === "CANVAS" && e.width * e.height > 0 && e.checkVisibility()
        && !e.closest("[data-testid=stDataFrame]") ? [e.toDataURL()]
    : e.tagName === "svg" && e.getBoundingClientRect().width > 100 ? [marks(e)] : []);
}"""

UNPAINTED = "(place) => {" + WALK + """
  return walk(document.querySelector(place), []).filter((e) => {
    const context = e.tagName === "CANVAS" && e.width * e.height > 0 && e.checkVisibility()
        && !e.closest(".js-plotly-plot, [data-testid=stDataFrame]") && e.getContext("2d");
    return context && !e.classList.contains("over") && !context.getImageData(0, 0, e.width, e.height)
        .data.some((byte) => byte > 0);
  }).length;
}"""

# Streamlit's own boxes clip or scroll too, its whole page among them, and nobody scrolls those sideways: a scroller is
# what a component or our rules make one, and what holds a table. A chart clips its curves at its axes. What is not in
# the window has the lines of another width until it is laid out.
CUT_OFF = "() => {" + WALK + """
  const width = document.documentElement.clientWidth, cut = [];
  const parts = [...document.querySelectorAll("[class*=st-key-lesson_]")];
  for (const part of parts) part.style.contentVisibility = "visible";
  document.querySelector("[data-testid=stMain]").scrollLeft = 0;
  const scrolls = (e) => {
    for (let at = e; at; at = at.parentElement
        || (at.getRootNode() instanceof ShadowRoot ? at.getRootNode().host : null)) {
      const style = getComputedStyle(at);
      if (style.clipPath !== "none" || at !== document.documentElement && at !== document.body
          && !at.dataset.testid?.startsWith("st") && /(auto|scroll|hidden|clip)/.test(style.overflowX)
          && at.getBoundingClientRect().right <= width + 1) return true;
    }
    return false;
  };
  for (const e of walk(document.body, []).filter(({tagName}) => tagName !== "g")) {
    const box = e.getBoundingClientRect();
    if (box.width > 1 && box.height > 1 && box.left < width && box.right > width + 1
        && getComputedStyle(e).visibility === "visible" && !scrolls(e)) {
      cut.push(`${e.tagName}.${e.dataset.testid ?? e.getAttribute("class")} ` +
        `${(e.textContent || "").trim().slice(0, 40)} ends at ${Math.round(box.right)}`);
    }
  }
  for (const part of parts) part.style.contentVisibility = "";
  return cut;
}"""

# What is not in the window has no lines yet: each part is scrolled to, and given two frames.
BELOW = """async () => {
  const top = document.querySelector("[data-testid=stMain]").scrollTop, cut = [];
  for (const e of [...document.querySelectorAll("[class*=st-key-lesson_]")].filter((e) =>
      getComputedStyle(e).contentVisibility === "auto")) {
    e.scrollIntoView({block: "end"});
    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    const range = document.createRange();
    range.selectNodeContents(e);
    const below = Math.max(...[...range.getClientRects()].map((rect) =>
        rect.bottom)) - e.getBoundingClientRect().bottom;
    if (below > parseFloat(getComputedStyle(e).overflowClipMargin))
      cut.push(`${e.className}: ${Math.round(below)} pixels`);
  }
  document.querySelector("[data-testid=stMain]").scrollTop = top;
  return cut;
}"""

# Before a page is opened: each canvas keeps the size of the smallest letters that were written on it since it was last
# cleared, in CSS pixels of an unscaled canvas.
WATCH_TYPE = """(() => {
  const of = CanvasRenderingContext2D.prototype, { fillText, clearRect } = of;
  of.fillText = function (text, ...place) {
    const { a, b } = this.getTransform(), size = parseFloat(/([\\d.]+)px/.exec(this.font)[1]) * Math.hypot(a, b);
    if (text.trim() && !(this.canvas.smallest?.size <= size)) this.canvas.smallest = { size, text };
    return fillText.call(this, text, ...place);
  };
  of.clearRect = function (...box) { delete this.canvas.smallest; return clearRect.apply(this, box); };
  for (const side of ["width", "height"]) {
    const own = Object.getOwnPropertyDescriptor(HTMLCanvasElement.prototype, side);
    Object.defineProperty(HTMLCanvasElement.prototype, side,
      { ...own, set(value) { delete this.smallest; own.set.call(this, value); } });
  }
})()"""

# What is written smaller than `least` pixels in the window: text of the page, of drawings and on canvases.
SMALL = "(least) => {" + WALK + """
  const small = [], seen = (box) => box.width > 1 && box.height > 1 && box.top < innerHeight && box.bottom > 0
    && box.left < innerWidth && box.right > 0;
  for (const e of walk(document.body, [])) {
    const visible = e.checkVisibility({ opacityProperty: true, visibilityProperty: true });
    if (!visible || /^(STYLE|SCRIPT|OPTION)$/.test(e.tagName) || !seen(e.getBoundingClientRect())) continue;
    if (e.smallest && !e.closest("[data-testid=stDataFrame]")) {
      const size = e.smallest.size * e.getBoundingClientRect().width / e.width;
      if (size < least) small.push(`${size.toFixed(1)}: ${e.smallest.text}`);
    }
    const text = [...e.childNodes].filter((node) => node.nodeType === Node.TEXT_NODE).map((node) => node.data.trim());
    const matrix = e.getScreenCTM?.(), size = parseFloat(getComputedStyle(e).fontSize)
      * (matrix ? Math.hypot(matrix.a, matrix.b) : 1);
    if (text.join("") && size < least && !e.closest(".katex")) small.push(`${size.toFixed(1)}: ${text.join("")}`);
  }
  return small;
}"""

# Of the elements that a selector finds, the first. In one call, since it is asked for many times a second.
FRAMED = """([node]) => {
  const frame = document.querySelector(".idea-frame")?.getBoundingClientRect(), box = node?.getBoundingClientRect();
  if (!frame?.width || !box?.width || Math.abs(frame.y + 6 - box.y) > 1 || Math.abs(frame.x + 6 - box.x) > 1)
    return false;
  const first = document.querySelector(".st-key-navigation")?.getBoundingClientRect().bottom ?? 0;
  const last = innerHeight - parseFloat(getComputedStyle(document.documentElement).getPropertyValue("--tx-foot"));
  return first <= box.y && (box.bottom <= last || box.y <= first + 12);
}"""

LOOKS = 100     # at pictures, each after a rest of a quarter of a second, until they are taken to change for ever


def pictures(page: Page) -> list[str]:
    """Every canvas as a data URL and every larger svg as its marks, in document order; tables, which Streamlit draws on
    canvases too, left out.
    """
    return page.evaluate(PICTURES)


def unpainted(page: Page, place: str) -> int:
    """How many of the canvases in `place`, a CSS selector, have nothing on them."""
    return page.evaluate(UNPAINTED, place)


def small_type(page: Page, least: float) -> list[str]:
    """Text smaller than `least` pixels, with its size; not in formulas, whose indices are small. Before the page is
    opened, WATCH_TYPE must be among its scripts.
    """
    return page.evaluate(SMALL, least)


def cut_off(page: Page) -> list[str]:
    """Elements that reach beyond the right edge of the window, outside anything that scrolls."""
    return page.evaluate(CUT_OFF)


def clipped_below(page: Page) -> list[str]:
    """Elements said below the picture that reach below the part the browser paints."""
    return page.evaluate(BELOW)


def pictures_at_rest(page: Page) -> list[str]:
    """`pictures` that stay the same while the page is at rest: motion has come to its end, and Python's answer to a
    click has been drawn. What is painted on a canvas changes nothing in the page, so that `rest` alone does not tell.
    """
    last = pictures(page)
    for _ in range(LOOKS):
        rest(page)
        now = pictures(page)
        if now == last:
            return now
        last = now
    raise AssertionError(f"The pictures still change after {LOOKS} looks.")


def come_alike(page: Page, other: Page) -> bool:
    """Whether two pages come to show the same `pictures`; on a busy machine the last frame of one may be late."""
    return any(pictures_at_rest(page) == pictures_at_rest(other) for _ in range(LOOKS))


def comes(page: Page, condition: Callable[[], bool], milliseconds: int = PATIENCE) -> bool:
    """Whether a condition of Python becomes true, where playwright's own expectations cannot ask for it. Only looks can
    tell; while this waits for the next one, the events of the page are heard.
    """
    for _ in range(0, milliseconds, 50):
        if condition():
            return True
        page.wait_for_timeout(50)
    return condition()


def starting(text: str) -> re.Pattern[str]:
    """A pattern for playwright: text that begins like this."""
    return re.compile(f"^{re.escape(text)}")


def is_framed(page: Page, element: str) -> bool:
    """Whether the first element of this selector is framed, and in sight: between what stands at the window's head and
    foot, or, where it is higher than that, with its top there.
    """
    return page.locator(element).evaluate_all(FRAMED)
