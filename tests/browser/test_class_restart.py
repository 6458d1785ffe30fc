"""A class whose server is killed goes on: with a file on the same server, with Redis on another replica. No browser:
what a phone's page does meanwhile is in tests/js/class.test.mjs and test_class_phones.py.
"""
from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections.abc import Callable
from pathlib import Path

from assets.deploy.replicas import HOST, Replicas, free_ports, running
from core.base import deployment
from tests.browser.test_restart import needs_nginx
from tests.core.app.classroom.test_stores import needs_redis
from tests.helpers.class_phones import Phone, Teacher, stream
from tests.helpers.coroutines import finished
from tests.helpers.redis_server import redis_server

QUESTION = {"ask": "Which?", "guess": {"kind": "options", "texts": ["ball", "dog"]}}
PHONES = 12


def test_a_class_in_a_file_goes_on_after_the_server_was_killed(tmp_path: Path):
    (port,) = free_ports(1)
    environment = os.environ | {deployment.CLASSES: str(tmp_path / "classes.db")}
    server = Replicas(f"http://{HOST}:{port}", "", {}, environment, tmp_path)
    server.start(port)
    try:
        server.wait(port)
        teacher = Teacher(server.url)
        teacher.act("ask", asked=QUESTION)
        phones = [Phone(server.url, teacher.code) for _ in range(PHONES)]
        kept = finished(voted(phones, 1))
        assert kept == [True] * PHONES
        server.kill(port)
        assert finished(voted(phones[:1], 1)) == [False]
        server.start(port)
        server.wait(port)
        assert counts(teacher) == [PHONES // 2, PHONES // 2]
        assert finished(voted(phones[::-1], 1)) == [True] * PHONES          # and votes can be changed
        assert finished(first(phones[0].events))["mine"]["question"] == 1
        teacher.act("reveal", model={"answer": 0})
        assert finished(first(phones[0].events))["tally"]["n"] == PHONES
    finally:
        server.processes[port].kill()
        server.processes[port].wait()


def test_a_server_that_is_asked_to_end_ends_the_streams_of_phones_and_wall(tmp_path: Path):
    (port,) = free_ports(1)
    server = Replicas(f"http://{HOST}:{port}", "", {}, dict(os.environ), tmp_path)
    server.start(port)
    process = server.processes[port]
    try:
        server.wait(port)
        teacher = Teacher(server.url)
        phone = Phone(server.url, teacher.code)
        with socket.create_connection((HOST, port)) as half_sent:
            half_sent.sendall(b"POST /class HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n{")
            assert finished(ended([phone.events, teacher.wall], process.terminate)) == [1, 1]
            process.wait(60)
        assert "Traceback" not in (tmp_path / f"replica_{port}.log").read_text()
    finally:
        process.kill()
        process.wait()


async def ended(urls: list[str], end: Callable[[], None]) -> list[int]:
    """How many events came at each address until its stream ended; all had begun when `end` was called."""
    async with asyncio.timeout(60), contextlib.AsyncExitStack() as streams:
        shown = [await streams.enter_async_context(stream(url)) for url in urls]
        for events in shown:
            await anext(events)
        end()
        return [1 + len([event async for event in events]) for events in shown]


@needs_nginx
@needs_redis
def test_a_phone_may_land_at_any_replica_and_a_killed_one_takes_no_confirmed_vote_along(tmp_path: Path):
    with redis_server() as store, running(2, base="/school", environment={deployment.CLASSES: store.address}) as here:
        teacher = Teacher(here.url)
        one, other = here.processes
        own = [f"http://{HOST}:{port}/school" for port in (one, other)]
        phones = [Phone(own[i % 2], teacher.code) for i in range(PHONES)]
        assert finished(_seen_at_both(teacher, own, phones))
        here.kill(one)
        assert counts(teacher) == [PHONES // 2, PHONES // 2]                # nginx asks the other
        through = [Phone(here.url, teacher.code, phone.number) for phone in phones]
        assert finished(_voted_until_kept(through, 1))
        teacher.act("reveal", model={"answer": 0})
        assert finished(first(f"{own[1]}/j/{teacher.code}/events?phone={phones[0].number}"))["tally"]["n"] == PHONES


async def _seen_at_both(teacher: Teacher, own: list[str], phones: list[Phone]) -> bool:
    """The wall at one replica counts those who vote at the other."""
    wall = teacher.wall.replace(teacher.url, own[0])
    async with asyncio.timeout(60), stream(wall) as shown:
        await anext(shown)
        await asyncio.to_thread(teacher.act, "ask", asked=QUESTION)
        assert await voted(phones, 1) == [True] * PHONES
        async for event in shown:
            if event.get("answered") == PHONES:
                return True
    return False


async def _voted_until_kept(phones: list[Phone], question: int) -> bool:
    """As a phone's page does it: again, until it is kept."""
    async with asyncio.timeout(60):
        for i, phone in enumerate(phones):
            while not await phone.answer(question, i % 2):
                await asyncio.sleep(0.2)
    return True


async def voted(phones: list[Phone], question: int) -> list[bool]:
    return [await phone.answer(question, i % 2) for i, phone in enumerate(phones)]


async def first(url: str) -> dict:
    """The first event at an address."""
    async with asyncio.timeout(60), stream(url) as shown, contextlib.aclosing(shown):
        return await anext(shown)


def counts(teacher: Teacher) -> list[int]:
    return teacher.act("report")["questions"][0]["tally"]["counts"]
