"""The loaded models of the library: together within a bound of memory; the least recently used is dropped first."""
import collections
import threading
from collections.abc import Callable
from dataclasses import dataclass

from core.base import deployment, devices

SHARE = 0.5                             # of the machine's memory, if the operator sets no bound
MARGIN = 512 * 2**20                    # bytes kept free beside a model, for its passes


def capacity() -> int:
    """The most bytes that all loaded models of the library take together: the operator's bound, else a share of the
    machine's memory.
    """
    asked = deployment.current().all_models_bytes
    return int(SHARE * devices.memory_total()) if asked is None else asked


def largest() -> int:
    """The most bytes that one loaded model takes."""
    asked = deployment.current().largest_model_bytes
    return capacity() if asked is None else min(asked, capacity())


@dataclass(frozen=True)
class Room:
    """Room for a model of `needed` bytes: one model may take `largest` and all together `bound`, within the memory of
    the machine that is `free` if other loaded models are dropped.
    """

    needed: int
    free: int
    bound: int
    largest: int

    @property
    def fits(self) -> bool:
        return self.needed <= min(self.bound, self.largest) and self.needed + MARGIN <= self.free


class Shelf:
    """Values of a known size by name.

    A value that is being made counts from the moment its room was reserved. Safe from many threads.
    """

    def __init__(self, dropped: Callable[[str], None]) -> None:
        """dropped: called with the name of each dropped value, after it is gone."""
        self._values: collections.OrderedDict[str, object] = collections.OrderedDict()
        self._bytes: dict[str, int] = {}            # of the values, and of those being made
        self._dropped, self._lock = dropped, threading.RLock()

    def __contains__(self, name: str) -> bool:
        return name in self._values

    @property
    def n_bytes(self) -> int:
        """The bytes taken or reserved."""
        return sum(self._bytes.copy().values())

    def listed(self) -> list[tuple[str, int]]:
        """Names and bytes, the most recently used first."""
        with self._lock:
            return [(name, self._bytes[name]) for name in reversed(self._values)]

    def get(self, name: str):
        """The value, which becomes the most recently used; None if it is not there."""
        with self._lock:
            if name in self._values:
                self._values.move_to_end(name)
            return self._values.get(name)

    def room(self, n_bytes: int) -> Room:
        """The room for one more value if all values that may be dropped were."""
        with self._lock:
            droppable = sum(self._bytes[name] for name in self._values)
            # reserved, but still counted as free by the machine
            unread = sum(self._bytes.values()) - droppable
        return Room(n_bytes, max(0, devices.memory_free() + droppable - unread), max(0, capacity() - unread), largest())

    def reserve(self, name: str, n_bytes: int) -> bool:
        """Reserve room for a value that is about to be made, and drop others for it; False if there cannot be enough.
        """
        with self._lock:
            if not self.room(n_bytes).fits:
                return False
            self._bytes[name] = n_bytes
            while self._values and (self.n_bytes > capacity() or devices.memory_free() < n_bytes + MARGIN):
                self.drop(next(iter(self._values)))
            return True

    def put(self, name: str, value: object) -> None:
        """Put a value in the room that was reserved for it."""
        with self._lock:
            self._values[name] = value

    def release(self, name: str) -> None:
        """Give back the room of a value that was not made."""
        with self._lock:
            if name not in self._values:
                self._bytes.pop(name, None)

    def drop(self, name: str) -> None:
        """Drop a value, if it is there."""
        with self._lock:
            if self._values.pop(name, None) is None:
                return
            del self._bytes[name]
        self._dropped(name)
