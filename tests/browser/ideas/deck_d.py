"""What is seen of lecture D, idea by idea."""
from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page

from tests.browser.ideas import seen
from tests.claims.passes import opening
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


@seen("D7")
def one_matrix_of_rank_d_k_gives_the_product(page: Page) -> None:
    config = opening().model.config
    assert f"rank {config.d_k}, " in page.locator(".st-key-attention_stage").inner_text()
    formulas = page.locator(".st-key-lesson_numbers annotation").all_text_contents()
    [one], [biases], [product] = ([numbers_in(line.split("=")[-1])[-1] for line in formulas if line.startswith(start)]
                                  for start in ("x_{25} (W_Q", "x_{25} W_Q", "q_{25}"))
    assert one + biases == pytest.approx(product, abs=1e-3)


@seen("D17")
def another_basis_changes_no_score(page: Page) -> None:
    said = page.locator(".matrices").locator("xpath=..").inner_text()
    numbers = re.search(r"queries change by up to (\S+) and keys by up to (\S+), scores by no more than (.+?), and the "
                        r"model’?'?s logits by (.+?): rounding", said).groups()
    q, k, scores, logits = map(value_of, numbers)
    assert min(q, k) > 0.1 and max(scores, logits) < 1e-9
