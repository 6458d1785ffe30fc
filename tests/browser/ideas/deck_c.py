"""What is seen of lecture C, idea by idea."""
from __future__ import annotations

import math
import re

import pytest
from playwright.sync_api import Page

from tests.browser.ideas import formulas, seen
from tests.helpers.messages import numbers_in


@seen("C14")
def a_result_is_a_part_of_the_word_plus_a_part_of_the_position(page: Page) -> None:
    [said] = [formula for formula in formulas(page) if re.fullmatch(r"-?[\d.]+ \+ \(-?[\d.]+\) = -?[\d.]+", formula)]
    word, position, whole = numbers_in(said)
    assert word + position == pytest.approx(whole, abs=2e-4) and position


@seen("C22")
def every_place_further_back_multiplies_the_weight_by_one_factor(page: Page) -> None:
    found = formulas(page)
    [slope] = [formula for formula in found if formula.startswith("m = ")]
    [weight] = [formula for formula in found if formula.startswith(r"\alpha_")]
    m, (i, j) = numbers_in(slope)[-1], map(int, re.match(r"\\alpha_\{(\d+),(\d+)\}", weight).groups())
    by_hand = math.exp(-m * (i - j)) / sum(math.exp(-m * distance) for distance in range(i + 1))
    assert numbers_in(weight)[-1] == pytest.approx(by_hand, abs=2e-4)
