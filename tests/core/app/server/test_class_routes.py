"""The routes of a class over HTTP: statuses that a page can act on, bounds, nothing in the log."""
from __future__ import annotations

import asyncio
import logging
import time
from types import SimpleNamespace

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from core.app.classroom import codes
from core.app.classroom.store import Bounds
from core.app.server import class_routes, rates
from core.app.server.rates import Rate
from core.base import deployment
from tests.helpers.coroutines import finished

QUESTION = {"ask": "Which <b>word</b>?", "guess": {"kind": "options", "texts": ["ball", "dog"]}}
PHONE = "0" * 32


class Turns:
    """A line in which nobody waits, but for those who find it full."""

    def __init__(self):
        self.came, self.is_full = [], False

    async def turn(self, who):
        self.came.append(who)
        return not self.is_full


@pytest.fixture
def client(monkeypatch):
    monkeypatch.setenv(deployment.CLASSES, "")
    class_routes.classes.cache_clear()
    for name, rate in (("WRONG", Rate(1, 60)), ("WRONG_OF_ALL", Rate(1, 100)), ("OPENED", Rate(6, 30)),
                       ("JOINED", Rate(6, 40)), ("ANSWERED", Rate(60, 20)), ("WISHED", Rate(240, 60)),
                       ("TURNS", Turns()), ("TURNS_OF_ALL", Turns())):
        monkeypatch.setattr(class_routes, name, rate)
    with TestClient(Starlette(routes=class_routes.routes())) as client:
        yield client
    class_routes.classes.cache_clear()


@pytest.fixture
def room(client):
    """A class with a question: (code, key)."""
    opened = client.post("/class").json()
    assert act(client, opened["code"], opened["key"], "ask", asked=QUESTION).status_code == 200
    return opened["code"], opened["key"]


def act(client, code, key, what, **more):
    return client.post(f"/class/{code}", json={"key": key, "do": what, **more})


def answer(client, code, guess=0, phone=PHONE, question=1):
    return client.post(f"/j/{code}/answer", json={"phone": phone, "question": question, "guess": guess})



def test_a_class_is_opened_asked_answered_and_revealed(client, room):
    code, key = room
    assert answer(client, code, 1).json() == {"kept": True}
    assert act(client, code, key, "reveal", model={"answer": 0}).json() == {}
    assert answer(client, code, 0).json() == {"kept": False}
    report = act(client, code, key, "report").json()["questions"]
    assert report[0]["tally"] == {"n": 1, "counts": [0, 1]} and report[0]["asked"]["ask"] == QUESTION["ask"]
    assert act(client, code, key, "end").status_code == 200
    assert answer(client, code).status_code == 404


def test_a_code_is_taken_as_it_is_typed(client, room):
    code, _ = room
    assert answer(client, f"{code[:2].lower()}-{code[2:].lower()}").json() == {"kept": True}


def test_refusals_have_statuses(client, room):
    code, key = room
    assert answer(client, "CCCCCC").status_code == 404 and answer(client, "nonsense").status_code == 404
    assert act(client, code, "0" * 32, "close").status_code == 403
    assert act(client, code, key, "dance").status_code == 400
    assert answer(client, code, 7).status_code == 400 and answer(client, code, phone="me").status_code == 400
    assert client.get(f"/j/{code}/events?phone=me").status_code == 400
    assert client.get(f"/j/CCCCCC/events?phone={PHONE}").status_code == 404
    assert client.get(f"/j/{code}/events").status_code == 400
    for wall in ("", key, "é", codes.kept("0" * 32)):
        assert client.get(f"/j/{code}/events", params={"wall": wall}).status_code == 403
    assert client.get("/j/CCCCCC/events", params={"wall": codes.kept(key)}).status_code == 404
    for body in (b"", b"[]", b"{", b"\xff\xfe", b'{"a":' * 5_000, b'{"phone": NaN}'):
        assert client.post(f"/j/{code}/answer", content=body).status_code == 400, body[:10]
    assert client.post(f"/j/{code}/answer", content=b" " * 3_000).status_code == 400
    assert client.post(f"/class/{code}", content=b" " * 30_000).status_code == 400


def test_who_tries_many_codes_waits_for_a_turn_and_keeps_nobody_from_a_class(client, room):
    code, key = room
    assert answer(client, code).status_code == 200
    tried = [answer(client, "CCCCCC", phone=f"{i:032x}").status_code for i in range(70)]
    turns = class_routes.TURNS
    assert set(tried) == {404} and turns.came == ["testclient"] * 10         # the first sixty did not wait
    assert answer(client, code, phone="1" * 32).json() == {"kept": True}     # a right code is taken all the same
    assert len(turns.came) == 11
    assert answer(client, code, phone="1" * 32).json() == answer(client, code, 1).json() == {"kept": True}
    assert act(client, code, key, "close").status_code == 200
    assert len(turns.came) == 11 and class_routes.TURNS_OF_ALL.came == []   # who has joined, or has the key, goes on


def test_where_many_wait_nobody_hears_whether_a_code_exists(client, room):
    code, _ = room
    for i in range(60):
        answer(client, "CCCCCC", phone=f"{i:032x}")
    class_routes.TURNS.is_full = True
    assert answer(client, code, phone="1" * 32).status_code == 503 == answer(client, "CCCCCC").status_code
    assert client.get(f"/j/{code}/events?phone={'1' * 32}").status_code == 503


def test_what_can_be_no_code_delays_nobody_for_long(client, room, monkeypatch):
    code, _ = room
    for _ in range(500):
        assert answer(client, "nonsense").status_code == 404
    monkeypatch.setattr(rates, "time", SimpleNamespace(monotonic=lambda: time.monotonic() + 3_600))
    assert all(class_routes.WRONG.take("testclient") for _ in range(60))    # the sixty that may be tried at once


