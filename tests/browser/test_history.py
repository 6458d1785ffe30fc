"""Back and forward in a real Chromium: they lead through views, prompts and settings as through pages. One deed of the
reader is one entry of the browser's history, and a parameter that an entry does not have is at its default.
"""
from __future__ import annotations

import re
import urllib.parse
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from core.app.base import catalogue, prose
from core.app.frame import class_plan
from core.app.state import prompts
from tests.browser.pictures import comes
from tests.browser.serving import Server, pick, prepare, settle, try_menu

CAT, DOG = "The cat sat on the", "A dog ran to the"
WORDS = prose.load("app")


@pytest.fixture
def visit(browser: Browser, server: Server) -> Iterator[Callable[..., Page]]:
    """visit("heads?layer=2") -> a settled page of a new reader in a window of its own: the history of a tab that others
    have used may be full. without: the addresses of files that never come.
    """
    contexts = []

    def open_(path: str, without: str = "") -> Page:
        contexts.append(browser.new_context(bypass_csp=True, viewport={"width": 1280, "height": 900}))
        prepare(contexts[-1])
        page = contexts[-1].new_page()
        if without:
            page.route(without, lambda route: route.abort())
        page.goto(f"{server.url}/{path}")
        settle(page)
        return page

    yield open_
    for context in contexts:
        context.close()


def place(page: Page) -> tuple[str, dict[str, str]]:
    """The page and the parameters of the address."""
    parts = urllib.parse.urlsplit(page.url)
    return parts.path.strip("/"), dict(urllib.parse.parse_qsl(parts.query, keep_blank_values=True))


def entries(page: Page) -> int:
    return page.evaluate("history.length")


def entries_of(page: Page, deed: Callable[[], object], address: Callable[[str], bool]) -> int:
    """How many entries a deed makes that leads to an address."""
    before = entries(page)
    deed()
    page.wait_for_url(address)
    settle(page)
    return entries(page) - before


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

def test_back_leads_through_the_views_to_the_default_of_a_bare_address(visit):
    page = visit("embeddings")
    first = page.locator(".st-key-embeddings_bar [role=radio][aria-checked=true]").inner_text()
    for name in ("contexts", "map"):
        assert entries_of(page, view(page, view_label(name)).click, saying(f"embeddings_view={name}")) == 1
    length = entries(page)
    go_back(page, "embeddings_view=contexts")
    expect(view(page, view_label("contexts"))).to_have_attribute("aria-checked", "true")
    go_back(page, without=("embeddings_view",))
    expect(view(page, first)).to_have_attribute("aria-checked", "true")
    assert comes(page, lambda: place(page) == ("embeddings", {}))
    for name in ("contexts", "map"):
        go_back(page, f"embeddings_view={name}", forward=True)
        expect(view(page, view_label(name))).to_have_attribute("aria-checked", "true")
    assert entries(page) == length, "the way forward was cut off"


def test_back_leads_through_the_prompts(visit):
    page = visit("embeddings")
    for text in (CAT, DOG):
        assert entries_of(page, lambda text=text: type_prompt(page, text), saying(text.replace(" ", "+"))) == 1
    go_back(page, CAT.replace(" ", "+"))
    expect(prompt(page)).to_have_value(CAT)
    go_back(page, without=("prompt",))
    expect(prompt(page)).to_have_value(prompts.default_prompt())
    go_back(page, CAT.replace(" ", "+"), forward=True)
    expect(prompt(page)).to_have_value(CAT)


def test_back_leads_from_another_model_to_the_one_before(visit):
    page = visit("tokens")
    page.locator(".st-key-model_drawer button").click()
    picker = page.locator("[class*=st-key-model_picked_]").get_by_role("combobox")
    picker.click()
    option = page.get_by_role("option", name="stories-small", exact=True)
    assert entries_of(page, option.click, saying("model=stories-small")) == 1
    go_back(page, without=("model=",))
    expect(page.locator(".st-key-model_drawer button")).not_to_contain_text("stories-small")
    go_back(page, "model=stories-small", forward=True)
    expect(page.locator(".st-key-model_drawer button")).to_contain_text("stories-small")


def test_back_leads_out_of_present_mode_and_in_again(visit):
    page = visit("embeddings?embeddings_view=map")
    toggle = page.locator(".st-key-present [role=switch], .st-key-present input")
    assert entries_of(page, page.locator(".st-key-present label").first.click, saying("present=true")) == 1
    go_back(page, "embeddings_view=map", without=("present",))
    expect(toggle).not_to_be_checked()
    go_back(page, "present=true", forward=True)
    expect(toggle).to_be_checked()


def test_back_leads_from_a_picked_position_to_none(visit):
    page = visit("residual_stream?residual_stream_view=contributions")
    picked = page.locator("[class*=residual_stream_pick_position]")
    shown = picked.get_by_role("combobox")
    last = shown.input_value()
    assert entries_of(page, lambda: pick(picked, "3 "), saying("position=3")) == 1
    expect(shown).not_to_have_value(last)
    go_back(page, without=("position=",))
    expect(shown).to_have_value(last)


def test_a_key_that_is_held_and_a_slider_that_is_released_are_one_deed(visit):
    page = visit("next_token")
    panel = page.locator(".sampling-panel").get_by_label(re.compile("Temperature")).first
    panel.focus()

    def hold() -> None:
        for _ in range(6):
            page.keyboard.down("ArrowRight")
        page.keyboard.up("ArrowRight")

    assert entries_of(page, hold, saying("next_token_panel=T")) == 1
    box, address = panel.bounding_box(), page.url
    before = entries(page)
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.8, box["y"] + box["height"] / 2, steps=8)
    page.mouse.up()
    page.wait_for_url(lambda url: url != address)
    settle(page)
    assert entries(page) == before + 1
    value = panel.input_value()
    go_back(page, address)
    page.wait_for_function("([value, input]) => input.value !== value", arg=[value, panel.element_handle()])
    go_back(page, without=("next_token_panel",))
    assert comes(page, lambda: place(page) == ("next_token", {}))


