"""Turns for the forward passes of many readers: a line for each device, in which readers alternate, and one
computation for all who ask for the same.

Nothing here knows Streamlit, a model or a session. A caller waits and computes on its own thread, so an exception is
raised where it belongs, and no thread can be left behind. No lock of this file is held during a computation.

There is no batching. On one thread of an Intel Xeon, two passes of `stories` that happen to be of equal length take, as
one batch, 0.6 of their time at 16 tokens and 0.7 at 64, four 0.4 and 0.7, eight 0.4 and 0.7; at 128 tokens 0.9. But a
class of thirty asks for about three passes a second, of 15 to 40 ms each, on two cores: a pass rarely finds another
waiting, and hardly ever one of its own length. If lengths were made equal by padding, the last digits of a picture
would depend on what other readers ask.
"""
import collections
import logging
import os
import threading
import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

LOG = logging.getLogger(__name__)
LONG = 2.0              # seconds of a wait that goes into the server's log
LOOKS = 0.1             # seconds between two looks of a waiting caller at whether it must still wait


def _stays() -> None:
    """The look of a caller that nothing calls away."""


@dataclass(frozen=True)
class Waits:
    """Statistics of waiting: the number of turns, how many had to wait, seconds in all, and those of the longest wait.
    """

    turns: int = 0
    waited: int = 0
    seconds: float = 0.0
    longest: float = 0.0


class Line:
    """Turns on one device: at most `most` at once.

    Readers alternate: a reader with ten requests waits for one of each other reader, never the reverse.
    """

    def __init__(self, most: int) -> None:
        self.most, self.waits = most, Waits()
        self._taken = 0
        # by reader, the next one first
        self._waiting: collections.OrderedDict[Hashable, collections.deque[threading.Event]] = collections.OrderedDict()
        self._lock = threading.Lock()

    @property
    def n_waiting(self) -> int:
        with self._lock:
            return sum(map(len, self._waiting.values()))

    @contextmanager
    def turn(self, reader: Hashable, look: Callable[[], None] = _stays) -> Iterator[None]:
        """Run the block when the reader's turn has come. look: called now and then meanwhile; if it raises, the place
        in the line goes to others.
        """
        began, mine = time.monotonic(), self._ask(reader)
        if has_waited := not mine.is_set():
            try:
                while not mine.wait(LOOKS):
                    look()
            except BaseException:
                self._withdraw(reader, mine)
                raise
        try:
            self._measure(time.monotonic() - began if has_waited else 0.0)
            yield
        finally:
            self._end()

    def _ask(self, reader: Hashable) -> threading.Event:
        mine = threading.Event()
        with self._lock:
            self._waiting.setdefault(reader, collections.deque()).append(mine)
            self._admit()
        return mine

    def _end(self) -> None:
        with self._lock:
            self._taken -= 1
            self._admit()

    def _withdraw(self, reader: Hashable, mine: threading.Event) -> None:
        with self._lock:
            if mine.is_set():           # its turn came in the same moment
                self._taken -= 1
                self._admit()
                return
            self._waiting[reader].remove(mine)
            if not self._waiting[reader]:
                del self._waiting[reader]

    def _admit(self) -> None:
        """Give the free turns away; the lock is held."""
        while self._waiting and self._taken < self.most:
            reader, own = self._waiting.popitem(last=False)
            own.popleft().set()
            self._taken += 1
            if own:
                self._waiting[reader] = own         # last now

    def _measure(self, seconds: float) -> None:
        with self._lock:
            before = self.waits
            self.waits = Waits(before.turns + 1, before.waited + (seconds > 0), before.seconds + seconds,
                               max(before.longest, seconds))
        if seconds > LONG:
            LOG.warning("A forward pass waited %.1f s for its turn: %s.", seconds, self.waits)


class _Making:
    """A value that is being made, or has been."""

    def __init__(self) -> None:
        self.thread, self.done = threading.get_ident(), threading.Event()
        self.value: object = None
        self.error: Exception | None = None
        self.left = False               # its maker was called away


class Shared:
    """Make equal computations that are asked for at the same time only once. Nothing is kept."""

    def __init__(self) -> None:
        self._making: dict[Hashable, _Making] = {}
        self._lock = threading.Lock()

    def get(self, key: Hashable, make: Callable[[], object], look: Callable[[], None] = _stays):
        """Return make(), or the value or exception of another thread that is making it for the same key.

        look: called now and then while waiting for another thread; an exception from it ends the waiting. If the other
        thread is called away (by a BaseException that is no Exception), a waiting thread makes the value.
        """
        while True:
            with self._lock:
                making = self._making.get(key)
                if mine := making is None:
                    making = self._making[key] = _Making()
            if mine:
                return self._make(key, making, make)
            # a value that asks for itself: waiting for it would never end
            if making.thread == threading.get_ident():
                return make()
            while not making.done.wait(LOOKS):
                look()
            if making.error is not None:
                raise making.error
            if not making.left:
                return making.value

    def _make(self, key: Hashable, making: _Making, make: Callable[[], object]):
        try:
            making.value = make()
            return making.value
        except Exception as error:
            making.error = error
            raise
        except BaseException:
            making.left = True
            raise
        finally:
            with self._lock:
                del self._making[key]
            making.done.set()


_lines: dict[str, Line] = {}
_lines_lock = threading.Lock()


def line(device: str) -> Line:
    """The line of a device: on the CPU as many turns at once as there are cores, since a pass uses one thread; on any
    other device one turn.
    """
    with _lines_lock:
        if device not in _lines:
            _lines[device] = Line(cores() if device == "cpu" else 1)
        return _lines[device]


def cores() -> int:
    """The processors that this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
