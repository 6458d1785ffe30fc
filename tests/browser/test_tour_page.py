"""The tour in a real Chromium: from the first step to the last by keys, by touch and by link; met at a first visit,
skipped and resumed; read by a screen reader; with whatever is typed into it.
"""
from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from core.base import prose
from pages.tour.shared import PLACES, STEPS
from tests.browser.accessibility import AXE, IMPACTS, found_on
from tests.browser.pictures import comes, cut_off
from tests.browser.serving import ASK_FIRST, Server, go_to, prepare, rest, serve, settle

TOUR = prose.load("tour")
FOCUSED = "() => { let e = document.activeElement; while (e?.shadowRoot?.activeElement) e = " \
          "e.shadowRoot.activeElement; return e?.tagName; }"
FOCUSED_CLASS = FOCUSED.replace("tagName", "className")
N = len(STEPS)
MOST_TABS = 6           # to the first act of a first visit
CONTROLS = {"button", "link", "slider", "switch", "checkbox", "textbox", "combobox", "radio", "tab"}


def at_step(page: Page, number: int) -> None:
    """Wait until a step is open and its picture stands."""
    expect(page.locator(".tour .dot[aria-current=step]")).to_have_accessible_name(
        f"Step {number} of {N}: {TOUR.label(f'name_{STEPS[number - 1]}')}")
    expect(page.locator(f".tour .stage.of-{STEPS[number - 1]} > *").first).to_be_attached()
    settle(page)


def is_told(page: Page) -> None:
    expect(page.locator(".tour .told")).not_to_be_empty()


def typed(page: Page, *words: str) -> None:
    """Types into the step's fields, one after the other, and commits with Enter."""
    fields = page.locator(".tour .field input")
    fields.first.focus()
    for i, word in enumerate(words):
        if i:
            page.keyboard.press("Tab")
        page.keyboard.press("Control+a")
        page.keyboard.type(word)
    page.keyboard.press("Enter")


def press(page: Page, css: str, key: str = "Enter") -> None:
    """Presses a key on a part of the step, which the Tab key reaches."""
    place = page.locator(f".tour {css}").first
    place.focus()
    assert place.evaluate("e => e.tabIndex >= 0 && !e.disabled"), css
    page.keyboard.press(key)


def acted(page: Page, number: int) -> None:
    """The step's act, by keys alone."""
    name = STEPS[number - 1]
    if name == "finish":
        typed(page, "doll")
    elif name == "change":
        typed(page, "hat")
        page.keyboard.press("Enter")        # the focus has gone on to the guess
    elif name == "near":
        typed(page, "hot", "warm")
    elif name == "look":
        press(page, ".token.query", "ArrowLeft")
        page.keyboard.press("Enter")
    elif name in ("numbers", "dice"):
        press(page, ".option")
    elif name == "heads":
        press(page, ".tile.met")
    elif name == "learn":
        press(page, ".option")
        is_told(page)
        press(page, "input[type=range]", "End")
    else:
        press(page, ".act")


def nothing_moves(page: Page) -> None:
    """The arcs from the token that is looked from stand at once."""
    assert page.evaluate("document.getAnimations().length") == 0
    expect(page.locator(".looks path").first).to_be_attached()
    expect(page.locator(".looks path.drawn")).to_have_count(0)


def test_from_the_first_step_to_the_last_by_keys_alone_for_a_reader_who_wants_no_motion(open_page):
    """Nothing is told before the act; the arrow keys go on, the focus goes to the heading, and a line says the step."""
    page = open_page("tour", still=True)
    expect(page.locator(".tour .field input")).to_be_focused()          # who comes can write at once
    expect(page.get_by_role("heading", level=1)).to_have_count(1)
    expect(page.locator(".tour .dot:not([tabindex='-1'])")).to_have_count(1)
    for number in range(1, N):
        at_step(page, number)
        expect(page.locator(".tour .told")).to_be_empty()
        acted(page, number)
        is_told(page)
        if STEPS[number - 1] == "look":
            nothing_moves(page)
        settle(page)
        page.locator(".tour h2").focus()
        page.keyboard.press("ArrowRight" if number % 2 else "PageDown")
        expect(page.locator(".tour > .spoken")).to_contain_text(f"Step {number + 1} of {N}")
        assert page.evaluate(FOCUSED) == "H2"
    at_step(page, N)
    page.keyboard.press("ArrowLeft")
    at_step(page, N - 1)
    expect(page.locator(".tour .told")).to_contain_text("2,400 steps, the last one")
    page.keyboard.press("ArrowRight")
    at_step(page, N)
    press(page, ".way-on >> nth=3")
    page.get_by_role("heading", name=prose.load("limits").section("title"), exact=True).wait_for()
    settle(page)
    expect(page).to_have_url(re.compile("/limits"))
    assert page.errors == []