def test_an_experiment_is_one_deed_whatever_it_sets(visit):
    page = visit("embeddings")
    experiment = next(e for e in prose.load("embeddings").experiments if len(e.settings) > 2)
    button = try_menu(page).locator(f".st-key-do_embeddings_{experiment.id} button")
    assert entries_of(page, button.click, saying("embeddings_")) == 1
    go_back(page, without=("embeddings_",))
    assert comes(page, lambda: place(page) == ("embeddings", {}))
    expect(prompt(page)).to_have_value(prompts.default_prompt())


# ---- pages -----------------------------------------------------------------------------------------------------------

def test_another_page_by_the_menu_is_one_deed_and_takes_its_settings_along(visit):
    page = visit("embeddings?embeddings_view=map")
    type_prompt(page, CAT)
    page.wait_for_url(saying("prompt="))
    settle(page)

    def open_by_menu(name: str) -> None:
        link = page.get_by_test_id("stTopNavDropdownLink").filter(has_text=WORDS.label(f"lesson_{name}"))
        page.get_by_test_id("stTopNavSection").filter(has_text=WORDS.label("section_input")).click()
        link.click()

    shared = {"prompt": CAT}
    assert entries_of(page, lambda: open_by_menu("tokens"), saying("/tokens", "prompt=")) == 1
    assert comes(page, lambda: place(page) == ("tokens", shared))
    # back again by the menu: with the view that it was left with
    assert entries_of(page, lambda: open_by_menu("embeddings"), saying("/embeddings", "embeddings_view=map")) == 1
    go_back(page, "/tokens")
    expect(page.locator(".st-key-tokens_bar")).to_be_visible()
    assert comes(page, lambda: place(page) == ("tokens", shared))
    go_back(page, "/embeddings")
    expect(view(page, view_label("map"))).to_have_attribute("aria-checked", "true")
    expect(prompt(page)).to_have_value(CAT)


def test_another_page_by_the_strip_is_one_deed(visit):
    page = visit("embeddings?embeddings_view=map&layer=2")
    stage = page.locator(".st-key-strip_embeddings").get_by_role("link").filter(has_text="attention").first
    assert entries_of(page, stage.click, saying("/attention", without=("embeddings_",))) == 1
    assert comes(page, lambda: place(page) == ("attention", {"layer": "2"}))
    go_back(page, "/embeddings", "embeddings_view=map", "layer=2")
    expect(view(page, view_label("map"))).to_have_attribute("aria-checked", "true")


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


def test_a_step_of_a_class_is_one_deed_and_its_picture_another_and_back_leads_to_the_whole_step_before(visit):
    page, prompts, places = visit("?present=true&class=1"), {}, [(1, False)]
    assert_at_step(page, 1, prompts)
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


def at_step(number: int, revealed: bool) -> Callable[[str], bool]:
    """Whether an address is that of a step of the class, covered or not."""
    return (saying(f"class={number}", f"class_revealed={number}") if revealed
            else saying(f"class={number}", without=("class_revealed",)))


def test_back_after_a_hasty_hand_finds_a_whole_step(visit):
    page, prompts = visit("?present=true&class=1"), {}
    for _ in range(3):
        page.locator("body").press("ArrowRight")
    page.wait_for_url(saying("class="))
    settle(page)
    for _ in range(entries(page) - 2):
        page.go_back()
        settle(page)
        parameters = place(page)[1]
        assert_at_step(page, int(parameters.get("class", 0)), prompts, "class_revealed" in parameters)


# ---- links -----------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("without", ["", "**/page/page.js"], ids=["whole", "before the helpers of the page"])
def test_a_link_that_says_defaults_makes_no_entry_and_loses_them(visit, without):
    link = urllib.parse.urlencode({"prompt": prompts.default_prompt(), "model": "stories", "embeddings_view": "map",
                                   "embeddings_measure": "cosine", "unknown": "1"})
    page = visit(f"embeddings?{link}", without)
    page.wait_for_url("**/embeddings?embeddings_view=map")
    assert entries(page) == 2      # the empty window is the first
    expect(view(page, view_label("map"))).to_have_attribute("aria-checked", "true")


def test_a_reload_keeps_the_state_and_back_still_leads_on(visit):
    page = visit("embeddings")
    assert entries_of(page, view(page, view_label("contexts")).click, saying("embeddings_view=contexts")) == 1
    assert entries_of(page, view(page, view_label("map")).click, saying("embeddings_view=map")) == 1
    page.reload()
    settle(page)
    expect(view(page, view_label("map"))).to_have_attribute("aria-checked", "true")
    go_back(page, "embeddings_view=contexts")
    expect(view(page, view_label("contexts"))).to_have_attribute("aria-checked", "true")
    go_back(page, without=("embeddings_view",))
    assert comes(page, lambda: place(page) == ("embeddings", {}))


def test_a_link_to_a_term_is_found_again_on_the_way_back(visit):
    page = visit("course?term=softmax")
    expect(page.locator(".term.named b")).to_have_text("softmax")
    sheets = prose.load("course").label("view_sheets")
    assert entries_of(page, page.locator(".st-key-course_bar").get_by_role("radio", name=sheets).click,
                      saying("course_view=sheets")) == 1
    go_back(page, "softmax")
    expect(page.locator(".term.named b")).to_have_text("softmax")
