"""Before you look, in a real browser: by keys alone, on a phone, remembered, and never again where one wants none."""
from __future__ import annotations

from playwright.sync_api import Page, expect

from tests.browser.accessibility import violations
from tests.browser.serving import go_to, rest, settle

QUESTION = ".prediction .question"
STRIP = ".prediction .strip"
EVERYTHING = """() => {
    const texts = [], walk = (root) => {
        texts.push(root.textContent ?? "");
        for (const e of root.querySelectorAll("*")) {
            texts.push(e.ariaLabel ?? "", e.title ?? "");
            if (e.shadowRoot) walk(e.shadowRoot);
        }
    };
    walk(document.body);
    return texts.join("\\n");
}"""


def open_asked(open_page, path: str = "", **options) -> Page:
    page = open_page(f"{path}{'&' if '?' in path else '?'}ask=true", **options)
    expect(page.locator(QUESTION)).to_be_visible()
    return page


def test_the_whole_of_it_by_keys_alone(open_page):
    page = open_asked(open_page, "architectures?architectures_view=blank")
    assert "no. 1" not in page.evaluate(EVERYTHING)
    page.locator(".prediction input.text").focus()
    page.keyboard.type("doll")
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowRight")
    expect(page.locator(".prediction .sure")).to_contain_text("55 %")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    settle(page)
    expect(page.locator(STRIP)).to_contain_text("doll")
    assert "no. 1" in page.evaluate(EVERYTHING)
    page.locator(".prediction .statement").first.focus()
    page.keyboard.press("Enter")
    expect(page.locator(".prediction .reason")).to_be_focused()
    expect(page.locator(".prediction .reason")).to_contain_text("·sad")
    page.locator(".prediction .close").press("Enter")
    expect(page.locator(STRIP)).to_have_count(0)
    assert not page.errors


def guessed(page: Page) -> None:
    page.locator(".prediction .token input").nth(4).check(force=True)
    page.get_by_role("button", name="That's my guess").click()
    settle(page)
    expect(page.locator(STRIP)).to_be_visible()


def fits(page: Page) -> bool:
    """Whether nothing reaches beyond the right edge, on a phone and on a projector."""
    for width in (390, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        rest(page)
        if not page.evaluate("document.documentElement.scrollWidth <= innerWidth"):
            return False
    return True


def test_a_question_is_not_asked_again_in_a_later_visit_unless_one_wants_it(open_page, server):
    """Question and answer are accessible and fit; the course shows in a later visit what was predicted."""
    page = open_asked(open_page, "training")
    assert violations(page) == [] and fits(page)        # at a projector's width: a phone's menu is Streamlit's own
    guessed(page)
    assert violations(page) == [] and fits(page)
    page.reload()
    settle(page)
    expect(page.locator(".forcing-chart")).to_be_visible()
    expect(page.locator(QUESTION)).to_have_count(0)
    go_to(page, f"{server.url}/course?course_view=lessons")
    settle(page)
    the_course_shows_what_was_predicted_and_forgets_it_when_told(page)
    go_to(page, f"{server.url}/training")
    settle(page)
    page.get_by_role("button", name="Ask me again").click()
    settle(page)
    expect(page.locator(QUESTION)).to_be_visible()
    expect(page.locator(".forcing-chart")).to_have_count(0)
    page.get_by_role("button", name="Show me").click()
    settle(page)
    expect(page.locator(".forcing-chart")).to_be_visible()
    expect(page.locator(STRIP)).to_have_count(0)
    assert page.errors == []


def the_course_shows_what_was_predicted_and_forgets_it_when_told(page: Page) -> None:
    score, told = page.locator(".course .score"), page.get_by_role("img", name="Training: you predicted 1 of")
    expect(score).to_contain_text("predicted 1 of")
    expect(told).to_be_visible()
    page.get_by_role("button", name="Forget my predictions").click()
    expect(told).to_have_count(0)
    page.get_by_role("button", name="Undo").click()
    expect(told).to_be_visible()


def test_question_and_answer_are_accessible_in_the_dark(open_page):
    page = open_asked(open_page, "training", dark=True)
    assert violations(page) == []
    guessed(page)
    assert violations(page) == []


def test_who_wants_no_questions_is_asked_none_until_the_switch_is_on_again(open_page):
    page = open_asked(open_page, "training")
    page.get_by_role("button", name="Never ask me first").click()
    settle(page)
    expect(page.locator(".forcing-chart")).to_be_visible()
    page.get_by_role("button", name="Ask me after all").click()         # the way back, in the same place
    expect(page.locator(QUESTION)).to_be_visible()
    page.get_by_role("button", name="Never ask me first").click()
    expect(page.locator(".declined")).to_be_visible()
    page.goto(page.url.split("/training")[0] + "/overview?ask=true")
    settle(page)
    expect(page.locator(f"{QUESTION}, .declined")).to_have_count(0)
    switch = page.get_by_role("switch", name="Ask me first")
    expect(switch).not_to_be_checked()
    switch.check()
    settle(page)
    expect(page.locator(QUESTION)).to_be_visible()


def test_while_a_question_stands_a_presenter_has_the_keys_and_the_way_on_is_the_picture(open_page):
    page = open_page("tokens?tokens_view=merges&present=true&ask=true", width=1280, height=720)
    card, dark, sheet = (page.locator(css) for css in (".prediction .card", ".presenter .dark", ".presenter .sheet"))
    expect(card).to_be_visible()
    for key, shown, is_shown in (("b", dark, True), ("b", dark, False), ("?", sheet, True), ("Escape", sheet, False)):
        page.keyboard.press(key)
        expect(shown).to_be_visible(visible=is_shown)
    page.keyboard.press("ArrowRight")
    expect(card).to_have_count(0)
    line = page.locator(".st-key-try_step")
    expect(line).to_contain_text("0 / ")
    settle(page)
    page.keyboard.press("PageDown")
    expect(line).to_contain_text("1 / ")
    assert page.errors == []
