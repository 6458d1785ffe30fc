"""Keeps a page that asks without end from taking the server away from the others.

Streamlit begins a run anew for each message of a page and starts a thread for it; two hundred messages a second from
one page, which no hand sends, leave no time for anyone else's. A held key sends about thirty. What comes faster
waits unread in the connection, and is lost nowhere: whoever floods waits for their own flood. Several that flood
share the pace of one.
"""
import asyncio
import time

from starlette.types import ASGIApp, Message, Receive, Scope, Send

A_SECOND = 30       # messages of one websocket that are taken, in the long run; of all that send more, together
AT_ONCE = 60        # that may come together


class Paced:
    """ASGI middleware that paces what comes over each websocket."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self._waiting: set[Receive] = set()     # of pages that flood

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.app(scope, _paced(receive, self._waiting) if scope["type"] == "websocket" else receive, send)


def _paced(receive: Receive, waiting: set[Receive]) -> Receive:
    due = 0.0        # when the next message would come at an even pace; it may come AT_ONCE messages earlier

    async def paced() -> Message:
        nonlocal due
        message = await receive()
        if message["type"] == "websocket.receive":
            now = time.monotonic()
            floods = due - now > (AT_ONCE - 1) / A_SECOND
            due = max(due, now) + (1 + len(waiting) if floods else 1) / A_SECOND
            if (wait := due - now - AT_ONCE / A_SECOND) > 0:
                waiting.add(receive)
                try:
                    await asyncio.sleep(wait)
                finally:
                    waiting.discard(receive)
        return message

    return paced
