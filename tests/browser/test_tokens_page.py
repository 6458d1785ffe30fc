"""The lesson "Tokens" in a real Chromium: the merges step, play and scrub, a search answers while one types, links give
the same picture.
"""
from __future__ import annotations

import re
from urllib.parse import quote

from playwright.sync_api import Locator, Page, expect

from core.base import prose
from tests.browser.pictures import comes, starting
from tests.browser.serving import go_to, settle
from tests.browser.views import LESSONS, opened, reach, stand

WORDS = prose.load("tokens")


def number_of(page) -> Locator:
    return page.locator(".token_merges .title")


def go_there(page: Page, name: str, query: str = "") -> None:
    """To another of the lesson's views, or the same with other settings, until its picture stands."""
    go_to(page, f"{page.url.partition('?')[0]}?tokens_view={name}{query}")
    settle(page)
    stand(page, LESSONS["tokens"][name])


def test_merges_step_with_buttons_and_keys_and_every_state_is_whole_and_in_the_link(open_page):
    page = opened(open_page, "tokens", "merges", "&tokens_merged=0")
    expect(number_of(page)).to_contain_text("every byte is a token")
    page.get_by_role("slider", name=WORDS.label("merges_slider")).press("ArrowRight")
    expect(number_of(page)).to_have_text(starting("Merge 1 of"))
    forward = page.get_by_role("button", name=WORDS.label("merges_forward"))
    forward.press("Enter")
    expect(number_of(page)).to_have_text(starting("Merge 2 of"))
    page.wait_for_url(re.compile("tokens_merged=2"))
    settle(page)
    expect(forward).to_be_focused()
    link, tree = page.url, page.locator(".merge-tree").inner_html()
    every_state_has_the_pieces_that_its_title_counts(page)
    page.wait_for_url(re.compile("tokens_merged=7"))
    settle(page)
    assert page.locator(".merge-tree").inner_html() != tree
    go_to(page, link)
    settle(page)
    assert comes(page, lambda: page.locator(".merge-tree").inner_html() == tree)
    assert page.errors == []


def every_state_has_the_pieces_that_its_title_counts(page: Page) -> None:
    slider = page.get_by_role("slider", name=WORDS.label("merges_slider"))
    for _ in range(5):
        said = number_of(page).text_content()
        tokens = int(re.findall(r"(\d+)(?: of them| tokens are left)", said)[0])
        expect(page.locator(".merge-tree .piece:not(.below)")).to_have_count(tokens)
        slider.press("ArrowRight")
        expect(number_of(page)).not_to_have_text(said)


def test_a_token_of_the_merges_is_picked_a_space_at_the_end_stays_and_play_goes_on_by_itself(open_page):
    page = opened(open_page, "tokens", "merges", "&tokens_merged=-1")
    a_clicked_token_is_picked_for_every_lesson(page)
    a_space_at_the_end_stays_while_one_types_and_one_press_drops_it(page)
    go_there(page, "merges", "&prompt=" + quote("the cat sat"))
    play_goes_on_by_itself_to_the_last_merge(page)
    assert page.errors == []


def play_goes_on_by_itself_to_the_last_merge(page: Page) -> None:
    page.get_by_role("button", name=WORDS.label("merges_play")).click()
    page.wait_for_function("document.querySelector('.token_merges .title')?.textContent.startsWith('Merge 1')"
                           " || [...document.querySelectorAll('*')].some((e) => "
                           "e.shadowRoot?.querySelector('.token_merges .title')?.textContent.startsWith('Merge 1'))")
    page.get_by_text("no more pairs can be joined").first.wait_for()
    expect(page.get_by_role("button", name=WORDS.label("merges_play"))).to_be_visible()


def a_clicked_token_is_picked_for_every_lesson(page: Page) -> None:
    page.locator(".merge-tree .piece:not(.below)").nth(3).click()
    page.wait_for_url(re.compile("position=4"))
    settle(page)
    expect(page.locator(".detail")).to_contain_text("·time")


def a_space_at_the_end_stays_while_one_types_and_one_press_drops_it(page: Page) -> None:
    field, drop = page.locator(".st-key-prompt textarea"), page.locator(".st-key-drop_space button")
    expect(drop).to_have_count(0)
    field.fill("The cat sat ")
    field.press("Control+Enter")
    expect(drop).to_be_visible()
    settle(page)
    expect(field).to_have_value("The cat sat ")
    expect(number_of(page)).to_contain_text("no more pairs")
    expect(page.locator(".merge-tree .piece:not(.below)")).to_have_count(4)
    drop.click()
    expect(drop).to_have_count(0)
    settle(page)
    expect(field).to_have_value("The cat sat")
    expect(page.locator(".merge-tree .piece:not(.below)")).to_have_count(3)


