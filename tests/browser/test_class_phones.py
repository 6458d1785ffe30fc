"""A class in a real Chromium: one teacher and three phones, from the code on the wall to the end."""
from __future__ import annotations

import contextlib
import re
import urllib.parse
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from core.app.state import address
from core.app.teaching import class_plan
from tests.browser.accessibility import violations
from tests.browser.pictures import starting
from tests.browser.serving import go_to, rest, settle

ASK, DESK, STRIP = ".class-wall[data-mode=ask]", ".desk", ".class-wall .strip"
PHONE = {"width": 390, "height": 780}


@pytest.fixture(scope="module")
def three(browser: Browser) -> Iterator[list[BrowserContext]]:
    """Three phones, each with a browser of its own, that come to one class after the other."""
    with contextlib.ExitStack() as left:
        yield [left.enter_context(contextlib.closing(browser.new_context(viewport=PHONE, bypass_csp=True)))
               for _ in range(3)]


@pytest.fixture
def phones(three: list[BrowserContext]) -> Iterator[list[BrowserContext]]:
    """The phones, which leave the class at the end."""
    yield three
    for phone in three:
        phone.set_offline(False)
        for page in phone.pages:
            page.close()


def opened(teacher: Page) -> str:
    """Open a class; its code."""
    teacher.locator(".class-desk .opener").click()
    expect(teacher.locator(f"{DESK} .code")).to_be_visible()
    return teacher.locator(f"{DESK} .code").inner_text()


def joined(phone: BrowserContext, url: str, code: str) -> Page:
    page = phone.new_page()
    page.goto(f"{url}/j/{code}")
    expect(page.locator(".net")).to_have_text("You are in")
    return page


def second_device(teacher: Page, phone: BrowserContext) -> Page:
    """The teacher's second device, which leads the class away from the wall."""
    lead = phone.new_page()
    lead.goto(teacher.get_by_role("link", name="Or open its page here").get_attribute("href"))
    return lead


def vote(phone: Page, option: int) -> None:
    phone.locator(".option, .token:has(input)").nth(option).click()
    phone.locator(".commit").click()
    expect(phone.locator(".said")).to_contain_text("✓")


def asked(teacher: Page, phones: list[Page]) -> None:
    teacher.locator(ASK).get_by_role("button", name="Ask the phones").click()
    for phone in phones:
        expect(phone.locator("h1.question")).to_be_visible()


WHOLE_IN_FRAME = """() => {
    const frame = document.querySelector(".follow iframe"), seen = frame.contentDocument;
    const wide = (root) => [...root.querySelectorAll("*")].some((node) => node.shadowRoot && wide(node.shadowRoot)
        || node.clientWidth && /auto|scroll/.test(getComputedStyle(node).overflowX)
        && node.scrollWidth > node.clientWidth + 8);
    return seen.querySelector("[class*=st-key-heads_wall]") && !wide(seen.body)
        && frame.getBoundingClientRect().right <= innerWidth;
}"""
SMALLEST = """(root) => Math.min(...[...root.querySelectorAll("*")].filter((node) => [...node.childNodes].some(
    (child) => child.nodeType === 3 && child.data.trim())).map((one) => parseFloat(getComputedStyle(one).fontSize)))"""


def in_sight(teacher: Page, *names: str) -> None:
    for name in names:
        expect(teacher.locator(ASK).get_by_role("button", name=name, exact=True)).to_be_in_viewport(ratio=1)


def the_question_fits_a_projector(teacher: Page) -> None:
    in_sight(teacher, "Close", "Reveal", "Show it without the class")
    expect(teacher.locator(f"{ASK} .count")).to_be_in_viewport(ratio=1)
    expect(teacher.locator(f"{ASK} .choices li").last).to_be_in_viewport(ratio=1)


def the_answers_can_be_read_on_a_projector(teacher: Page) -> None:
    tracks = {round(box["width"]) for box in (row.bounding_box() for row in teacher.locator(f"{STRIP} .track").all())}
    assert len(tracks) == 1                                                 # a bar's length means the same in each row
    assert teacher.locator(".class-wall").first.evaluate(SMALLEST) >= 14.4