def test_arrow_keys_belong_to_what_has_the_focus_and_a_new_sentence_begins_every_step_anew(open_page):
    page = open_page("tour?tour=7")
    at_step(page, 7)
    press(page, ".token.query", "ArrowLeft")
    expect(page.locator(".tour .token:focus")).to_have_text("·lost", use_inner_text=True)
    page.locator(".tour .dot").first.click()
    at_step(page, 1)
    page.locator(".tour input[type=range]").press("ArrowRight")
    expect(page.locator(".tour output")).to_have_text("55 %")
    page.locator(".tour .field input").press("ArrowLeft")
    at_step(page, 1)
    page.locator(".tour h2").focus()
    page.keyboard.press("ArrowRight")
    at_step(page, 2)
    page.keyboard.press("ArrowLeft")
    at_step(page, 1)
    typed(page, "doll")
    is_told(page)
    field = page.locator(".st-key-prompt textarea")
    field.fill("The cat sat on the mat. The dog sat on the")
    field.press("Control+Enter")
    expect(page.locator(".tour .line")).to_contain_text("The dog sat on the")
    expect(page.locator(".tour .told")).to_be_empty()
    typed(page, "mat")
    expect(page.locator(".tour .told")).to_contain_text("So does the model")


def test_a_phone_shows_what_answers_a_step_without_scrolling(open_page):
    page = open_page("tour", width=390, height=844)
    for name in ("finish", "change", "pieces", "near", "numbers", "layers", "dice", "learn"):
        page.locator(".tour .dot").nth(STEPS.index(name)).click()
        at_step(page, STEPS.index(name) + 1)
        act, foot = (page.locator(f".tour {css}").first.bounding_box() for css in (":is(.act, .option)", ".foot"))
        assert act["y"] + act["height"] <= foot["y"], name


def swipe(page: Page, by: int) -> None:
    """A finger that goes `by` pixels across the tour's heading."""
    session = page.context.new_cdp_session(page)
    box = page.locator(".tour .sentence").bounding_box()
    x, y = 200, box["y"] + box["height"] / 2
    session.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [{"x": x, "y": y}]})
    for part in (0.5, 1):
        session.send("Input.dispatchTouchEvent", {"type": "touchMove", "touchPoints": [{"x": x + by * part, "y": y}]})
    session.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    session.detach()


def test_from_the_first_step_to_the_last_by_touch_on_a_phone(browser, server):
    """Swipes lead on and back; nothing is wider than the screen; the answer comes into sight."""
    context = browser.new_context(bypass_csp=True, has_touch=True, is_mobile=True,
                                  viewport={"width": 390, "height": 844})
    page = context.new_page()
    prepare(page)
    page.goto(f"{server.url}/tour")
    settle(page)
    for number in range(1, N):
        at_step(page, number)
        if number == 1:
            page.locator(".tour .field input").fill("doll")
            page.locator(".tour .act").tap()
            is_told(page)
            rest(page)
            foot = page.locator(".tour .foot").bounding_box()
            told = page.locator(".tour .told").bounding_box()
            assert told["y"] + told["height"] <= foot["y"] + 1
        assert page.evaluate("document.scrollingElement.scrollWidth") <= 390 and cut_off(page) == [], number
        swipe(page, -150)
    at_step(page, N)
    swipe(page, 150)
    at_step(page, N - 1)
    swipe(page, 30)
    at_step(page, N - 1)
    context.close()


