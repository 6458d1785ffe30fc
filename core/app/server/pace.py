"""Keep a page that sends messages without end from taking the server away from the others.

Streamlit begins a new run for each message of a page and starts a thread for it; two hundred messages a second from one
page, which no hand sends, leave no time for any other page. A held key sends about thirty. Faster messages wait unread
in the connection, and none is lost: a page that floods waits for its own flood. Several flooding pages share the pace
of one.
"""
import asyncio
import time

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from core.app.server.rates import Bucket

A_SECOND = 30       # messages taken from one websocket in the long run; from all flooding ones, together
AT_ONCE = 60        # messages that may come together


class Paced:
    """ASGI middleware that paces the messages of each websocket."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self._waiting: set[Receive] = set()     # of pages that flood

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.app(scope, _paced(receive, self._waiting) if scope["type"] == "websocket" else receive, send)


def _paced(receive: Receive, waiting: set[Receive]) -> Receive:
    bucket = Bucket(A_SECOND, AT_ONCE)

    async def paced() -> Message:
        message = await receive()
        if message["type"] == "websocket.receive":
            now = time.monotonic()
            floods = bucket.wait(now, 1) > 0
            bucket.take(1 + len(waiting) if floods else 1, now)
            if (wait := bucket.wait(now)) > 0:
                waiting.add(receive)
                try:
                    await asyncio.sleep(wait)
                finally:
                    waiting.discard(receive)
        return message

    return paced