def test_a_class_votes_changes_its_mind_and_sees_itself_beside_the_model(open_page, server, phones):
    teacher = open_page("tokens?ask=1&tokens_view=merges&present=1", width=1280, height=720)
    code = opened(teacher)
    pages = [joined(phone, server.url, code) for phone in phones]
    expect(teacher.locator(f"{DESK} .there")).to_have_text("3 here")
    expect(teacher.locator(f"{DESK} .qr")).to_have_attribute("src", starting("data:image/png"))
    teacher.keyboard.press("Escape")
    expect(teacher.locator(".class-desk .opener")).to_contain_text(f"{code} · 3")
    expect(teacher.locator(DESK)).to_be_hidden()

    in_sight(teacher, "Ask the phones")
    asked(teacher, pages)
    the_question_fits_a_projector(teacher)
    for page, option in zip(pages, (0, 0, 1), strict=True):
        vote(page, option)
    vote(pages[0], 1)                                   # changed
    expect(teacher.locator(f"{ASK} .count")).to_have_text("3 of 3 have answered")
    for page in (teacher, pages[0]):
        expect(page.locator(".tally")).to_have_count(0)

    teacher.locator(ASK).get_by_role("button", name="Close", exact=True).click()
    expect(pages[2].locator(".say")).to_contain_text("closed")
    teacher.keyboard.press("PageDown")                  # a remote's way on: the one Reveal
    expect(teacher.locator(f"{STRIP} .tally")).to_be_visible()
    stands_beside(teacher, ".st-key-tokens_stage")
    shares = teacher.locator(f"{STRIP} .tally .share").all_inner_texts()
    assert shares[:2] == ["33\u00a0%", "67\u00a0%"]
    for page in pages:
        expect(page.locator(".tally")).to_be_visible()
        expect(page.locator(".tally .share")).to_have_text(shares, use_inner_text=True)
    right = pages[0].locator(".tally .row.right .name span").first.inner_text()
    expect(teacher.locator(f"{STRIP} .tally .row.right .name span").first).to_have_text(right, use_inner_text=True)
    expect(pages[1].locator(".row:has(.note.mine) .share")).to_have_text("33\u00a0%", use_inner_text=True)
    expect(teacher.locator(".st-key-tokens_stage :is(canvas, svg)").first).to_be_attached()
    the_answers_can_be_read_on_a_projector(teacher)
    what_happened_is_voted_on_and_printed(teacher, pages)
    assert teacher.errors == []


def stands_beside(teacher: Page, stage: str) -> None:
    """The class's answers cover nothing of the picture, and stay while the hand is on it."""
    teacher.locator(f"{STRIP} .panel").hover()
    teacher.wait_for_function("""([stage, panel]) => {
        const all = (root, looks) => [...root.querySelectorAll(looks), ...[...root.querySelectorAll("*")].flatMap(
            (node) => node.shadowRoot ? all(node.shadowRoot, looks) : [])];
        const [left] = all(document, panel).map((node) => node.getBoundingClientRect().left);
        return document.querySelector(stage).getBoundingClientRect().right <= left;
    }""", arg=[stage, ".class-wall .strip .panel"])


def what_happened_is_voted_on_and_printed(teacher: Page, pages: list[Page]) -> None:
    teacher.locator(f"{STRIP}[data-kept]").wait_for()
    teacher.get_by_role("button", name="Vote: what happened?").click()
    for page in pages:
        expect(page.locator("h1.question")).to_contain_text("What happened?")
        vote(page, 0)
    expect(teacher.locator(f"{STRIP} .count")).to_have_text("3 of 3 have answered")
    teacher.locator(STRIP).get_by_role("button", name="Reveal").click()
    expect(teacher.locator(f"{STRIP} .tally .share").first).to_have_text("100\u00a0%")

    teacher.locator(".class-desk .opener").click()
    teacher.get_by_role("tab", name="After").click()
    with teacher.expect_popup() as printed:
        teacher.get_by_role("button", name="Print the results").click()
    expect(printed.value.locator("section")).to_have_count(2)           # the question and what happened
    expect(printed.value.locator("section img")).to_have_count(1)
    assert printed.value.locator("section img").evaluate("(image) => image.naturalWidth") > 100


