"""The lesson "Language models" in a real Chromium: sentences are typed and picked, the game is played with the
keyboard, the coder is walked, and nothing is HTML.
"""
from __future__ import annotations

import re
from urllib.parse import quote, urlencode

from playwright.sync_api import Page, expect

from core.base import prose
from tests.browser.serving import Server, go_to, settle
from tests.browser.views import LESSONS, address, opened, reach, stand

WORDS = prose.load("language_models")


def go(page: Page, server: Server, name: str, query: str = "") -> None:
    """To a view of the lesson by its address, its picture standing, once the hand's last deed is answered."""
    settle(page)
    view = LESSONS["language_models"][name]
    settings = urlencode(address("language_models", name))
    go_to(page, f"{server.url}/language_models?{settings}{query}")
    settle(page)
    stand(page, view)


def test_sentences_letters_digits_and_answers_are_in_the_readers_hand(open_page, server):
    page = opened(open_page, "language_models", "sentences")
    sentences_are_typed_and_one_is_picked(page)
    go(page, server, "guess")
    the_game_is_played_with_keys_and_the_link_keeps_it(page, server)
    go(page, server, "compress", "&prompt=" + quote("The cat sat on the mat") + "&language_models_coded=0")
    the_coder_is_walked_and_its_bits_only_grow(page)
    go(page, server, "tasks, written")
    a_token_of_the_answer_opens_its_own_distribution(page)
    go(page, server, "table")
    the_sliders_of_the_table_and_the_five_words_answer_at_once(page)
    assert page.errors == []


def sentences_are_typed_and_one_is_picked(page: Page) -> None:
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


def the_game_is_played_with_keys_and_the_link_keeps_it(page: Page, server: Server) -> None:
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
    tiles, link = page.locator(".tiles").inner_html(), page.url
    go(page, server, "guess")
    expect(page.locator(".tile .yours")).to_have_count(0)
    go_to(page, link)
    expect(page.locator(".tile .yours")).to_have_text(["2", "1"])
    settle(page)
    assert page.locator(".tiles").inner_html() == tiles
    restart = page.get_by_role("button", name=WORDS.label("game_restart"))
    restart.press("Enter")
    expect(page.locator(".tile .yours")).to_have_count(0)
    expect(restart).to_be_focused()         # though there is nothing to begin anew
    expect(restart).to_be_disabled()
    page.wait_for_url(lambda url: "guesses=" not in url)


def the_coder_is_walked_and_its_bits_only_grow(page: Page) -> None:
    settled = []
    for _ in range(3):
        settled.append(int(re.match(r"(\d+) of", page.locator(".digits").text_content())[1]))
        page.get_by_role("button", name=WORDS.label("coder_on")).click()
    assert settled == sorted(settled) and settled[0] > 0
    page.wait_for_url(re.compile("language_models_coded=3"))
    expect(page.locator(".strip [aria-pressed=true]")).to_have_text("·on")


def a_token_of_the_answer_opens_its_own_distribution(page: Page) -> None:
    first = page.locator(".bars text").first
    expect(first).to_have_text("·Ch")
    expect(page.locator(".bars-title")).to_contain_text("A:)")
    page.locator(".answer-steps .step").nth(3).click()
    expect(first).to_have_text("·D")
    expect(page.locator(".bars-title")).to_contain_text("A: Charles)")
    page.wait_for_url(re.compile("language_models_answered=3"))


def the_sliders_of_the_table_and_the_five_words_answer_at_once(page: Page) -> None:
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


def test_html_stays_text(open_page):
    bad = quote("<img src=x onerror=alert(1)> <b>bold</b>")
    page = opened(open_page, "language_models", "sentences",
                  f"&prompt={bad}&language_models_sentences={bad}&language_models_a={bad}&language_models_passage=4"
                  f"&language_models_garbled={bad}&language_models_secret={bad}&language_models_own_sentiment={bad}")
    for view in ("sentences", "continuations", "guess", "compress", "correct", "decipher", "tasks"):
        reach(page, "language_models", view)
        expect(page.locator(".tokens-view img, .tokens-view b:not(.legend b)"), view).to_have_count(0)
    assert page.errors == []
