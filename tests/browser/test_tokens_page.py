"""The lesson "Tokens" in a real Chromium: the merges step, play and scrub, a search answers while one types, links give
the same picture.
"""
from __future__ import annotations

import re
from urllib.parse import quote, urlsplit

from playwright.sync_api import expect

from core.app.base import prose
from tests.browser.serving import settle
from tests.browser.views import LESSONS, opened, reach

WORDS = prose.load("tokens")

def number_of(page) -> str:
    return page.locator(".token_merges .title").text_content()


def test_merges_step_with_buttons_and_keys_and_the_link_says_so(open_page):
    page = opened(open_page, "tokens", "merges", "&tokens_merged=0")
    assert "every byte is a token" in number_of(page)
    page.get_by_role("slider", name=WORDS.label("merges_slider")).press("ArrowRight")
    assert number_of(page).startswith("Merge 1 of")
    forward = page.get_by_role("button", name=WORDS.label("merges_forward"))
    forward.press("Enter")
    assert number_of(page).startswith("Merge 2 of")
    page.wait_for_url(re.compile("tokens_merged=2"))
    settle(page)
    expect(forward).to_be_focused()
    other = open_page("tokens?" + urlsplit(page.url).query)
    other.locator(".merge-tree rect").first.wait_for()
    assert other.locator(".merge-tree").inner_html() == page.locator(".merge-tree").inner_html()
    assert page.errors == []


def test_every_state_has_the_pieces_that_its_title_counts(open_page):
    page = opened(open_page, "tokens", "merges", "&tokens_merged=0")
    slider = page.get_by_role("slider", name=WORDS.label("merges_slider"))
    for _ in range(5):
        tokens = int(re.findall(r"(\d+)(?: of them| tokens are left)", number_of(page))[0])
        assert page.locator(".merge-tree .piece:not(.below)").count() == tokens
        slider.press("ArrowRight")


def test_play_goes_on_by_itself_to_the_last_merge(open_page):
    page = opened(open_page, "tokens", "merges", "&prompt=" + quote("the cat sat"))
    page.get_by_role("button", name=WORDS.label("merges_play")).click()
    page.wait_for_function("document.querySelector('.token_merges .title')?.textContent.startsWith('Merge 1')"
                           " || [...document.querySelectorAll('*')].some((e) => "
                           "e.shadowRoot?.querySelector('.token_merges .title')?.textContent.startsWith('Merge 1'))")
    page.get_by_text("no more pairs can be joined").first.wait_for(timeout=20_000)
    assert page.get_by_role("button", name=WORDS.label("merges_play")).is_visible() and page.errors == []


def test_a_clicked_token_is_picked_for_every_lesson(open_page):
    page = opened(open_page, "tokens", "merges", "&tokens_merged=-1")
    page.locator(".merge-tree .piece:not(.below)").nth(3).click()
    page.wait_for_url(re.compile("position=4"))
    settle(page)
    assert "·time" in page.locator(".detail").text_content()


def test_another_example_is_shown_at_once_and_kept(open_page):
    page = opened(open_page, "tokens", "methods")
    page.get_by_role("button", name="Abwasserbehandlungsanlage").click()
    row = page.locator(".token_methods tbody tr").nth(2)
    assert row.locator("td.pieces .chip").count() == 25 and row.locator("td.count.picked").text_content() == "25"
    page.wait_for_url(re.compile("tokens_example=1"))
    assert page.errors == []


def test_bpe_is_played_and_a_pair_shows_where_it_stands(open_page):
    page = opened(open_page, "tokens", "bpe")
    counts = page.locator(".pairs .pair .count")
    assert [counts.nth(k).text_content() for k in range(3)] == ["9", "9", "8"]
    page.locator(".pairs .pair").nth(2).click()
    assert page.locator(".words .chip.next").all_text_contents() == ["w", "e"] * 2
    assert "6 · 1 + 2 · 1 = 8" in page.locator(".detail").text_content()
    page.get_by_role("button", name=WORDS.label("bpe_forward")).click()
    assert page.locator(".words .chip.made").all_text_contents() == ["es", "es"]
    page.wait_for_url(re.compile("tokens_joined=1"))
    settle(page)
    assert page.locator(".words .chip.made").count() == 2 and page.errors == []


def test_unigram_drops_round_by_round_and_a_piece_opens_its_word(open_page):
    page = opened(open_page, "tokens", "unigram", "&tokens_cut=slowness")
    best = page.locator(".said .chip")
    assert best.all_text_contents() == ["·slow", "ness"]
    page.get_by_role("button", name=WORDS.label("unigram_end")).click()
    assert best.all_text_contents() == list("·slowness")
    page.wait_for_url(re.compile("tokens_round=-1"))
    page.get_by_role("button", name=WORDS.label("unigram_start")).click()
    page.locator(".kept").first.click()
    page.wait_for_url(re.compile("tokens_piece="))
    settle(page)
    assert page.locator(".edge.picked").count() == 1 and page.errors == []


def test_the_slider_of_the_vocabulary_changes_both_texts_in_the_browser(open_page):
    page = opened(open_page, "tokens", "train")
    slider = page.get_by_role("slider", name=WORDS.label("train_slider"))
    slider.press("Home")
    assert page.locator(".column.bpe .head").text_content() == "BPE: 957 tokens"
    few = page.locator(".column.bpe .body .chip").count()
    slider.press("End")
    assert page.locator(".column.bpe .body .chip").count() == 160 < few
    page.wait_for_url(re.compile("tokens_size=235"))
    settle(page)
    assert page.errors == []


def test_a_search_answers_while_one_types(open_page):
    page = opened(open_page, "tokens", "vocabulary")
    field = page.get_by_role("searchbox")
    field.fill("princess")
    assert "princess" in page.locator(".list .entry").first.text_content()
    field.fill("我")
    assert page.locator(".list .entry").all_text_contents() == ["‹E6›163", "‹88›231", "‹91›240"]
    assert page.locator(".character .byte .code:first-child").all_text_contents() == ["11100110",
                                                                                      "10001000", "10010001"]
    field.press("Enter")
    page.wait_for_url(re.compile("tokens_find="))
    assert page.errors == []


def test_a_space_at_the_end_stays_while_one_types_and_one_press_drops_it(open_page):
    page = opened(open_page, "tokens", "merges", "&tokens_merged=-1")
    field, drop = page.locator(".st-key-prompt textarea"), page.locator(".st-key-drop_space button")
    expect(drop).to_have_count(0)
    field.fill("The cat sat ")
    field.press("Control+Enter")
    expect(drop).to_be_visible()
    settle(page)
    expect(field).to_have_value("The cat sat ")
    assert "no more pairs" in number_of(page) and page.locator(".merge-tree .piece:not(.below)").count() == 4
    drop.click()
    expect(drop).to_have_count(0)
    settle(page)
    expect(field).to_have_value("The cat sat")
    assert page.locator(".merge-tree .piece:not(.below)").count() == 3 and page.errors == []


def test_html_stays_text(open_page):
    page = opened(open_page, "tokens", "merges",
                  "&tokens_source=prompt&tokens_example=4&tokens_find=" + quote("<b>x</b>") + "&prompt="
                  + quote("<img src=x onerror=alert(1)> <b>bold</b> " * 3))
    for view in LESSONS["tokens"]:
        reach(page, "tokens", view)
        assert page.locator(".tokens-view img, .tokens-view b:not(.byte b):not(.number)").count() == 0, view
    assert page.errors == []
