"""A class in a real Chromium on a projector: led by keys from its first question to its last picture, with a
presenter's pen, pointer and black screen; and a class of one's own, put together, kept and printed.
"""
from __future__ import annotations

import itertools
import json
import re
import urllib.parse
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from core.app.state import prompts
from core.app.state.reader import PRESENT_SCALE
from core.app.teaching import class_plan, own_class
from core.app.teaching.class_plan import Plan
from core.base import prose
from tests.browser.conftest import Tab
from tests.browser.pictures import comes, small_type
from tests.browser.serving import Server, go_to, settle
from tests.browser.walk import SMALLEST

COURSE, APP, PLANS = prose.load("course"), prose.load("app"), class_plan.plans()
HOUR, DIGITS = PLANS[class_plan.USUAL], "1234567890"
PROJECTOR = {"width": 1280, "height": 720}
INKED = """async (node) => {
    await new Promise(requestAnimationFrame);
    return node.getContext("2d").getImageData(0, 0, node.width, node.height).data.some((value) => value);
}"""
OUR_TIME = "{ const began = Date.now(); window.passed = 0; Date.now = () => began + window.passed; }"   # in ms
LOOK = f"{APP.label('class_look')}:"


def bar_says(page: Page, number: int, look: bool, plan: Plan = HOUR) -> None:
    """Wait until the bar says that step, with or without what to look for, and its picture or its question stands.

    The pictures of Limits grow with hundreds of answers, for seconds: test_limits_page.py waits for them.
    """
    bar = page.locator(".st-key-class_bar")
    bar.get_by_text(f"{number} / {len(plan.steps)} ·").wait_for()
    (bar.get_by_text(LOOK).wait_for() if look else page.locator(".question .ask").wait_for())
    if not look or plan.steps[number - 1].lesson != "limits":
        settle(page)


def to_walk(plan: Plan) -> list[int]:
    """The steps of a plan that no plan before it has, its last one, and those that no digit leads to."""
    known = {step.title for other in itertools.takewhile(lambda other: other is not plan, PLANS.values())
             for step in other.steps}
    return [number for number, step in enumerate(plan.steps, 1)
            if step.title not in known or number == len(plan.steps) or number >= len(DIGITS)]


@pytest.fixture(scope="module")
def projected(browser: Browser, server: Server, tabs: list[Tab]) -> Iterator[Page]:
    """A page as wide as a projector, which is led through one plan after the other."""
    tab = tabs.pop() if tabs else Tab(browser)
    tab.open(f"{server.url}/course?course_view=class", tuple(PROJECTOR.values()), dark=False, still=False, watch=None)
    yield tab.page
    tab.leave(server)
    tabs.append(tab)


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
def test_a_class_is_led_by_keys_alone_from_its_first_question_to_its_last_picture(projected, server, plan):
    """Each step is covered by its question; revealed, it shows its own prompt and model, and the bar says all that it
    has to say. A digit leads past the steps that another plan has shown.
    """
    page, walked = projected, to_walk(plan)
    page.errors.clear()
    go_to(page, f"{server.url}/course?course_view=class&course_plan={plan.name}")
    settle(page)
    page.locator("a.start").press("Enter")
    bar_says(page, 1, look=False, plan=plan)
    for before, number in itertools.pairwise((1, *walked)):
        if number > before:
            page.keyboard.press("PageDown" if number == before + 1 else DIGITS[number - 1])
        covered_and_revealed(page, plan, number)
    assert page.errors == []


def covered_and_revealed(page: Page, plan: Plan, number: int) -> None:
    step = plan.steps[number - 1]
    bar_says(page, number, look=False, plan=plan)
    expect(page.locator(".question .ask")).to_have_text(step.ask)
    expect(page.locator(f".st-key-{step.lesson}_bar, .st-key-lesson_head:visible")).to_have_count(0)
    page.keyboard.press(("ArrowRight", "PageDown")[number % 2])
    bar_says(page, number, look=True, plan=plan)
    expect(page.locator(".question .ask")).to_have_count(0)
    expect(page).to_have_url(re.compile(f"class_revealed={number}"))
    expect(page.locator(".stAlert:visible, .stException")).to_have_count(0)
    expect(page.locator(".st-key-prompt textarea")).to_have_value(step.settings.get("prompt", prompts.default_prompt()))
    said = urllib.parse.parse_qs(urllib.parse.urlsplit(page.url).query)
    assert said.get("model", ["stories"]) == [step.settings.get("model", "stories")]
    assert page.locator(".st-key-class_bar [data-testid=stMarkdown]").first.evaluate(
        "(node) => node.scrollHeight - node.clientHeight") <= 1


