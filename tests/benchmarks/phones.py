"""A class of many phones at one address: they join, vote and see the answer revealed while a teacher's page is open."""
from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

from playwright.sync_api import expect

from tests.benchmarks.sizes import Sizes
from tests.benchmarks.timing import Figure, figure, resident_megabytes
from tests.browser.serving import chromium, prepare, serve, settle
from tests.helpers.class_phones import Phone, Teacher, request, stream
from tests.helpers.coroutines import finished

QUESTION = {"ask": "Which?", "guess": {"kind": "options", "texts": ["ball", "dog", "cat", "tree"]}}
JOINING, VOTING = 0.1, 0.05     # seconds from one phone to the next that joins, and that answers
AFTER = 65                      # seconds after which a class that is over has left what it took


def phone_figures(sizes: Sizes) -> list[Figure]:
    """The phones' waits and costs.

    The reference of a vote is a request for the phone's page, which the server answers from memory.
    """
    n_phones, after = sizes.phones, sizes.share * AFTER
    with serve() as server, chromium() as browser:
        page = browser.new_context(bypass_csp=True).new_page()
        prepare(page)
        page.goto(f"{server.url}/attention?ask=1")
        settle(page)
        before = resident_megabytes(server.process.pid)
        teacher = Teacher(server.url)
        page.evaluate("text => sessionStorage.setItem('transformer-class', text)", f"{teacher.code} {teacher.key}")
        page.reload()
        settle(page)
        expect(page.locator(".class-desk .opener")).to_contain_text(teacher.code, timeout=30_000)
        measured = finished(_class(teacher, n_phones, sizes.seconds, lambda: resident_megabytes(server.process.pid)))
        teacher.act("end")
        time.sleep(after)
        left = resident_megabytes(server.process.pid)
    votes, pages, reveals, kept, most = measured
    note = f"{n_phones} phones at one address, a teacher's page open"
    return [figure("vote, 95 % are answered within", [_share(votes, 0.95)], [_share(pages, 0.95)], "ms",
                   f"{note}; reference: the phone's page"),
            figure("reveal to the last phone", reveals, None, "ms", note),
            figure("votes that were confirmed and counted", [kept], None, "", f"of {n_phones}"),
            figure("memory that the class adds", [most - before], None, "MB", note),
            figure("memory after the class, of before", [left / before], None, "", f"{after:g} s later")]


async def _class(teacher: Teacher, n: int, held: float, memory) -> tuple[list[float], list[float], list[float], int,
                                                                       float]:
    """Milliseconds of votes, of pages and of reveals, the votes that are counted, and the most memory. held: for how
    many seconds the connections are left alone once all have answered.
    """
    phones = [Phone(teacher.url, teacher.code) for _ in range(n)]
    async with AsyncExitStack() as left:
        shown = await asyncio.gather(*(_joined(phone, left, JOINING * i) for i, phone in enumerate(phones)))
        await asyncio.to_thread(teacher.act, "ask", asked=QUESTION)
        await asyncio.gather(*(_until(events, "open") for events in shown))
        most = memory()
        votes = await asyncio.gather(*(_timed(VOTING * i, phone.answer(1, i % 4))
                                       for i, phone in enumerate(phones)))
        pages = await asyncio.gather(*(_timed(VOTING * i, _page(phone)) for i, phone in enumerate(phones)))
        await asyncio.sleep(held)
        most = max(most, memory())
        began = time.perf_counter()
        revealing = asyncio.create_task(asyncio.to_thread(teacher.act, "reveal", model={"answer": 1}))
        told = await asyncio.gather(*(_until(events, "revealed") for events in shown))
        reveal = 1e3 * (time.perf_counter() - began)
        await revealing
        assert all(event["tally"]["n"] == n for event in told)
    return [s for s, kept in votes if kept], [s for s, _ in pages], [reveal], told[0]["tally"]["n"], most


async def _joined(phone: Phone, left: AsyncExitStack, wait: float) -> AsyncIterator[dict]:
    await asyncio.sleep(wait)
    await _page(phone)
    events = await left.enter_async_context(stream(phone.events))
    await anext(events)
    return events


async def _page(phone: Phone) -> bool:
    status, _ = await request(f"{phone.url}/j/{phone.code}")
    return status == 200


async def _until(events: AsyncIterator[dict], phase: str) -> dict:
    async for event in events:
        if event["phase"] == phase:
            return event
    raise AssertionError(phase)


async def _timed(wait: float, asked) -> tuple[float, bool]:
    await asyncio.sleep(wait)
    began = time.perf_counter()
    said = await asked
    return 1e3 * (time.perf_counter() - began), said


def _share(times: list[float], share: float) -> float:
    """The time within which that share of them lies."""
    return sorted(times)[min(int(share * len(times)), len(times) - 1)]