def test_a_teacher_who_loads_the_page_anew_still_has_the_class(open_page, server, phones):
    """Its numbers are a file, and nothing is left of it once it has ended."""
    teacher = open_page("tokens", width=1280, height=720)
    code = opened(teacher)
    teacher.keyboard.press("Escape")
    teacher.reload()
    settle(teacher)
    expect(teacher.locator(".class-desk .opener")).to_have_text(re.compile(code))
    teacher.locator(".class-desk .opener").click()
    page = joined(phones[0], server.url, code)
    teacher.get_by_role("tab", name="Ask").click()
    teacher.get_by_label("A question of your own").fill("Is a token a word?")
    teacher.get_by_label("Two to six answers, one a line").fill("Yes\nNo\n=1+1")
    teacher.locator(DESK).get_by_role("button", name="Ask the phones").click()
    expect(page.locator("h1.question")).to_have_text("Is a token a word?")
    vote(page, 1)
    teacher.locator(DESK).get_by_role("button", name="Reveal").click()
    expect(page.locator(".tally .share").nth(1)).to_have_text("100\u00a0%")
    teacher.get_by_role("button", name="Another question").click()
    teacher.get_by_role("tab", name="After").click()
    with teacher.expect_download() as download:
        teacher.get_by_role("button", name="Numbers as CSV").click()
    lines = download.value.path().read_text(encoding="utf-8").splitlines()
    assert lines[1:] == ['"1","Is a token a word?","No","1",""']           # and no row that nobody has given
    assert not re.search("[0-9a-f]{32}", "\n".join(lines))

    teacher.get_by_role("button", name="End the class").click()
    teacher.get_by_role("button", name="Press again").click()
    expect(page.locator(".say")).to_contain_text("The class is over")
    expect(teacher.locator(".class-desk .opener")).to_have_text("Class")
    page.goto(f"{server.url}/j/{code}")
    expect(page.locator(".join .said")).to_contain_text(f"There is no class {code}")
    assert teacher.errors == []


def test_a_phone_joins_by_code_comes_back_and_loses_nothing_and_the_second_device_counts(open_page, server, phones):
    teacher = open_page("tokens?ask=1&tokens_view=merges", width=1280, height=720)
    code = opened(teacher)
    lead = second_device(teacher, phones[2])
    expect(lead.locator(".net")).to_have_text("0 here")
    teacher.keyboard.press("Escape")
    page = phones[0].new_page()
    page.goto(f"{server.url}/j")
    page.locator(".join input").fill(f"{code[:2].lower()} {code[2:]}")
    page.keyboard.press("Enter")
    expect(page.locator(".net")).to_have_text("You are in")
    asked(teacher, [page])
    phones[0].set_offline(True)
    expect(page.locator(".net")).to_contain_text("No connection")
    page.locator(".option").nth(1).click()
    page.locator(".commit").click()
    expect(page.locator(".said")).to_contain_text("Not sent yet")
    phones[0].set_offline(False)
    expect(page.locator(".said")).to_contain_text("✓")
    expect(page.locator(".net")).to_have_text("You are in")
    expect(teacher.locator(f"{ASK} .count")).to_have_text("1 of 1 have answered")
    page.close()
    again = joined(phones[0], server.url, code)
    expect(again.locator(".said")).to_contain_text("✓")
    expect(again.locator("input:checked")).to_have_attribute("value", "1")
    other_tab = joined(phones[0], server.url, code)
    vote(other_tab, 0)
    expect(teacher.locator(f"{ASK} .count")).to_have_text("1 of 1 have answered")
    expect(lead.locator(".card .count")).to_have_text("1 of 1 have answered")
    lead.get_by_role("button", name="Reveal").click()
    expect(teacher.locator(f"{STRIP} .tally")).to_be_visible()
    expect(other_tab.locator(".tally .note.answer")).to_be_visible()
    assert teacher.errors == []


