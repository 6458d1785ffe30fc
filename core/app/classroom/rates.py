"""Limits on how often somebody may do something, and turns for those who have done it more often."""
import asyncio
import time
from collections.abc import Hashable

MOST_KNOWN = 5_000          # callers that are remembered; the one that did nothing for the longest is forgotten


class Rate:
    """A limit for each caller: `a_minute` in the long run, and `at_once` together."""

    def __init__(self, a_minute: float, at_once: int) -> None:
        self._every, self._at_once = 60 / a_minute, at_once
        self._due: dict[Hashable, float] = {}       # when each caller would be done at an even pace

    def __len__(self) -> int:
        return len(self._due)

    def may(self, who: Hashable) -> bool:
        """Whether `who` may do it once more now."""
        return max(self._due.get(who, 0.0), time.monotonic()) + self._every <= (
            time.monotonic() + self._every * self._at_once)

    def done(self, who: Hashable) -> None:
        """Note that `who` did it; more than `at_once` counts as `at_once`."""
        due = max(self._due.pop(who, 0.0), time.monotonic()) + self._every
        due = min(due, time.monotonic() + self._every * self._at_once)
        while len(self._due) >= MOST_KNOWN:
            self._due.pop(next(iter(self._due)))
        self._due[who] = due

    def take(self, who: Hashable) -> bool:
        """Note that `who` does it, if the limit allows it; return whether it does."""
        may = self.may(who)
        if may:
            self.done(who)
        return may


class Line:
    """Turns for each caller at an even pace, `a_minute`; at most `most` requests of one caller wait for theirs."""

    def __init__(self, a_minute: float, most: int) -> None:
        self._every, self._most = 60 / a_minute, most
        self._next: dict[Hashable, float] = {}      # when the next turn of each waiting caller is free
        self._waiting: dict[Hashable, int] = {}

    def __len__(self) -> int:
        return sum(self._waiting.values())

    async def turn(self, who: Hashable) -> bool:
        """Return True when it is the turn of `who`; False, at once, if too many wait already."""
        if self._waiting.get(who, 0) >= self._most or len(self) >= MOST_KNOWN:
            return False
        at = max(self._next.get(who, 0.0), time.monotonic())
        self._next[who] = at + self._every
        self._waiting[who] = self._waiting.get(who, 0) + 1
        try:
            # even the first waits: a caller that comes alone again and again is no faster than the others
            await asyncio.sleep(at + self._every - time.monotonic())
        finally:
            self._waiting[who] -= 1
            if not self._waiting[who]:
                del self._waiting[who], self._next[who]
        return True
