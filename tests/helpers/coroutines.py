"""Coroutines in tests."""
from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor


class _Jumps(selectors.DefaultSelector):
    """Waits for nothing but a clock of its own, which jumps to what is due next."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list:
        self.now += timeout or 0.0
        return super().select(None if timeout is None else 0)


def _in_no_time() -> asyncio.SelectorEventLoop:
    jumps = _Jumps()
    loop = asyncio.SelectorEventLoop(jumps)
    loop.time = lambda: jumps.now
    return loop


def finished(coroutine: Coroutine, in_no_time: bool = False):
    """The result of a coroutine, run in a thread of its own: after a browser test, the tests' thread has a running
    event loop. in_no_time: nothing is slept, the loop's clock jumps.
    """
    def run():
        with asyncio.Runner(loop_factory=_in_no_time if in_no_time else None) as runner:
            return runner.run(coroutine)

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(run).result()
