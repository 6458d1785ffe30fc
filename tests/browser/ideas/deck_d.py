"""What is seen of lecture D, idea by idea."""
from __future__ import annotations

import itertools
import math

import pytest
from playwright.sync_api import Page

from tests.browser.ideas import seen
from tests.helpers.messages import numbers_in, value_of


@seen("D9")
def outputs_follow_their_inputs_without_positions_and_mask(page: Page) -> None:
    apart = [value_of(number) for number in page.locator(".instrument .cases .number").all_inner_texts()]
    verdicts = page.locator(".instrument .cases .verdict").all_inner_texts()
    assert apart[0] < 1e-4 and min(apart[1:]) > 0.1 and len(set(verdicts[1:])) == 1 and verdicts[0] != verdicts[1]


@seen("D8")
def the_feed_forward_part_stands_as_one_formula_with_its_biases(page: Page) -> None:
    formulas = page.locator(".st-key-lesson_numbers annotation").all_text_contents()
    [whole] = [formula for formula in formulas if "FFN" in formula and "W_2 + b_2" in formula]
    assert "z W_1 + b_1" in whole
    [out] = [formula for formula in formulas if r"\operatorname{FFN}(z)_0" in formula]
    *terms, total = numbers_in(out)
    assert len(terms) == 5 and sum(terms) == pytest.approx(total, abs=1e-3)


@seen("D20")
def fewer_functions_are_reached_than_there_are_parameters(page: Page) -> None:
    weights = (-3, -1, 1, 3)
    reached = {sum(1 << place for place in range(8) if sum(w * (place >> i & 1) for i, w in enumerate(row[:3]))
                   + row[3] > 0) for row in itertools.product(weights, repeat=4)}
    shaded = page.locator(".limits_functions .tile:not(.shade0)")
    assert page.locator(".limits_functions .tile").count() == 256 == len(weights) ** 4
    assert {int(tile.get_attribute("data-function")) for tile in shaded.all()} == reached and len(reached) < 128
    said, left = (float(page.locator(f".limits_functions .bits .{name}").first.get_attribute("width"))
                  for name in ("said", "left"))
    assert said / (said + left) == pytest.approx(math.log2(len(reached)) / 8, abs=1e-3)
