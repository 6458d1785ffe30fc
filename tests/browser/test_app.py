"""The whole app in a real Chromium: every page opens clean, is whole on a phone, answers its controls, and comes back
from its link.
"""
from __future__ import annotations

import contextlib
import re
from urllib.parse import urlsplit

from playwright.sync_api import Page, expect

from core.base import catalogue, deployment, prose
from tests.browser.conftest import is_error
from tests.browser.pictures import clipped_below, come_alike, comes, cut_off, pictures, pictures_at_rest
from tests.browser.serving import CHROMIUM_FLAGS, Server, chromium_path, go_to, prepare, rest, settle, try_menu
from tests.helpers.prompts import PROMPTS
from tests.pages.test_pages import PAGES

LONG = PROMPTS["256 tokens"].strip()


def assert_whole(page: Page, name: str, hosts: set[str], server: Server) -> None:
    """The page has its title and a picture, nothing failed on it or is cut off, and it has asked the server alone."""
    expect(page.get_by_role("heading", name=prose.load(name).section("title"), exact=True), name).to_have_count(1)
    settle(page)
    assert page.errors == [], name
    expect(page.get_by_test_id("stAlertContentError"), name).to_have_count(0)
    expect(page.get_by_test_id("stException"), name).to_have_count(0)
    assert pictures(page), f"{name}: no picture stands on the page"
    assert hosts == {urlsplit(server.url).netloc}, name
    assert page.evaluate("document.scrollingElement.scrollWidth") <= page.viewport_size["width"], name
    assert cut_off(page) == [] and clipped_below(page) == [], name


# At the first painting of the page's picture: whether what is said below it stands already.
FIRST_PAINTED = """(() => {
  const paint = CanvasRenderingContext2D.prototype.putImageData;
  CanvasRenderingContext2D.prototype.putImageData = function (...image) {
    window.below ??= document.querySelector(".st-key-lesson_numbers") !== null;
    return paint.apply(this, image);
  };
})()"""


VISITS = 6      # on a busy machine a picture's script may come late, and a browser that waits for it is idle


def test_the_first_picture_of_a_visit_stands_before_what_is_said_of_it(browser, server):
    page = browser.new_context(bypass_csp=True).new_page()
    page.add_init_script(FIRST_PAINTED)

    def is_first(path: str) -> bool:
        page.goto(f"{server.url}/{path}")
        settle(page)
        expect(page.locator(".st-key-lesson_numbers"), path).to_have_count(1)
        return page.evaluate("below") is False

    for path in ("", "heads"):
        assert any(is_first(path) for _ in range(VISITS)), path
    page.context.close()


# At the next painting of a picture: what is said in numbers.
NEXT_PAINTED = """() => {
  delete window.saidThen;
  const paint = CanvasRenderingContext2D.prototype.putImageData;
  CanvasRenderingContext2D.prototype.putImageData = function (...image) {
    window.saidThen ??= document.querySelector(".st-key-lesson_numbers").textContent;
    return paint.apply(this, image);
  };
}"""


def test_a_new_prompt_is_painted_before_what_is_said_of_it_and_all_of_the_page_follows(open_page, server):
    page = open_page("?prompt=The%20cat")
    a_new_prompt_is_painted_first(page)
    go_to(page, f"{server.url}/heads?prompt=The%20cat")
    page.locator(".wall button.head").first.wait_for()
    settle(page)
    a_new_prompt_is_painted_first(page)


def a_new_prompt_is_painted_first(page: Page) -> None:
    rest(page)      # a table writes its cells a moment after it stands
    said, bar = page.locator(".st-key-lesson_numbers"), page.locator(".st-key-model_drawer button").first
    before, counted = said.text_content(), bar.text_content()
    page.evaluate(NEXT_PAINTED)
    field = page.locator(".st-key-prompt textarea")
    field.fill("One day a girl found a box")
    field.press("Control+Enter")
    page.wait_for_function("window.saidThen !== undefined")
    settle(page)
    assert page.evaluate("saidThen") == before
    expect(said).not_to_have_text(before)
    expect(bar).not_to_have_text(counted)
    expect(page).to_have_url(re.compile("box"))
    expect(page.locator("[class*=st-key-strip_] nav a[href*=box]").first).to_be_attached()
    expect(page.locator("[class*=st-key-strip_] nav a:not([href*=box])")).to_have_count(0)
    assert page.errors == []