def ask_in_words(teacher: Page) -> None:
    teacher.get_by_role("tab", name="Ask").click()
    teacher.get_by_label("A question of your own").fill("What comes next?")
    teacher.locator(DESK).get_by_role("button", name="Ask the phones").click()


def test_plain_words_stand_on_the_wall_and_others_only_once_the_teacher_has_ticked_them(open_page, server, phones):
    teacher = open_page("tokens", width=1024, height=720, dark=True)
    code = opened(teacher)
    pages = [joined(phone, server.url, code) for phone in phones]
    ask_in_words(teacher)
    says(pages, "Ball", "ball ", "<b>bad</b>")
    expect(teacher.locator(f"{DESK} .words")).to_have_count(0)              # no list that everybody reads
    teacher.locator(DESK).get_by_role("button", name="Reveal").click()
    for page in (pages[0], teacher):
        expect(page.locator(".tally .name").first).to_contain_text("ball", use_inner_text=True)
        expect(page.locator(".tally .share").first).to_have_text("67\u00a0%", use_inner_text=True)
        expect(page.locator(".tally")).not_to_contain_text("bad", use_inner_text=True)
        expect(page.locator(".tally")).to_contain_text("1", use_inner_text=True)
    assert teacher.errors == []


KEEPS_NOTHING = """Object.defineProperty(window, "localStorage",
    { get() { throw new DOMException("Access is denied for this document.", "SecurityError"); } })"""
FITS = "document.documentElement.scrollWidth <= innerWidth"


def test_a_phone_that_keeps_no_site_data_plays_and_the_longest_word_fits_and_stays_as_it_is(open_page, server, phones):
    teacher = open_page("tokens", width=1280, height=720)
    code = opened(teacher)
    lead = second_device(teacher, phones[1])
    page = phones[0].new_page()
    page.add_init_script(KEEPS_NOTHING)
    page.goto(f"{server.url}/j/{code}")
    expect(page.locator(".net")).to_have_text("You are in")
    ask_in_words(teacher)
    word = "w" * 60
    says([page], word)
    expect(lead.locator(".words label")).to_contain_text(word)
    lead.get_by_role("button", name="Reveal").click()
    expect(page.locator(".tally .name").first).to_contain_text(word)
    assert page.evaluate(FITS) and lead.evaluate(FITS)
    for kept in (page.locator(".code"), page.locator(".tally .name > span").first):
        assert kept.evaluate("(node) => node.translate") is False
    assert teacher.evaluate("document.documentElement.translate") is False


def test_the_second_device_looks_at_free_words_before_the_wall_shows_them(open_page, server, phones):
    teacher = open_page("tokens", width=1280, height=720)
    code = opened(teacher)
    lead = second_device(teacher, phones[2])
    pages = [joined(phone, server.url, code) for phone in phones[:2]]
    lead.get_by_text("A question of your own").first.click()
    lead.get_by_label("A question of your own").fill("What comes next?")
    lead.get_by_role("button", name="Ask the phones").click()
    expect(teacher.locator(f"{DESK} .question")).to_have_text("What comes next?")        # it has the wall for itself
    says(pages, "whatsit", "shit")
    expect(lead.locator(".words label")).to_have_text(["whatsit · 1", "shit · 1"])
    expect(lead.locator(".words input").nth(0)).to_be_checked()
    expect(lead.locator(".words input").nth(1)).not_to_be_checked()
    lead.get_by_role("button", name="Reveal").click()
    expect(pages[0].locator(".tally .name").first).to_contain_text("whatsit")
    for page in (pages[0], teacher):
        expect(page.locator(".tally")).not_to_contain_text("shit", use_inner_text=True)
    lead.locator(".words input").nth(0).uncheck()                           # also once it is revealed
    expect(pages[0].locator(".tally")).not_to_contain_text("whatsit", use_inner_text=True)
    assert teacher.errors == []


