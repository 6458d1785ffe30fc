"""The whole app in a real Chromium: every page opens clean, is whole on a phone, answers its controls, and comes back from its link."""
from __future__ import annotations

from urllib.parse import urlsplit

import pytest

from core.ui import catalogue, text
from tests.browser.pictures import cut_off, pictures, pictures_at_rest
from tests.browser.serving import settle
from tests.prompts import PROMPTS
from tests.test_pages import PAGES

LONG = PROMPTS["256 tokens"].strip()


@pytest.mark.parametrize("prompt, width, height, dark", [("", 1280, 900, False), (f"?prompt={LONG}", 390, 844, True)], ids=["light", "256 tokens in the dark on a phone"])
@pytest.mark.parametrize("name", PAGES)
def test_page_opens_without_an_error_whole_and_asks_no_other_host(open_page, server, name, prompt, width, height, dark):
    hosts = set()
    page = open_page(catalogue.url_path(name) + prompt, width=width, height=height, dark=dark,
                     watch=lambda request: hosts.add(urlsplit(request.url).netloc) if request.url.startswith("http") else None)
    assert page.errors == []
    assert page.get_by_test_id("stAlertContentError").count() == 0 and page.get_by_test_id("stException").count() == 0
    assert page.get_by_role("heading", name=text.load(name).section("title"), exact=True).count() == 1
    assert pictures(page), "no picture stands on the page"
    assert hosts == {urlsplit(server.url).netloc}
    assert page.evaluate("document.scrollingElement.scrollWidth") <= width and cut_off(page) == []


@pytest.mark.parametrize("name", PAGES)
def test_an_experiment_changes_the_page_and_its_link_gives_the_same_picture(open_page, server, name):
    experiment = text.load(name).experiments[0]
    page = open_page(catalogue.url_path(name))
    before = pictures_at_rest(page)
    page.get_by_role("button", name=experiment.title, exact=True).click()
    settle(page)
    after = pictures_at_rest(page)
    assert after != before
    copied = page.url
    other = open_page(urlsplit(copied).path.lstrip("/") + "?" + urlsplit(copied).query)
    assert pictures_at_rest(other) == after


def test_present_mode_hides_the_rest_and_its_arrow_keys_step_through_the_experiments(open_page):
    page = open_page("heads?present=true")
    assert page.get_by_role("heading", name=text.load("app").label("try"), exact=True).count() == 0
    first = text.load("heads").experiments[0]
    page.locator("body").press("ArrowRight")
    page.get_by_text(first.title).first.wait_for()


def test_a_broken_address_is_explained_and_everything_else_works(open_page):
    page = open_page("heads?layer=99999999999999&head=x&position=-5&model=nonsense&device=abacus&present=maybe&target=1e9")
    assert page.get_by_test_id("stAlertContentError").count() == 0 and page.get_by_test_id("stException").count() == 0
    assert page.get_by_test_id("stAlertContainer").count() >= 1
    assert pictures(page)


def test_html_in_a_prompt_stays_text(open_page):
    page = open_page("?prompt=<img src=x onerror=document.title='broken'><b>bold</b>")
    page.wait_for_timeout(300)
    assert page.title() != "broken" and page.errors == []
