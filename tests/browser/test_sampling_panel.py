"""The sampling panel in a real Chromium: it computes what core/model/sampling.py computes, answers while the hand
moves, and stays where it is.
"""
from __future__ import annotations

import json
import re
import urllib.parse

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from core.app.compute import cache
from core.app.state import prompts
from core.app.state.run import Run, read
from core.components.sampling_panel import PanelSettings
from core.model.sampling import SamplingConfig, draw, truncate
from tests.browser.pictures import comes, starting
from tests.browser.serving import go_to, rest, settle, try_menu
from tests.helpers.messages import value_of

FIND = """() => { const seek = (root) => { for (const node of root.querySelectorAll('*')) {
    if (node.classList.contains('sampling-panel')) return node;
    const found = node.shadowRoot && seek(node.shadowRoot); if (found) return found; } return null; };
    return seek(document); }"""


WHOLE = "next_token_panel=k40_p0.9_x0.6_s1_all"      # the address of the whole panel
LONG = "next_token_panel=T0.4_k40_x0.6_s1_all"       # so sharp that small numbers have many digits
RULES = ("temperature", "top_k", "top_p", "min_p", "typical_p")


def panel_of(page):
    page.locator(".sampling-panel canvas").first.wait_for()
    rest(page)
    return page.evaluate_handle(FIND)


def shown(page: Page) -> dict:
    """The panel's state: the settings by name, the tokens in its list and in its table, the headline, the draw."""
    panel = page.locator(".sampling-panel")
    *rules, mass, xi = panel.locator(".controls output.value").all_text_contents()
    return {"settings": dict(zip(RULES, rules, strict=True)) | {"xi": xi}, "mass": mass,
            "candidates": panel.locator(".candidate .token").all_text_contents(),
            "kept": int(panel.locator(".numbers tbody td.strong").first.inner_text().replace(",", "")),
            "headline": panel.locator(".headline").inner_text(), "drawn": panel.locator(".drawn").inner_text()}


def settings_in(url: str) -> PanelSettings:
    """The panel's settings as the address says them."""
    return PanelSettings.from_link(urllib.parse.parse_qs(urllib.parse.urlsplit(url).query)["next_token_panel"][0])


def present_run() -> Run:
    return read(cache.shared_model(cache.model_names()[0], "cpu"), prompts.default_prompt())


def test_the_panel_shows_what_python_computes_of_the_same_logits(open_page):
    page = open_page("next_token?next_token_panel=T0.8_k100_p0.9_m0.001_x0.35_s1")
    panel_of(page)
    panel, run = shown(page), present_run()
    expected = truncate(run.logits(), SamplingConfig(temperature=0.8, top_k=100, top_p=0.9, min_p=0.001))
    tokens = [run.tokenizer.visible(token_id) for token_id in expected.token_ids.tolist()]
    assert panel["candidates"] == [token if len(token) <= 14 else token[:13] + "…" for token in tokens[:40]]
    assert panel["kept"] == expected.n_kept and f"{expected.n_kept:,}" in panel["headline"]
    assert panel["drawn"] == tokens[draw(expected, 0.35)]
    after = [value_of(row.locator("td.strong").inner_text())
             for row in page.locator(".sampling-panel .numbers tbody tr").all()]
    assert after[1] == pytest.approx(expected.entropy_after, abs=6e-4)
    assert after[3] == pytest.approx(expected.kept_mass, abs=6e-4)
    assert not page.errors


def grip_of_p(page: Page, box: dict) -> tuple[float, float]:
    """The point where the hand grasps the line of p, right of the curve: the cursor tells."""
    x, canvas = box["x"] + box["width"] - 70, page.locator(".sampling-panel .figure canvas")
    for y in range(20, 300, 3):
        page.mouse.move(x, box["y"] + y)
        if canvas.evaluate("(canvas) => canvas.style.cursor") == "ns-resize":
            return x, box["y"] + y + 6
    pytest.fail("The line of p has no grip.")


def go_there(page: Page, query: str) -> None:
    """To the lesson with other settings, until the panel stands."""
    go_to(page, f"{page.url.partition('?')[0]}?{query}")
    settle(page)
    page.locator(".sampling-panel").first.wait_for()
    rest(page)


def test_the_whole_panel_answers_the_hand_keeps_its_numbers_apart_and_is_saved(open_page):
    page = open_page(f"next_token?{LONG}", width=1440)
    panel_of(page)
    the_two_probabilities_of_a_candidate_stand_apart(page)
    go_there(page, WHOLE)
    everything_answers_while_the_hand_moves_and_the_page_follows_when_it_lets_go(page)
    a_seed_that_is_typed_while_the_panel_draws_stays(page)
    a_token_found_by_name_is_marked_and_explained(page)
    the_picture_is_saved(page)
    go_there(page, f"present=true&{LONG}")
    expect(page.locator("[class*=st-key-try_menu_]")).to_have_count(0)
    the_two_probabilities_of_a_candidate_stand_apart(page)
    assert not page.errors


