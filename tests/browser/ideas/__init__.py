"""The place of each idea of the lectures, as a reader sees it: one check an idea, on its rendered page, for the
sentence of assets/text/en/ideas_seen.tsv. The values that it expects are computed a second time.
"""
from collections.abc import Callable

from playwright.sync_api import Page

CHECKS: dict[str, Callable[[Page], None]] = {}


def seen(*ideas: str) -> Callable[[Callable[[Page], None]], Callable[[Page], None]]:
    """Marks the check of these ideas: it gets the page at the idea's place, settled, its element standing."""
    def mark(check: Callable[[Page], None]) -> Callable[[Page], None]:
        twice = CHECKS.keys() & set(ideas)
        assert not twice, f"{twice} have a check already"
        CHECKS.update(dict.fromkeys(ideas, check))
        return check
    return mark


def formulas(page: Page) -> list[str]:
    """Formulas under In numbers, as LaTeX."""
    page.locator(".st-key-lesson_numbers annotation").first.wait_for(state="attached")
    return page.locator(".st-key-lesson_numbers annotation").all_text_contents()