def test_phones_show_the_picture_on_the_wall_and_go_with_it_until_they_let_go(open_page, server, phones):
    teacher = open_page("tokens?tokens_view=merges", width=1280, height=720)
    code = opened(teacher)
    page = joined(phones[0], server.url, code)
    teacher.get_by_label("Follow", exact=True).check()
    page.get_by_role("button", name="Show the picture on the wall here").click()
    frame = page.frame_locator(".follow iframe")
    expect(frame.locator(".st-key-lesson_head h1")).to_have_text("Tokens")
    reads_only = "frame => frame.inert && getComputedStyle(frame).pointerEvents"
    assert page.locator(".follow iframe").evaluate(reads_only) == "none"
    frame.locator(".st-key-tokens_stage").wait_for()
    around = ".st-key-prompt_bar, .st-key-lesson_explanation, [data-testid=stButtonGroup], [data-testid=stPopover]"
    expect(frame.locator(around).locator("visible=true")).to_have_count(0)
    expect(frame.get_by_text("Merge by merge")).to_be_visible()
    expect(page.locator(".follow a")).not_to_have_attribute("href", re.compile("look"))    # one's own way lets go
    teacher.keyboard.press("Escape")
    teacher.get_by_role("button", name="More").first.wait_for()
    teacher.goto(f"{server.url}/heads?layer=2")
    settle(teacher)
    expect(teacher.locator(".class-desk .opener")).to_contain_text(code)
    teacher.locator(".class-desk .opener").click()
    expect(teacher.get_by_label("Follow", exact=True)).to_be_checked()      # as before
    expect(frame.locator(".st-key-lesson_head h1")).to_have_text("Heads")
    expect(page.locator(".follow a")).to_have_attribute("href", re.compile("layer=2"))
    page.wait_for_function(WHOLE_IN_FRAME)          # nothing of the wall of heads lies beyond an edge
    teacher.get_by_label("Freeze").check()
    teacher.keyboard.press("Escape")
    teacher.get_by_role("button", name="More").first.wait_for()
    teacher.goto(f"{server.url}/tokens")
    settle(teacher)
    expect(page.locator(".follow a")).to_have_attribute("href", re.compile("layer=2"))     # what it showed then
    teacher.locator(".class-desk .opener").click()
    teacher.get_by_label("Off", exact=True).check()
    expect(page.locator(".follow iframe")).to_have_count(0)


def test_a_picture_that_stands_stays_until_the_teacher_asks(open_page, server, phones):
    teacher = open_page("tokens?tokens_view=merges&present=1", width=1280, height=720)
    stage = ".st-key-tokens_stage"
    code = opened(teacher)
    page = joined(phones[0], server.url, code)
    teacher.keyboard.press("Escape")
    expect(teacher.locator(DESK)).to_be_hidden()            # also where a presenter's keys are listened for
    offer = teacher.locator(".strip.offer")
    expect(offer).to_contain_text("Which two in your text does it join first?")
    expect(teacher.locator(stage).get_by_text("has id")).to_be_visible()
    expect(page.locator("h1.question")).to_have_count(0)
    offer.get_by_role("button", name="Ask the phones").click()
    expect(teacher.locator(f"{ASK} .count")).to_have_text("0 of 1 have answered")
    expect(teacher.locator(stage).get_by_text("has id")).to_have_count(0)
    vote(page, 0)
    teacher.locator(ASK).get_by_role("button", name="Reveal").click()
    expect(teacher.locator(f"{STRIP} .tally")).to_be_visible()
    expect(teacher.locator(f"{STRIP} .kicker")).to_have_count(0)                 # the summary stands once
    assert teacher.errors == []


