"""The file that is taken along: it opens from a disk without a network, and shows what the app shows."""
from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from playwright.sync_api import Browser, Page, expect

from core.app.compute import cache
from core.app.state.run import read
from core.model.transformer import Transformer
from core.takeaway import weights
from tests.browser.accessibility import violations
from tests.browser.pictures import comes
from tests.browser.serving import rest, settle
from tests.browser.test_dive_page import HER, press_inside, says, tile, title
from tests.browser.test_overview_page import at

MOST_BYTES = 8_000_000
HOSTILE = '</script><img src=x onerror="document.title=1"> <!-- ${1} \\u2028 مرحبا 👩‍👩‍👧'


@pytest.fixture(scope="module")
def rounded() -> Transformer:
    """The bundled model with the numbers that the file holds."""
    return weights.rounded(cache.shared_model("stories", "cpu").model)


@pytest.fixture(scope="module")
def taken(browser: Browser, server, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file as a reader saves it from Share, on a text that would end a script."""
    page = browser.new_page(base_url=server.url, accept_downloads=True)
    page.goto("/" + at(HOSTILE, shown=""))
    settle(page)
    page.locator(".st-key-share button").click()
    with page.expect_download() as saved:
        page.locator(".st-key-share_file button").click()
    path = tmp_path_factory.mktemp("taken") / saved.value.suggested_filename
    saved.value.save_as(path)
    page.close()
    return path


@pytest.fixture
def page(browser: Browser, taken: Path) -> Iterator[Page]:
    """The file, opened from the disk while there is no network."""
    context = browser.new_context(viewport={"width": 1280, "height": 800}, offline=True, reduced_motion="reduce")
    page = context.new_page()
    page.errors, page.asked = [], []
    page.on("pageerror", lambda error: page.errors.append(str(error)))
    page.on("console", lambda said: said.type == "error" and page.errors.append(said.text))
    page.on("request", lambda request: page.asked.append(request.url))
    page.goto(taken.as_uri())
    page.locator(".map .head small").first.wait_for()
    yield page
    context.close()


def typed(page: Page, text: str) -> None:
    page.locator("#prompt").fill(text)
    page.locator("#prompt").press("Enter")


def arrives(page: Page, where: str, said: str) -> None:
    """The reader stands at a place inside, and the address and the title say so."""
    page.wait_for_url(lambda url: f"at={where}" in url)
    expect(page.locator(".map .asking")).to_have_count(0)
    expect(page.locator(".map .caption")).to_contain_text(said)
    rest(page)


def test_it_opens_without_a_network_and_a_text_in_it_ends_no_script(page: Page, taken: Path):
    assert taken.stat().st_size < MOST_BYTES and taken.name == "overview-stories.html"
    expect(page.locator("#prompt")).to_have_value(HOSTILE)
    assert page.title() != "1" and page.locator("body > img").count() == 0
    assert {url.split(":")[0] for url in page.asked} <= {"file", "blob"}
    assert violations(page) == []
    assert page.errors == []


def test_a_typed_text_is_answered_as_by_the_same_numbers_in_the_app(page: Page, rounded: Transformer):
    run = read(cache.shared_model("stories", "cpu"), HER)
    typed(page, HER)
    top = rounded(torch.tensor(run.token_ids)).probs[-1].max()
    assert comes(page, lambda: "·ball" in title(page))
    assert says(page, "·ball ?, with probability", 100 * float(top))
    page.reload()
    page.locator(".map .head small").first.wait_for()
    expect(page.locator("#prompt")).to_have_value(HER)


def test_one_walks_into_it_and_what_is_changed_is_followed_to_the_next_word(page: Page, rounded: Transformer):
    typed(page, HER)
    assert comes(page, lambda: "·ball" in title(page))
    page.locator(".map .stage").click(position=tile(page))
    arrives(page, "head.3.5", "Head 3.5: ")
    press_inside(page, "·her, position 11, looks most")
    arrives(page, "look.3.5.11", "scores all 12 tokens")
    page.locator(".map .crumb", has_text="Head 3.5").click()
    arrives(page, "head.3.5", "Head 3.5: ")
    page.locator(".map .switch").click()
    expect(page.locator(".map .restore")).to_have_text("Head 3.5 is off: put it back")
    page.locator(".map .crumb").first.click()
    expect(page.locator(".map .caption")).to_contain_text("this model now expects")
    page.locator(".map .restore").click()
    expect(page.locator(".map .restore")).to_be_hidden()
    expect(page.locator(".map .caption")).to_contain_text("this model expects")
    page.go_back()
    arrives(page, "head.3.5", "Head 3.5: ")
    assert page.errors == []


def test_a_token_is_appended_and_taken_back(page: Page):
    typed(page, HER)
    assert comes(page, lambda: "·ball" in title(page))
    page.get_by_role("button", name="Append ·ball", exact=True).click()
    expect(page.locator("#prompt")).to_have_value(f"{HER} ball")
    page.get_by_role("button", name="Undo").click()
    expect(page.locator("#prompt")).to_have_value(HER)
    assert page.errors == []
