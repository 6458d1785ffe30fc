"""Every idea of the lectures on its rendered page: one reader goes from picture to picture, as by the browser's
history; each idea's element is there, and shows what the idea says.
"""
from __future__ import annotations

import pytest
from playwright.sync_api import Error, expect

from core.app.base import catalogue, prose, tables
from tests.browser.ideas import (  # noqa: F401  (their checks)
    CHECKS,
    deck_a,
    deck_b,
    deck_c,
    deck_d,
    landscape,
    learning,
    writing,
)
from tests.browser.serving import go_to, settle

ENOUGH = 3        # missing ideas: one broken page has dozens, and each is waited for


def test_every_idea_that_says_what_is_seen_is_held_to_it():
    assert set(CHECKS) == {idea.id for idea in tables.ideas() if idea.seen}


@pytest.mark.parametrize("deck", "ABCD")
def test_every_idea_stands_where_the_table_says_and_shows_itself(open_page, server, deck):
    page, missing = open_page("tokens", width=1280, height=720), []
    for idea in sorted(ideas_of(deck), key=lambda idea: (idea.place.lesson, idea.place.view)):
        go_to(page, f"{server.url}/{catalogue.url_path(idea.place.lesson)}?{idea.place.query}")
        try:
            (page.locator(f".st-key-lesson_head >> text={prose.load(idea.place.lesson).section('title')}").first
             .wait_for(timeout=30_000))
            page.locator(idea.element).first.wait_for(timeout=30_000)
        except Error as error:
            missing.append(f"{idea.id} at {idea.place.lesson}?{idea.place.query}: {idea.element} "
                           f"({type(error).__name__})")
        expect(page.get_by_test_id("stAlertContentError"), f"{idea.id} {page.errors} {missing}").to_have_count(0)
        if page.errors or len(missing) == ENOUGH:
            break
        # before a check, and after what it has done: what a page that still runs says of its address leads back to it
        settle(page)
        if idea.id in CHECKS:
            CHECKS[idea.id](page)
            settle(page)
        # the server drops those of a page that was left
        page.evaluate("Promise.all([...document.images].filter((image) => !image.complete).map((image) => new "
                      "Promise((ended) => { image.onload = image.onerror = ended; })))")
    assert (page.errors, missing) == ([], [])


def ideas_of(deck: str) -> list[tables.Idea]:
    """The deck's ideas whose place exists: those that are checked, and of the others one for each picture."""
    found = [idea for idea in tables.ideas() if idea.deck == deck and tables.name_of(idea.place)]
    return [idea for i, idea in enumerate(found) if idea.id in CHECKS or all(
        (other.place.lesson, other.place.view, other.element) != (idea.place.lesson, idea.place.view, idea.element)
        for other in found[:i])]
