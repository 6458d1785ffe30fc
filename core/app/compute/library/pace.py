"""Time left of a download or a reading, from the bytes that came and the time they took."""
import time
from collections.abc import Callable

FIRST = 2.0         # seconds to watch before an estimate: a connection begins slowly


class Pace:
    """The pace of one transfer. A new total begins a new transfer. clock: seconds, from any zero."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._total, self._begun, self._first, self._done = 0, clock(), 0, 0

    def tell(self, done: int, total: int) -> None:
        """Note the bytes so far, and in all."""
        if total != self._total:
            self._total, self._begun, self._first = total, self._clock(), done
        self._done = done

    def seconds_left(self) -> float | None:
        """Seconds for the rest at the average pace so far; None while that is not known. Grows while nothing comes."""
        seconds, came = self._clock() - self._begun, self._done - self._first
        if seconds < FIRST or came <= 0 or self._done >= self._total:
            return None
        return (self._total - self._done) * seconds / came


def readable_seconds(seconds: float) -> str:
    """A time as people say it, rounded up and never 0.

    >>> [readable_seconds(seconds) for seconds in (0.2, 41, 61, 3600, 9000)]
    ['5 s', '45 s', '2 min', '1 h', '2 h 30 min']
    """
    if seconds <= 55:
        return f"{max(5, -int(-seconds // 5) * 5)} s"
    minutes = -int(-seconds // 60)
    hours, rest = divmod(minutes, 60)
    return f"{minutes} min" if not hours else f"{hours} h" + (f" {rest} min" if rest else "")
