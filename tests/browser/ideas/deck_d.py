"""What is seen of lecture D, idea by idea."""
from __future__ import annotations

from playwright.sync_api import Page

from tests.browser.ideas import seen
from tests.helpers.messages import value_of


@seen("D9")
def outputs_follow_their_inputs_without_positions_and_mask(page: Page) -> None:
    apart = [value_of(number) for number in page.locator(".instrument .cases .number").all_inner_texts()]
    verdicts = page.locator(".instrument .cases .verdict").all_inner_texts()
    assert apart[0] < 1e-4 and min(apart[1:]) > 0.1 and len(set(verdicts[1:])) == 1 and verdicts[0] != verdicts[1]
