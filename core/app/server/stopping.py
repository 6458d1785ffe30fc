"""The end of the server: it waits for every answer that is still being sent, and answers to phones never end by
themselves.
"""
import asyncio
import signal
import threading
from collections.abc import Callable

SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGBREAK") if hasattr(signal, name)]


def when_asked_to_end(call: Callable[[], None]) -> None:
    """Call `call` in the running event loop as soon as the process is asked to end, before the server ends itself.

    Call it in the main thread, after the server has set its own handlers, which still run; in other threads it does
    nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        return
    loop = asyncio.get_running_loop()
    for number in SIGNALS:
        if callable(before := signal.getsignal(number)):
            signal.signal(number, _first(loop, call, before))


def _first(loop: asyncio.AbstractEventLoop, call: Callable[[], None], then: Callable) -> Callable:
    def handle(number: int, frame: object) -> None:
        loop.call_soon_threadsafe(call)
        then(number, frame)

    return handle
