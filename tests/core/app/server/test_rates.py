"""How often something may be done, and the turns of those who did it more often."""
from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pytest

from core.app.server import rates
from core.app.server.rates import Line, Rate
from tests.helpers.coroutines import finished


def test_some_at_once_then_an_even_pace(monkeypatch):
    now = 1_000.0
    monkeypatch.setattr(rates.time, "monotonic", lambda: now)
    rate = Rate(a_minute=60, at_once=3)
    assert [rate.take("a") for _ in range(5)] == [True, True, True, False, False] and rate.take("b")
    now += 1
    assert [rate.take("a") for _ in range(2)] == [True, False]
    now += 3_600
    assert [rate.take("a") for _ in range(4)] == [True, True, True, False]


def test_it_remembers_so_many_and_no_more():
    rate = Rate(a_minute=1, at_once=1)
    for i in range(rates.MOST_KNOWN + 50):
        assert rate.take(i)
    assert len(rate) == rates.MOST_KNOWN and not rate.take(rates.MOST_KNOWN + 49)


def test_what_was_done_far_too_often_is_forgotten_as_soon_as_what_may_be_at_once(monkeypatch):
    now = 1_000.0
    monkeypatch.setattr(rates.time, "monotonic", lambda: now)
    rate = Rate(a_minute=60, at_once=3)
    for _ in range(500):
        rate.done("a")
    assert not rate.may("a")
    now += 3
    assert [rate.take("a") for _ in range(4)] == [True, True, True, False]


@pytest.fixture
def clock(monkeypatch):
    """The time, which goes on with the sleep that ends first."""
    now, sleeping = [1_000.0], []

    async def sleep(seconds):
        sleeping.append((now[0] + seconds, ended := asyncio.Event()))
        await ended.wait()

    def wake():
        at, ended = min(sleeping, key=lambda one: one[0])
        sleeping.remove((at, ended))
        now[0] = at
        ended.set()
        return at
    monkeypatch.setattr(rates, "time", SimpleNamespace(monotonic=lambda: now[0]))
    monkeypatch.setattr(rates, "asyncio", SimpleNamespace(sleep=sleep))
    return wake


def test_turns_come_at_an_even_pace_to_each_that_is_told_apart(clock):
    line, came = Line(a_minute=60, most=3), []

    async def go(who):
        came.append((who, await line.turn(who)))

    async def in_line(n):
        async with asyncio.timeout(60):
            while len(line) < n:
                await asyncio.sleep(0)

    async def trial():
        tasks = [asyncio.ensure_future(go(who)) for who in ("a1", "b1")]
        tasks += [asyncio.ensure_future(go("a1")) for _ in range(3)]
        await in_line(4)
        assert came == [("a1", False)] and len(line) == 4        # the fourth of one is one too many
        assert [clock() for _ in range(4)] == [1_001, 1_001, 1_002, 1_003]
        await asyncio.gather(*tasks)
        assert sorted(came[1:]) == [("a1", True)] * 3 + [("b1", True)] and len(line) == 0
        last = asyncio.ensure_future(go("a1"))
        await in_line(1)
        assert clock() == 1_004                                 # who comes alone waits as long
        await last
    finished(trial())
