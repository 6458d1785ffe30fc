"""What is seen of lecture C, idea by idea."""
from __future__ import annotations

import re

from playwright.sync_api import Page

from tests.browser.ideas import seen
from tests.helpers.messages import value_of


def headline(page: Page, before: str) -> str:
    """The view's bold sentence, the one that holds these words."""
    return page.locator("strong", has_text=before).first.inner_text()


def numbers_of(page: Page, words: str, pattern: str) -> list[float]:
    """The numbers that a pattern finds in the view's bold sentence."""
    return list(map(value_of, re.search(pattern, headline(page, words)).groups()))


GRADIENT = (r"network is ([^;]+); the bound would allow (.+)\. "
            r"An LSTM.s gates alone let (.+) through, .* together (.+)\.")


@seen("C2")
def a_bound_is_no_rate(page: Page) -> None:
    rnn, bound, *_ = numbers_of(page, "the bound would allow", GRADIENT)
    assert 0.5 < rnn < 5 and 1e9 * rnn < bound <= 1.001 * 1.5 ** 60


@seen("C3")
def the_gates_alone_carry_a_change_over_sixty_steps(page: Page) -> None:
    rnn, _, gates, lstm = numbers_of(page, "the bound would allow", GRADIENT)
    assert rnn < 1e-8 and 0.4 < gates < 1 < lstm
