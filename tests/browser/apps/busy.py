"""The event loop of an app under test, which a page keeps from sending anything while it draws, and a page's run that
waits for the next event.
"""
import asyncio
import contextlib
import threading
import time
from collections.abc import AsyncIterator

WAITS = threading.Event()
_loops: list[asyncio.AbstractEventLoop] = []


@contextlib.asynccontextmanager
async def remembered(_app) -> AsyncIterator[None]:
    """Lifespan of the app."""
    _loops.append(asyncio.get_running_loop())
    yield


def hold(seconds: float) -> None:
    """Keep the loop busy for so long from now on: what is drawn meanwhile waits in its queue."""
    _loops[0].call_soon_threadsafe(time.sleep, seconds)
