"""The lesson "Language models" in a real Chromium: sentences are typed and picked, the game is played with the
keyboard, the coder is walked, and nothing is HTML.
"""
from __future__ import annotations

import re
from urllib.parse import quote, urlsplit

from playwright.sync_api import expect

from core.app.base import prose
from tests.browser.serving import settle
from tests.browser.views import opened, reach

WORDS = prose.load("language_models")


def test_sentences_are_typed_and_one_is_picked(open_page):
    page = opened(open_page, "language_models", "sentences")
    expect(page.locator(".sentences-list .row")).to_have_count(3)
    expect(page.locator(".sentences-list .row.picked .name")).to_have_text("the mouse ate the cheese")
    field = page.get_by_role("textbox", name=WORDS.label("sentences"))
    field.fill("the dog ran home\nhome the ran dog")
    field.press("Control+Enter")
    page.wait_for_url(re.compile("language_models_sentences="))
    settle(page)
    sentence = page.get_by_role("button", name="home the ran dog")
    sentence.press("Enter")
    page.wait_for_url(re.compile("language_models_row=1"))
    settle(page)
    expect(sentence).to_be_focused()       # the rows are built anew
    expect(page.locator(".sentences-list .row")).to_have_count(2)
    expect(page.locator(".sentences-list .row.picked .name")).to_have_text("home the ran dog")
    assert page.errors == []


def test_the_game_is_played_with_keys_and_the_link_keeps_it(open_page):
    page = opened(open_page, "language_models", "guess")
    key = page.locator(".keys").get_by_role("button", name="q", exact=True)
    key.click()
    expect(page.locator(".keys .wrong")).to_have_text("q")
    expect(page.locator(".tile.cursor text")).to_have_count(0)
    page.keyboard.press("l")
    page.wait_for_url(re.compile("language_models_guesses=2"))
    page.keyboard.press("a")
    page.wait_for_url(re.compile("language_models_guesses=2-1"))
    settle(page)
    expect(page.locator(".tile .yours")).to_have_text(["2", "1"])
    expect(page.locator(".game tbody td").first).to_have_text("1.50")
    other = open_page("language_models?" + urlsplit(page.url).query)
    other.locator(".tiles .tile").first.wait_for()
    assert other.locator(".tiles").inner_html() == page.locator(".tiles").inner_html() and page.errors == []
    restart = page.get_by_role("button", name=WORDS.label("game_restart"))
    restart.press("Enter")
    expect(page.locator(".tile .yours")).to_have_count(0)
    expect(restart).to_be_focused()         # though there is nothing to begin anew
    expect(restart).to_be_disabled()


def test_the_coder_is_walked_and_its_bits_only_grow(open_page):
    page = opened(open_page, "language_models", "compress",
                  "&prompt=" + quote("The cat sat on the mat") + "&language_models_coded=0")
    settled = []
    for _ in range(3):
        settled.append(int(re.match(r"(\d+) of", page.locator(".digits").text_content())[1]))
        page.get_by_role("button", name=WORDS.label("coder_on")).click()
    assert settled == sorted(settled) and settled[0] > 0
    page.wait_for_url(re.compile("language_models_coded=3"))
    expect(page.locator(".strip [aria-pressed=true]")).to_have_text("·on")
    assert page.errors == []


def test_html_stays_text(open_page):
    bad = quote("<img src=x onerror=alert(1)> <b>bold</b>")
    page = opened(open_page, "language_models", "sentences",
                  f"&prompt={bad}&language_models_sentences={bad}&language_models_a={bad}&language_models_passage=4"
                  f"&language_models_garbled={bad}&language_models_secret={bad}&language_models_own_sentiment={bad}")
    for view in ("sentences", "continuations", "guess", "compress", "correct", "decipher", "tasks"):
        reach(page, "language_models", view)
        expect(page.locator(".tokens-view img, .tokens-view b:not(.legend b)"), view).to_have_count(0)
    assert page.errors == []


def test_a_token_of_the_answer_opens_its_own_distribution(open_page):
    page = opened(open_page, "language_models", "tasks, written")
    first = page.locator(".bars text").first
    expect(first).to_have_text("·Ch")
    expect(page.locator(".bars-title")).to_contain_text("A:)")
    page.locator(".answer-steps .step").nth(3).click()
    expect(first).to_have_text("·D")
    expect(page.locator(".bars-title")).to_contain_text("A: Charles)")
    page.wait_for_url(re.compile("language_models_answered=3"))
    assert page.errors == []


def test_the_sliders_of_the_table_and_the_five_words_answer_at_once(open_page):
    page = opened(open_page, "language_models", "table")
    expect(page.locator(".st-key-lesson_numbers annotation").first).to_contain_text("2^{32{,}784}")
    page.get_by_role("slider", name=WORDS.label("table_t"), exact=True).press("Home")
    expect(page.locator(".lm_table .title").first).to_contain_text("has 65,536 entries.")
    page.wait_for_url(re.compile("table_t=0"))
    reach(page, "language_models", "toy")
    entry = page.get_by_role("button", name=re.compile(r"^p\(ate \| mouse\)"))
    entry.click()
    page.get_by_role("slider", name="p(ate | mouse)").press("End")
    expect(entry).to_have_text("0.99")
    expect(page.locator(".sentence").first).to_contain_text("0.0396")
    page.wait_for_url(re.compile("toy_p=0.99"))
    assert page.errors == []
