"""The store that keeps classes: the methods of every store, and its news of changes.

The usual store keeps classes in this process, or in a file that outlives it (sqlite_store.py); if several replicas
serve one address, they are in Valkey or Redis (redis_store.py).
"""
from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Protocol

HEAD, ANSWERS = "head", "answers"       # kinds of changes


class Unreachable(Exception):
    """The store does not answer now; nothing was kept."""


@dataclass(frozen=True)
class Bounds:
    """The bounds of a store: classes, phones that answer in one class, answers in one class. gone: seconds without a
    sign of a phone after which it loses its place in a full class to another.
    """

    classes: int = 300
    phones: int = 400
    answers: int = 10_000
    gone: float = 600


USUAL = Bounds()


class Store(Protocol):
    """Classes by their codes. A class has a head, a text that is written whole; the heads of its earlier questions;
    and the answers to each question, one for each voter. All methods raise Unreachable if the store is away.
    """

    async def create(self, code: str, head: str, until: float) -> bool:
        """Keep a class until that time (seconds since 1970). False if the code is taken, or the store is full."""

    async def extend(self, code: str, until: float) -> None:
        """Let a class that is not over last until then."""

    async def read(self, code: str) -> tuple[int, str] | None:
        """The version of the head, which grows with each change, and the head; None if there is no such class."""

    async def write(self, code: str, version: int, head: str, takes: int, *, ended: tuple[int, str] | None = None
                    ) -> bool:
        """Replace the head; False if it has another version by now. takes: the question that takes answers, 0 for
        none. ended: the number and the head of a question that is over, to be kept as well.
        """

    async def answer(self, code: str, question: int, voter: str, told: str) -> bool:
        """Keep the one answer of a voter, in place of an earlier one. False if the question takes none by now, or the
        class is full.
        """

    async def answers(self, code: str, question: int) -> list[str]:
        """All answers to a question."""

    async def answer_of(self, code: str, question: int, voter: str) -> str | None:
        """The answer of a voter; None without one."""

    async def count(self, code: str, question: int) -> int:
        """The number of answers to a question."""

    async def ended(self, code: str) -> dict[int, str]:
        """The heads of the questions that are over, by their numbers."""

    async def see(self, code: str, voters: Collection[str], now: float) -> None:
        """Note that these phones are there."""

    async def knows(self, code: str, voter: str) -> bool:
        """Whether this phone was ever there."""

    async def there(self, code: str, since: float) -> int:
        """The number of phones seen since then."""

    async def is_full(self, code: str) -> bool:
        """Whether the class takes no further phone now."""

    async def keep_only(self, code: str, question: int, voters: Collection[str]) -> None:
        """Forget all other phones, and their answers to this question."""

    async def forget_old(self) -> None:
        """Forget the classes whose time is over."""

    async def drop(self, code: str) -> None:
        """Forget the class and all of its answers."""

    def changes(self, code: str, *wanted: str) -> AbstractAsyncContextManager[News]:
        """News of the wanted changes, among HEAD and ANSWERS, as long as the block runs."""

    def wake(self) -> None:
        """Wake all in this process that wait for news."""

    async def close(self) -> None:
        """Close its connections and files."""


class Ears:
    """The listeners to changes in this process, by the class's code. For one event loop."""

    def __init__(self) -> None:
        self._heard: dict[str, set[News]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._heard.values()))

    def codes(self) -> list[str]:
        """The classes that somebody listens to."""
        return list(self._heard)

    def tell(self, code: str, what: str) -> None:
        """Pass a change on."""
        for news in self._heard.get(code, ()):
            news.add(what)

    def wake(self) -> None:
        """See `Store.wake`."""
        for code in self.codes():
            self.tell(code, HEAD)

    @asynccontextmanager
    async def listen(self, code: str, wanted: Collection[str]) -> AsyncIterator[News]:
        """See `Store.changes`."""
        news = News(wanted)
        self._heard.setdefault(code, set()).add(news)
        try:
            yield news
        finally:
            self._heard[code].discard(news)
            if not self._heard[code]:
                del self._heard[code]


class News:
    """Whether something wanted has changed since the last `wait`; several changes count as one."""

    def __init__(self, wanted: Collection[str]) -> None:
        self._wanted, self._came = frozenset(wanted), asyncio.Event()

    def add(self, what: str) -> None:
        """Note that something has changed."""
        if what in self._wanted:
            self._came.set()

    async def wait(self, seconds: float) -> bool:
        """Return True as soon as something has changed, False after that many seconds."""
        try:
            # wait_for in Python 3.11 forgets that it was cancelled if a change comes in the same moment
            async with asyncio.timeout(seconds):
                await self._came.wait()
        except TimeoutError:
            return False
        self._came.clear()
        return True
