"""How often something may be done, by somebody."""
import time
from collections.abc import Hashable

MOST_KNOWN = 5_000          # whose deeds are remembered; the one who did nothing for the longest is forgotten


class Rate:
    """So many in the long run, a minute, and so many at once, for each that is told apart."""

    def __init__(self, a_minute: float, at_once: int) -> None:
        self._every, self._at_once = 60 / a_minute, at_once
        self._due: dict[Hashable, float] = {}       # when each would have done all it did at an even pace

    def __len__(self) -> int:
        return len(self._due)

    def may(self, who: Hashable) -> bool:
        """Whether `who` may do it now once more."""
        return max(self._due.get(who, 0.0), time.monotonic()) + self._every <= (
            time.monotonic() + self._every * self._at_once)

    def done(self, who: Hashable) -> None:
        """Note that `who` did it."""
        due = max(self._due.pop(who, 0.0), time.monotonic()) + self._every
        while len(self._due) >= MOST_KNOWN:
            self._due.pop(next(iter(self._due)))
        self._due[who] = due

    def take(self, who: Hashable) -> bool:
        """Note that `who` does it, if that may be; return whether it may."""
        may = self.may(who)
        if may:
            self.done(who)
        return may
