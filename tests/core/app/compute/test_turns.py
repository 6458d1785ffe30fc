"""The line before a device, and what is computed once for all who ask together: threads that wait for
events, and no clock.
"""
from __future__ import annotations

import asyncio
import collections
import threading
import types
from collections.abc import Callable

import pytest
import torch

from core.app.compute import cache, turns
from core.app.server import pace
from core.model.intervention import Intervention
from tests.helpers.coroutines import finished

SECONDS = 30


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(turns, "LOOKS", 0.001)


class Away(BaseException):
    """A signal that takes a thread away, as Streamlit's do."""


def started(what: Callable[[], object]) -> tuple[threading.Thread, list]:
    """A thread that does it, and where its result or its exception will be."""
    found = []

    def run() -> None:
        try:
            found.append(what())
        except BaseException as error:
            found.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread, found


def until(what: Callable[[], bool]) -> None:
    pause = threading.Event()
    for _ in range(SECONDS * 1_000):
        if what():
            return
        pause.wait(0.001)
    raise AssertionError("it does not come about")


def in_line(line: turns.Line, readers: str, done: list[str],
            look: Callable[[], None] = lambda: None) -> list[tuple[threading.Thread, list]]:
    """One request for each letter, in this order behind each other; each notes its letter when its turn has come."""
    threads = []
    for reader in readers:
        def take(reader: str = reader) -> None:
            with line.turn(reader, look):
                done.append(reader)

        before = line.n_waiting
        threads.append(started(take))
        until(lambda: line.n_waiting == before + 1)
    return threads


def test_readers_take_turns_and_the_waits_are_measured():
    line, done = turns.Line(1), []
    with line.turn("z"):
        threads = in_line(line, "aaaabbc", done)
        assert line.n_waiting == 7 and not done
    for thread, found in threads:
        thread.join(SECONDS)
        assert found == [None]
    assert "".join(done) == "abcabaa", "one of many requests stands behind each of the others once"
    assert (line.waits.turns == 8 and line.waits.waited == 7 and 0 < line.waits.longest <= line.waits.seconds
            and line.n_waiting == 0)


def test_no_more_than_the_bound_at_once():
    line, inside, most, go = turns.Line(2), [], [], threading.Event()

    def take() -> None:
        with line.turn(threading.get_ident()):
            inside.append(1)
            most.append(len(inside))
            go.wait(SECONDS)
            inside.pop()

    threads = [started(take) for _ in range(5)]
    until(lambda: line.n_waiting == 3)
    go.set()
    for thread, _ in threads:
        thread.join(SECONDS)
    assert max(most) == 2 and len(most) == 5


def test_who_is_called_away_leaves_the_line_and_a_failure_gives_the_turn_on():
    line, done, gone = turns.Line(1), [], threading.Event()

    def look() -> None:
        if gone.is_set():
            raise Away

    with pytest.raises(ZeroDivisionError), line.turn("z"):
        leaving, staying = in_line(line, "aab", done, look), in_line(line, "a", done)
        gone.set()
        until(lambda: line.n_waiting == 1)
        _ = 1 // 0
    for thread, _ in (*leaving, *staying):
        thread.join(SECONDS)
    assert done == ["a"] and [type(found[0]) for _, found in leaving] == [Away] * 3 and staying[0][1] == [None]
    with line.turn("z"):
        pass                # and nothing is taken any longer


def test_a_turn_that_comes_while_its_reader_leaves_is_given_on():
    line = turns.Line(1)
    first, second = line._ask("a"), line._ask("b")
    assert first.is_set() and not second.is_set()
    line._withdraw("a", first)
    assert second.is_set()


def asked(shared: turns.Shared, n: int, make: Callable[[], object],
          look: Callable[[], None] = lambda: None) -> list[tuple[threading.Thread, list]]:
    return [started(lambda: shared.get("key", make, look)) for _ in range(n)]


def test_equal_requests_share_one_computation_and_its_failure():
    for fails in (False, True):
        shared, go, begun, looks = turns.Shared(), threading.Event(), [], []

        def make() -> object:
            begun.append(1)
            go.wait(SECONDS)
            if fails:
                raise ValueError("no")
            return object()

        threads = asked(shared, 5, make, lambda: looks.append(threading.get_ident()))
        until(lambda: len(set(looks)) == 4)
        assert shared.get("another", lambda: 7) == 7, "who asks for something else is not held up"
        go.set()
        for thread, _ in threads:
            thread.join(SECONDS)
        results = [found[0] for _, found in threads]
        assert len(begun) == 1 and len(set(map(id, results))) == 1 and isinstance(results[0], ValueError) == fails
        assert shared.get("key", lambda: 3) == 3, "nothing is kept"