def test_the_steps_of_a_plan_are_asked_at_once_and_one_reveal_closes_and_shows_them(open_page, server, phones):
    """The first step is answered in a word and revealed by the second device, the next one has answers."""
    teacher = open_page("course?course_view=class", width=1280, height=720)
    code = opened(teacher)
    lead, page = second_device(teacher, phones[2]), joined(phones[0], server.url, code)
    teacher.keyboard.press("Escape")
    teacher.locator("a.start").click()
    expect(lead.locator(".plan .title")).to_be_visible()
    asks = teacher.locator(".question .ask").inner_text()
    expect(lead.locator(".plan .ask")).to_contain_text(asks, use_inner_text=True)
    page.locator("input.text").fill("ball")
    page.locator(".commit").click()
    expect(lead.locator(".card .count")).to_have_text("1 of 1 have answered")
    expect(teacher.get_by_role("button", name="Reveal")).to_have_count(1)
    lead.get_by_role("button", name="Reveal").click()
    expect(teacher.locator(".question .ask")).to_be_hidden()
    expect(teacher.locator(f"{STRIP} .summary")).to_have_text("class: ball 100\u00a0% · model: ball 63\u00a0%")
    expect(page.locator(".tally .note.answer")).to_be_visible()             # nothing can be changed any more
    expect(page.locator(".commit")).to_have_count(0)
    expect(teacher.get_by_role("button", name="Ask the phones")).to_have_count(0)

    lead.get_by_role("button", name="Next").click()
    expect(page.locator(".option")).to_have_count(4)
    expect(teacher.locator(".question .options li")).to_have_text(page.locator(".option span").all_inner_texts())
    for part in (".question .options li >> nth=-1", ".class-wall .count", ".question .timer"):
        expect(teacher.locator(part)).to_be_in_viewport(ratio=1)
    vote(page, 1)
    teacher.keyboard.press("ArrowRight")
    expect(teacher.locator(f"{STRIP} .tally .row.right .share")).to_have_text("100\u00a0%")
    stands_beside(teacher, ".st-key-tokens_stage")
    teacher.get_by_role("button", name="Only the picture").click()
    expect(teacher.locator(f"{STRIP} .panel")).to_be_hidden()
    expect(teacher.locator(f"{STRIP} .summary")).to_have_text("100\u00a0% had it right")
    assert teacher.errors == []


# steps of plans whose pictures take the most room: where each ends
BESIDE = {("A", 6): ".list", ("C", 8): "[class*=training_comparison] table", ("D", 2): ".cipher-walk",
          ("D", 3): ".figure canvas"}


def step_address(plan: str, number: int) -> str:
    opening = class_plan.plans()[plan].opening(number)
    return f"{class_plan.plans()[plan].steps[number - 1].lesson}?" + urllib.parse.urlencode(
        {name: address.written(value) for name, value in opening.items() if value is not None})


def test_a_picture_is_whole_beside_what_the_class_has_answered(open_page, server, phones):
    """Its type is smaller until the column folds, and then as large as before; in a class a text in cipher is secret.
    """
    teacher = open_page(step_address("A", 6), width=1280, height=720)
    page, usual = joined(phones[0], server.url, opened(teacher)), root_size(teacher)
    teacher.keyboard.press("Escape")
    for (plan, number), end in BESIDE.items():
        go_to(teacher, f"{server.url}/{step_address(plan, number)}")
        expect(page.locator("h1.question")).to_have_text(class_plan.plans()[plan].steps[number - 1].ask)
        vote(page, 0)
        settle(teacher)
        teacher.keyboard.press("ArrowRight")
        teacher.locator(f"{STRIP} .tally").hover()          # so that it stays
        settle(teacher)
        rest(teacher)
        box, panel = teacher.locator(end).first.bounding_box(), teacher.locator(f"{STRIP} .panel").bounding_box()
        assert box["x"] + box["width"] <= panel["x"] and 0.7 * usual < root_size(teacher) < usual
        assert box["y"] + box["height"] <= teacher.locator(".st-key-class_bar").bounding_box()["y"], (plan, number)
        expect(teacher.locator(".st-key-language_models_secret_row:visible")).to_have_count(0)
    teacher.get_by_role("button", name="Only the picture").click()
    rest(teacher)
    line, find = (teacher.locator(one).bounding_box() for one in (STRIP, ".st-key-find"))
    assert line["x"] + line["width"] <= find["x"] and root_size(teacher) == usual
    assert teacher.errors == []


def root_size(page: Page) -> float:
    return page.evaluate("parseFloat(getComputedStyle(document.documentElement).fontSize)")