def test_reload_opens_the_same_step_and_its_keys_lead_on_and_back(open_page):
    page = open_page("tokens?tokens_merged=0&present=true&class=2&class_revealed=2", **PROJECTOR)
    page.reload()
    settle(page)
    bar_says(page, 2, look=True)
    assert small_type(page, PRESENT_SCALE * SMALLEST) == []
    arrows_stay_with_a_slider_and_a_field(page)
    page.locator(".stMain").click(position={"x": 640, "y": 600})
    assert page.evaluate("getComputedStyle(document.querySelector('.stMain')).outlineStyle") == "none"
    the_screen_goes_black_the_pen_writes_and_fades_and_escape_takes_all_away(page)
    page.locator(".st-key-class_next button").focus()
    page.keyboard.press("ArrowRight")           # leads on from a button
    bar_says(page, 3, look=False)
    page.keyboard.press("ArrowLeft")
    bar_says(page, 2, look=True)
    page.keyboard.press("ArrowLeft")            # back to the question
    bar_says(page, 2, look=False)
    a_minute_to_think_runs_and_stands_still(page)
    page.keyboard.press("3")
    bar_says(page, 3, look=False)
    expect(page).not_to_have_url(re.compile("class_revealed"))
    assert page.errors == []


def arrows_stay_with_a_slider_and_a_field(page: Page) -> None:
    page.locator("input[type=range]").first.focus()
    page.keyboard.press("ArrowRight")
    page.locator(".st-key-prompt textarea").focus()
    page.keyboard.press("ArrowRight")
    settle(page)
    bar_says(page, 2, look=True)


def the_screen_goes_black_the_pen_writes_and_fades_and_escape_takes_all_away(page: Page) -> None:
    dark, pen, dot, sheet = (page.locator(name) for name in (".dark", "canvas.pen", ".dot", ".sheet"))
    page.keyboard.press("b")
    expect(dark).to_be_visible()
    assert comes(page, lambda: dark.bounding_box() == {"x": 0, "y": 0} | PROJECTOR)
    page.keyboard.press("ArrowRight")           # light again, and no step
    expect(dark).to_be_hidden()
    bar_says(page, 2, look=True)
    for is_dark in (True, False):               # as a remote sends it
        page.keyboard.press(".")
        expect(dark).to_be_visible(visible=is_dark)
    page.keyboard.press("p")
    page.mouse.move(300, 300)
    page.mouse.down()
    page.mouse.move(500, 350)
    page.mouse.up()
    expect(pen).to_be_visible()
    assert pen.evaluate(INKED)
    page.keyboard.press("l")
    page.mouse.move(640, 200)
    box = dot.bounding_box()
    assert (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2) == (640, 200)
    page.keyboard.press("Escape")
    expect(pen).to_be_hidden()
    expect(dot).to_be_hidden()
    page.keyboard.press("?")
    expect(sheet.locator("li")).to_have_count(len(HOUR.steps))
    assert sheet.locator("dt").count() > 8
    page.keyboard.press("Escape")
    expect(sheet).to_be_hidden()
    page.keyboard.press("z")
    expect(page.locator(".st-key-prompt_bar")).to_be_hidden()
    page.keyboard.press("Escape")
    expect(page.locator(".st-key-prompt_bar")).to_be_visible()


def a_minute_to_think_runs_and_stands_still(page: Page) -> None:
    clock = page.locator(".clock")
    page.evaluate(OUR_TIME)
    expect(clock).to_have_text("▶ 1:00")
    page.keyboard.press("t")
    expect(clock).to_have_text("❚❚ 1:00")
    page.evaluate("passed = 1_500")
    expect(clock).to_have_text("❚❚ 0:59")
    page.keyboard.press("t")
    expect(clock).to_have_text("▶ 0:59")
    page.evaluate("passed += 20_000")
    page.keyboard.press("t")                # what goes by while it stands still is not counted
    expect(clock).to_have_text("❚❚ 0:59")
    page.evaluate("passed += 1_000")
    expect(clock).to_have_text("❚❚ 0:58")


