"""A hand that is faster than the page: what it asks for while another answer is on its way never leaves the browser
with nothing to show. What crosses on the line is held back there, so that it crosses on any machine.
"""
from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, WebSocketRoute, expect

from tests.browser.conftest import Tab
from tests.browser.pictures import comes
from tests.browser.serving import go_to, settle
from tests.browser.test_echoes import Line, kind_of
from tests.browser.views import LESSONS

# Moves a slider of the page and follows a stage of the strip before the slider has said so: it does 120 ms after the
# hand.
SLIDE_AND_GO = """() => {
  const roots = [...document.querySelectorAll("*")].map((e) => e.shadowRoot).filter(Boolean), all = (selector) =>
      roots.flatMap((root) => [...root.querySelectorAll(selector)]);
  const [slider] = all(".instrument input[type=range]");
  slider.value = Number(slider.value) + 3;
  for (const name of ["input", "change"]) slider.dispatchEvent(new Event(name, { bubbles: true }));
  all("a.stage").find((stage) => stage.textContent.trim() === "stream").click();
}"""
BEGINS, ENDS = "new_session", "script_finished"         # a run, as its server tells the page


class SlowLine(Line):
    """A line that holds back what the page says, too, until its server has got to a place."""

    def __init__(self, page: Page) -> None:
        super().__init__(page)
        self.ahead: list[str] | None = None     # what the server has to say until then; None: nothing is held back
        self._asking, self.late = False, []     # late: the page's words that had to wait for it
        self.from_the_start = False     # whether all that the server says is held back from the connection on
        self.unsaid: list[bytes] | None = None      # the page's words that wait for `say`; None: none waits

    def _connect(self, socket: WebSocketRoute) -> None:
        super()._connect(socket)
        if self.from_the_start:
            self.hold()

    def let_one_ask(self, ahead: list[str]) -> None:
        """Let the page say one word; what it says after it waits until the server has sent messages of the types in
        `ahead`, and all of the server's until they are let.
        """
        self.hold()
        self.ahead, self._asking, self.late = list(ahead), False, []

    def say(self) -> None:
        """Give the server what the page has said meanwhile, in one go."""
        unsaid, self.unsaid = self.unsaid, None
        for message in unsaid:
            self._server.send(message)

    def _asked(self, message: bytes) -> None:
        if self.unsaid is not None:
            self.unsaid.append(message)
            return
        if self.ahead is None or not self._asking:
            super()._asked(message)
        else:
            self.late.append(message)
            self._pass()
        self._asking = True

    def _answered(self, message: bytes) -> None:
        super()._answered(message)
        if self.ahead and kind_of(message) == self.ahead[0]:
            self.ahead.pop(0)
            self._pass()

    def _pass(self) -> None:
        if self.late and self.ahead == []:
            self.ahead = None
            for message in self.late:
                super()._asked(message)


@pytest.fixture
def reader(browser: Browser) -> Iterator[tuple[Page, SlowLine]]:
    page = Tab(browser).page
    yield page, SlowLine(page)
    page.context.close()


@pytest.mark.parametrize("ahead", [[BEGINS], [BEGINS, ENDS]], ids=["its page begins", "its page has ended"])
def test_a_link_is_followed_while_a_slider_still_speaks(reader, server, ahead):
    """The slider's word comes to the server when the run of the new page has begun, or when it has ended, and in any
    case before the browser has heard of that page.
    """
    page, line = reader
    page.goto(f"{server.url}/positions?positions_view=waves&present=true")
    settle(page)
    line.let_one_ask([BEGINS, ENDS, *ahead])            # the first run is the strip's, which opens the page
    page.evaluate(SLIDE_AND_GO)
    assert comes(page, lambda: line.late and line.ahead is None)
    line.release()
    page.wait_for_url("**/residual_stream?**")
    settle(page)
    expect(page.locator(".residual-lens canvas")).to_have_count(1)
    assert page.errors == []


@pytest.mark.parametrize("when", [BEGINS, ENDS])
def test_the_history_is_followed_while_a_prompt_of_its_last_entry_is_on_its_way(reader, server, when):
    page, line = reader
    page.goto(f"{server.url}/positions?positions_view=waves")
    settle(page)
    go_to(page, f"{server.url}/overview?prompt=Mia%20likes%20apples.")
    settle(page)
    line.hold()
    go_to(page, f"{server.url}/overview?prompt=Mia%20likes%20pears.")
    held = line.await_answer(when)
    go_to(page, f"{server.url}/positions?positions_view=biases")
    line.let(held)
    line.release()
    page.locator(".st-key-positions_stage .instrument").wait_for()
    settle(page)
    assert page.errors == []


def test_the_history_is_followed_before_the_page_has_heard_which_one_it_is(reader, server):
    page, line = reader
    line.from_the_start = True
    page.goto(f"{server.url}/")
    held = line.await_answer(BEGINS)
    line.let(held)
    go_to(page, f"{server.url}/?prompt=Mia%20likes%20apples.")
    line.release()
    settle(page)
    expect(page.locator(".st-key-standing")).to_have_count(0)
    assert page.errors == []


def test_the_history_is_followed_though_a_press_is_told_before_its_run_has_begun(reader, server):
    page, line = reader
    page.goto(f"{server.url}/tokens?tokens_view=methods")
    settle(page)
    line.unsaid = []
    go_to(page, f"{server.url}/tokens?tokens_view=bpe")
    page.get_by_role("button", name="Abwasserbehandlungsanlage").click()
    assert comes(page, lambda: len(line.unsaid) == 2)
    line.say()
    page.locator(LESSONS["tokens"]["bpe"].end).wait_for()
    settle(page)
    assert "tokens_view=bpe" in page.url and page.errors == []
