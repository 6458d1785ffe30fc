"""What is seen of lecture A, idea by idea."""
from __future__ import annotations

from playwright.sync_api import Page

from tests.browser.ideas import seen
from tests.claims.passes import opening


@seen("A12")
def a_one_hot_row_picks_its_row(page: Page) -> None:
    token_id = opening().token_ids[-1]
    assert f"picks row {token_id} of the matrix E" in page.locator(".st-key-embeddings_stage").inner_text()


@seen("A21")
def with_k_of_1_no_chance_is_left(page: Page) -> None:
    kept, entropy, *_ = page.locator(".sampling-panel .numbers td.strong").all_inner_texts()
    assert (kept, float(entropy)) == ("1", 0)