def everything_answers_while_the_hand_moves_and_the_page_follows_when_it_lets_go(page: Page) -> None:
    panel = panel_of(page)
    panel.evaluate("(root) => { root.mine = true; }")
    before, twin, address = shown(page), page.locator(".st-key-lesson_code").text_content(), page.url
    canvas = page.locator(".sampling-panel .figure canvas")
    picture, (x, y) = canvas.screenshot(), grip_of_p(page, canvas.bounding_box())
    page.mouse.down()
    page.mouse.move(x, y + 60, steps=5)      # the first token alone holds more than this p
    page.wait_for_function("([panel, said]) => panel.querySelector('.headline').innerText !== said",
                           arg=[panel, before["headline"]])
    during = shown(page)
    assert (float(during["settings"]["top_p"]) < float(before["settings"]["top_p"]) and during["kept"] < before["kept"]
            and during["headline"] != before["headline"])
    assert during["settings"]["xi"] == before["settings"]["xi"], "the dice stay frozen"
    assert canvas.screenshot() != picture
    assert page.url == address, "Python hears nothing before the hand lets go"
    page.mouse.up()
    page.wait_for_function("(old) => location.href !== old", arg=address)
    settle(page)
    expect(page.locator(".st-key-lesson_code")).not_to_have_text(twin)
    assert settings_in(page.url).config.top_p == float(during["settings"]["top_p"])
    assert panel.evaluate("(root) => root.isConnected && root.mine"), "the panel was mounted anew"
    assert shown(page)["settings"] == during["settings"]


def test_the_keyboard_reaches_every_setting_and_an_experiment_moves_a_panel_that_is_in_use(open_page):
    page = open_page(f"next_token?{WHOLE}")
    panel_of(page)
    the_keyboard_reaches_every_setting(page)
    go_there(page, WHOLE)
    an_experiment_moves_a_panel_that_is_in_use(page)
    assert not page.errors


def the_keyboard_reaches_every_setting(page: Page) -> None:
    for label, key, name in (("Temperature", "ArrowRight", "temperature"), ("Top-k", "ArrowLeft", "top_k"),
                             ("Top-p", "ArrowLeft", "top_p"), ("Min-p", "ArrowRight", "min_p"),
                             ("Typical", "ArrowLeft", "typical_p"), ("Draw", "ArrowRight", "xi")):
        before = shown(page)["settings"][name]
        page.locator(".sampling-panel .controls").get_by_label(re.compile(label)).first.focus()
        page.keyboard.press(key)
        settle(page)
        assert comes(page, lambda name=name, before=before: shown(page)["settings"][name] != before), label
    page.locator(".sampling-panel .controls").get_by_label(re.compile("Temperature")).first.focus()
    page.keyboard.press("Home")
    page.wait_for_url("**next_token_panel=T0_*")
    assert comes(page, lambda: shown(page)["kept"] == 1)


def test_a_copied_link_shows_the_same_panel(open_page):
    page = open_page(f"next_token?{WHOLE}")
    panel_of(page)
    page.get_by_role("button", name="Typical", exact=True).click()
    page.get_by_label("Seed", exact=True).fill("7")      # also shows the draws
    page.get_by_role("button", name="Keep as A").click()
    page.wait_for_url("**_s7_draws_all_A~t0.9")
    first, copied = shown(page), open_page(page.url.split("/")[-1])
    panel_of(copied)
    assert shown(copied) == first
    assert settings_in(page.url).pinned.typical_p == 0.9


def a_seed_that_is_typed_while_the_panel_draws_stays(page: Page) -> None:
    seed = page.get_by_label("Seed", exact=True)
    seed.focus()
    assert seed.evaluate("""(field) => new Promise((drawn) => {
        field.getRootNode().querySelector("button.method").click();
        field.value = "7";
        requestAnimationFrame(() => requestAnimationFrame(() => drawn(field.value)));
    })""") == "7"


def the_two_probabilities_of_a_candidate_stand_apart(page: Page) -> None:
    cells = page.locator(".sampling-panel .candidate :is(.y, .after)")
    assert any(len(said) > 7 for said in cells.all_text_contents())
    assert cells.evaluate_all("(cells) => cells.filter((c) => c.scrollWidth > c.clientWidth).length") == 0


def an_experiment_moves_a_panel_that_is_in_use(page: Page) -> None:
    page.get_by_role("button", name="Random", exact=True).click()
    page.wait_for_url("**next_token_panel=s1_all")
    try_menu(page).locator(".st-key-do_next_token_greedy button").click()
    page.wait_for_url("**next_token_panel=k1_s1")
    settle(page)
    assert comes(page, lambda: shown(page)["settings"]["top_k"] == "1" and shown(page)["kept"] == 1)
    # the very settings of before: Python must hear them again
    page.get_by_role("button", name="Top-p", exact=True).click()
    page.wait_for_url("**next_token_panel=p0.9_s1_all")
    assert settings_in(page.url).config == SamplingConfig(top_p=0.9) and comes(page, lambda: shown(page)["kept"] > 1)