def test_each_step_is_a_link_and_back_leads_through_the_steps(open_page):
    page = open_page("?tour=3")
    at_step(page, 3)
    expect(page).to_have_url(re.compile("/tour\\?tour=3"))
    page.locator(".tour .next").click()
    at_step(page, 4)
    expect(page).to_have_url(re.compile("tour_step=4"))
    page.go_back()
    at_step(page, 3)
    page.go_forward()
    at_step(page, 4)
    page.locator(".tour .dot").nth(8).click()
    at_step(page, 9)
    page.reload()
    at_step(page, 9)
    assert page.errors == []


def test_a_link_into_a_lesson_leads_there_and_a_step_takes_the_entry_of_the_home_address_that_named_it(open_page):
    """One entry of the browser's history: back leads to where the reader was before, and not into the tour again."""
    page = open_page("heads")
    expect(page).to_have_url(re.compile("/heads"))
    before = page.url
    page.goto(before.partition("/heads")[0] + "/?tour=3")
    at_step(page, 3)
    expect(page).to_have_url(re.compile("/tour\\?"))
    page.go_back()      # not by the number of entries: a browser keeps no more than fifty
    expect(page).to_have_url(before)


@pytest.fixture(scope="module")
def asking() -> Iterator[Server]:
    """A server that asks before its pictures, as the app does."""
    with serve(env={ASK_FIRST: "on"}) as server:
        yield server


def test_a_first_visit_of_the_home_page_is_the_tours_first_step_and_who_leaves_it_sees_the_picture(browser, asking):
    overview, question = prose.load("overview").section("title"), ".prediction .card"
    context = browser.new_context(bypass_csp=True, viewport={"width": 1280, "height": 800})
    prepare(context)
    page, errors = context.new_page(), []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(f"{asking.url}/")
    at_step(page, 1)
    expect(page).to_have_url(re.compile("/tour$"))
    page.locator(".tour .act").first.click()
    expect(page.locator(".tour .field input")).to_have_attribute("placeholder", TOUR.label("empty"))
    acted(page, 1)
    is_told(page)
    page.locator(".tour .dot").nth(4).click()
    at_step(page, 5)
    page.reload()                                   # the step and the words of another are known
    at_step(page, 5)
    page.locator(".tour .dot").first.click()
    at_step(page, 1)
    is_told(page)
    expect(page.locator(".tour .field input")).to_have_value("doll")
    leave = page.locator(".tour .middle button")
    expect(leave).to_have_text(TOUR.label("known"))
    leave.click()
    page.get_by_role("heading", name=overview, exact=True).wait_for()
    settle(page)
    expect(page.locator(".st-key-overview_map")).to_be_visible()
    expect(page.locator(question)).to_have_count(0)
    second = context.new_page()
    second.goto(f"{asking.url}/")
    second.get_by_role("heading", name=overview, exact=True).wait_for()
    expect(second.locator(question)).to_be_visible()
    expect(second.get_by_role("link", name=prose.load("app").label("page_tour"), exact=True)).to_be_visible()
    assert errors == []
    context.close()


def test_a_first_visit_has_its_first_act_within_six_tabs(browser, asking):
    """From where the page puts the focus: the field stands ready, the button follows."""
    context = browser.new_context(bypass_csp=True, viewport={"width": 1440, "height": 900})
    prepare(context)
    page = context.new_page()
    page.goto(f"{asking.url}/")
    at_step(page, 1)
    expect(page.locator(".tour .field input")).to_be_focused()
    page.keyboard.type("doll")
    for _ in range(MOST_TABS):
        page.keyboard.press("Tab")
        if page.evaluate(FOCUSED_CLASS) == "act":
            break
    page.keyboard.press("Enter")
    is_told(page)
    context.close()


@pytest.mark.parametrize("path", ["tour", "heads", "training", "course", "models"])
def test_no_name_of_a_control_contains_an_icons(open_page, path):
    page = open_page(path)
    icons = set(page.locator("[data-testid=stIconMaterial]").all_text_contents())
    session = page.context.new_cdp_session(page)
    nodes = session.send("Accessibility.getFullAXTree")["nodes"]
    names = {node["name"]["value"] for node in nodes if not node["ignored"] and node["role"]["value"] in CONTROLS}
    assert icons and names and [name for name in names if icons & set(re.split(r"\s+", name))] == []


