"""What is seen of lecture B, idea by idea."""
from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page

from core.app.state.run import telling
from tests.browser.ideas import seen
from tests.claims.passes import opening
from tests.helpers.messages import numbers_in, value_of


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


@seen("B13")
def every_step_is_filled_to_what_the_head_adds(page: Page) -> None:
    picture = page.locator(".st-key-attention_steps_instrument")
    assert "W" in picture.locator(".title").inner_text() and picture.locator(".detail .term").count() > 30
    weights = page.locator(".st-key-lesson_numbers annotation").all_text_contents()
    [alpha] = [line for line in weights if line.startswith(r"\alpha")]
    block, layer, head = opening().trace.blocks, *telling(opening())
    assert numbers_in(alpha)[-1] == pytest.approx(float(block[layer].pattern[head, -1].max()), abs=1e-4)
