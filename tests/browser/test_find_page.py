"""Finding a place in a real Chromium: the field that searches, the map, the views behind More, and what comes next."""
from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from core.base import catalogue, finder, prose
from tests.browser.accessibility import violations
from tests.browser.pictures import cut_off
from tests.browser.serving import go_to, rest, settle
from tests.browser.views import LESSONS, opened, pick, stand

APP = prose.load("app")


def field(page: Page):
    return page.get_by_role("combobox", name=APP.label("find_title"))


def options(page: Page):
    return page.get_by_role("option")


def search(page: Page, keys: str, typed: str) -> None:
    """Open the field by a key once its button stands, which hears it; type, and wait for what fits."""
    expect(page.locator(".opener[aria-keyshortcuts]")).to_be_visible()
    page.keyboard.press(keys)
    expect(options(page).first).to_be_visible()
    field(page).fill(typed)


# ---- the field -------------------------------------------------------------------------------------------------------


def test_the_field_finds_a_place_by_keys_alone_is_heard_and_leaves_a_typed_slash_alone(open_page):
    asked: list[str] = []
    page = open_page("tokens?tokens_view=vocabulary", watch=lambda request: asked.append(request.url))
    assert not any("/live/places" in url or "finder.js" in url for url in asked), "nothing of it before it is opened"
    page.evaluate("window.kept = true")             # gone after a load of the page
    search(page, "/", "")
    expect(options(page)).to_have_count(sum(found.kind in ("lesson", "page") for found in finder.everything()))
    page.keyboard.press("Escape")
    expect(field(page)).to_be_hidden()
    a_screen_reader_hears_the_field_its_options_and_how_many_there_are(page)
    expect(page).to_have_url(re.compile("/tokens"))
    search(page, "/", "")
    page.keyboard.type("learned pos")
    expect(options(page).first).to_contain_text("Learned positions")
    expect(options(page).first).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Enter")
    page.wait_for_url("**/positions?*positions_view=learned*")
    settle(page)
    search(page, "Control+k", "kv cache")
    page.keyboard.press("Enter")
    page.wait_for_url("**/generation?*generation_view=cache*")
    settle(page)
    assert sum("/live/places" in url for url in asked) == 1
    a_slash_that_is_typed_into_a_field_opens_nothing(page)
    assert page.evaluate("window.kept") and page.errors == []


def a_screen_reader_hears_the_field_its_options_and_how_many_there_are(page: Page) -> None:
    search(page, "/", "softmax")
    expect(page.locator(".said")).to_have_text(APP.label("find_count", n=options(page).count()))
    for key, at in (("ArrowDown", 1), ("ArrowDown", 2), ("ArrowUp", 1), ("ArrowUp", 0), ("ArrowUp", -1)):
        page.keyboard.press(key)
        marked = page.locator("[role=option][aria-selected=true]")
        expect(marked, key).to_have_count(1)
        expect(marked, key).to_have_attribute("id", options(page).nth(at).get_attribute("id"))
        expect(field(page)).to_have_attribute("aria-activedescendant", marked.get_attribute("id"))
    field(page).fill("zzzz")
    expect(page.locator(".said")).to_have_text(APP.label("find_none", query="zzzz"))
    page.keyboard.press("Enter")                    # nothing to open
    expect(field(page)).to_be_visible()
    field(page).fill("why is temprature called so?")
    expect(page.locator(".said")).to_have_text(APP.label("find_nearest", query="why is temprature called so?",
                                                         words="temperature", n=options(page).count()))
    expect(options(page).first).to_contain_text("Divides the logits before the softmax")     # its answer
    page.keyboard.press("Escape")
    expect(field(page)).to_be_hidden()


def a_slash_that_is_typed_into_a_field_opens_nothing(page: Page) -> None:
    page.locator(".st-key-prompt textarea").click()
    page.keyboard.type("/")
    expect(page.locator(".st-key-prompt textarea")).to_have_value(re.compile("/"))
    expect(field(page)).to_be_hidden()


def test_terms_experiments_and_ideas_open_with_their_settings(open_page):
    page = open_page("limits")
    for kind in ("term", "try", "idea"):
        found = next(found for found in finder.everything() if found.kind == kind and len(found.settings) > 1
                     and found.lesson != catalogue.HOME)
        assert f"/{found.lesson}" not in page.url, "it is on another page"
        search(page, "/", found.name)
        page.get_by_role("option").filter(has=page.get_by_text(APP.label(f"find_{kind}"), exact=True)).first.click()
        page.wait_for_url(f"**/{found.lesson}*")
        settle(page)
        for name, value in found.settings.items():
            if name.startswith(f"{found.lesson}_view"):
                assert f"{name}={value}" in page.url or value == catalogue.entry(found.lesson).views[0], kind
    assert page.errors == []


