"""Long computations of readers, each on a thread of its own, with their records so far: a bounded number at once, the
others in a line, each stoppable.

A job belongs to the session that keeps it. The thread knows nothing of any session and makes no call to Streamlit.
While others wait, a job that has had its turn steps back behind them between two records, so that the wait is bounded
whatever the jobs are, and no record is lost. Between two steps a job lets pages go first.
"""
from __future__ import annotations

import collections
import logging
import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")
LOG = logging.getLogger(__name__)
MOST_AT_ONCE = 2           # running jobs started by readers, on the whole server: more would slow each other down
MOST_WAITING = 40          # such jobs in the line: a class and some more
TURN = 20                  # seconds that such a job runs at a stretch while others wait
# running jobs that pages have started by themselves, which do not wait for those of readers; more would hold the pages
# up
MOST_QUEUED = 3
MOST_SECONDS = 300         # longest run of a job, which then ends by itself
# seconds without an open page after which a job ends: a broken connection comes back sooner
AWAY = 30
LOOKS = 0.25               # seconds between two looks of a waiting job at whether it must still wait
NAME = "job"               # name of the threads of jobs
# a job lets pages go first for this many times the duration of its last step, and at most for this many seconds
GIVES_WAY, MOST_GIVEN = 3, 0.25


class Places:
    """Places for jobs: `most` run at once; at most `longest` others wait in the order in which they came. turn: seconds
    after which a running job makes room, None for never.
    """

    def __init__(self, most: int, longest: float, turn: float | None) -> None:
        self.most, self.longest, self.turn = most, longest, turn
        self._running: dict[Job, float] = {}        # since when
        self._waiting: list[Job] = []
        self._lock = threading.Lock()

    def ask(self, job: Job) -> bool:
        """Give the job a place to run or to wait; False if the line is full."""
        with self._lock:
            if len(self._waiting) >= self.longest and len(self._running) >= self.most:
                return False
            self._waiting.append(job)
            self._admit()
            return True

    def leave(self, job: Job) -> None:
        """Take out a job that has ended or no longer waits."""
        with self._lock:
            self._running.pop(job, None)
            if job in self._waiting:
                self._waiting.remove(job)
            self._admit()

    def withdraw(self, job: Job) -> None:
        """Take a waiting job out of the line, and wake it."""
        with self._lock:
            if job in self._waiting:
                self._waiting.remove(job)
                job.turn.set()

    def make_room(self, job: Job) -> bool:
        """Between two records: put a job that has had its turn behind those that wait; return whether that was done."""
        with self._lock:
            if self.turn is None or not self._waiting or time.monotonic() - self._running[job] < self.turn:
                return False
            del self._running[job]
            self._waiting.append(job)
            job.turn.clear()
            self._admit()
            return not job.turn.is_set()

    def wait_of(self, job: Job) -> tuple[int, int]:
        """The number of jobs before a waiting one, and the seconds until its turn at the latest, if no record takes
        long; (0, 0) for a job that does not wait.
        """
        with self._lock:
            if job not in self._waiting:
                return 0, 0
            before, now = self._waiting.index(job), time.monotonic()
            return before, max(1, math.ceil(seconds_until(before, [now - since for since in self._running.values()],
                                                          self.most, self.turn or MOST_SECONDS)))

    @property
    def counts(self) -> tuple[int, int]:
        """The number of running and of waiting jobs."""
        with self._lock:
            return len(self._running), len(self._waiting)

    def _admit(self) -> None:
        """Give the free places to the first in the line; the lock is held."""
        while self._waiting and len(self._running) < self.most:
            job = self._waiting.pop(0)
            self._running[job] = time.monotonic()
            job.turn.set()


