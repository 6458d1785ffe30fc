"""On a projector, 1280 × 720, a picture is as large as its point needs, its words are whole, and what moves it is seen
with it.
"""
from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.browser.pictures import WALK
from tests.browser.serving import go_to, rest, settle
from tests.browser.views import opened
from tests.browser.walk import WIDE

LEAST_CHART, SEEN = 140, 60     # px; so much of a picture is seen beside its control at a zoom
TABLET, SMALL = {"width": 1024, "height": 768}, {"width": 911, "height": 512}
# what stands on the wall of a view, of which nothing is lower than a chart may be; and the control that moves it
WALLS = {
    ("positions", "waves"): ("canvas", ".range.pair"), ("positions", "biases"): ("canvas", ".range.head"),
    ("positions", "learned"): ("canvas", ".range.i"), ("generation", "beam"): ("svg.beam-tree", ".stSlider"),
    ("limits", "calibration"): ("svg.marks", ".stSlider"), ("training", "rlhf"): ("svg.marks", ".stSelectbox"),
    ("training", "rlhf, demonstrations"): ("svg.marks", ".stButton"),
    ("training", "rlhf, comparisons"): ("svg.marks", ".stButton"),
    ("residual_stream", "lens"): ("canvas", ""),
}
# the heights, tops and bottoms of the pictures of a stage that are seen
BOXES = "([lesson, kind]) => {" + WALK + """
    return walk(document.querySelector(`.st-key-${lesson}_stage`), []).filter((e) => e.matches(kind)
        && e.checkVisibility()).map((e) => e.getBoundingClientRect())
        .filter(({ width }) => width > 0).map(({ top, bottom, height }) => [top, bottom, height]);
}"""
NO_WEBGL = """(() => {
    const { getContext } = HTMLCanvasElement.prototype;
    HTMLCanvasElement.prototype.getContext = function (kind, ...options) {
        return /webgl/.test(kind) ? null : getContext.call(this, kind, ...options);
    };
})()"""


def on_the_wall(open_page, lesson: str, name: str, query: str = "") -> Page:
    return opened(open_page, lesson, name, f"{query}&present=true&ask=false", **WIDE)


@pytest.mark.parametrize(("lesson", "name"), WALLS)
def test_no_chart_is_too_low_and_its_control_is_seen_with_it_on_smaller_screens(open_page, lesson, name):
    kind, control = WALLS[lesson, name]
    page = on_the_wall(open_page, lesson, name)
    boxes = page.evaluate(BOXES, [lesson, kind])
    assert boxes and all(height >= LEAST_CHART for _, _, height in boxes), boxes
    for size, seen in ((TABLET, LEAST_CHART), (SMALL, SEEN)) if control else ():
        page.set_viewport_size(size)
        rest(page)
        moved = page.locator(f".st-key-{lesson}_stage {control}").first.bounding_box()
        top, *_ = page.evaluate(BOXES, [lesson, kind])[0]
        foot = page.locator(".st-key-try_step").bounding_box()["y"]
        assert 0 <= moved["y"] < foot and top + seen <= foot, (size, moved, top, foot)
    assert page.errors == []


# what the first view of a lesson needs on a small screen: its controls, and its picture, whose lower end may be below
# the bar where the picture is a list that scrolls
FIRST = {"overview": (".play", ".out .bars"), "tokens": (".play", ".instrument, canvas, svg"),
         "generation": (".play", ".written-bars"), "residual_stream": ("input[type=range]", "canvas"),
         "training": (".stButtonGroup", "svg.marks"), "heads": (".head",)}
SIZES = {"tablet": TABLET, "zoomed": SMALL}