def test_many_addresses_together_wait_too(client, room, monkeypatch):
    monkeypatch.setattr(class_routes, "_address", lambda request: request.url.path)
    code, _ = room
    for i in range(100):
        answer(client, "".join(codes.LETTERS[i // 19**k % 19] for k in range(codes.LENGTH)), phone=f"{i:032x}")
    assert class_routes.TURNS_OF_ALL.came == [] == class_routes.TURNS.came
    assert answer(client, code, phone="1" * 32).json() == {"kept": True}
    assert class_routes.TURNS_OF_ALL.came == [""] and class_routes.TURNS.came == []


def test_a_wrong_key_counts_like_a_wrong_code_and_the_right_one_is_never_refused(client, room):
    code, key = room
    tried = [act(client, code, f"{i:032x}", "reveal").status_code for i in range(60)]
    assert set(tried) == {403}
    assert act(client, code, "0" * 32, "reveal").status_code == act(client, "CCCCCC", "0", "reveal").status_code == 429
    wall = client.get(f"/j/{code}/events", params={"wall": codes.kept("0" * 32)}).status_code
    assert wall == client.get("/j/CCCCCC/events", params={"wall": codes.kept(key)}).status_code == 429
    assert act(client, code, key, "reveal").status_code == 200


def test_the_odds_of_finding_a_code_are_what_its_file_says():
    """By hand: the codes tried, out of 19^6."""
    lesson, hours = (300 + 120 * 60 * h for h in (1.5, 6))
    assert (lesson, hours) == (11_100, 43_500)
    for rate, line, a_minute, at_once in ((class_routes.WRONG, class_routes.TURNS, 120, 300),
                                          (class_routes.WRONG_OF_ALL, class_routes.TURNS_OF_ALL, 600, 1_500)):
        assert (rate.a_minute, line.a_minute, rate.at_once) == (a_minute, a_minute, at_once)
    of = len(codes.LETTERS) ** codes.LENGTH
    odds = [100 * tries / of for tries in (lesson, hours, 1_500 + 600 * 60 * 6, 20 * hours)]
    assert [f"{one:.2g}" for one in odds] == ["0.024", "0.092", "0.46", "1.8"]
    assert all(f"{one:.2g} %" in codes.__doc__ for one in odds)


def test_floods_end_in_a_refusal(client, room):
    code, key = room
    answered = [answer(client, code, i % 2).status_code for i in range(30)]
    assert answered[:20] == [200] * 20 and 429 in answered
    assert answer(client, code, phone="1" * 32).status_code == 200          # another phone is free
    assert 429 in [act(client, code, key, "close").status_code for _ in range(70)]
    assert 429 in [client.post("/class").status_code for _ in range(35)]


def test_one_address_brings_new_phones_at_a_hands_pace_and_those_that_are_there_go_on(client, room):
    code, _ = room
    joined = [answer(client, code, phone=f"{i:032x}").status_code for i in range(60)]
    assert joined == [200] * 40 + [503] * 20
    assert answer(client, code, phone=f"{7:032x}").json() == {"kept": True}
    other = client.post("/class").json()["code"]
    assert client.get(f"/j/{code}/events?phone={'f' * 32}").status_code == 503
    assert answer(client, other, phone="f" * 32).status_code == 200         # of another class


def test_a_phone_hears_that_the_class_is_full(client, room):
    code, key = room
    class_routes.classes().store._bounds = Bounds(phones=2)
    assert [answer(client, code, phone=f"{i:032x}").status_code for i in range(3)] == [200, 200, 409]
    assert client.get(f"/j/{code}/events?phone={'f' * 32}").status_code == 409
    assert act(client, code, key, "sweep").status_code == 200
    assert answer(client, code, phone="f" * 32).json() == {"kept": True}


def test_what_is_posted_too_slowly_is_given_up(room, monkeypatch):
    """The test's client sends all at once, so that the route is asked as a server asks it."""
    monkeypatch.setattr(class_routes, "BODY_SECONDS", 0.01)

    async def never():
        await asyncio.Event().wait()

    route = next(one for one in class_routes.routes() if one.path == "/class")
    sent = []

    async def send(message):
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": "/class", "headers": [], "query_string": b""}
    finished(route.handle(scope, never, send))
    assert sent[0]["status"] == 408


def test_the_log_holds_no_answers(client, room, caplog):
    code, key = room
    caplog.set_level(logging.DEBUG)
    act(client, code, key, "ask", asked={"ask": "A word?", "guess": {"kind": "word", "chance": True}})
    assert answer(client, code, "unmistakable", question=2).json() == {"kept": True}
    answer(client, code, "x" * 5_000, question=2)
    assert "unmistakable" not in caplog.text and key not in caplog.text


def test_the_page_of_a_phone_is_one_small_document_and_says_nothing_of_the_class(client, room):
    code, key = room
    for path in ("/j", f"/j/{code}", "/j/%3Cscript%3E"):
        page = client.get(path)
        assert page.status_code == 200 and len(page.content) < 40_000 and page.text == client.get("/j").text
        assert key not in page.text and 'lang="en"' in page.text and "<script>" not in page.text
    assert page.headers["content-type"].startswith("text/html")


def test_the_end_of_a_class_ends_its_streams(client, room):
    code, key = room
    act(client, code, key, "end")
    assert client.get(f"/j/{code}/events?phone={PHONE}").status_code == 404


def test_where_classes_are_off_there_are_none(monkeypatch):
    monkeypatch.setenv(deployment.CLASSES, "off")
    assert class_routes.routes() == []
