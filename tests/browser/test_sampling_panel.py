"""The sampling panel in a real Chromium: it computes what core/model/sampling.py computes, answers while the hand
moves, and stays where it is.
"""
from __future__ import annotations

import json
import re

import numpy as np
import pytest

from core.components.sampling_panel import PanelSettings
from core.model.sampling import SamplingConfig, truncate
from tests.browser.serving import settle

FIND = """() => { const seek = (root) => { for (const node of root.querySelectorAll('*')) {
    if (node.classList.contains('sampling-panel')) return node;
    const found = node.shadowRoot && seek(node.shadowRoot); if (found) return found; } return null; };
    return seek(document); }"""


def panel_of(page):
    page.locator(".sampling-panel canvas").first.wait_for()
    page.wait_for_timeout(200)
    return page.evaluate_handle(FIND)


def state_of(panel) -> dict:
    """What the panel shows: its settings, its truncation's logits, and the words on it."""
    return panel.evaluate(
        """(root) => { const { settings, truncations: [t] } = root.view; return { settings, ids: [...t.tokenIds],
            logits: [...t.logits],
        kept: t.nKept, mass: t.keptMass, headline: root.querySelector('.headline').textContent,
            drawn: root.querySelector('.drawn').textContent }; }""")


def test_the_panel_shows_what_python_computes_of_the_same_logits(open_page):
    page = open_page("next_token?next_token_panel=T0.8_k100_p0.9_m0.001_x0.35_s1")
    shown = state_of(panel_of(page))
    logits = np.empty(len(shown["ids"]))
    logits[shown["ids"]] = shown["logits"]
    expected = truncate(logits, SamplingConfig(temperature=0.8, top_k=100, top_p=0.9, min_p=0.001))
    assert shown["ids"] == expected.token_ids.tolist()
    assert (shown["kept"], shown["mass"]) == (expected.n_kept, pytest.approx(expected.kept_mass, abs=1e-9))
    assert f"{expected.n_kept:,}" in shown["headline"]
    table = page.locator(".sampling-panel .numbers tbody tr")
    assert float(table.nth(1).locator("td").nth(1).text_content()) == pytest.approx(expected.entropy_after, abs=6e-4)
    assert not page.errors


def test_everything_answers_while_the_hand_moves_and_the_page_follows_when_it_lets_go(open_page):
    page = open_page("next_token")
    panel = panel_of(page)
    panel.evaluate("(root) => { root.mine = true; }")
    before, twin, address = state_of(panel), page.locator(".st-key-lesson_code").text_content(), page.url
    canvas = page.locator(".sampling-panel .figure canvas")
    picture, box = canvas.screenshot(), canvas.bounding_box()
    grip = panel.evaluate("(root) => root.view.picture.grips.top_p")
    x, y = box["x"] + (grip["left"] + grip["right"]) / 2, box["y"] + (grip["top"] + grip["bottom"]) / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x, y + 30, steps=5)
    page.wait_for_timeout(100)
    during = state_of(panel)
    assert (during["settings"]["top_p"] < before["settings"]["top_p"] and during["kept"] < before["kept"]
            and during["headline"] != before["headline"])
    assert during["settings"]["xi"] == before["settings"]["xi"], "the dice stay frozen"
    assert canvas.screenshot() != picture
    assert page.url == address, "Python hears nothing before the hand lets go"
    page.mouse.up()
    page.wait_for_function("(old) => location.href !== old", arg=address)
    settle(page)
    assert page.locator(".st-key-lesson_code").text_content() != twin
    assert f"p{during['settings']['top_p']}" in page.url
    assert panel.evaluate("(root) => root.isConnected && root.mine"), "the panel was mounted anew"
    assert state_of(panel)["settings"] == during["settings"]
    assert not page.errors


