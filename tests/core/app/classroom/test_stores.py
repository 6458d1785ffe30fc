"""Every store keeps the same promises: in memory, in a file, in a real server of Redis."""
from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from core.app.classroom.redis_store import RedisStore
from core.app.classroom.sqlite_store import SqliteStore
from core.app.classroom.store import ANSWERS, HEAD, Bounds, Unreachable
from tests.helpers.coroutines import finished
from tests.helpers.redis_server import program, redis_server

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[4]
CODE, OTHER = "KXM4T", "CDFHJ"
BOUNDS = Bounds(classes=2, phones=3, answers=7)
needs_redis = pytest.mark.skipif(program() is None, reason="needs valkey-server or redis-server (.ci/run installs it)")
LATER, SECONDS = 3600, 60


@pytest.fixture(scope="module")
def redis():
    with redis_server() as server:
        yield server


@pytest.fixture(params=["memory", "file", pytest.param("redis", marks=needs_redis)])
def opened(request, tmp_path):
    """A function that opens the store, empty at first; the same one at each call, but for memory."""
    if request.param == "redis":
        server = request.getfixturevalue("redis")
        finished(_flushed(server.address))
        return lambda: RedisStore(server.address, BOUNDS)
    return lambda: SqliteStore(tmp_path / "classes.db" if request.param == "file" else None, BOUNDS)


async def _flushed(address: str) -> None:
    store = RedisStore(address)
    await store._data.flushall()
    await store.close()


def run(opened, trial):
    """Run a trial with the store, as a coroutine, and let the store go."""
    async def go():
        async with contextlib.AsyncExitStack() as left:
            store = opened()
            left.push_async_callback(store.close)
            return await trial(store)
    return finished(go())


async def gone(store, code):
    """As soon as a class is over."""
    async with asyncio.timeout(60):
        while await store.read(code) is not None:
            await asyncio.sleep(0.05)


async def created(store, code=CODE, *, takes=0):
    assert await store.create(code, "head", time.time() + LATER)
    assert await store.write(code, 1, "asks", takes)


def test_a_class_is_there_until_it_is_dropped(opened):
    async def trial(store):
        assert await store.read(CODE) is None
        await created(store, takes=1)
        assert not await store.create(CODE, "another", time.time() + LATER)
        assert await store.read(CODE) == (2, "asks")
        assert await store.answer(CODE, 1, "a", "x")
        await store.drop(CODE)
        assert await store.read(CODE) is None and await store.answers(CODE, 1) == []
        assert not await store.answer(CODE, 1, "a", "x")
    run(opened, trial)


def test_a_class_is_gone_at_its_end_and_makes_room(opened):
    async def trial(store):
        assert await store.create(CODE, "head", time.time() + 1)
        assert await store.create(OTHER, "head", time.time() + LATER)
        await gone(store, CODE)
        assert await store.create("CCCCC", "head", time.time() + LATER)
        assert not await store.create("DDDDD", "head", time.time() + LATER)     # two at most
    run(opened, trial)


def test_a_class_lasts_longer_with_all_that_it_has_where_it_is_extended(opened):
    async def lasts(store, seconds):
        """Whether a class of `seconds` is filled and extended before they have gone by."""
        for code in (CODE, OTHER):
            await store.drop(code)
        end = round(time.time() + seconds)
        assert await store.create(CODE, "head", end) and await store.create(OTHER, "head", end)
        done = [await store.write(CODE, 1, "asks", 1), await store.answer(CODE, 1, "a", "x"),
                await store.write(CODE, 2, "second", 2, ended=(1, "asks")), await store.answer(CODE, 2, "a", "y")]
        await store.extend(CODE, time.time() + LATER)
        in_time = time.time() < end
        assert all(done) or not in_time
        return in_time

    async def trial(store):
        for seconds in (2, 8, 32, 128):
            if await lasts(store, seconds):
                break
        else:
            pytest.fail("no class is extended in time")
        await store.extend("CCCCC", time.time() + LATER)
        await gone(store, OTHER)
        assert await store.read(CODE) == (3, "second") and await store.ended(CODE) == {1: "asks"}
        assert await store.answers(CODE, 1) == ["x"] and await store.answers(CODE, 2) == ["y"]
        assert await store.knows(CODE, "a") and await store.read("CCCCC") is None
        await store.extend(OTHER, time.time() + LATER)              # what is over stays so
        assert await store.read(OTHER) is None
        assert await store.create("CCCCC", "head", time.time() + LATER)
        assert not await store.create("DDDDD", "head", time.time() + LATER)     # two at most
    run(opened, trial)


