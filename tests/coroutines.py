"""Coroutines in tests."""
from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor


def finished(coroutine: Coroutine):
    """What a coroutine returns, run in a thread of its own: where a browser test went before, the tests' thread has a running event loop."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, coroutine).result()
