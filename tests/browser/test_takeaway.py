"""The file that is taken along: it opens from a disk without a network, and shows what the app shows."""
from __future__ import annotations

import functools
import http.server
import re
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
from playwright.sync_api import Browser, Page, expect

from core.app.compute import cache
from core.app.parts import own_site
from core.app.state.run import read
from core.base import prose
from core.model.sampling import SamplingConfig, truncate
from core.model.transformer import Transformer
from core.takeaway import weights
from pages.tour.shared import STEPS
from tests.browser.accessibility import violations
from tests.browser.firefox import firefox, program
from tests.browser.pictures import comes
from tests.browser.serving import PATIENCE, prepare, rest, settle
from tests.browser.test_dive_page import HER, press_inside, says, tile, title
from tests.browser.test_firefox import becomes
from tests.browser.test_overview_page import at
from tests.browser.test_tour_page import N, acted, is_told
from tests.helpers.messages import value_of

MOST_BYTES = 8_000_000
HOSTILE = '</script><img src=x onerror="document.title=1"> <!-- ${1} \\u2028 مرحبا 👩‍👩‍👧'


@pytest.fixture(scope="module")
def rounded() -> Transformer:
    """The bundled model with the numbers that the file holds."""
    return weights.rounded(cache.shared_model("stories", "cpu").model)


