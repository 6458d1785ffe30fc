"""Architectures' live models, norms and activations in a real Chromium: words hide at a click, tokens step, curves
follow the hand in float64, links give the same picture.
"""
from __future__ import annotations

import re
from urllib.parse import urlsplit

import pytest
import torch
from playwright.sync_api import expect

from core.base import prose
from core.model import activation
from tests.browser.pictures import come_alike, starting
from tests.browser.serving import settle
from tests.browser.views import opened

WORDS = prose.load("architectures")


def test_a_click_hides_a_word_and_html_stays_text(open_page):
    page = opened(open_page, "architectures", "blank",
                  "&architectures_blank_text=The%20dog%20was%20[sad]%20%3Cb%3Ebold%3C/b%3E.")
    page.locator(".word", has_text="·dog").click()
    page.wait_for_url(re.compile("dog%5D|dog\\]"))
    settle(page)
    expect(page.locator(".word.hidden")).to_have_count(2)
    expect(page.locator(".word.picked")).to_contain_text("·dog")
    for side in ("encoder", "decoder"):
        expect(page.locator(f".side.{side} tr.true")).to_have_count(1)
    page.locator(".word.picked").click()
    page.locator(".word.hidden").nth(1).wait_for(state="detached")
    expect(page.locator(".architecture_blank .sentence b")).to_have_count(0)
    assert page.errors == []


def test_the_translation_steps_and_its_link_gives_the_same_picture(open_page):
    page = opened(open_page, "architectures", "translate")
    expect(page.locator(".written.later")).to_have_count(10)
    expect(page.locator(".verdict")).to_be_hidden()     # it would tell what is not written yet
    page.get_by_role("slider", name=WORDS.label("translate_step_slider")).press("ArrowRight")
    expect(page.locator(".written.later")).to_have_count(9)
    expect(page.locator(".count")).to_contain_text("2 of 11")
    page.locator(".heat").press("ArrowUp")
    expect(page.locator(".architecture_translate .title")).to_contain_text("·nineteen")
    page.locator(".pick", has_text=WORDS.label("translate_attention_decoder")).click()
    expect(page.locator(".heat .forbidden")).to_have_count(11 * 10 / 2)
    page.wait_for_url(re.compile("translate_attention=decoder"))
    page.wait_for_url(re.compile("translate_step=2"))
    settle(page)
    other = open_page("architectures?" + urlsplit(page.url).query)
    assert come_alike(page, other) and page.errors == []


def test_playing_writes_to_the_last_token(open_page):
    page = opened(open_page, "architectures", "translate",
                  "&architectures_translate_text=1066-10-14&architectures_translate_step=9")
    page.get_by_role("button", name=WORDS.label("translate_step_play"), exact=True).click()
    page.locator(".written.later").first.wait_for(state="detached")
    expect(page.locator(".verdict")).to_be_visible()
    expect(page.locator(".written.now")).to_have_text(starting("‹end›"))
    assert page.errors == []


@pytest.mark.parametrize("x, beta", [(-2.37, 1.0), (0.84, 12.6), (4.5, 0.1)])
def test_the_curves_in_the_browser_are_torchs(open_page, x, beta):
    page = opened(open_page, "architectures", "activations",
                  f"&architectures_activations_x={x}&architectures_activations_beta={beta}")
    at = torch.tensor(x, dtype=torch.float64)
    rows = page.locator(".readings tbody tr")
    for k, name in enumerate(("relu", "gelu", "gelu_tanh", "swish")):
        value = activation.swish(at, beta) if name == "swish" else activation.activate(name, at)
        shown = [float(cell.replace("−", "-")) for cell in rows.nth(k).locator("td").all_text_contents()]
        assert (abs(shown[0] - float(value)) < 6e-5
                and abs(shown[1] - float(activation.slope(name, at, beta))) < 6e-5), name
    before = rows.nth(1).text_content()
    page.get_by_role("slider", name=WORDS.label("activations_slider_x")).press("ArrowLeft")
    expect(rows.nth(1)).not_to_have_text(before)
    assert page.errors == []