@pytest.mark.parametrize("dark", [False, True])
def test_nothing_that_finds_is_hard_to_read_or_to_reach(open_page, server, dark):
    """The open field, the map, and the open menu of More, by axe-core."""
    page = open_page("map", dark=dark)
    page.locator(".model_map .panel li").first.wait_for()
    assert violations(page) == []
    search(page, "/", "attention")
    assert violations(page) == []
    page.keyboard.press("Escape")
    expect(field(page)).to_be_hidden()
    go_to(page, f"{server.url}/positions?positions_view=learned")
    page.locator(".st-key-more_views button").wait_for()
    settle(page)
    page.locator(".st-key-more_views button").click()
    page.get_by_role("menuitem").first.wait_for()
    assert violations(page) == []


def in_theme(page: Page, theme: str) -> None:
    page.emulate_media(color_scheme=theme)
    page.wait_for_function("(theme) => getComputedStyle(document.querySelector('.stApp')).colorScheme === theme",
                           arg=theme)
    rest(page)


def test_the_field_fits_a_phone(open_page):
    page = open_page("heads", width=390, height=844)
    for theme in ("light", "dark"):
        in_theme(page, theme)
        page.get_by_role("button", name=APP.label("find_title")).click()
        expect(options(page).first).to_be_visible()
        field(page).fill("attention")
        box = page.locator("dialog.finder").bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= 390 and box["y"] + box["height"] <= 844, theme
        page.get_by_role("button", name=APP.label("find_close")).click()
        expect(field(page)).to_be_hidden()
        assert page.evaluate("document.scrollingElement.scrollWidth") <= 390, theme


# ---- the map ---------------------------------------------------------------------------------------------------------


PARTS_APART = """() => {
    const root = document.querySelector(".model_map") ?? [...document.querySelectorAll("*")].map((node) =>
        node.shadowRoot?.querySelector(".model_map")).find(Boolean);
    const boxes = (names) => [...root.querySelectorAll(names)].map((node) => [node.textContent,
        node.getBoundingClientRect()]);
    const wrong = [];
    for (const all of [boxes(".part"), boxes(".name")]) all.forEach(([name, a], i) => {
        if (a.bottom > innerHeight || a.right > innerWidth || a.left < 0) wrong.push(`outside: ${name}`);
        for (const [other, b] of all.slice(i + 1))
            if (a.left < b.right && b.left < a.right && a.top < b.bottom - 1 && b.top < a.bottom - 1)
                wrong.push(`${name} over ${other}`);
    });
    return wrong;
}"""


def shown_on_the_map(page: Page):
    return page.locator(".model_map .panel h3 a")


def lesson_on_the_map(page: Page, lesson: str):
    names = page.get_by_role("navigation", name=prose.load("map").label("map_lessons"))
    return names.get_by_role("button", name=APP.label(f"lesson_{lesson}"), exact=True)


def part_of_the_map(page: Page, part: str):
    return page.locator(f".model_map .part.{part}")


@pytest.mark.parametrize(("width", "height", "query"), [(1440, 900, ""), (1280, 720, ""), (1280, 720, "?present=true"),
                                                        (1024, 768, "")])
def test_the_map_is_one_screen_and_the_model_stays_in_sight_with_every_lesson(open_page, width, height, query):
    page = open_page(f"map{query}", width=width, height=height)
    page.locator(".model_map .panel li").first.wait_for()
    for entry in catalogue.existing():
        name = APP.label(f"lesson_{entry.id}")
        lesson_on_the_map(page, entry.id).click()
        expect(shown_on_the_map(page)).to_have_text(f"{name} →")
        expect(page.locator(".model_map .panel li")).to_have_count(len(entry.views))
        expect(page.locator(".model_map .panel li.core")).to_have_count(len(entry.core))
        rest(page)
        main = page.locator("[data-testid=stMain]")
        assert main.evaluate("(node) => node.scrollHeight - node.clientHeight") <= 0, name
        assert page.locator(".model_map .panel").evaluate("(node) => node.scrollHeight - node.clientHeight") <= 0, name
        assert cut_off(page) == [] and page.evaluate(PARTS_APART) == [], name
    assert page.errors == []


def test_a_part_of_the_map_shows_its_views_to_the_pointer_and_to_the_keys_and_they_open(open_page):
    page = open_page("map", width=1440)
    shown = shown_on_the_map(page)
    part_of_the_map(page, "vectors").hover()
    expect(shown).to_have_text(f"{APP.label('lesson_embeddings')} →")
    expect(part_of_the_map(page, "vectors")).to_have_attribute("aria-pressed", "true")
    part_of_the_map(page, "vectors").focus()
    page.keyboard.press("Tab")
    expect(part_of_the_map(page, "positions")).to_be_focused()
    expect(shown).to_have_text(f"{APP.label('lesson_positions')} →")
    page.keyboard.press("Enter")
    expect(shown).to_be_focused()
    page.keyboard.press("Escape")
    expect(part_of_the_map(page, "positions")).to_be_focused()
    part_of_the_map(page, "attention").hover()
    also = page.get_by_role("region", name=APP.label("lesson_attention"))
    also.get_by_role("button", name=APP.label("lesson_heads")).click()
    expect(shown).to_have_text(f"{APP.label('lesson_heads')} →")
    lesson_on_the_map(page, "language_models").click()
    page.evaluate("window.kept = true")
    page.get_by_role("link", name="Break a cipher").click()
    page.wait_for_url("**/language_models?*language_models_view=decipher*")
    settle(page)
    assert page.evaluate("window.kept") and page.errors == []