def seconds_until(before: int, held: Sequence[float], most: int, turn: float) -> float:
    """Seconds until a job with `before` others before it in the line gets a place, if every turn is used to its end.

    held: seconds for which the running jobs have had their places. most: the number of places.

    >>> seconds_until(0, [5.0, 15.0], 2, 20), seconds_until(1, [5.0, 15.0], 2, 20), seconds_until(2, [5.0, 15.0], 2, 20)
    (5.0, 15.0, 25.0)
    """
    free = sorted(max(0.0, turn - seconds) for seconds in held) or [0.0]
    return free[before % len(free)] + turn * (before // most)


class Job:
    """One iterator of records, run to its end, to `stop()`, to its failure or for MOST_SECONDS.

    `records` only ever grows.
    """

    def __init__(self, make: Callable[[], Iterator], places: Places,
                 watched: Callable[[], bool] = lambda: True) -> None:
        """watched: says whether anybody has the job's page open; a job that nobody waits for ends."""
        self.records: list = []
        self.error: Exception | None = None
        self.stopped = False           # before its end
        self.turn = threading.Event()  # whether it may run; set by its places
        self._make, self._places, self._watched, self._asked = make, places, watched, time.monotonic()
        self._stop, self._left_since = threading.Event(), None
        self._thread = threading.Thread(target=self._run, name=NAME, daemon=True)

    @property
    def running(self) -> bool:
        """Whether more records may come, now or when its turn has come."""
        return self._thread.is_alive()

    @property
    def waiting(self) -> bool:
        """Whether it is in the line, before its first turn or between two turns."""
        return self.running and not self.turn.is_set()

    @property
    def wait_told(self) -> tuple[int, int]:
        """The number of jobs before it in the line, and the seconds until its turn at the latest."""
        return self._places.wait_of(self)

    @property
    def failed(self) -> bool:
        return self.error is not None

    @property
    def seconds(self) -> float:
        """Seconds since it was asked for."""
        return time.monotonic() - self._asked

    def stop(self) -> None:
        """Ask the job to end after its present record, or to leave the line at once."""
        self._stop.set()
        self._places.withdraw(self)

    def wait(self, seconds: float | None = None) -> None:
        """Wait until the job has ended, or that many seconds."""
        with _pages_that_wait:
            self._thread.join(seconds)

    def start(self) -> Job | None:
        """Start the job, which then runs or waits, and return it; None if the line is full."""
        if not self._places.ask(self):
            return None
        self._thread.start()
        return self

    def _run(self) -> None:
        try:
            self.stopped = not (self._came_to_its_turn() and self._ran_to_its_end())
        except Exception as error:
            LOG.exception("A long computation failed.")
            self.error = error.with_traceback(None)         # the traceback's frames would hold on to a model
        finally:
            self._places.leave(self)

    def _came_to_its_turn(self) -> bool:
        """Wait for the turn; False if the job was stopped, or nobody waits for its records any longer."""
        while not self.turn.wait(LOOKS):
            if self._stop.is_set() or self._is_left():
                return False
        return not self._stop.is_set()

    def _ran_to_its_end(self) -> bool:
        ran, began = 0.0, time.monotonic()
        for record in in_good_manners(self._make()):
            self.records.append(record)
            if self._stop.is_set() or self._is_left() or ran + time.monotonic() - began > MOST_SECONDS:
                return False
            if self._places.make_room(self):
                ran += time.monotonic() - began
                if not self._came_to_its_turn():
                    return False
                began = time.monotonic()
        return True

    def _is_left(self) -> bool:
        """Whether nobody has had its page open for AWAY seconds."""
        if self._watched():
            self._left_since = None
        elif self._left_since is None:
            self._left_since = time.monotonic()
        return self._left_since is not None and time.monotonic() - self._left_since >= AWAY


class Counted:
    """A context that counts the threads inside it, each once however often it has entered. changes: notified when the
    number changes.
    """

    def __init__(self, changes: threading.Condition) -> None:
        self._entered, self._changes = collections.Counter(), changes

    @property
    def n(self) -> int:
        return len(self._entered)

    def __enter__(self) -> None:
        self._count(1)

    def __exit__(self, *_) -> None:
        self._count(-1)

    def _count(self, more: int) -> None:
        with self._changes:
            me, n = threading.get_ident(), self.n
            self._entered[me] += more
            if not self._entered[me]:
                del self._entered[me]
            if self.n != n:
                self._changes.notify_all()


_changes = threading.Condition()
PAGES = Counted(_changes)       # the threads that draw a page, or a part of one
_pages_that_wait, _of_thread = Counted(_changes), threading.local()


def in_good_manners(steps: Iterator[T]) -> Iterator[T]:
    """The same steps; on a job's thread, let pages that run go first before each step but the first.

    Python gives all threads equal time, so each page of a class would otherwise wait for the steps of all jobs.
    """
    is_job = threading.current_thread().name == NAME
    _of_thread.since = time.monotonic()        # when this thread last gave way, also within a step
    for step in steps:
        yield step
        if is_job:
            _give_way(min(GIVES_WAY * (time.monotonic() - _of_thread.since), MOST_GIVEN))
            _of_thread.since = time.monotonic()


def _give_way(seconds: float) -> None:
    """Sleep until the only running pages are those that wait for a job, or for this many seconds."""
    with _changes:
        _changes.wait_for(lambda: PAGES.n <= _pages_that_wait.n, seconds)


_slots, _queue = Places(MOST_AT_ONCE, MOST_WAITING, TURN), Places(MOST_QUEUED, math.inf, None)


def start(make: Callable[[], Iterator], watched: Callable[[], bool] = lambda: True) -> Job | None:
    """Start a job, asked for by a reader, over the records that `make()` yields: MOST_AT_ONCE run, MOST_WAITING wait;
    None if that many wait already.
    """
    return Job(make, _slots, watched).start()


def queue(make: Callable[[], Iterator], watched: Callable[[], bool] = lambda: True) -> Job:
    """Start a job for a page's own computation: it waits while MOST_QUEUED others of its kind run."""
    return Job(make, _queue, watched).start()


def in_line() -> tuple[int, int]:
    """The numbers of running and of waiting jobs among those that readers started."""
    return _slots.counts
