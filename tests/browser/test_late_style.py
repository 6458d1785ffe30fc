"""On a first visit the style of the page may arrive after the pictures, which wait for it, and its fonts later still:
the pictures are then drawn again.
"""
import re

import numpy as np
import pytest
from playwright.sync_api import Page

from tests.browser.pictures import WALK, come_alike, comes, pictures_at_rest
from tests.browser.serving import prepare, settle

LATE_STYLE = """
addEventListener("DOMContentLoaded", () => {
  const late = document.head.appendChild(document.createElement("style"));
  late.textContent = ":root { " + ["page", "text", "grid", "seq-0", "seq-8"].map((name) =>
      `--tx-${name}: initial !important;`).join(" ") + " }";
  window.styleArrives = () => late.remove();
});"""

MEAN_COLOURS = "(() => {" + WALK + """
  return walk(document, []).filter((e) => e.tagName === "CANVAS" && e.width * e.height > 0
      && !e.closest("[data-testid=stDataFrame]")).map((canvas) => {
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height), sums = [0, 0, 0, 0];
    data.forEach((value, at) => { sums[at % 4] += value; });
    return sums.map((sum) => (4 * sum) / data.length);
  });
})"""

# Drawn one after the other, in frames that a busy machine gives late.
ARE_LIKE = f"""(expected) => {{
  const colours = {MEAN_COLOURS}();
  return colours.length === expected.length
    && colours.every((of, k) => of.every((mean, at) => Math.abs(mean - expected[k][at]) <= 1));
}}"""


def mean_colours(page: Page) -> np.ndarray:
    """Red, green, blue and opacity of each canvas in the mean, once it is at rest."""
    pictures_at_rest(page)
    return np.array(page.evaluate(MEAN_COLOURS))


@pytest.mark.parametrize("lesson", ["overview", "next_token"])
def test_pictures_wait_for_a_style_that_comes_late(browser, server, open_page, lesson):
    path = "" if lesson == "overview" else lesson
    expected = mean_colours(open_page(path))
    page = browser.new_context(bypass_csp=True, viewport={"width": 1280, "height": 900}).new_page()
    page.add_init_script(LATE_STYLE)
    page.clock.install()
    page.goto(f"{server.url}/{path}")
    settle(page)
    page.clock.run_for(2_500)           # pictures are fitted once more 0.4 and 1.5 s after they came
    page.evaluate("styleArrives()")
    page.wait_for_function(ARE_LIKE, arg=expected.tolist())
    page.context.close()


# of each way to draw: panel, canvas of a view, instrument, grid, svg whose places texts have
@pytest.mark.parametrize("path", ["next_token?next_token_panel=T1_k40_p0.9_x0.6_s1", "positions", "residual_stream",
                                  "tokens?tokens_view=merges", "overview?layer=1"])
def test_pictures_are_drawn_again_once_the_fonts_are_there(browser, server, open_page, path):
    expected, held = open_page(path), []
    page = browser.new_context(bypass_csp=True, viewport={"width": 1280, "height": 900}).new_page()
    prepare(page)
    page.route(re.compile(r"SourceCode.*\.woff2"), lambda route: held.append(route))
    page.goto(f"{server.url}/{path}")
    settle(page)
    early = pictures_at_rest(page)
    assert comes(page, lambda: bool(held)) and early != pictures_at_rest(expected)
    for route in held:
        route.continue_()
    assert come_alike(page, expected)
    page.context.close()
