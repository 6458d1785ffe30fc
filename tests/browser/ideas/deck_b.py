"""What is seen of lecture B, idea by idea."""
from __future__ import annotations

import math
import re

import pytest
from playwright.sync_api import Page

from tests.browser.ideas import formulas, seen
from tests.helpers.messages import value_of


@seen("B14")
def the_inner_row_is_four_times_as_wide(page: Page) -> None:
    height, width = (page.locator(f".residual_block .row.{kind} canvas").first.evaluate("(c) => [c.height, c.width]")
                     for kind in ("hidden", "mlp"))
    assert height == [4, width[1]] and width[0] == 1


@seen("B15")
def a_sum_adds_up_under_the_pointer(page: Page) -> None:
    page.locator(".residual_block .row.O .strip").first.hover()
    said = page.locator(".residual_block .reading").inner_text()
    x, a, total = (value_of(re.search(rf"{name} ([^ ,;.]+(?:\.\d+)?(?: · 10\S+)?)", said)[1]) for name in
                   ("X", "attention", "O"))
    assert x + a == pytest.approx(total, abs=0.01 * max(abs(x), abs(a)) + 0.01)


@seen("B17")
def a_pair_is_the_sine_and_the_cosine_of_one_angle(page: Page) -> None:
    [entries] = [formula for formula in formulas(page) if formula.startswith("P_{") and r"\sin(" in formula]
    (angle, sine), (same, cosine) = (map(float, found) for found in
                                     re.findall(r"\\(?:sin|cos)\((-?[\d.]+)\) = (-?[\d.]+)", entries))
    assert angle == same and (sine, cosine) == pytest.approx((math.sin(angle), math.cos(angle)), abs=2e-4)
