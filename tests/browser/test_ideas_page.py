"""Every idea of the lectures on its rendered page: one reader goes from picture to picture, as by the browser's
history, and each idea's element is there.
"""
from __future__ import annotations

from playwright.sync_api import Error

from core.app.base import catalogue, prose, tables
from tests.browser.serving import go_to

ENOUGH = 3        # missing ideas: one broken page has dozens, and each is waited for


def one_of_each() -> list[tables.Idea]:
    """The ideas whose place exists, one for each picture: a view of a lesson and an element in it.

    Views of one lesson stand together.
    """
    found = {(idea.place.lesson, idea.place.view, idea.element): idea for idea in reversed(tables.ideas())
             if tables.name_of(idea.place)}
    return sorted(found.values(), key=lambda idea: (idea.place.lesson, idea.place.view))


def test_every_idea_stands_where_the_table_says(open_page, server):
    page, missing = open_page("tokens", width=1280, height=720), []
    for idea in one_of_each():
        go_to(page, f"{server.url}/{catalogue.url_path(idea.place.lesson)}?{idea.place.query}")
        try:
            (page.locator(f".st-key-lesson_head >> text={prose.load(idea.place.lesson).section('title')}").first
             .wait_for(timeout=30_000))
            page.locator(idea.element).first.wait_for(timeout=30_000)
        except Error as error:
            missing.append(f"{idea.id} at {idea.place.lesson}?{idea.place.query}: {idea.element} "
                           f"({type(error).__name__})")
        assert page.get_by_test_id("stAlertContentError").count() == 0, (idea.id, page.errors, missing)
        if page.errors or len(missing) == ENOUGH:
            break
        # the server drops those of a page that was left
        page.evaluate("Promise.all([...document.images].filter((image) => !image.complete).map((image) => new "
                      "Promise((ended) => { image.onload = image.onerror = ended; })))")
    assert (page.errors, missing) == ([], [])
