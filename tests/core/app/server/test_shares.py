"""The processor's share for one reader and one address, in the questions of hands that move."""
from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import SimpleNamespace

import pytest
from starlette.applications import Starlette
from starlette.requests import HTTPConnection
from starlette.testclient import TestClient

from core.app.server import routes
from core.app.server.shares import COOKIE, MOST_AT_ONCE, OF_ADDRESS, OF_READER, Full, Shares, Turn
from core.app.state import run
from tests.helpers.coroutines import finished

SCHOOL, OTHER = "203.0.113.7", "198.51.100.1"


def asker(address: str, reader: str = "") -> HTTPConnection:
    cookies = [(b"cookie", f"{COOKIE}={reader}".encode())] if reader else []
    return HTTPConnection({"type": "http", "headers": cookies, "client": (address, 5000)})


class Server:
    """A server whose every answer takes that many seconds of a processor of its own, and what it has answered."""

    def __init__(self, seconds: float) -> None:
        self.seconds, self.shares, self.answered, self.at_once, self.refused = seconds, Shares(), [], 0, 0
        self.most_at_once: dict[str, int] = {}

    async def ask(self, address: str, reader: str = "") -> None:
        try:
            async with self.shares.turn(asker(address, reader)) as turn:
                self._count(address, 1)
                await asyncio.sleep(self.seconds)
                turn.seconds = self.seconds
                self._count(address, -1)
                self.answered.append((address, reader, asyncio.get_running_loop().time()))
        except Full:
            self.refused += 1

    def _count(self, address: str, change: int) -> None:
        for key, most in ((address, "most " + address), ("all", "most of all")):
            self.most_at_once[key] = self.most_at_once.get(key, 0) + change
            self.most_at_once[most] = max(self.most_at_once.get(most, 0), self.most_at_once[key])

    async def keep_asking(self, address: str, reader: str, seconds: float) -> None:
        """One question after the other."""
        end = asyncio.get_running_loop().time() + seconds
        while asyncio.get_running_loop().time() < end:
            await self.ask(address, reader)

    def taken(self, address: str, until: float, reader: str | None = None) -> float:
        """Seconds of processor that were taken until then."""
        mine = [who == address and at <= until and reader in (None, one) for who, one, at in self.answered]
        return self.seconds * sum(mine)


def together(*coroutines) -> None:
    async def all_of_them() -> None:
        await asyncio.gather(*coroutines)

    finished(all_of_them(), in_no_time=True)


def test_a_hand_that_moves_for_seconds_never_waits():
    server = Server(0.05)
    together(server.keep_asking(SCHOOL, "a", 4))
    assert 80 <= len(server.answered) <= 81


def test_a_reader_who_asks_without_end_gets_the_share_of_a_reader():
    server = Server(0.5)
    together(server.keep_asking(SCHOOL, "a", 200))
    assert server.taken(SCHOOL, 200) == pytest.approx(OF_READER.seconds + 200 * OF_READER.cores, abs=1)


def test_an_address_gets_its_share_however_many_readers_it_makes_up():
    server = Server(0.5)
    together(*(server.keep_asking(SCHOOL, f"reader {i}", 200) for i in range(40)))
    assert server.taken(SCHOOL, 200) == pytest.approx(OF_ADDRESS.seconds + 200 * OF_ADDRESS.cores, abs=3)
    without_cookies = Server(0.5)
    together(*(without_cookies.keep_asking(SCHOOL, "", 200) for _ in range(40)))
    assert without_cookies.taken(SCHOOL, 200) == pytest.approx(OF_ADDRESS.seconds + 200 * OF_ADDRESS.cores, abs=3)


def test_an_address_never_has_all_places_and_the_others_do_not_wait_behind_it():
    server = Server(2.0)

    async def later() -> None:
        await asyncio.sleep(0.1)
        await server.ask(OTHER, "b")

    together(*(server.ask(SCHOOL, f"reader {i}") for i in range(60)), later())
    assert server.most_at_once[f"most {SCHOOL}"] == OF_ADDRESS.computed == MOST_AT_ONCE - 1
    assert next(at for address, _, at in server.answered if address == OTHER) == pytest.approx(2.1)


def test_places_are_bounded_however_many_addresses_ask():
    server = Server(1.0)
    together(*(server.ask(f"198.51.100.{i}", "a") for i in range(20)))
    assert server.most_at_once["most of all"] == MOST_AT_ONCE and len(server.answered) == 20


def test_a_class_behind_one_address_goes_by_turns():
    """A reader who asks without end is answered once while each of the others is."""
    server = Server(0.2)
    together(server.keep_asking(SCHOOL, "greedy", 2), *(server.ask(SCHOOL, f"pupil {i}") for i in range(30)))
    last = max(at for _, reader, at in server.answered if reader != "greedy")
    assert server.taken(SCHOOL, last, "greedy") <= 2 * server.seconds and server.refused == 0