def test_a_phone_that_is_gone_leaves_its_place_in_a_full_class_to_another(opened):
    async def trial(store):
        await created(store, takes=1)
        now = time.time()
        await store.see(CODE, ["a", "b"], now)
        assert not await store.is_full(CODE)
        await store.see(CODE, ["c"], now - BOUNDS.gone + 60)
        assert await store.is_full(CODE) and not await store.answer(CODE, 1, "d", "x")
        await store.see(CODE, ["c"], now - BOUNDS.gone - 1)
        assert not await store.is_full(CODE) and await store.knows(CODE, "c")       # until another comes
        assert await store.answer(CODE, 1, "d", "x")
        assert await store.is_full(CODE) and not await store.knows(CODE, "c")
        await store.see(CODE, ["b"], 0)             # its page was closed
        await store.see(CODE, ["c"], now)
        assert await store.knows(CODE, "c") and not await store.knows(CODE, "b")
    run(opened, trial)


def test_phones_that_are_not_kept_are_forgotten_with_their_answers_to_the_question(opened):
    async def trial(store):
        await created(store, takes=1)
        for voter in "abc":
            assert await store.answer(CODE, 1, voter, voter)
        assert await store.write(CODE, 2, "second", 2, ended=(1, "asks"))
        for voter in "abc":
            assert await store.answer(CODE, 2, voter, voter)
        await store.keep_only(CODE, 2, {"b"})
        assert await store.answers(CODE, 2) == ["b"] and sorted(await store.answers(CODE, 1)) == ["a", "b", "c"]
        assert [await store.knows(CODE, voter) for voter in "abc"] == [False, True, False]
        assert await store.answer(CODE, 2, "d", "d") and not await store.is_full(CODE)
    run(opened, trial)


def told_in(folder: Path) -> set[str]:
    """Those of the words that classes of these tests hold which stand in the folder's files."""
    held = b"".join(file.read_bytes() for file in folder.iterdir())
    return {word for word in ("unmistakable", "overdue") if word.encode() in held}


@pytest.mark.skipif(os.name == "nt", reason="files of Windows have no modes")
def test_of_a_class_that_is_over_nothing_is_left_in_the_file_which_nobody_else_reads(tmp_path):
    async def trial(store):
        await created(store, takes=1)
        assert await store.answer(CODE, 1, "a", "unmistakable") and await store.answer(CODE, 1, "a", "other")
        assert await store.create(OTHER, "overdue", time.time() + 0.5)
        assert told_in(tmp_path) == {"unmistakable", "overdue"}
        await store.drop(CODE)
        assert "unmistakable" not in told_in(tmp_path)
        await gone(store, OTHER)
        await store.forget_old()
        assert told_in(tmp_path) == set()
        assert {file.stat().st_mode & 0o777 for file in tmp_path.iterdir()} == {0o600}

    with contextlib.closing(sqlite3.connect(tmp_path / "classes.db")) as before:
        before.execute("PRAGMA journal_mode = WAL")
    (tmp_path / "classes.db").chmod(0o644)
    run(lambda: SqliteStore(tmp_path / "classes.db", BOUNDS), trial)


def test_a_full_disk_is_told_to_whoever_writes_and_once_to_the_log(tmp_path, caplog):
    async def trial(store):
        await created(store, takes=1)
        pages = store._one("PRAGMA page_count")
        store._data.execute(f"PRAGMA max_page_count = {pages}")         # as on a disk without room
        for i in range(3):
            with pytest.raises(Unreachable):
                await store.answer(CODE, 1, str(i), "x" * 100_000)
        assert len(caplog.records) == 1 and await store.read(CODE) == (2, "asks")
        store._data.execute("PRAGMA max_page_count = 1000000")
        assert await store.answer(CODE, 1, "a", "x" * 100_000)
    run(lambda: SqliteStore(tmp_path / "classes.db", BOUNDS), trial)


def test_of_two_who_write_at_once_one_is_told_no(opened):
    async def trial(store):
        await created(store)
        done = await asyncio.gather(*(store.write(CODE, 2, f"head {i}", 0) for i in range(5)))
        assert sorted(done) == [False] * 4 + [True]
        assert await store.read(CODE) == (3, f"head {done.index(True)}")
    run(opened, trial)


def test_a_voter_has_one_answer_and_it_counts_only_while_the_question_takes_any(opened):
    async def trial(store):
        await created(store, takes=1)
        assert await store.answer(CODE, 1, "a", "first") and await store.answer(CODE, 1, "a", "second")
        assert await store.answer(CODE, 1, "b", "other")
        assert sorted(await store.answers(CODE, 1)) == ["other", "second"] and await store.count(CODE, 1) == 2
        assert await store.answer_of(CODE, 1, "a") == "second" and await store.answer_of(CODE, 1, "c") is None
        assert not await store.answer(CODE, 2, "a", "x")                # not asked yet
        assert await store.write(CODE, 2, "closed", 0)
        assert not await store.answer(CODE, 1, "a", "third")            # closed
        assert await store.answer_of(CODE, 1, "a") == "second"
    run(opened, trial)


def test_a_full_class_takes_no_further_phone_but_lets_those_change_their_answers(opened):
    async def trial(store):
        await created(store, takes=1)
        assert [await store.answer(CODE, 1, voter, "x") for voter in "abcd"] == [True, True, True, False]
        assert await store.answer(CODE, 1, "a", "y")
        assert await store.write(CODE, 2, "next", 2)
        assert [await store.answer(CODE, 2, voter, "x") for voter in "abc"] == [True, True, True]
        assert await store.write(CODE, 3, "next", 3)
        assert [await store.answer(CODE, 3, voter, "x") for voter in "abc"] == [True, False, False]     # seven at most
    run(opened, trial)