def test_a_candidate_that_is_clicked_and_a_bar_that_is_pressed_continue_the_prompt(open_page):
    page = open_page(f"next_token?prompt=Once%20upon%20a&{WHOLE}")
    panel_of(page)
    a_candidate_that_is_clicked_continues_the_prompt(page)
    settle(page)
    go_there(page, "prompt=Once%20upon%20a")
    expect(page.locator(".st-key-prompt textarea")).to_have_value("Once upon a")
    a_bar_that_is_pressed_continues_the_prompt(page)
    assert not page.errors


def a_candidate_that_is_clicked_continues_the_prompt(page: Page) -> None:
    first = shown(page)["candidates"][0]
    page.locator(".sampling-panel .candidate").first.click()
    page.wait_for_function("() => document.querySelector('.st-key-prompt textarea').value !== 'Once upon a'")
    expect(page.locator(".st-key-prompt textarea")).to_have_value("Once upon a" + first.replace("·", " "))


def a_bar_that_is_pressed_continues_the_prompt(page: Page) -> None:
    row = page.locator(".sampling-panel .brief-row").first
    row.wait_for()
    token = row.locator("text").first.text_content()
    row.focus()
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.querySelector('.st-key-prompt textarea').value !== 'Once upon a'")
    expect(page.locator(".st-key-prompt textarea")).to_have_value("Once upon a" + token.replace("·", " "))


def a_token_found_by_name_is_marked_and_explained(page: Page) -> None:
    run = present_run()
    token = run.tokenizer.visible(int(np.argsort(-run.logits(), kind="stable")[60]))
    page.locator(".sampling-panel .find").fill(token.replace("·", " "))
    expect(page.locator(".sampling-panel .found")).to_contain_text(token)
    page.keyboard.press("Tab")
    page.wait_for_function("() => location.search.includes('target=')")
    settle(page)
    expect(page.locator(".st-key-lesson_numbers")).to_contain_text(token)


def test_nothing_is_cut_off_on_a_phone(open_page):
    page = open_page(f"next_token?{WHOLE}", width=390, height=844)
    panel_of(page)
    nothing_is_cut_off(page)
    page.emulate_media(color_scheme="dark")
    page.wait_for_function("getComputedStyle(document.querySelector('.stApp')).colorScheme === 'dark'")
    rest(page)
    nothing_is_cut_off(page)
    go_there(page, "")
    page.locator(".sampling-panel .brief-row").first.wait_for()
    nothing_is_cut_off(page)
    assert not page.errors, json.dumps(page.errors)


def nothing_is_cut_off(page: Page) -> None:
    assert page.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth") <= 390
    over = page.evaluate(f"() => {{ const root = ({FIND})(); return [...root.querySelectorAll('*')].filter((e) => "
                         "e.checkVisibility() && !e.closest('.twin, .candidates')"
                         " && e.getBoundingClientRect().right > 391).map((e) => e.className); }")
    assert over == []


def the_picture_is_saved(page: Page) -> None:
    with page.expect_download() as download:
        page.get_by_role("button", name="PNG", exact=True).click()
    with open(download.value.path(), "rb") as file:
        head = file.read(24)
    width = page.locator(".sampling-panel .figure canvas").evaluate("(canvas) => canvas.width")
    assert head[:8] == b"\x89PNG\r\n\x1a\n" and int.from_bytes(head[16:20], "big") >= width


def test_temperature_and_ten_bars_come_first_and_one_switch_opens_the_rest(open_page):
    page = open_page("next_token")
    panel, run = page.locator(".sampling-panel"), present_run()
    rows = panel.locator(".brief-row")
    rows.nth(10).wait_for()
    settle(page)
    y = truncate(run.logits(), SamplingConfig()).probs
    percents = [float(row.locator("text").nth(1).text_content().removesuffix("\u00a0%")) for row in rows.all()]
    assert percents == pytest.approx([*(100 * y[:10]), 100 * (1 - y[:10].sum())], abs=0.05 + 1e-9)
    count = int((y.cumsum() < 0.9).sum()) + 1
    said = starting(f"{count:,} of {len(y):,} ")
    expect(panel.locator(".headline")).to_have_text(said, use_inner_text=True)
    panel.get_by_role("slider", name="Temperature", exact=True).focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_url("**next_token_panel=T*")
    panel.locator(".all-cuts").click()
    page.wait_for_url("**_all")
    panel_of(page)
    expect(panel.locator(".figure canvas")).to_be_visible()
    expect(rows.first).not_to_be_visible()
    page.get_by_role("button", name="Top-p", exact=True).click()
    page.wait_for_url("**_p0.9_*")
    panel.locator(".all-cuts").click()
    page.wait_for_function("() => !location.search.includes('p0.9')")
    expect(rows.first).to_be_visible()
    assert settings_in(page.url).is_brief and not page.errors