def test_who_has_too_many_questions_waiting_is_refused_and_nobody_else():
    server = Server(1.0)
    others = (SCHOOL, "b"), (OTHER, "a")
    together(*(server.ask(SCHOOL, "a") for _ in range(OF_READER.asked + 3)), *(server.ask(*other) for other in others))
    assert server.refused == 3 and {answered[:2] for answered in server.answered} == {(SCHOOL, "a"), *others}
    server = Server(1.0)
    together(*(server.ask(SCHOOL, f"reader {i}") for i in range(OF_ADDRESS.asked + 5)), server.ask(OTHER, "a"))
    assert server.refused == 5 and server.taken(OTHER, 1000) == 1.0


def test_machines_of_one_ipv6_network_are_one_address():
    server = Server(1.0)
    together(*(server.ask(f"2001:db8::{i}") for i in range(OF_ADDRESS.asked + 5)))
    assert server.refused == 5


def test_nothing_is_kept_of_who_has_asked():
    server = Server(0.01)

    async def asked() -> None:
        for i in range(300):
            await server.ask(f"198.51.100.{i % 250}", f"reader {i}")
        await asyncio.sleep(60)
        await server.ask(SCHOOL)
        await asyncio.sleep(60)
        await server.ask(SCHOOL)

    together(asked())
    assert len(server.shares) <= 1


# ---- on the routes ---------------------------------------------------------------------------------------------------


taken = [0.0]       # seconds of the processor


def busy(question: dict) -> bytes:
    """An answer that takes 60 ms of processor."""
    taken[0] += 0.06
    return b"answered"


@pytest.fixture
def client() -> TestClient:
    return TestClient(Starlette(routes=[routes.route("busy", f"{__name__}:busy")]))


class Noting:
    """Shares that give every question its turn at once, or no turn; the seconds that were noted."""

    def __init__(self, is_full: bool = False) -> None:
        self.is_full, self.noted = is_full, []

    @asynccontextmanager
    async def turn(self, _asker: HTTPConnection) -> AsyncIterator[Turn]:
        if self.is_full:
            raise Full
        turn = Turn()
        yield turn
        self.noted.append(turn.seconds)


def test_what_an_answer_takes_of_the_processor_is_counted(client: TestClient, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(routes, "SHARES", shares := Noting())
    monkeypatch.setattr(routes, "time", SimpleNamespace(thread_time=lambda: taken[0]))
    assert client.post("/live/busy", content=b"{}").content == b"answered"
    assert shares.noted == [pytest.approx(0.06)]


def test_a_question_too_many_is_refused_in_plain_words(client: TestClient, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(routes, "SHARES", Noting(is_full=True))
    answer = client.post("/live/busy", content=b"{}")
    assert answer.status_code == 503 and answer.text == "Too many questions are waiting."


def test_what_is_the_same_for_all_waits_for_nobody(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(routes, "SHARES", Noting(is_full=True))
    client = TestClient(Starlette(routes=[routes.route("busy", f"{__name__}:busy", waits=False)]))
    assert client.post("/live/busy", content=b"{}").content == b"answered"


def status_of(*messages: dict) -> int:
    """The route's answer to a connection that says this and then is gone."""
    said, answered = iter([*messages, {"type": "http.disconnect"}]), []

    async def receive() -> dict:
        return next(said)

    async def send(message: dict) -> None:
        answered.append(message)

    scope = {"type": "http", "method": "POST", "path": "/live/busy", "query_string": b"", "headers": [], "client": None}
    finished(routes.route("busy", f"{__name__}:busy").handle(scope, receive, send))
    return answered[0]["status"]


def test_a_phone_that_loses_its_network_in_the_middle_of_a_question_leaves_no_traceback():
    assert status_of() == 499
    assert status_of({"type": "http.request", "body": b"{", "more_body": True}) == 499


def test_a_question_whose_asker_has_gone_is_not_computed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(routes, "_answered", lambda *_: pytest.fail("computed for nobody"))
    assert status_of({"type": "http.request", "body": b"{}"}) == 499


def test_a_pass_that_takes_seconds_is_not_computed_for_a_hand(monkeypatch: pytest.MonkeyPatch):
    ids = [1] * 20
    assert run.of_tokens("stories", "cpu", ids).token_ids == tuple(ids)
    monkeypatch.setattr(run, "MOST_LIVE", run.asked_model("stories", "cpu").model.n_parameters * 20 - 1)
    with pytest.raises(ValueError, match="seconds"):
        run.of_tokens("stories", "cpu", ids)