def test_who_is_there_is_counted_from_a_time_on(opened):
    async def trial(store):
        await created(store)
        await store.see(CODE, ["a", "b"], 100.0)
        await store.see(CODE, ["b", "c", "d"], 200.0)
        assert await store.knows(CODE, "c") and not await store.knows(CODE, "d")
        assert await store.there(CODE, 50.0) == 3 and await store.there(CODE, 150.0) == 2     # "d" is one too many
        await store.see(CODE, ["b"], 0)
        assert await store.there(CODE, 150.0) == 1
    run(opened, trial)


def test_what_is_over_is_kept_beside_until_the_class_is(opened):
    async def trial(store):
        await created(store)
        assert await store.write(CODE, 2, "second", 2, ended=(1, "first"))
        assert await store.write(CODE, 3, "third", 3, ended=(2, "second"))
        assert await store.ended(CODE) == {1: "first", 2: "second"} and await store.ended(OTHER) == {}
        await store.drop(CODE)
        assert await store.ended(CODE) == {}
    run(opened, trial)


def test_classes_know_nothing_of_each_other(opened):
    async def trial(store):
        await created(store, takes=1)
        await created(store, OTHER, takes=1)
        await store.answer(CODE, 1, "a", "x")
        await store.see(CODE, ["a"], 100.0)
        assert await store.answers(OTHER, 1) == [] and await store.there(OTHER, 0) == 0
        await store.drop(OTHER)
        assert await store.answers(CODE, 1) == ["x"]
    run(opened, trial)


def test_who_listens_hears_of_what_is_wanted_and_of_nothing_else(opened):
    async def trial(store):
        await created(store, takes=1)
        async with store.changes(CODE, HEAD) as heads, store.changes(CODE, HEAD, ANSWERS) as both:
            await _listens(store, heads, both)
            await store.answer(CODE, 1, "a", "x")
            assert await both.wait(SECONDS)
            assert not await heads.wait(0.01)           # what is heard comes to all who listen in one moment
            await store.write(CODE, 2, "new", 1)
            assert await heads.wait(SECONDS) and await both.wait(SECONDS)
    run(opened, trial)


async def _listens(store, *news):
    """Until a store that has to begin to listen says of it that all may have changed."""
    if isinstance(store, RedisStore):
        assert all([await one.wait(SECONDS) for one in news])


def test_a_file_is_read_by_the_next_process_after_one_was_killed(tmp_path):
    """Confirmed answers are there: the process confirms each, and is killed at the tenth."""
    file = tmp_path / "classes.db"
    code = f"""
import asyncio, time, pathlib
from core.app.classroom.sqlite_store import SqliteStore
async def go():
    store = SqliteStore(pathlib.Path({str(file)!r}))
    await store.create({CODE!r}, "head", time.time() + 3600)
    await store.write({CODE!r}, 1, "asks", 1)
    for i in range(100_000):
        await store.answer({CODE!r}, 1, str(i % 300), "x")
        print(i, flush=True)
asyncio.run(go())
"""
    process = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    for _ in range(10):
        last = int(process.stdout.readline())
    os.kill(process.pid, signal.SIGKILL)
    said = process.communicate()[0].split()
    last = int(said[-1]) if said else last

    async def trial(store):
        assert await store.read(CODE) == (2, "asks")
        assert len(await store.answers(CODE, 1)) >= min(last + 1, 300)
    run(lambda: SqliteStore(file), trial)


@needs_redis
def test_a_store_that_is_away_says_so_and_comes_back_with_what_was_confirmed(tmp_path):
    async def trial(server):
        store = RedisStore(server.address)
        await created(store, takes=1)
        assert await store.answer(CODE, 1, "a", "x")
        async with store.changes(CODE, HEAD, ANSWERS) as news:
            await _listens(store, news)
            await asyncio.to_thread(server.stop)
            with pytest.raises(Unreachable):
                await store.answer(CODE, 1, "b", "y")
            await asyncio.to_thread(server.start)
            assert await store.answers(CODE, 1) == ["x"]
            assert await news.wait(SECONDS)             # all may have changed
            while not await store.answer(CODE, 1, "b", "y") or not await news.wait(5):
                pass
        await store.close()

    with redis_server(str(tmp_path)) as server:
        finished(trial(server))


@needs_redis
def test_two_replicas_hear_of_each_other(redis):
    async def trial():
        here, there = RedisStore(redis.address), RedisStore(redis.address)
        await here._data.flushall()
        await created(here, takes=1)
        async with there.changes(CODE, HEAD, ANSWERS) as news:
            await _listens(there, news)
            assert await here.answer(CODE, 1, "a", "x") and await news.wait(SECONDS)
            assert await there.answers(CODE, 1) == ["x"]
        await here.close()
        await there.close()
    finished(trial())
