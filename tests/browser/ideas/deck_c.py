"""What is seen of lecture C, idea by idea."""
from __future__ import annotations

import pytest
from playwright.sync_api import Page

from tests.browser.ideas import seen
from tests.helpers.messages import numbers_in


@seen("C10")
def a_half_mixture_leaves_the_line(page: Page) -> None:
    formulas = page.locator(".st-key-lesson_numbers annotation").all_text_contents()
    average, output, away = (numbers_in(line.split("=")[-1])[-1] for line in formulas)
    first, last, _ = numbers_in(formulas[0])
    assert (first + last) / 2 == pytest.approx(average, abs=1e-4) and abs(output - average) > 1e-3
    assert 0.05 < away < 1 and page.locator(".st-key-attention_bend canvas, .st-key-attention_bend svg").count() > 0
