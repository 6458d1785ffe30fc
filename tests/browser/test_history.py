"""Back and forward in a real Chromium: they lead through views, prompts and settings as through pages. One deed of the
reader is one entry of the browser's history, and a parameter that an entry does not have is at its default.
"""
from __future__ import annotations

import re
import urllib.parse
from collections.abc import Callable

from playwright.sync_api import Locator, Page, expect

from core.app.state import prompts
from core.app.teaching import class_plan
from core.base import catalogue, prose
from tests.browser.pictures import comes
from tests.browser.serving import go_to, pick, settle, try_menu

CAT, DOG = "The cat sat on the", "A dog ran to the"
WORDS = prose.load("app")


def place(page: Page) -> tuple[str, dict[str, str]]:
    """The page and the parameters of the address."""
    parts = urllib.parse.urlsplit(page.url)
    return parts.path.strip("/"), dict(urllib.parse.parse_qsl(parts.query, keep_blank_values=True))


def entries(page: Page) -> int:
    """How many entries the app has in the tab's history, ahead of the one that stands too: history.length counts what
    other tests have left in the tab as well.
    """
    return page.evaluate("navigation.entries().length")


def at(page: Page) -> int:
    """The place of the entry that stands among those, from 0."""
    return page.evaluate("navigation.currentEntry.index")


def entries_of(page: Page, deed: Callable[[], object], address: Callable[[str], bool]) -> int:
    """How many entries a deed makes that leads to an address."""
    before = at(page)
    deed()
    page.wait_for_url(address)
    settle(page)
    return at(page) - before


def saying(*said: str, without: tuple[str, ...] = ()) -> Callable[[str], bool]:
    """Whether an address has these pieces, and not those."""
    return lambda url: all(piece in url for piece in said) and not any(piece in url for piece in without)


def go_back(page: Page, *said: str, without: tuple[str, ...] = (), forward: bool = False) -> None:
    (page.go_forward if forward else page.go_back)()
    page.wait_for_url(saying(*said, without=without))
    settle(page)


def view(page: Page, name: str) -> Locator:
    return page.locator(".st-key-embeddings_bar").get_by_role("radio", name=name, exact=True)


def view_label(name: str) -> str:
    return prose.load("embeddings").label(f"view_{name}")


def prompt(page: Page) -> Locator:
    return page.locator(".st-key-prompt textarea")


def type_prompt(page: Page, text: str) -> None:
    prompt(page).fill(text)
    prompt(page).press("Control+Enter")
    prompt(page).blur()


# ---- views, prompts, settings ----------------------------------------------------------------------------------------

def test_back_leads_through_views_prompts_and_an_experiment(open_page):
    page = open_page("embeddings")
    through_the_views_to_the_default_of_a_bare_address(page)
    through_the_prompts(page)
    out_of_an_experiment_at_once_whatever_it_sets(page)


def through_the_views_to_the_default_of_a_bare_address(page: Page) -> None:
    first = page.locator(".st-key-embeddings_bar [role=radio][aria-checked=true]").inner_text()
    for name in ("arithmetic", "product"):
        assert entries_of(page, view(page, view_label(name)).click, saying(f"embeddings_view={name}")) == 1
    length = entries(page)
    back_to_the_first_view(page, first)
    for name in ("arithmetic", "product"):
        go_back(page, f"embeddings_view={name}", forward=True)
        expect(view(page, view_label(name))).to_have_attribute("aria-checked", "true")
    assert entries(page) == length, "the way forward was cut off"
    page.reload()
    settle(page)
    expect(view(page, view_label("product"))).to_have_attribute("aria-checked", "true")
    back_to_the_first_view(page, first)


def back_to_the_first_view(page: Page, first: str) -> None:
    go_back(page, "embeddings_view=arithmetic")
    expect(view(page, view_label("arithmetic"))).to_have_attribute("aria-checked", "true")
    go_back(page, without=("embeddings_view",))
    expect(view(page, first)).to_have_attribute("aria-checked", "true")
    assert comes(page, lambda: place(page) == ("embeddings", {}))


def through_the_prompts(page: Page) -> None:
    for text in (CAT, DOG):
        assert entries_of(page, lambda text=text: type_prompt(page, text), saying(text.replace(" ", "+"))) == 1
    go_back(page, CAT.replace(" ", "+"))
    expect(prompt(page)).to_have_value(CAT)
    go_back(page, without=("prompt",))
    expect(prompt(page)).to_have_value(prompts.default_prompt())
    go_back(page, CAT.replace(" ", "+"), forward=True)
    expect(prompt(page)).to_have_value(CAT)
    go_back(page, without=("prompt",))


def out_of_an_experiment_at_once_whatever_it_sets(page: Page) -> None:
    experiment = next(e for e in prose.load("embeddings").experiments if len(e.settings) > 2)
    button = try_menu(page).locator(f".st-key-do_embeddings_{experiment.id} button")
    assert entries_of(page, button.click, saying("embeddings_")) == 1
    go_back(page, without=("embeddings_",))
    assert comes(page, lambda: place(page) == ("embeddings", {}))
    expect(prompt(page)).to_have_value(prompts.default_prompt())


