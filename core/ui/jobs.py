"""Long computations of a reader, each on a thread of its own, with what they have made so far: a bounded number at once, each stoppable.

A job belongs to the session that keeps it. The thread knows nothing of any session and makes no call to Streamlit; it asks whether the job is still wanted.
"""
from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Iterator

LOG = logging.getLogger(__name__)
MOST_AT_ONCE = 2           # on the whole server: more would only slow each other down
MOST_QUEUED = 6            # at once of those that wait for a place: what a page computes by itself is not held up by what readers have started
MOST_SECONDS = 300         # of one job, which then ends by itself
_slots, _queue = threading.BoundedSemaphore(MOST_AT_ONCE), threading.BoundedSemaphore(MOST_QUEUED)
_started: dict[int, float] = {}            # of the running jobs, by their id


class Job:
    """One iterator of records, run to its end, to `stop()`, to its failure, for MOST_SECONDS, or until nobody wants it. `records` only ever grows."""

    def __init__(self, make: Callable[[], Iterator], places: threading.BoundedSemaphore, wanted: Callable[[], bool]) -> None:
        """places: one of them is taken when the job begins, and given back at its end. wanted: asked after every record."""
        self.records: list = []
        self.error: Exception | None = None
        self.stopped = False           # before its end
        self._make, self._places, self._wanted, self._stop, self._asked = make, places, wanted, threading.Event(), time.monotonic()
        self._thread = threading.Thread(target=self._run, daemon=True)

    @property
    def running(self) -> bool:
        return self._thread.is_alive()

    @property
    def failed(self) -> bool:
        return self.error is not None

    @property
    def seconds(self) -> float:
        """Since it was asked for."""
        return time.monotonic() - self._asked

    def stop(self) -> None:
        """Asks the job to end after the record that it is at."""
        self._stop.set()

    def wait(self, seconds: float | None = None) -> None:
        """Until it has ended, or that many seconds."""
        self._thread.join(seconds)

    def start(self) -> Job:
        """Begins; its place is taken already."""
        _started[id(self)] = self._asked
        self._thread.start()
        return self

    def _run(self) -> None:
        began = time.monotonic()
        try:
            for record in self._make():
                self.records.append(record)
                if self._stop.is_set() or time.monotonic() - began > MOST_SECONDS or not self._wanted():
                    self.stopped = True
                    break
        except Exception as error:
            LOG.exception("A long computation failed.")
            self.error = error.with_traceback(None)         # whose frames would hold on to a model
        finally:
            _started.pop(id(self), None)
            self._places.release()


class _Waiting(Job):
    """The same, which waits for its place on its own thread."""

    def start(self) -> Job:
        self._thread.start()
        return self

    def _run(self) -> None:
        while not self._places.acquire(timeout=0.1):
            if self._stop.is_set() or not self._wanted():
                self.stopped = True
                return
        super()._run()


def start(make: Callable[[], Iterator], wanted: Callable[[], bool] = lambda: True) -> Job | None:
    """A running job over the records that `make()` yields; None while MOST_AT_ONCE others run."""
    return Job(make, _slots, wanted).start() if _slots.acquire(blocking=False) else None


def queue(make: Callable[[], Iterator], wanted: Callable[[], bool] = lambda: True) -> Job:
    """The same, that waits while MOST_QUEUED others of its kind run."""
    return _Waiting(make, _queue, wanted).start()


def longest_wait() -> int:
    """Seconds until a place is free at the latest; 0 if one is free now."""
    started = list(_started.values())
    return 0 if len(started) < MOST_AT_ONCE else max(1, math.ceil(min(started) + MOST_SECONDS - time.monotonic()))