def added(page: Page, lesson: str, ask: str) -> None:
    """Add the open view to one's class, which the browser keeps for other sessions."""
    page.locator(f".st-key-{lesson}_add_class button").first.click()
    page.locator(f".st-key-{lesson}_add_do button").wait_for()
    settle(page)
    page.get_by_placeholder(APP.label("add_ask_help")).fill(ask)
    page.locator(f".st-key-{lesson}_add_do button").click()
    settle(page)


def test_a_class_of_ones_own_is_put_together_kept_taught_and_undone(open_page):
    page = open_page("tokens?tokens_view=methods", width=1280, height=900)
    added(page, "tokens", "How many tokens?")
    page.goto(page.url.partition("/tokens")[0] + "/heads?heads_panel=roles")      # another session
    settle(page)
    added(page, "heads", "Which head?")
    page.locator(".st-key-heads_add_go button").click()
    asks = page.locator(".own-step .ask")
    expect(asks).to_have_count(2)
    settle(page)
    page.locator(".order button").nth(1).click()
    expect(asks.first).to_have_value("Which head?")
    settle(page)
    with page.expect_download() as waiting:
        page.get_by_role("button", name=COURSE.label("class_save")).click()
    file = waiting.value.path()
    assert [step["ask"] for step in json.loads(file.read_text())["class"]] == ["Which head?", "How many tokens?"]
    page.locator(".order button").nth(2).click()
    expect(asks).to_have_count(1)
    settle(page)
    page.get_by_role("button", name=COURSE.label("class_undo")).click()
    expect(asks).to_have_count(2)
    settle(page)
    page.reload()
    settle(page)
    expect(asks).to_have_count(2)
    page.locator("a.start").click()
    expect(page.locator(".question .ask")).to_have_text("Which head?")
    settle(page)
    taught = page.url
    page.keyboard.press("ArrowRight")
    page.locator(".stVegaLiteChart").first.wait_for()
    other = open_page(re.sub(r"^https?://[^/]+/", "", taught), **PROJECTOR)       # another reader, with the link alone
    expect(other.locator(".question .ask")).to_have_text("Which head?")
    assert page.errors == [] and other.errors == []


def test_a_class_goes_elsewhere_as_a_file_as_a_link_and_on_paper(open_page, server, tmp_path):
    steps = class_plan.plans()["quarter"].steps[:2]
    (file := tmp_path / "class.json").write_text(own_class.file(steps), encoding="utf-8")
    page = open_page("course?course_view=class", width=1280, height=900)
    page.locator("input[type=file]").set_input_files(file)
    expect(page.locator(".own-step")).to_have_count(2)
    settle(page)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name=COURSE.label("class_link")).click()
    page.get_by_text(COURSE.label("class_copied")).wait_for()
    link = page.evaluate("navigator.clipboard.readText()")
    other = open_page(link[link.index("course?"):], width=1280, height=900)
    for number, step in enumerate(steps):
        expect(other.locator(".step").nth(number)).to_contain_text(step.ask)
    (file := tmp_path / "other.json").write_text("{}", encoding="utf-8")
    other.locator("input[type=file]").set_input_files(file)
    other.get_by_text(COURSE.label("class_no_file")).wait_for()
    go_to(other, f"{server.url}/course?course_view=class&course_plan=quarter&course_handout=true")
    settle(other)
    a_handout_is_one_page_with_a_picture_for_every_question(other, "quarter")
    assert page.errors == [] and other.errors == []


def a_handout_is_one_page_with_a_picture_for_every_question(page: Page, plan: str) -> None:
    page.frame_locator("iframe.paper").locator("figure").first.wait_for(state="attached")
    page.get_by_role("button", name=COURSE.label("handout_fetch")).click()
    figures = page.frame_locator("iframe.paper").locator("figure img")
    expect(figures).to_have_count(len(PLANS[plan].steps))
    with page.expect_download() as waiting:
        page.get_by_role("button", name=COURSE.label("handout_file")).click()
    paper = page.context.new_page()
    paper.emulate_media(media="print")
    paper.set_content(waiting.value.path().read_text(encoding="utf-8"))
    for size in ("A4", "Letter"):
        assert len(re.findall(rb"/Type\s*/Page\b", paper.pdf(format=size))) == 1