def test_where_the_maker_is_called_away_one_of_those_who_wait_makes_it():
    shared, go, looks, makers = turns.Shared(), threading.Event(), set(), []

    def make() -> int:
        makers.append(1)
        if len(makers) == 1:
            go.wait(SECONDS)
            raise Away
        return 5

    threads = asked(shared, 4, make, lambda: looks.add(threading.get_ident()))
    until(lambda: len(looks) == 3)
    go.set()
    for thread, _ in threads:
        thread.join(SECONDS)
    assert sorted(str(found[0]) for _, found in threads) == ["", "5", "5", "5"] and 2 <= len(makers) <= 4


def test_a_value_that_asks_for_itself_or_for_another_does_not_wait_for_ever():
    shared = turns.Shared()
    assert shared.get("a", lambda: shared.get("a", lambda: 1) + shared.get("b", lambda: 2)) == 3


def test_a_cache_makes_a_value_once_also_where_that_is_none():
    kept, made = cache.ByteBoundedCache(100), []
    for _ in range(2):
        assert kept.get_or_make("key", lambda: made.append(1), lambda _: 1) is None
    assert len(made) == 1 and len(kept) == 1


def test_equal_passes_of_many_readers_are_one_and_its_failure_reaches_them_all(
        monkeypatch: pytest.MonkeyPatch, empty_caches: None):
    loaded, go, passed = cache.shared_model("stories-small", "cpu"), threading.Event(), []
    forward, line = cache._forward, turns.line("cpu")

    def slow(*asked):
        passed.append(asked)
        assert go.wait(SECONDS) and not any(lock.locked() for lock in (cache._traces()._lock,
                                                                       cache._traces()._shared._lock, line._lock))
        if len(asked[1]) == 2:
            raise torch.OutOfMemoryError("out of memory")
        return forward(*asked)

    monkeypatch.setattr(cache, "_forward", slow)
    ids = [(0, 5, 6), (0, 5, 6), (0, 7), (0, 7)]
    threads = [started(lambda ids=ids: cache.trace(loaded, ids, Intervention())) for ids in ids]
    until(lambda: len(passed) == min(2, line.most))
    go.set()
    for thread, _ in threads:
        thread.join(SECONDS)
    one, same, failed, too = (found[0] for _, found in threads)
    assert (one is same and isinstance(failed, torch.OutOfMemoryError) and isinstance(too, torch.OutOfMemoryError)
            and line.n_waiting == 0)


# ---- a page that asks without end ------------------------------------------------------------------------------------


def test_messages_of_one_page_are_taken_at_a_pace_and_none_is_lost(monkeypatch: pytest.MonkeyPatch):
    clock, taken = [0.0], []

    async def sleep(seconds: float) -> None:
        clock[0] += seconds

    async def receive() -> dict:
        clock[0] += 0.001                     # a thousand a second
        return {"type": "websocket.receive", "bytes": b""}

    async def app(scope, receive, send) -> None:
        for _ in range(pace.AT_ONCE + 300):
            await receive()
            taken.append(clock[0])

    monkeypatch.setattr(pace, "time", types.SimpleNamespace(monotonic=lambda: clock[0]))
    monkeypatch.setattr(pace, "asyncio", types.SimpleNamespace(sleep=sleep))
    finished(pace.Paced(app)({"type": "websocket"}, receive, None))
    # a burst at once, then evenly
    assert taken[pace.AT_ONCE - 1] < 0.1 and taken[-1] == pytest.approx(300 / pace.A_SECOND, abs=0.1)
    taken.clear()
    finished(pace.Paced(app)({"type": "http"}, receive, None))
    assert taken[-1] - taken[0] < 1


def test_pages_that_flood_share_the_pace_of_one_and_another_does_not_wait_for_them(monkeypatch: pytest.MonkeyPatch):
    """The third flood ends after twenty seconds; the quiet page says something once a second."""
    paced, taken = pace.Paced(None), collections.Counter()

    async def page(name: str, seconds: float, between: float) -> None:
        clock = asyncio.get_running_loop().time

        async def app(scope, receive, send) -> None:
            while clock() < seconds:
                await asyncio.sleep(between)
                began = clock()
                await receive()
                taken[name, "first" if 10 <= began < 20 else "later"] += began >= 10
                assert name != "quiet" or clock() == began

        async def receive() -> dict:
            return {"type": "websocket.receive", "bytes": b""}

        paced.app = app
        await paced({"type": "websocket"}, receive, None)

    async def class_() -> None:
        monkeypatch.setattr(pace, "time", types.SimpleNamespace(monotonic=asyncio.get_running_loop().time))
        await asyncio.gather(page("a", 40, 0.001), page("b", 40, 0.001), page("c", 20, 0.001), page("quiet", 40, 1))

    finished(class_(), in_no_time=True)
    flooded = [sum(taken[name, when] for name in "abc") for when in ("first", "later")]
    assert flooded == [pytest.approx(10 * pace.A_SECOND, rel=0.05), pytest.approx(20 * pace.A_SECOND, rel=0.05)]
    assert (taken["a", "later"] == pytest.approx(taken["b", "later"], abs=2)
            and taken["quiet", "first"] + taken["quiet", "later"] == 31)
