"""Limits on how often somebody may do something, and turns for those who have done it more often."""
import asyncio
import time
from collections import Counter
from collections.abc import Hashable

MOST_KNOWN = 5_000          # callers that are remembered; the one that did nothing for the longest is forgotten


class Bucket:
    """A token bucket: `at_once` may be taken together, `a_second` in the long run."""

    def __init__(self, a_second: float, at_once: float) -> None:
        self.a_second, self.at_once = a_second, at_once
        self._full = 0.0        # when all that was taken is given back

    def wait(self, now: float, n: float = 0) -> float:
        """Seconds until `n` more may be taken; 0 or less: they may now."""
        return max(self._full, now) - now + (n - self.at_once) / self.a_second

    def take(self, n: float, now: float) -> None:
        """Take `n`, whether they are there or not."""
        self._full = max(self._full, now) + n / self.a_second


class Rate:
    """A limit for each caller: `a_minute` in the long run, and `at_once` together."""

    def __init__(self, a_minute: float, at_once: int) -> None:
        self.a_minute, self.at_once = a_minute, at_once
        self._buckets: dict[Hashable, Bucket] = {}

    def __len__(self) -> int:
        return len(self._buckets)

    def may(self, who: Hashable) -> bool:
        """Whether `who` may do it once more now."""
        return who not in self._buckets or self._buckets[who].wait(time.monotonic(), 1) <= 0

    def done(self, who: Hashable) -> None:
        """Note that `who` did it; more than `at_once` counts as `at_once`."""
        bucket, now = self._buckets.pop(who, None) or Bucket(self.a_minute / 60, self.at_once), time.monotonic()
        bucket.take(min(1, -bucket.wait(now) * bucket.a_second), now)
        while len(self._buckets) >= MOST_KNOWN:
            self._buckets.pop(next(iter(self._buckets)))
        self._buckets[who] = bucket

    def take(self, who: Hashable) -> bool:
        """Note that `who` does it, if the limit allows it; return whether it does."""
        if may := self.may(who):
            self.done(who)
        return may


class Line:
    """Turns for each caller at an even pace, `a_minute`; at most `most` requests of one caller wait for theirs."""

    def __init__(self, a_minute: float, most: int) -> None:
        self.a_minute, self._most = a_minute, most
        self._buckets: dict[Hashable, Bucket] = {}
        self._waiting: Counter[Hashable] = Counter()

    def __len__(self) -> int:
        return self._waiting.total()

    async def turn(self, who: Hashable) -> bool:
        """Return True when it is the turn of `who`; False, at once, if too many wait already."""
        if self._waiting[who] >= self._most or len(self) >= MOST_KNOWN:
            return False
        # even the first waits: a caller that comes alone again and again is no faster than the others
        bucket, now = self._buckets.setdefault(who, Bucket(self.a_minute / 60, 0)), time.monotonic()
        bucket.take(1, now)
        self._waiting[who] += 1
        try:
            await asyncio.sleep(bucket.wait(now))
        finally:
            self._waiting[who] -= 1
            if not self._waiting[who]:
                del self._waiting[who], self._buckets[who]
        return True