def test_a_rehearsal_fills_a_class_from_the_code_to_the_print(open_page, server):
    teacher = open_page("overview?class=1&present=1", width=1280, height=720)
    opened(teacher)
    teacher.get_by_role("button", name="Try it alone").click()
    expect(teacher.locator(f"{DESK} .there")).to_have_text("30 here, 30 of them a rehearsal")
    teacher.keyboard.press("Escape")
    for step in (1, 2):
        expect(teacher.locator(".class-wall .count")).to_have_text("30 of 30 have answered")
        teacher.keyboard.press("PageDown")
        expect(teacher.locator(f"{STRIP} .summary")).to_contain_text("class:" if step == 1 else "had it right")
        if step == 1:
            teacher.keyboard.press("PageDown")
    teacher.locator(f"{STRIP}[data-kept]").wait_for()
    teacher.locator(".class-desk .opener").click()
    teacher.get_by_role("tab", name="After").click()
    expect(teacher.locator(f"{DESK} .asked li")).to_have_count(2)
    with teacher.expect_popup() as printed:
        teacher.get_by_role("button", name="Print the results").click()
    expect(printed.value.locator("section")).to_have_count(2)
    expect(printed.value.locator("section img").first).to_be_visible()
    teacher.get_by_role("tab", name="Join").click()
    teacher.get_by_role("button", name="Let the 30 phones leave").click()
    expect(teacher.locator(f"{DESK} .there")).to_have_text("0 here")
    assert teacher.errors == []


def test_check_yourself_is_asked_of_the_class_and_which_head_matters_most(open_page, server, phones):
    teacher = open_page("attention", width=1280, height=720)
    code = opened(teacher)
    teacher.keyboard.press("Escape")
    page = joined(phones[0], server.url, code)
    check = teacher.locator(".st-key-lesson_check")
    check.get_by_role("button", name="Ask the phones").click()
    expect(page.locator("h1.question")).to_be_visible()
    vote(page, 0)
    check.get_by_role("button", name="Reveal").click()
    expect(page.locator(".tally .note.answer")).to_be_visible()
    right = page.locator(".tally .row.right .name span").first.inner_text()
    expect(check.locator(".tally .row.right .name span").first).to_have_text(right, use_inner_text=True)
    go_to(teacher, f"{server.url}/heads")
    settle(teacher)
    teacher.locator(".class-desk .opener").click()
    a_head_is_switched_off(teacher, page)
    assert teacher.errors == []


def a_head_is_switched_off(teacher: Page, page: Page) -> None:
    teacher.get_by_role("tab", name="Ask").click()
    teacher.get_by_role("button", name="Which head would you switch off?").click()
    teacher.locator(f"{DESK} .game").get_by_role("button", name="Ask the phones").click()
    expect(page.locator(".option")).to_have_count(5)
    for each in (page.locator(".option .square"), teacher.locator(f"{DESK} .game .choices .square")):
        expect(each).to_have_count(5)
        assert all(inked > 5 for inked in each.evaluate_all("(all) => all.map((one) => one.childElementCount)"))
        assert min(each.evaluate_all("(all) => all.map((one) => one.getBoundingClientRect().width)")) >= 60
    picked = re.search(r"Head [\d.]+", page.locator(".option").nth(3).inner_text())[0]
    vote(page, 3)
    teacher.locator(f"{DESK} .game").get_by_role("button", name="Reveal").click()
    expect(teacher.locator(f"{DESK} .truth")).to_contain_text("changes the next token most")
    expect(teacher.locator(f"{DESK} .truth")).to_contain_text(picked, use_inner_text=True)
    expect(page.locator(".tally .row.right")).to_have_count(1)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_phones_and_the_desk_can_be_read_and_reached_by_all_in_every_phase(open_page, server, browser, dark):
    teacher = open_page("tokens?ask=1&tokens_view=merges", width=1280, height=720, dark=dark)
    code = opened(teacher)
    assert violations(teacher) == []
    teacher.get_by_label("Follow", exact=True).check()
    for tab in ("Ask", "After"):
        teacher.get_by_role("tab", name=tab).click()
        assert violations(teacher) == []
        assert teacher.locator(DESK).evaluate("(desk) => desk.scrollHeight <= desk.clientHeight")
    teacher.keyboard.press("Escape")
    with contextlib.closing(browser.new_context(viewport=PHONE, bypass_csp=True,
                                                color_scheme="dark" if dark else "light")) as phone:
        page = joined(phone, server.url, code)
        assert violations(page) == []
        asked(teacher, [page])
        assert violations(page) == violations(teacher) == []
        page.keyboard.press("Tab")
        page.keyboard.press("Space")
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        expect(page.locator(".said")).to_contain_text("✓")
        # no picture before its question is revealed
        expect(page.locator(".follow a, .follow button")).to_have_count(0)
        teacher.locator(ASK).get_by_role("button", name="Reveal").click()
        expect(page.locator(".tally .note.answer")).to_be_visible()
        expect(page.locator(".follow a")).to_be_visible()
        assert violations(page) == teacher.errors == []
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def says(phones: list[Page], *words: str) -> None:
    for phone, word in zip(phones, words, strict=True):
        expect(phone.locator("input.text")).to_have_value("")
        phone.locator("input.text").fill(word)
        phone.locator(".commit").click()
        expect(phone.locator(".said")).to_contain_text("✓")