def test_the_keyboard_reaches_every_setting(open_page):
    page = open_page("next_token?next_token_panel=T1_k40_p0.9_x0.6_s1")
    panel = panel_of(page)
    for label, key, name in (("Temperature", "ArrowRight", "temperature"), ("Top-k", "ArrowLeft", "top_k"),
                             ("Top-p", "ArrowLeft", "top_p"), ("Min-p", "ArrowRight", "min_p"),
                             ("Typical", "ArrowLeft", "typical_p"), ("Draw", "ArrowRight", "xi")):
        before = state_of(panel)["settings"][name]
        page.locator(".sampling-panel").get_by_label(re.compile(label)).first.focus()
        page.keyboard.press(key)
        settle(page)
        assert state_of(panel)["settings"][name] != before, label
    page.locator(".sampling-panel").get_by_label(re.compile("Temperature")).first.focus()
    page.keyboard.press("Home")
    settle(page)
    assert state_of(panel)["settings"]["temperature"] == 0 and state_of(panel)["kept"] == 1


def test_a_copied_link_shows_the_same_panel(open_page):
    page = open_page("next_token")
    panel = panel_of(page)
    page.get_by_role("button", name="Typical", exact=True).click()
    page.get_by_role("button", name="1,000 draws").click()
    page.get_by_role("button", name="Pin as A").click()
    page.wait_for_url("**_draws_A~t0.9")
    first = state_of(panel)
    copied = state_of(panel_of(open_page(page.url.split("/")[-1])))
    assert copied == first
    assert first["settings"]["pinned"]["typical_p"] == 0.9


def test_an_experiment_moves_a_panel_that_is_in_use(open_page):
    page = open_page("next_token")
    panel = panel_of(page)
    page.get_by_role("button", name="Random", exact=True).click()
    page.wait_for_url("**next_token_panel=x0.6_s1")
    page.locator(".st-key-do_next_token_greedy button").click()
    page.wait_for_url("**next_token_panel=k1_x0.6_s1")
    settle(page)
    assert state_of(panel)["settings"]["top_k"] == 1
    # the very settings of before: Python must hear them again
    page.get_by_role("button", name="Random", exact=True).click()
    page.wait_for_url("**next_token_panel=x0.6_s1")
    assert PanelSettings.from_browser(state_of(panel)["settings"]).config == SamplingConfig()


def test_a_candidate_that_is_clicked_continues_the_prompt(open_page):
    page = open_page("next_token?prompt=Once%20upon%20a")
    panel = panel_of(page)
    first = panel.evaluate("(root) => root.view.tokens[root.view.truncations[0].tokenIds[0]]")
    page.locator(".sampling-panel .candidate").first.click()
    page.wait_for_function("() => document.querySelector('.st-key-prompt textarea').value !== 'Once upon a'")
    assert page.locator(".st-key-prompt textarea").input_value() == "Once upon a" + first.replace("·", " ")


def test_a_token_found_by_name_is_marked_and_explained(open_page):
    page = open_page("next_token")
    panel = panel_of(page)
    token = panel.evaluate("(root) => root.view.tokens[root.view.truncations[0].tokenIds[60]]")
    page.locator(".sampling-panel .find").fill(token.replace("·", " "))
    page.wait_for_timeout(100)
    assert token in page.locator(".sampling-panel .found").text_content()
    page.keyboard.press("Tab")
    page.wait_for_function("() => location.search.includes('target=')")
    settle(page)
    assert token in page.locator(".st-key-lesson_numbers").text_content()


@pytest.mark.parametrize("dark", [False, True])
def test_nothing_is_cut_off_on_a_phone(open_page, dark):
    page = open_page("next_token", width=390, height=844, dark=dark)
    panel_of(page)
    assert page.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth") <= 390
    over = page.evaluate(f"() => {{ const root = ({FIND})(); return [...root.querySelectorAll('*')].filter((e) => "
                         "e.checkVisibility() && !e.closest('.twin, .candidates')"
                         " && e.getBoundingClientRect().right > 391).map((e) => e.className); }")
    assert over == []
    assert not page.errors, json.dumps(page.errors)


def test_the_picture_is_saved(open_page):
    page = open_page("next_token")
    panel_of(page)
    with page.expect_download() as download:
        page.get_by_role("button", name="PNG", exact=True).click()
    with open(download.value.path(), "rb") as file:
        head = file.read(24)
    width = page.locator(".sampling-panel .figure canvas").evaluate("(canvas) => canvas.width")
    assert head[:8] == b"\x89PNG\r\n\x1a\n" and int.from_bytes(head[16:20], "big") >= width