def test_back_leads_out_of_what_other_lessons_set(open_page, server):
    """Another model, a picked position, a slider under keys and under the pointer, a term of the glossary."""
    page = open_page("tokens")
    from_another_model_to_the_one_before(page)
    go_to(page, f"{server.url}/residual_stream?residual_stream_view=contributions")
    settle(page)
    from_a_picked_position_to_none(page)
    go_to(page, f"{server.url}/next_token")
    settle(page)
    a_key_that_is_held_and_a_slider_that_is_released_are_one_deed(page)
    go_to(page, f"{server.url}/course?term=softmax")
    settle(page)
    to_the_term_of_a_link(page)


def from_another_model_to_the_one_before(page: Page) -> None:
    page.locator(".st-key-model_drawer button").click()
    picker = page.locator("[class*=st-key-model_picked_]").get_by_role("combobox")
    picker.click()
    option = page.get_by_role("option", name="stories-small", exact=True)
    assert entries_of(page, option.click, saying("model=stories-small")) == 1
    go_back(page, without=("model=",))
    expect(page.locator(".st-key-model_drawer button")).not_to_contain_text("stories-small")
    go_back(page, "model=stories-small", forward=True)
    expect(page.locator(".st-key-model_drawer button")).to_contain_text("stories-small")


def from_a_picked_position_to_none(page: Page) -> None:
    picked = page.locator("[class*=residual_stream_pick_position]")
    shown = picked.get_by_role("combobox")
    last = shown.input_value()
    assert entries_of(page, lambda: pick(picked, "3 "), saying("position=3")) == 1
    expect(shown).not_to_have_value(last)
    go_back(page, without=("position=",))
    expect(shown).to_have_value(last)


def a_key_that_is_held_and_a_slider_that_is_released_are_one_deed(page: Page) -> None:
    panel = page.locator(".sampling-panel").get_by_label(re.compile("Temperature")).first
    panel.focus()

    def hold() -> None:
        for _ in range(6):
            page.keyboard.down("ArrowRight")
        page.keyboard.up("ArrowRight")

    assert entries_of(page, hold, saying("next_token_panel=T")) == 1
    box, address = panel.bounding_box(), page.url

    def drag() -> None:
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        page.mouse.down()
        page.mouse.move(box["x"] + box["width"] * 0.8, box["y"] + box["height"] / 2, steps=8)
        page.mouse.up()

    assert entries_of(page, drag, lambda url: url != address) == 1
    value = panel.input_value()
    go_back(page, address)
    page.wait_for_function("([value, input]) => input.value !== value", arg=[value, panel.element_handle()])
    go_back(page, without=("next_token_panel",))
    assert comes(page, lambda: place(page) == ("next_token", {}))


def to_the_term_of_a_link(page: Page) -> None:
    expect(page.locator(".term.named b")).to_have_text("softmax")
    sheets = prose.load("course").label("view_sheets")
    assert entries_of(page, page.locator(".st-key-course_bar").get_by_role("radio", name=sheets).click,
                      saying("course_view=sheets")) == 1
    go_back(page, "softmax")
    expect(page.locator(".term.named b")).to_have_text("softmax")


# ---- present mode, pages ---------------------------------------------------------------------------------------------

def test_present_mode_and_another_page_are_one_deed_each_and_back_leads_out_of_them(open_page):
    page = open_page("embeddings?embeddings_view=product&layer=2")
    out_of_present_mode_and_in_again(page)
    from_another_page_by_the_strip(page)
    from_another_page_by_the_menu_which_takes_the_settings_along(page)


def out_of_present_mode_and_in_again(page: Page) -> None:
    toggle = page.locator(".st-key-present [role=switch], .st-key-present input")
    assert entries_of(page, page.locator(".st-key-present label").first.click, saying("present=true")) == 1
    go_back(page, "embeddings_view=product", without=("present",))
    expect(toggle).not_to_be_checked()
    go_back(page, "present=true", forward=True)
    expect(toggle).to_be_checked()
    go_back(page, "embeddings_view=product", without=("present",))


def from_another_page_by_the_strip(page: Page) -> None:
    stage = page.locator(".st-key-strip_embeddings").get_by_role("link").filter(has_text="attention").first
    assert entries_of(page, stage.click, saying("/attention", without=("embeddings_",))) == 1
    assert comes(page, lambda: place(page) == ("attention", {"layer": "2"}))
    go_back(page, "/embeddings", "embeddings_view=product", "layer=2")
    expect(view(page, view_label("product"))).to_have_attribute("aria-checked", "true")