def shown(teacher: Page, n: int) -> None:
    """All have answered; the teacher reveals."""
    expect(teacher.locator(f"{DESK} .count")).to_have_text(f"{n} of {n} have answered")
    teacher.locator(DESK).get_by_role("button", name="Reveal").click()
    expect(teacher.locator(f"{DESK} .tally .p", has_text="model").first).to_be_visible()


def test_a_class_guesses_a_text_and_writes_a_story_as_a_model_does(open_page, server, phones):
    teacher = open_page("tokens?prompt=Once upon a time, there was a", width=1280, height=720)
    code = opened(teacher)
    lead = second_device(teacher, phones[2])
    pages = [joined(phone, server.url, code) for phone in phones[:2]]
    a_text_of_the_second_device_is_guessed(teacher, lead, pages)
    teacher.get_by_role("button", name="End the game").click()
    a_story_is_written(teacher, [*pages, joined(phones[2], server.url, code)])
    assert teacher.errors == []


def a_text_of_the_second_device_is_guessed(teacher: Page, lead: Page, pages: list[Page]) -> None:
    lead.get_by_text("Games").click()
    lead.get_by_label("A text that the class does not know").fill("Once upon a time there")
    lead.get_by_role("button", name="Guess the next word of this text").click()
    expect(teacher.locator(f"{DESK} .story")).to_have_text("Once upon a …")
    says(pages, "time", "day")
    shown(teacher, 2)
    expect(teacher.locator(f"{DESK} .truth")).to_have_text("The text goes on with “time”.")
    expect(teacher.locator(f"{DESK} .game")).to_contain_text("the class needs 1 bits")      # one half had it
    expect(teacher.locator(f"{DESK} .game")).to_contain_text("the class 1 bits, the model")         # two words, evenly
    teacher.get_by_role("button", name="Next word").click()
    expect(teacher.locator(f"{DESK} .story")).to_have_text("Once upon a time …")
    expect(teacher.locator(f"{DESK} .kicker")).to_contain_text("the class 1 bits a word")


def a_story_is_written(teacher: Page, pages: list[Page]) -> None:
    teacher.get_by_role("button", name="The class writes a story").click()
    teacher.get_by_role("button", name="Start", exact=True).click()
    says(pages, "little", "Little", "dog")
    shown(teacher, 3)
    rows = teacher.locator(f"{DESK} .tally .row")
    expect(rows.first.locator(".name")).to_have_text("little", use_inner_text=True)
    expect(rows.first.locator(".share")).to_contain_text("66.7", use_inner_text=True)
    expect(teacher.get_by_role("button", name="Draw a word and go on")).to_be_in_viewport(ratio=1)
    teacher.locator(f"{DESK} .settings input").nth(1).fill("1")           # top-k: one word is left
    expect(rows.first.locator(".share")).to_have_text("100\u00a0%")
    teacher.get_by_role("button", name="Draw a word and go on").click()
    expect(teacher.locator(f"{DESK} .story")).to_contain_text("there was a little …")
    for page in pages:
        expect(page.locator(".prompt")).to_have_text("Once upon a time, there was a little")
