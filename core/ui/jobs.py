"""Long computations of a reader, each on a thread of its own, with what they have made so far: a bounded number at once, each stoppable.

A job belongs to the session that keeps it. The thread knows nothing of any session and makes no call to Streamlit.
"""
from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Iterator

LOG = logging.getLogger(__name__)
MOST_AT_ONCE = 2           # on the whole server: more would only slow each other down
MOST_SECONDS = 300         # of one job, which then ends by itself
_slots = threading.BoundedSemaphore(MOST_AT_ONCE)
_started: dict[int, float] = {}            # of the running jobs, by their id


class Job:
    """One iterator of records, run to its end, to `stop()`, to its failure or for MOST_SECONDS. `records` only ever grows."""

    def __init__(self, make: Callable[[], Iterator]) -> None:
        self.records: list = []
        self.failed = False
        self.stopped = False           # before its end
        self._make, self._stop, self._started = make, threading.Event(), time.monotonic()
        self._thread = threading.Thread(target=self._run, daemon=True)

    @property
    def running(self) -> bool:
        return self._thread.is_alive()

    def stop(self) -> None:
        """Asks the job to end after the record that it is at."""
        self._stop.set()

    def wait(self, seconds: float | None = None) -> None:
        """Until it has ended, or that many seconds."""
        self._thread.join(seconds)

    def _run(self) -> None:
        try:
            for record in self._make():
                self.records.append(record)
                if self._stop.is_set() or time.monotonic() - self._started > MOST_SECONDS:
                    self.stopped = True
                    break
        except Exception:
            LOG.exception("A long computation failed.")
            self.failed = True
        finally:
            _started.pop(id(self), None)
            _slots.release()

    def _start(self) -> Job:
        _started[id(self)] = self._started
        self._thread.start()
        return self


def start(make: Callable[[], Iterator]) -> Job | None:
    """A running job over the records that `make()` yields; None while MOST_AT_ONCE others run."""
    return Job(make)._start() if _slots.acquire(blocking=False) else None


def longest_wait() -> int:
    """Seconds until a place is free at the latest; 0 if one is free now."""
    started = list(_started.values())
    return 0 if len(started) < MOST_AT_ONCE else max(1, math.ceil(min(started) + MOST_SECONDS - time.monotonic()))