def test_a_word_that_the_model_cuts_is_exchanged_for_an_offered_one(open_page):
    page = open_page("tour?tour=5")
    at_step(page, 5)
    typed(page, "Hund", "Katze")
    expect(page.locator(".tour .told")).to_contain_text("Hund")
    offered = page.locator(".tour .offers .option")
    expect(offered).to_have_count(3)
    word = offered.first.text_content()
    offered.first.click()
    expect(page.locator(".tour .star.centre")).to_have_text(f"·{word}")
    expect(page.locator(".tour .star")).to_have_count(8)
    expect(offered).to_have_count(0)


def test_a_slider_is_called_what_stands_above_it(open_page):
    page = open_page("tour")
    for number, label in ((1, "sure_finish"), (4, "field_pieces"), (9, "field_layers")):
        page.locator(".tour .dot").nth(number - 1).click()
        at_step(page, number)
        expect(page.get_by_role("slider", name=TOUR.label(label), exact=True)).to_be_visible()


# each picture of the fold while it moves: the time, and the middles of its arcs
WATCHED = """(tour) => {          // where the arcs are at their end, just before they are taken away
  const { remove } = Element.prototype;
  tour.seen = [];
  Element.prototype.remove = function () {
    if (this.matches(".fold")) tour.seen.push([...this.querySelectorAll("path")].map((path) => {
      const box = path.getBoundingClientRect();
      return [(box.left + box.right) / 2, (box.top + box.bottom) / 2, box.width];
    }));
    remove.call(this);
  };
}"""


@pytest.mark.parametrize("still", [False, True])
def test_the_arcs_of_a_head_fold_into_the_last_row_of_its_square_and_leave_the_wall_as_it_is(open_page, still):
    page = open_page("tour?tour=7", still=still)
    at_step(page, 7)
    acted(page, 7)
    is_told(page)
    rest(page)
    n_arcs = page.locator(".looks path").count()
    page.locator(".tour").evaluate(WATCHED)
    page.locator(".tour .next").click()
    at_step(page, 8)
    expect(page.locator(".tour .tile")).to_have_count(48)
    expect(page.locator(".tour .fold")).to_have_count(0)
    rest(page)
    seen = page.locator(".tour").evaluate("tour => tour.seen")
    folded = page.locator(".tour .stage").inner_html()
    if still:
        assert seen == []
        return
    assert len(seen[-1]) == n_arcs > 1
    square = page.locator(".tour .tile.met canvas").bounding_box()
    unit = square["width"] / 26
    for x, y, wide in seen[-1]:
        assert square["x"] - unit <= x <= square["x"] + square["width"] + unit and wide < 2 * unit
        assert abs(y - (square["y"] + square["height"])) < 2 * unit
    page.locator(".tour .dot").nth(8).click()
    at_step(page, 9)
    page.locator(".tour .dot").nth(7).click()
    at_step(page, 8)
    expect(page.locator(".tour .fold")).to_have_count(0)
    rest(page)
    assert page.locator(".tour .stage").inner_html() == folded and page.errors == []


# [the number's text, what it lies on] for each number on the map that lies on a word or on another number
LIES_ON = """(map) => {
  const words = (node) => { const all = document.createRange(); all.selectNodeContents(node);
    return all.getBoundingClientRect(); };
  const numbers = [...map.querySelectorAll("a.met:not([hidden])")];
  const others = [...map.querySelectorAll(".label b, .label small, .head b, .head small, .bars b, .do, .chip")];
  return numbers.flatMap((one) => [...others.map((node) => [node, words(node)]),
      ...numbers.filter((other) => other !== one).map((other) => [other, other.getBoundingClientRect()])]
    .filter(([, b]) => { const a = one.getBoundingClientRect();
      return b.width && a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom; })
    .map(([node]) => [one.textContent, node.textContent]));
}"""


@pytest.mark.parametrize(("width", "height", "dark"), [(1440, 900, False), (1440, 900, True), (390, 844, False),
                                                       (390, 844, True), (1280, 720, False), (1024, 768, False)])