def hosts_of(open_page, path: str, **options) -> tuple[Page, set[str]]:
    """A page, and the hosts that are asked for something while it is open."""
    hosts = set()
    return open_page(path, watch=lambda request: hosts.add(urlsplit(request.url).netloc)
                     if request.url.startswith("http") else None, **options), hosts


def test_a_long_prompt_in_the_dark_on_a_phone_leaves_every_page_whole(open_page, server):
    first, *others = PAGES
    page, hosts = hosts_of(open_page, f"{catalogue.url_path(first)}?prompt={LONG}", width=390, height=844, dark=True)
    assert_whole(page, first, hosts, server)
    for name in others:
        go_to(page, f"{server.url}/{catalogue.url_path(name)}?prompt={LONG}")
        assert_whole(page, name, hosts, server)


# One page of each kind; that the others open whole, the walk through all views says. Two links are opened by a new
# reader, the others by one who is there already.
def test_pages_open_whole_and_the_link_of_an_experiment_gives_the_same_picture(open_page, server):
    (page, hosts), other = hosts_of(open_page, ""), None
    for name in ("overview", "heads", "next_token", "positions", "training"):
        if name != "overview":
            go_to(page, f"{server.url}/{catalogue.url_path(name)}")
        assert_whole(page, name, hosts, server)
        before = pictures_at_rest(page)
        experiment = prose.load(name).experiments[0]
        try_menu(page).get_by_role("button", name=experiment.title, exact=True).click()
        page.locator(".st-key-tried").wait_for()
        page.locator(".st-key-try_close button").click()
        page.locator(".st-key-tried").wait_for(state="detached")
        settle(page)
        assert pictures_at_rest(page) != before, name
        if other is None or name == "heads":
            other = open_page(page.url.removeprefix(f"{server.url}/"))
        else:
            go_to(other, page.url)
            settle(other)
        assert come_alike(page, other), name


def test_present_mode_hides_the_rest_and_its_arrow_keys_step_through_the_experiments(open_page):
    page = open_page("heads?present=true")
    expect(page.locator("[class*=st-key-try_menu_]")).to_have_count(0)
    first, second, third = prose.load("heads").experiments[:3]
    page.locator("body").press("ArrowRight")
    page.get_by_text(first.title).first.wait_for()
    page.emulate_media(color_scheme="dark")         # Streamlit then calls what listens to the keys once more
    page.wait_for_function("getComputedStyle(document.querySelector('.stApp')).colorScheme === 'dark'")
    page.locator("body").press("ArrowRight")
    page.get_by_text(second.title).first.wait_for()
    settle(page)
    expect(page.get_by_text(third.title)).to_have_count(0)


def test_a_broken_address_is_explained_and_everything_else_works(open_page):
    page = open_page(
        "heads?layer=99999999999999&head=x&position=-5&model=nonsense&device=abacus&present=maybe&target=1e9")
    expect(page.get_by_test_id("stAlertContentError")).to_have_count(0)
    expect(page.get_by_test_id("stException")).to_have_count(0)
    expect(page.get_by_test_id("stAlertContainer").first).to_be_attached()
    assert pictures(page)