def test_the_other_views_answer_in_the_browser_and_keep_what_is_picked(open_page):
    page = opened(open_page, "tokens", "methods")
    another_example_is_shown_at_once_and_kept(page)
    go_there(page, "bpe")
    bpe_is_played_and_a_pair_shows_where_it_stands(page)
    go_there(page, "unigram", "&tokens_cut=slowness")
    unigram_drops_round_by_round_and_a_piece_opens_its_word(page)
    go_there(page, "train")
    the_slider_of_the_vocabulary_changes_both_texts(page)
    go_there(page, "vocabulary")
    a_search_answers_while_one_types(page)
    assert page.errors == []


def another_example_is_shown_at_once_and_kept(page: Page) -> None:
    page.get_by_role("button", name="Abwasserbehandlungsanlage").click()
    row = page.locator(".token_methods tbody tr").nth(2)
    expect(row.locator("td.pieces .chip")).to_have_count(25)
    expect(row.locator("td.count.picked")).to_have_text("25")
    page.wait_for_url(re.compile("tokens_example=1"))


def bpe_is_played_and_a_pair_shows_where_it_stands(page: Page) -> None:
    counts = page.locator(".pairs .pair .count")
    for place, count in enumerate(("9", "9", "8")):
        expect(counts.nth(place)).to_have_text(count)
    page.locator(".pairs .pair").nth(2).click()
    expect(page.locator(".words .chip.next")).to_have_text(["w", "e"] * 2)
    expect(page.locator(".detail")).to_contain_text("6 · 1 + 2 · 1 = 8")
    page.get_by_role("button", name=WORDS.label("bpe_forward")).click()
    expect(page.locator(".words .chip.made")).to_have_text(["es", "es"])
    page.wait_for_url(re.compile("tokens_joined=1"))
    settle(page)
    expect(page.locator(".words .chip.made")).to_have_count(2)


def unigram_drops_round_by_round_and_a_piece_opens_its_word(page: Page) -> None:
    best = page.locator(".said .chip")
    expect(best).to_have_text(["·slow", "ness"])
    page.get_by_role("button", name=WORDS.label("unigram_end")).click()
    expect(best).to_have_text(list("·slowness"))
    page.wait_for_url(re.compile("tokens_round=-1"))
    page.get_by_role("button", name=WORDS.label("unigram_start")).click()
    page.wait_for_url(lambda url: "tokens_round" not in url)
    settle(page)
    page.locator(".kept").first.click()
    page.wait_for_url(re.compile("tokens_piece="))
    settle(page)
    expect(page.locator(".edge.picked")).to_have_count(1)


def the_slider_of_the_vocabulary_changes_both_texts(page: Page) -> None:
    slider = page.get_by_role("slider", name=WORDS.label("train_slider"))
    slider.press("Home")
    expect(page.locator(".column.bpe .head")).to_have_text("BPE: 957 tokens")
    few = page.locator(".column.bpe .body .chip").count()
    slider.press("End")
    expect(page.locator(".column.bpe .body .chip")).to_have_count(160)
    assert few > 160
    page.wait_for_url(re.compile("tokens_size=235"))
    settle(page)


def a_search_answers_while_one_types(page: Page) -> None:
    field = page.get_by_role("searchbox")
    field.fill("princess")
    expect(page.locator(".list .entry").first).to_contain_text("princess")
    field.fill("我")
    expect(page.locator(".list .entry")).to_have_text(["‹E6›163", "‹88›231", "‹91›240"])
    expect(page.locator(".character .byte .code:first-child")).to_have_text(["11100110", "10001000", "10010001"])
    field.press("Enter")
    page.wait_for_url(re.compile("tokens_find="))


def test_html_stays_text(open_page):
    page = opened(open_page, "tokens", "merges",
                  "&tokens_source=prompt&tokens_example=4&tokens_find=" + quote("<b>x</b>") + "&prompt="
                  + quote("<img src=x onerror=alert(1)> <b>bold</b> " * 3))
    for view in LESSONS["tokens"]:
        reach(page, "tokens", view)
        expect(page.locator(".tokens-view img, .tokens-view b:not(.byte b):not(.number)"), view).to_have_count(0)
    assert page.errors == []