@pytest.fixture(scope="module")
def taken(browser: Browser, server, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """taken("tour"): the file as a reader saves it from Share there."""
    @functools.cache
    def save(address: str) -> Path:
        page = browser.new_page(base_url=server.url, accept_downloads=True)
        prepare(page)
        page.goto(f"/{address}")
        settle(page)
        page.locator(".st-key-share button").click()
        page.locator(".st-key-share_file button").wait_for()
        settle(page)        # a run of the page meanwhile would take the file from its place
        with page.expect_download() as saved:
            page.locator(".st-key-share_file button").click()
        path = tmp_path_factory.mktemp("taken") / saved.value.suggested_filename
        saved.value.save_as(path)
        page.close()
        return path

    return save


@pytest.fixture
def offline(browser: Browser) -> Iterator[Callable[[Path], Page]]:
    """offline(path): the file, opened from the disk while there is no network; `asked` has what it has requested."""
    context = browser.new_context(viewport={"width": 1280, "height": 800}, offline=True, reduced_motion="reduce")
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    page.errors, page.asked = [], []
    page.on("pageerror", lambda error: page.errors.append(str(error)))
    page.on("console", lambda said: said.type == "error" and page.errors.append(said.text))
    page.on("request", lambda request: page.asked.append(request.url))

    def opened(path: Path) -> Page:
        page.goto(path.as_uri())
        stands(page)
        return page

    yield opened
    context.close()


def stands(page: Page) -> None:
    """The model is unpacked and the picture drawn."""
    expect(page.locator("#status")).to_have_count(0)


@pytest.fixture
def page(offline: Callable[[Path], Page], taken: Callable[[str], Path]) -> Page:
    """Overview, on a text that would end a script."""
    return offline(taken(at(HOSTILE, shown="")))


def typed(page: Page, text: str) -> None:
    page.locator("#prompt").fill(text)
    page.locator("#prompt").press("Enter")


def arrives(page: Page, where: str, said: str) -> None:
    """The reader stands at a place inside, and the address and the title say so."""
    page.wait_for_url(lambda url: f"at={where}" in url)
    expect(page.locator(".map .asking")).to_have_count(0)
    expect(page.locator(".map .caption")).to_contain_text(said)
    rest(page)


def test_it_opens_without_a_network_and_a_text_in_it_ends_no_script(page: Page, taken):
    path = taken(at(HOSTILE, shown=""))
    assert path.stat().st_size < MOST_BYTES and path.name == "overview-stories.html"
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
    stands(page)
    expect(page.locator("#prompt")).to_have_value(HER)


def test_it_opens_at_the_place_where_it_was_saved(offline, taken):
    page = offline(taken(at(HER, shown="", overview_at="head.4.3")))
    expect(page.locator(".map .caption")).to_contain_text("Head 4.3: ")
    assert page.errors == []


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


# ---- the tour --------------------------------------------------------------------------------------------------------


def test_the_tour_is_walked_to_its_end_without_a_network(offline, taken):
    path = taken("tour")
    assert path.stat().st_size < MOST_BYTES and path.name == "tour-stories.html"
    page = offline(path)
    for number in range(1, N):
        is_open(page, number)
        expect(page.locator(".tour .told")).to_be_empty()
        acted(page, number)
        is_told(page)
        page.locator(".tour .next").click()
    is_open(page, N)
    expect(page.locator(".tour .told")).to_contain_text("Right guesses: ")
    expect(page.locator(".tour .skip, .tour .all, .tour .way-on")).to_have_count(0)
    page.go_back()
    is_open(page, N - 1)
    expect(page.locator(".tour .told")).to_contain_text("2,400 steps, the last one")
    assert violations(page) == []
    assert {url.split(":")[0] for url in page.asked} <= {"file", "blob"} and page.errors == []


def test_the_tour_takes_another_text_and_a_reload_brings_it_back(offline, taken):
    page = offline(taken("tour"))
    acted(page, 1)
    is_told(page)
    typed(page, HER)
    expect(page.locator(".tour .told")).to_be_empty()
    page.locator(".tour .next").click()
    is_open(page, 2)
    expect(page.get_by_role("button", name="Add ball")).to_be_visible()
    page.reload()
    stands(page)
    is_open(page, 2)
    expect(page.locator("#prompt")).to_have_value(HER)
    typed(page, "Once")         # too short for a head to look back
    page.locator(".tour .dot").nth(6).click()
    page.locator(".tour .sentences .option").first.click()
    is_open(page, 7)
    expect(page.locator(".tour .token.query")).to_be_visible()
    assert page.errors == []


def is_open(page: Page, number: int) -> None:
    """A step is open and its picture stands."""
    expect(page.locator(".tour .dot[aria-current=step]")).to_have_accessible_name(
        re.compile(f"^Step {number} of {N}: "))
    expect(page.locator(f".tour .stage.of-{STEPS[number - 1]} > *").first).to_be_attached()
    rest(page)


# ---- next token ------------------------------------------------------------------------------------------------------


def test_every_cut_of_a_typed_text_is_made_without_a_network(offline, taken, rounded: Transformer):
    path = taken("next_token?next_token_panel=T1.5_k40_x0.5&shown=")
    assert path.stat().st_size < MOST_BYTES and path.name == "next_token-stories.html"
    page = offline(path)
    expect(page.locator(".sampling-panel .method[aria-pressed=true]")).to_have_text("Top-k")
    typed(page, HER)
    first = page.locator(".sampling-panel .candidate").first
    run = read(cache.shared_model("stories", "cpu"), HER)
    hot = truncate(rounded(torch.tensor(run.token_ids)).logits[-1], SamplingConfig(temperature=1.5)).probs[0]
    assert comes(page, lambda: value_of(first.locator(".y").inner_text()) == pytest.approx(hot, rel=5e-3))
    expect(first).to_contain_text("·ball")
    first.click()
    expect(page.locator("#prompt")).to_have_value(f"{HER} ball")
    page.locator(".sampling-panel .method", has_text="Greedy").click()
    page.wait_for_url(re.compile("panel="))
    page.reload()
    stands(page)
    expect(page.locator("#prompt")).to_have_value(f"{HER} ball")
    expect(page.locator(".sampling-panel .method[aria-pressed=true]")).to_have_text("Greedy")
    assert {url.split(":")[0] for url in page.asked} <= {"file", "blob"} and page.errors == []


# ---- a site ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    own_site.write(folder, "stories", HER)
    return folder


@pytest.fixture
def host(site: Path) -> Iterator[str]:
    """The address of a plain host of files."""
    files = functools.partial(http.server.SimpleHTTPRequestHandler, directory=site)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), files) as server:
        threading.Thread(target=server.serve_forever).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def test_a_site_works_on_a_plain_host_and_its_pages_open_on_one_text(browser: Browser, host: str):
    page = browser.new_page()
    asked, errors = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(host)
    page.get_by_role("link", name=prose.load("tour").section("title")).click()
    stands(page)
    expect(page.locator("nav a[aria-current=page]")).to_have_text(prose.load("tour").section("title"))
    typed(page, "The dog ran to the")
    page.get_by_role("link", name=prose.load("next_token").section("title"), exact=True).click()
    stands(page)
    expect(page.locator("#prompt")).to_have_value("The dog ran to the")
    expect(page.locator(".sampling-panel .brief-row")).not_to_have_count(0)
    assert violations(page) == [] and errors == []
    assert all(url.startswith((host, "blob:")) for url in asked if not url.endswith("favicon.ico"))
    page.close()


def test_a_site_works_from_a_disk(offline, site: Path):
    page = offline(site / "index.html")
    assert violations(page) == []
    page.get_by_role("link", name=prose.load("overview").section("title")).click()
    stands(page)
    assert comes(page, lambda: "·ball" in title(page))
    assert page.errors == []


@pytest.mark.skipif(program() is None, reason="needs firefox-esr (.ci/run installs it)")
def test_every_file_opens_in_firefox(taken):
    with firefox() as tab:
        for path in (taken("tour"), taken(at(HOSTILE, shown="")), taken("next_token")):
            tab.open(path.as_uri())
            becomes(tab, lambda tab: tab.call("() => !document.getElementById('status')"))
            assert tab.errors == [], path