@pytest.mark.parametrize("size", SIZES.values(), ids=SIZES)
def test_the_first_views_fit_a_small_screen_with_what_moves_them(open_page, size):
    """Type and marks are as large a part of the screen as on 1280 pixels, and nothing is beyond its sides."""
    page = open_page("overview?present=true&ask=false", **size)
    for lesson, parts in FIRST.items():
        go_to(page, f"{page.url.rpartition('/')[0]}/{lesson if lesson != 'overview' else ''}?present=true&ask=false")
        page.locator(parts[-1]).locator("visible=true").first.wait_for()
        settle(page)
        rest(page)
        foot = page.locator(".st-key-try_step").bounding_box()["y"]
        for part in parts:
            box = page.locator(part).locator("visible=true").last.bounding_box()
            assert box["x"] + box["width"] <= size["width"] and box["y"] + SEEN <= foot, (lesson, part, box)
    assert page.errors == []


@pytest.mark.parametrize(("lesson", "name", "place"), [
    ("generation", "beam", ".beam-tree"), ("training", "packing", ".packing_rows")])
def test_every_word_is_whole(open_page, lesson, name, place):
    page = on_the_wall(open_page, lesson, name)
    written = page.evaluate("(place) => {" + WALK + """
        return walk(document, []).filter((e) => e.matches("text") && e.closest(`${place}, .component`))
            .map((e) => e.textContent); }""", place)
    assert len(written) > 20 and not [text for text in written if "…" in text]


def test_beam_search_shows_four_columns_and_a_press_the_others(open_page):
    page = on_the_wall(open_page, "generation", "beam")
    tree, further = page.locator(".beam-picture"), page.locator(".further")
    expect(further).to_have_text("Tokens 5–8")
    further.click()
    expect(further).to_have_text("Tokens 1–4")
    assert tree.evaluate("(tree) => tree.scrollLeft + tree.clientWidth >= tree.scrollWidth - 4")
    further.click()
    expect(further).to_have_text("Tokens 5–8")
    # the keys take the columns with them
    tree.focus()
    page.keyboard.press("ArrowLeft")
    expect(further).to_have_text("Tokens 1–4")


def test_of_two_kinds_of_bias_the_picked_one_stands_with_its_own_ranges(open_page):
    page = on_the_wall(open_page, "positions", "biases")
    expect(page.locator(".canvas-table")).to_be_hidden()
    page.get_by_role("radio", name="Relative table").click()
    for part, stands in ((".canvas-table", True), (".range.clip", True), (".range.head", False),
                         (".canvas-lines", False)):
        expect(page.locator(part)).to_be_visible(visible=stands)


def test_the_texts_of_a_gamed_reward_stand_on_the_wall(open_page):
    page = on_the_wall(open_page, "training", "rlhf")
    table, bar = page.locator("[class*=training_rlhf_table]"), page.locator(".st-key-try_step").bounding_box()
    box = table.bounding_box()
    assert box["y"] + box["height"] <= bar["y"] and "friends friends" in table.inner_text()
    expect(page.locator(".st-key-training_rlhf_reward").get_by_text("mean of its texts")).to_be_visible()


def test_the_lists_of_fill_in_the_blank_show_their_values(open_page):
    page = on_the_wall(open_page, "architectures", "blank")
    for value in page.locator(".stSelectbox input, .stSelectbox [role=group] div").all():
        assert value.evaluate("(value) => value.scrollHeight <= value.clientHeight + 2"), value.inner_text()


def test_the_map_of_the_vocabulary_needs_webgl_for_its_third_axis_alone(open_page):
    page = open_page("embeddings?embeddings_view=map&ask=false", **WIDE)
    points = page.locator(".st-key-embeddings_map path.point")
    expect(points).to_have_count(4096)
    expect(page.get_by_text("WebGL is not supported")).to_have_count(0)
    points.nth(500).click(force=True)       # another point may lie over it
    page.wait_for_url("**embeddings_word=**")
    page = open_page("embeddings?embeddings_view=map&embeddings_dimensions=3&ask=false", script=NO_WEBGL, **WIDE)
    expect(page.get_by_text("two axes are drawn")).to_be_visible()
    expect(page.locator(".st-key-embeddings_map path.point")).to_have_count(4096)