def test_on_a_phone_the_views_of_a_part_stand_below_the_name_of_their_lesson(open_page):
    page = open_page("map", width=390, height=844)
    part_of_the_map(page, "positions").click()
    name = lesson_on_the_map(page, "positions")
    expect(name).to_be_in_viewport()
    first = page.get_by_role("link", name="Shuffled tokens")
    expect(first).to_be_in_viewport()
    assert first.bounding_box()["y"] > name.bounding_box()["y"]
    assert page.evaluate("document.scrollingElement.scrollWidth") <= 390 and cut_off(page) == []
    assert page.errors == []


# ---- More ------------------------------------------------------------------------------------------------------------


# one whose views are panels, and one of the others, which are alike
def test_the_views_behind_more_are_those_of_the_catalogue_and_the_open_one_stands_in_the_bar(open_page, server):
    page = open_page("heads")
    are_behind_more(page, "heads")
    go_to(page, f"{server.url}/positions")
    are_behind_more(page, "positions")
    assert page.errors == []


def are_behind_more(page: Page, lesson: str) -> None:
    entry, words = catalogue.entry(lesson), prose.load(lesson)
    bar = page.locator(f".st-key-{lesson}_{entry.picks}_widget")
    names = {view: words.label(entry.label(view)) for view in entry.views}
    expect(bar.get_by_role("radio")).to_have_text([names[view] for view in entry.core], use_inner_text=True)
    settle(page)
    page.locator(".st-key-more_views button").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("menuitem")).to_have_text([names[view] for view in entry.deeper])
    page.locator("[role=menu]:is(:focus, :focus-within)").wait_for()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    opened_view = page.locator(f".st-key-{lesson}_{entry.picks}_widget [role=radio][aria-checked=true]")
    expect(opened_view).to_have_text(names[entry.deeper[1]])
    settle(page)
    expect(page).to_have_url(re.compile(f"{lesson}_{entry.picks}={entry.deeper[1]}"))
    bar.get_by_text(names[entry.core[0]], exact=True).click()
    expect(bar.get_by_role("radio")).to_have_count(len(entry.core))


# ---- what comes next, and the prompt ---------------------------------------------------------------------------------


def test_a_view_ends_with_the_next_one_and_in_present_mode_every_lesson_can_be_reached(open_page, server):
    page = opened(open_page, "positions", "measured")
    the_next_one_follows(page)
    page.set_viewport_size({"width": 1280, "height": 720})
    go_to(page, f"{server.url}/positions?positions_view=measured&present=true")
    expect(page.locator("[class*=st-key-try_menu_]")).to_have_count(0)
    stand(page, LESSONS["positions"]["measured"])
    the_next_one_follows(page)
    every_lesson_is_reached_and_present_mode_stays(page)
    assert page.errors == []


def every_lesson_is_reached_and_present_mode_stays(page: Page) -> None:
    page.get_by_role("button", name=APP.label("find_title")).click()
    expect(options(page).first).to_be_visible()
    for entry in catalogue.existing():
        expect(options(page).filter(has_text=APP.label(f"lesson_{entry.id}")).first).to_be_attached()
    field(page).fill(APP.label("lesson_recurrence"))
    page.keyboard.press("Enter")
    page.wait_for_url("**/recurrence?*present=true*")
    settle(page)


def the_next_one_follows(page: Page) -> None:
    """Its link leads to the top of it."""
    entry, view = catalogue.after("positions", "measured", "decoder")
    link = page.locator(".st-key-next_view a")
    expect(link).to_contain_text(prose.load(entry.id).label(entry.label(view)))
    link.click()
    page.wait_for_url(f"**/{entry.id}*")
    settle(page)
    assert page.evaluate("document.querySelector('[data-testid=stMain]').scrollTop") == 0
    following = catalogue.after(entry.id, view, "decoder")[1]
    expect(page.locator(".st-key-next_view a")).to_contain_text(prose.load(entry.id).label(entry.label(following)))
    page.locator(".st-key-next_view a").click()
    page.wait_for_url(f"**/{entry.id}?*{entry.id}_{entry.picks}={following}*")
    settle(page)


def test_the_field_of_the_prompt_says_where_it_is_not_used(open_page):
    page = opened(open_page, "embeddings", "product")
    note = page.locator(".st-key-prompt_unread")
    expect(note).to_have_count(0)
    pick(page, "embeddings", "view", "neighbours")
    expect(note).to_be_visible()
    page.locator(".st-key-prompt textarea").click()
    expect(note).to_be_hidden()                     # while it is typed into
    page.locator("body").press("Tab")
    pick(page, "embeddings", "view", "contexts")
    expect(note).to_have_count(0)
