"""The line before long computations: who runs, who waits and for how long, and how one leaves it.

Threads that wait for events, and no clock.
"""
from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from core.app.compute import queue
from core.app.compute.queue import Job, Places

SECONDS = 30


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(queue, "LOOKS", 0.001)


def until(what, looks: int = 1_000 * SECONDS) -> bool:
    pause = threading.Event()
    return any(what() or pause.wait(0.001) for _ in range(looks))


def gated(gate: threading.Event) -> Iterator[int]:
    """Records that each wait for the gate."""
    for i in range(1_000_000):
        gate.wait(SECONDS)
        yield i


def test_a_bounded_number_runs_the_others_wait_in_order_and_begin_by_themselves():
    places, gates, begun = Places(2, 3, None), [threading.Event() for _ in range(5)], []

    def one(i: int) -> Iterator[int]:
        begun.append(i)
        gates[i].wait(SECONDS)
        yield i

    line = [Job(lambda i=i: one(i), places).start() for i in range(5)]
    assert until(lambda: len(begun) == 2) and sorted(begun) == [0, 1] and places.counts == (2, 3)
    assert ([job.waiting for job in line] == [False, False, True, True, True]
            and [job.wait_told[0] for job in line] == [0, 0, 0, 1, 2])
    assert Job(lambda: iter([1]), places).start() is None, "the line is full"
    gates[1].set()
    assert until(lambda: len(begun) == 3) and begun[2] == 2 and line[3].wait_told[0] == 0
    for gate in gates:
        gate.set()
    for i, job in enumerate(line):
        job.wait(SECONDS)
        assert job.records == [i] and not job.stopped and not job.waiting and job.wait_told == (0, 0)
    assert places.counts == (0, 0)


def test_a_job_stops_after_its_record_fails_alone_and_leaves_the_line_at_once():
    places, gate = Places(1, 9, None), threading.Event()
    running = Job(lambda: gated(gate), places).start()
    leaving, failing, last = (Job(make, places).start()
                              for make in (lambda: gated(gate), lambda: iter([1 // 0]), lambda: iter([1, 2, 3])))
    leaving.stop()
    leaving.wait(SECONDS)
    assert leaving.stopped and not leaving.running and not leaving.records and places.counts == (1, 2)
    running.stop()
    gate.set()
    for job in (running, failing, last):
        job.wait(SECONDS)
    assert running.stopped and len(running.records) <= 1
    assert failing.failed and not failing.stopped and failing.error.__traceback__ is None
    assert last.records == [1, 2, 3] and not last.stopped and places.counts == (0, 0)


def test_who_has_had_a_turn_goes_behind_those_who_wait_and_goes_on_later():
    places, order = Places(1, 9, 0.0), []

    def one(name: str, n: int) -> Iterator[int]:
        for i in range(n):
            order.append(name)
            yield i

    gate = threading.Event()
    first = Job(lambda: gated(gate), places).start()
    both = [Job(lambda name=name: one(name, 3), places).start() for name in "ab"]
    first.stop()
    gate.set()
    for job in (first, *both):
        job.wait(SECONDS)
    assert ("".join(order) == "ababab" and [job.records for job in both] == [[0, 1, 2]] * 2
            and not any(job.stopped for job in both))


def test_a_job_whose_page_was_closed_ends_whether_it_waits_or_runs(monkeypatch: pytest.MonkeyPatch):
    places, gate, is_open = Places(1, 9, None), threading.Event(), threading.Event()
    is_open.set()
    line = [Job(lambda: gated(gate), places, is_open.is_set).start() for _ in range(3)]
    monkeypatch.setattr(queue, "AWAY", 1e9)
    is_open.clear()
    assert until(lambda: line[1]._left_since is not None) and line[1].running, "a connection may come back"
    is_open.set()
    assert until(lambda: line[1]._left_since is None)
    monkeypatch.setattr(queue, "AWAY", 0)
    is_open.clear()
    gate.set()
    for job in line:
        job.wait(SECONDS)
    assert all(job.stopped and not job.running for job in line) and places.counts == (0, 0)


def test_a_job_that_runs_too_long_ends(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(queue, "MOST_SECONDS", 0)
    job = Job(lambda: iter(range(9)), Places(1, 0, None)).start()
    job.wait(SECONDS)
    assert job.records == [0] and job.stopped


@pytest.fixture
def a_page_runs(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """A thread that Streamlit would run a page on, until the event; jobs give way as long as that."""
    monkeypatch.setattr(queue, "GIVES_WAY", 1e9)
    monkeypatch.setattr(queue, "MOST_GIVEN", SECONDS)
    ends = threading.Event()

    def page() -> None:
        with queue.PAGES:
            ends.wait(SECONDS)

    threading.Thread(target=page, daemon=True).start()
    assert until(lambda: queue.PAGES.n == 1)
    yield ends
    ends.set()


def test_between_two_steps_a_job_lets_pages_go_first(a_page_runs: threading.Event):
    job = Job(lambda: iter([1, 2, 3]), Places(1, 9, None)).start()
    assert until(lambda: job.records) and not until(lambda: len(job.records) > 1, looks=200), "the page runs"
    assert list(queue.in_good_manners(iter("abc"))) == ["a", "b", "c"], "only a job does"
    a_page_runs.set()
    job.wait(SECONDS)
    assert job.records == [1, 2, 3]


def test_a_page_that_waits_for_a_job_is_not_let_go_first(a_page_runs: threading.Event):
    a_page_runs.set()
    gate = threading.Event()

    def steps() -> Iterator[int]:
        gate.wait(SECONDS)
        yield from range(3)

    job = Job(steps, Places(1, 9, None)).start()

    def draw() -> None:
        with queue.PAGES:
            job.wait(SECONDS)

    page = threading.Thread(target=draw, daemon=True)
    page.start()
    assert until(lambda: queue._pages_that_wait.n == 1)
    gate.set()
    page.join(SECONDS / 2)
    assert not page.is_alive() and job.records == [0, 1, 2] and queue._pages_that_wait.n == 0