def from_another_page_by_the_menu_which_takes_the_settings_along(page: Page) -> None:
    type_prompt(page, CAT)
    page.wait_for_url(saying("prompt="))
    settle(page)

    def open_by_menu(name: str) -> None:
        row = page.get_by_role("navigation", name=WORDS.label("navigation_name"))
        row.get_by_role("button", name=WORDS.label("page_lessons")).click()
        row.get_by_role("link", name=WORDS.label(f"lesson_{name}"), exact=True).click()

    shared = {"prompt": CAT, "layer": "2"}
    assert entries_of(page, lambda: open_by_menu("tokens"), saying("/tokens", "prompt=")) == 1
    assert comes(page, lambda: place(page) == ("tokens", shared))
    # back again by the menu: with the view that it was left with
    assert entries_of(page, lambda: open_by_menu("embeddings"), saying("/embeddings", "embeddings_view=product")) == 1
    go_back(page, "/tokens")
    expect(page.locator(".st-key-tokens_bar")).to_be_visible()
    assert comes(page, lambda: place(page) == ("tokens", shared))
    go_back(page, "/embeddings")
    expect(view(page, view_label("product"))).to_have_attribute("aria-checked", "true")
    expect(prompt(page)).to_have_value(CAT)


# ---- a class ---------------------------------------------------------------------------------------------------------

def assert_at_step(page: Page, number: int, prompts: dict[int, str], revealed: bool = False) -> None:
    """Page, bar, prompt and cover are those of a step of the class."""
    plan = class_plan.plans()[class_plan.USUAL]
    step = plan.steps[number - 1]
    expect(page.locator(".st-key-class_bar")).to_contain_text(f"{number} / {len(plan.steps)}")
    expect(page.locator(".question .ask")).to_have_count(0 if revealed else 1)
    path, parameters = place(page)
    assert (path or catalogue.HOME, parameters["class"]) == (step.lesson, str(number))
    assert parameters.get("class_revealed") == (str(number) if revealed else None)
    expect(prompt(page)).to_have_value(prompts.setdefault(number, prompt(page).input_value()))
    assert all(key.startswith(f"{step.lesson}_") for key in parameters if re.match("|".join(
        f"{lesson}_" for lesson in catalogue.pages()), key)), parameters


def test_a_step_of_a_class_is_one_deed_and_its_picture_another_and_back_leads_to_the_whole_step_before(open_page):
    page, prompts = open_page("?present=true&class=1"), {}
    assert_at_step(page, 1, prompts)
    back_after_a_hasty_hand_finds_whole_steps(page, prompts)
    places = [(1, False)]
    for number, revealed in [(1, True), (2, False), (2, True), (3, False), (4, False)]:
        key = "ArrowRight" if len(places) < 4 else str(number)
        made = entries_of(page, lambda: page.locator("body").press(key), at_step(number, revealed))
        assert made == 1, (number, revealed)
        assert_at_step(page, number, prompts, revealed)
        places.append((number, revealed))
    length = entries(page)
    for way, on_it in ((page.go_back, places[-2::-1]), (page.go_forward, places[1:])):
        for number, revealed in on_it:
            way()
            page.wait_for_url(at_step(number, revealed))
            settle(page)
            assert_at_step(page, number, prompts, revealed)
    assert entries(page) == length


def back_after_a_hasty_hand_finds_whole_steps(page: Page, prompts: dict[int, str]) -> None:
    address = page.url
    for _ in range(3):
        page.locator("body").press("ArrowRight")
    page.wait_for_url(lambda url: url != address)
    settle(page)
    for _ in range(at(page)):
        page.go_back()
        settle(page)
        parameters = place(page)[1]
        assert_at_step(page, int(parameters.get("class", 0)), prompts, "class_revealed" in parameters)
    assert at_step(1, revealed=False)(page.url)


def at_step(number: int, revealed: bool) -> Callable[[str], bool]:
    """Whether an address is that of a step of the class, covered or not."""
    return (saying(f"class={number}", f"class_revealed={number}") if revealed
            else saying(f"class={number}", without=("class_revealed",)))


# ---- links -----------------------------------------------------------------------------------------------------------

def test_a_link_that_says_defaults_makes_no_entry_and_loses_them(open_page):
    link = urllib.parse.urlencode({"prompt": prompts.default_prompt(), "model": "stories", "embeddings_view": "product",
                                   "embeddings_measure": "cosine", "unknown": "1"})
    page = open_page(f"embeddings?{link}")
    its_defaults_are_gone(page)
    address, missed = f"{page.url.partition('?')[0]}?{link}", []
    page.goto("about:blank")
    page.route("**/page/page.js", lambda route: (missed.append(route.request.url), route.abort()))
    page.goto(address)          # before the helpers of the page come
    settle(page)
    page.unroute_all()
    assert missed
    its_defaults_are_gone(page)


def its_defaults_are_gone(page: Page) -> None:
    page.wait_for_url("**/embeddings?embeddings_view=product")
    assert entries(page) == 1
    expect(view(page, view_label("product"))).to_have_attribute("aria-checked", "true")