def test_who_comes_from_the_tours_end_sees_its_steps_on_the_picture_and_goes_back_by_them(
        open_page, width, height, dark):
    page = open_page("tour?tour=12", width=width, height=height, dark=dark)
    at_step(page, 12)
    page.locator(".tour .all").click()
    numbers = page.locator(".map a.met")
    expect(numbers).to_have_count(len(PLACES))
    settle(page)
    rest(page)
    assert sorted(numbers.all_text_contents()) == sorted(str(STEPS.index(step) + 1) for step in PLACES.values())
    for number in numbers.all():
        expect(number).to_be_visible()
        expect(number).to_have_accessible_name(f"met in step {number.text_content()}")
    assert page.locator(".map").evaluate(LIES_ON) == []
    name = page.locator(".map .out .head").nth(1).locator("b").bounding_box()
    assert abs(page.locator(".map .out > a.met").bounding_box()["x"] - name["x"] - name["width"]) < 20
    assert name["width"] < page.locator(".map .out").bounding_box()["width"] - 20
    assert found_on(page, IMPACTS, AXE) == []
    back = page.get_by_role("link", name=f"met in step {STEPS.index('look') + 1}", exact=True)
    back.click()
    at_step(page, STEPS.index("look") + 1)
    assert page.errors == []


def test_who_did_not_come_from_the_tours_end_sees_no_numbers(open_page):
    page = open_page("tour?tour=3")
    at_step(page, 3)
    page.locator(".tour .middle button").click()
    page.locator(".map .head small").first.wait_for()
    settle(page)
    expect(page.locator(".map a.met")).to_have_count(0)
    expect(page.locator(".map .legend .met")).to_have_count(0)


TYPED = ("<img src=x onerror=window.zq=1>", "🐶" * 40, "שלום", "a\u0000b", "{word}", "  ")


def test_whatever_is_typed_is_shown_as_text_and_breaks_nothing(open_page, server):
    page = open_page("tour?tour=1")
    for k, written in enumerate(TYPED):
        # with a new sentence nothing is told yet
        go_to(page, f"{server.url}/tour?tour=1&prompt=The%20cat%20sat%20on%20mat%20{k}.%20The%20dog")
        expect(page.locator(".tour .line")).to_contain_text(f"{k}")
        for number in (1, 3, 5):
            page.locator(".tour .dot").nth(number - 1).click()
            at_step(page, number)
            told = page.locator(".tour .told")
            expect(told).to_be_empty()
            for field in page.locator(".tour .field input").all():
                field.fill(written)
            page.locator(".tour .act").first.click()
            settle(page)
            expect(page.get_by_test_id("stAlertContentError"), written).to_have_count(0)
            assert comes(page, lambda told=told, written=written:
                         bool(told.inner_text().strip()) == bool(written.strip())), (number, written)
    assert page.evaluate("window.zq") is None and page.errors == []


def test_a_projector_shows_every_head_and_the_answer_to_the_first_word(open_page):
    page = open_page("tour?tour=8&present=1", width=1280, height=720)
    at_step(page, 8)
    tiles = page.locator(".tour .tile")
    expect(tiles).to_have_count(48)
    for corner in (tiles.first, tiles.last):
        expect(corner).to_be_in_viewport(ratio=1)
    assert tiles.first.bounding_box()["height"] >= 48
    page = open_page("tour?tour=1&present=1", width=1280, height=720)
    at_step(page, 1)
    acted(page, 1)
    is_told(page)
    expect(page.locator(".tour .bar:visible")).to_have_count(4)         # three, and one's own
    for part in (".tour .field input", ".tour .told"):
        expect(page.locator(part)).to_be_in_viewport(ratio=1)


@pytest.mark.parametrize("dark", [False, True])
def test_axe_finds_nothing_in_every_second_step_before_and_after_its_act(open_page, dark):
    """The others in the other theme; `python -m tests.browser.accessibility` looks at every step in both."""
    page = open_page("tour", dark=dark, still=True)
    for number in range(1 + dark, N + 1, 2):
        page.locator(".tour .dot").nth(number - 1).click()
        at_step(page, number)
        rest(page)
        assert found_on(page, IMPACTS, AXE) == [], number
        if number < N:
            acted(page, number)
            is_told(page)
            settle(page)
            rest(page)
            assert found_on(page, IMPACTS, AXE) == [], number
