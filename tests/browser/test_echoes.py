"""Late echoes of an earlier setting from Python do not undo what the hand has set since; Python's own words do."""
from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, Locator, Page, WebSocketRoute, expect
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from core.base import prose
from tests.browser.pictures import comes
from tests.browser.serving import Server, go_to, prepare, rest, settle
from tests.browser.views import LESSONS, stand

PRESSED = "(buttons) => buttons.findIndex((button) => button.ariaPressed === 'true')"


def presses(buttons: str) -> tuple[Callable[[Page, int], None], Callable[[Page], object]]:
    """The k-th of some buttons is pressed, and which one is."""
    return (lambda page, k: page.locator(buttons).nth(k).click(),
            lambda page: page.locator(buttons).evaluate_all(PRESSED))


def slides(lesson: str, label: str) -> tuple[Callable[[Page, int], None], Callable[[Page], object]]:
    """A slider is moved on by one step, and where it stands."""
    def slider(page: Page) -> Locator:
        return page.get_by_role("slider", name=prose.load(lesson).label(label))
    return lambda page, k: slider(page).press("ArrowLeft"), lambda page: slider(page).input_value()


def guess(page: Page, k: int) -> None:
    """The game's next letter is found."""
    found = page.locator(".tile .yours")
    before = found.count()
    for key in ("Space", *"etaoinshrdlucmfwypvbgkjqxz"):
        page.locator(".tokens-view").first.press(key)
        if found.count() > before:
            return


# (lesson, view): what the hand does for the k-th of some settings, and what then stands. No address names the first,
# which is the default.
HANDS = {
    ("language_models", "sentences"): presses(".sentences-list .name"),
    ("language_models", "guess"): (guess, lambda page: page.locator(".tile .yours").all_text_contents()),
    ("tokens", "methods"): presses(".token_methods th button"),
    ("attention", "scaling"): slides("attention", "scaling_slider"),
    ("architectures", "activations"): slides("architectures", "activations_slider_x"),
    ("limits", "facts"): (lambda page, k: page.locator(".foot input[type=range]").press("ArrowLeft"),
                          lambda page: page.locator(".foot input[type=range]").input_value()),
}
# (lesson, view): what the hand does to be at A (k = 2), at B (k = 0) and at A again
TWICE = {
    ("language_models", "sentences"): presses(".sentences-list .name"),
    ("tokens", "methods"): presses(".token_methods th button"),
    ("positions", "waves"): (
        lambda page, k: page.locator(".instrument input[type=range]").first.press("ArrowRight" if k else "ArrowLeft"),
        lambda page: page.locator(".instrument input[type=range]").first.input_value()),
}
LATER = "{ const now = Date.now; Date.now = () => now() + 60_000; }"       # a minute goes by

# What waits until the browser is idle waits for `idle()`, and no longer than to its first call.
BUSY = """() => { const waiting = [], when = window.requestIdleCallback;
    window.requestIdleCallback = (call) => waiting.push(call); window.waiting = waiting;
    window.idle = () => { window.requestIdleCallback = when; waiting.splice(0).forEach((call) => call()); }; }"""


def kind_of(message: bytes) -> str | None:
    """The type of a message of Streamlit's server."""
    return ForwardMsg.FromString(message).WhichOneof("type")


class Line:
    """The websocket between a page and its server, whose answers can be held back."""

    def __init__(self, page: Page) -> None:
        self._page, self._held = page, None
        page.route_web_socket(re.compile("/_stcore/stream"), self._connect)

    def _connect(self, socket: WebSocketRoute) -> None:
        self._socket, self._held, server = socket, None, socket.connect_to_server()
        self._server = server
        socket.on_message(self._asked)
        server.on_message(self._answered)

    def _asked(self, message: bytes) -> None:
        self._server.send(message)

    def _answered(self, message: bytes) -> None:
        if self._held is None:
            self._socket.send(message)
        else:
            self._held.append(message)

    def hold(self) -> None:
        self._held = []

    def await_answer(self, until: str = "script_finished") -> list[bytes]:
        """All that came since, up to the next message of that type: by default to the end of the next run."""
        assert comes(self._page, lambda: any(kind_of(message) == until for message in self._held or ())), "none came"
        answer, self._held = self._held, []
        return answer

    def let(self, answer: list[bytes]) -> None:
        for message in answer:
            self._socket.send(message)

    def release(self) -> None:
        held, self._held = self._held, None
        self.let(held)


@pytest.fixture(scope="module")
def reader(browser: Browser, server: Server) -> Iterator[tuple[Page, Line]]:
    page = browser.new_context(bypass_csp=True, viewport={"width": 1280, "height": 900}).new_page()
    prepare(page)
    line = Line(page)
    page.goto(f"{server.url}/map")
    settle(page)
    yield page, line
    page.context.close()


def arrive(page: Page, server: Server, lesson: str, view: str) -> None:
    """At the view, as its bare address has it."""
    go_to(page, f"{server.url}/{lesson}?{lesson}_view={view}")
    settle(page)
    stand(page, LESSONS[lesson][view])


@pytest.mark.parametrize(("lesson", "view"), HANDS)
def test_a_late_echo_does_not_undo_the_hand(reader, server: Server, lesson: str, view: str):
    (page, line), (hand, shown) = reader, HANDS[lesson, view]
    arrive(page, server, lesson, view)
    opened = page.url
    hand(page, 1)
    page.wait_for_url(lambda url: url != opened)
    settle(page)
    address, stands, answers = page.url, [shown(page)], []
    line.hold()
    for k in (2, 0):
        hand(page, k)
        stands.append(shown(page))
        answers.append(line.await_answer())
    for answer in answers:
        line.let(answer)
        rest(page)
        stands.append(shown(page))
    line.release()
    settle(page)
    go_to(page, address)
    settle(page)
    rest(page)
    first, second, third, *after = [*stands, shown(page)]
    assert len({str(one) for one in (first, second, third)}) == 3 and after == [third, third, first]


@pytest.mark.parametrize(("lesson", "view"), TWICE)
def test_a_hand_that_went_there_twice_stays_there_however_late_the_answers_come(reader, server: Server, lesson: str,
                                                                                view: str):
    (page, line), (hand, shown), answers = reader, TWICE[lesson, view], []
    arrive(page, server, lesson, view)
    line.hold()
    for k in (2, 0, 2):
        hand(page, k)
        answers.append((shown(page), line.await_answer()))
    (there, _), (between, _), (again, _) = answers
    assert there == again != between
    for _, answer in answers:
        line.let(answer)
        rest(page)
        assert shown(page) == there
        page.evaluate(LATER)
    line.release()
    settle(page)
    rest(page)
    assert shown(page) == there


def test_a_picture_that_is_left_as_it_stands_does_not_call_its_reader_back(reader, server: Server):
    page, line = reader
    arrive(page, server, "tokens", "methods")
    page.evaluate(BUSY)
    page.get_by_role("button", name="Abwasserbehandlungsanlage").click()
    page.wait_for_url(re.compile("tokens_example=1"))
    page.wait_for_function("waiting.length")
    line.hold()
    go_to(page, f"{server.url}/tokens?tokens_view=bpe")
    answer = line.await_answer()
    page.evaluate("idle()")
    line.let(answer)
    line.release()
    settle(page)
    expect(page.locator(".rules").first).to_be_visible()