def test_html_in_a_prompt_stays_text_and_what_is_pasted_is_cut_before_it_is_sent(open_page):
    page = open_page(f"{catalogue.HOME}?prompt=<img src=x onerror=document.title='broken'><b>bold</b>")
    # the first page's own name leads to the root
    page.wait_for_url(lambda url: f"/{catalogue.HOME}" not in url and "prompt=" in url)
    expect(page.locator("img[src='x']")).to_have_count(0)           # there is nothing that could fail now or later
    assert page.title() != "broken" and page.errors == []
    sent, kept = [], deployment.MOST_CHARACTERS
    page.on("websocket", lambda _: sent.append("anew"))
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.evaluate("navigator.clipboard.writeText('🐶 '.repeat(700_000))")
    field = page.locator(".st-key-prompt textarea")
    field.press("Control+a")
    field.press("Control+v")
    page.get_by_text(prose.load("app").label("notice_too_long", n=1_400_000, kept=kept)).wait_for()
    # told at once, and what is kept still waits for the reader's word
    assert len(field.input_value()) == kept and sent == [] and page.errors == []
    field.evaluate("field => { field.select(); document.execCommand('insertText', false, 'a\\ud83db\\u{10ffff}'); }")
    field.press("Control+Enter")
    page.wait_for_url("**prompt=a%EF%BF%BDb%F4%8F%BF%BF*")
    assert sent == []


def test_what_a_page_has_drawn_is_not_sent_again_when_the_reader_comes_back(browser, server):
    """Nor later: what the browser keeps is not lost before an answer on its way has spoken of it."""
    received, sent = [0], []
    page = browser.new_context(bypass_csp=True, viewport={"width": 1440, "height": 900}).new_page()
    prepare(page)
    page.on("websocket",
            lambda socket: socket.on("framereceived", lambda data: received.append(received.pop() + len(data))))
    page.on("websocket", lambda socket: socket.on("framesent", lambda data: sent.append(data)))
    page.goto(f"{server.url}/heads")
    settle(page)
    whole = received[0]
    for _ in range(4):
        asked = len(sent)
        page.locator("a[href$='/course']").first.click()
        assert comes(page, lambda asked=asked: len(sent) > asked)
        settle(page)
    received[0] = 0
    page.go_back()
    page.locator(".wall button.head").first.wait_for()
    settle(page)
    assert whole > 100_000 and received[0] < 60_000, received
    page.context.close()


# The first message that says that the picture stands does not arrive.
LOST = """(() => {
  const send = WebSocket.prototype.send;
  window.lost = 0;
  WebSocket.prototype.send = function (data) {
    if (!window.lost && new TextDecoder("latin1").decode(data).includes("stands")) { window.lost += 1; return; }
    return send.call(this, data);
  };
})()"""


def test_what_is_said_of_the_first_picture_comes_though_a_message_is_lost(browser, server):
    page = browser.new_context(bypass_csp=True, viewport={"width": 1440, "height": 900}).new_page()
    page.add_init_script(LOST)
    page.goto(server.url)
    page.locator(".st-key-lesson_code").wait_for()
    settle(page)
    assert page.evaluate("lost") == 1
    page.context.close()


def test_a_link_can_be_copied_at_an_address_that_browsers_do_not_trust(browser, server):
    """As of a teacher's laptop in a class: plain http, and not the reader's own machine."""
    flags = [*CHROMIUM_FLAGS, "--host-resolver-rules=MAP class.test 127.0.0.1"]
    with contextlib.closing(browser.browser_type.launch(
            executable_path=chromium_path(browser.browser_type.executable_path), args=flags)) as other:
        page, errors = other.new_page(), []
        page.on("console", lambda message: errors.append(message.text) if is_error(message) else None)
        page.goto(server.url.replace("127.0.0.1", "class.test"))
        settle(page)
        assert page.evaluate("isSecureContext") is False
        page.locator(".st-key-share button").first.click()
        code = page.get_by_test_id("stCode")
        code.hover()
        page.get_by_role("button", name="Copy to clipboard").click()
        page.get_by_role("button", name="Copied").wait_for()
        link = code.locator("code").inner_text()
        page.keyboard.press("Escape")
        field = page.locator(".st-key-prompt textarea")
        field.press("Control+a")
        field.press("Control+v")
        assert link.startswith("http://class.test")
        expect(field).to_have_value(link)
        assert errors == []
