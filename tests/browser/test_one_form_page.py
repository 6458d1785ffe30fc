"""One number has one form: the chance that the model gives to its likeliest next word, on the page of every lesson that
shows it."""
from __future__ import annotations

import pytest
from playwright.sync_api import expect

from core.figures.numbers import percent, readable
from tests.browser.serving import settle
from tests.browser.test_tour_page import acted
from tests.claims.passes import opening, says

# where each lesson writes it, with the opening prompt and before anything is touched
WRITTEN = {
    "overview": (".map .caption", ".map .out li b"),
    "next_token": (".sampling-panel .brief-row text",),
    "generation?generation_view=writing": (".written-bars .row",),
    "residual_stream?residual_stream_view=lens&residual_stream_depth=6": (".residual-lens .title", ".guesses output"),
}


@pytest.mark.parametrize("address", WRITTEN)
def test_a_chance_is_written_in_percent_and_not_from_0_to_1(open_page, address: str):
    page, (_, p) = open_page(f"{address}{'&' if '?' in address else '?'}ask=false"), says(opening())
    settle(page)
    for place in WRITTEN[address]:
        expect(page.locator(place, has_text=percent(p)).first).to_be_visible()
        assert not any(readable(p) in text for text in page.locator(place).all_text_contents()), place


def test_the_tour_writes_it_in_percent_too_with_two_digits(open_page):
    page, (_, p) = open_page("tour"), says(opening())
    acted(page, 1)
    expect(page.locator(".bars .bar", has_text=f"{readable(100 * p, 2)}\u00a0%").first).to_be_visible()
