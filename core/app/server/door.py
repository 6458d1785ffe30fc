"""The door of the server: requests that it refuses before Streamlit or a route gets them, and headers of all answers.

Streamlit offers everyone who reaches the server more than this app uses: it keeps uploaded files in memory, clears the
caches of all readers, shows its counters and writes files for agents. No setting of Streamlit closes these, so this
middleware does.
"""
import base64
import hashlib
import re
from pathlib import Path
from urllib.parse import urlsplit

import streamlit as st
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocketClose

from core.app.server import start
from core.app.streamlit import wire
from core.base import deployment
from core.components import addresses

UPLOADS, METRICS, HEALTH = (addresses.below("_stcore", name) for name in ("upload_file", "metrics", "health"))
READING = ("GET", "HEAD", "OPTIONS")
POLICY_VIOLATION = 1008         # of a websocket; before it is accepted the server answers 403
# The messages of this app's pages. All others clear caches, write files, read the git repository or place uploads.
TAKEN = ("rerun_script", "stop_script", "app_heartbeat", "backend_operation_request")
TAKEN_OPERATIONS = ("deferred_file", "dataframe_chunk")
INLINE_SCRIPT = re.compile(r"<script>(.*?)</script>", re.DOTALL)


class Door:
    """ASGI middleware in front of Streamlit and the app's own routes.

    - 403 for a host name that `server.allowedHosts` does not allow, and for any request that does more than read and
      comes from a page of another address, unless `server.corsAllowedOrigins` names it or `server.enableCORS` is off.
    - 503 for the health check, if torch cannot be loaded.
    - 404 for uploads, which no page offers, and for the metrics unless the request comes from the machine itself.
    - Websocket messages that this app's pages never send are dropped.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        served = deployment.current()
        self._headers, self._first_visits = headers(served.frame_ancestors), served.ask_first

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await self._open(scope, receive, send)
        elif scope["type"] == "http":
            answer = refusal(scope) or addresses.to_the_tour(scope, self._first_visits) or self.app
            await answer(scope, receive, self._headed(send))
        else:
            await self.app(scope, receive, send)

    async def _open(self, scope: Scope, receive: Receive, send: Send) -> None:
        asked = Headers(scope=scope)
        if not (is_allowed_host(asked.get("host")) and is_allowed_origin(asked)):
            await WebSocketClose(POLICY_VIOLATION)(scope, receive, send)
            return
        # Streamlit would look at a foreign origin again, and ask a server on the internet for this machine's address.
        if "origin" in asked and not _is_own(asked):
            scope = scope | {"headers": [pair for pair in scope["headers"] if pair[0] != b"origin"]}
        await self.app(scope, _sifted(receive), send)

    def _headed(self, send: Send) -> Send:
        async def headed(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(self._headers)
            await send(message)

        return headed


def refusal(scope: Scope) -> PlainTextResponse | None:
    """The answer to an HTTP request that goes no further; None for a request that does."""
    asked, path = Headers(scope=scope), scope["path"]
    if path == HEALTH and start.why_not():
        return PlainTextResponse(start.why_not(), 503)
    host = asked.get("host")
    if not (is_allowed_host(host) or path == HEALTH and addresses.is_this_machine(_hostname(host))):
        return PlainTextResponse("This server has another name.", 403)
    if path.startswith(UPLOADS) or path.startswith(METRICS) and not addresses.is_this_machine(_client(scope)):
        return PlainTextResponse("Not found.", 404)
    if scope["method"] not in READING and not is_allowed_origin(asked):
        return PlainTextResponse("The question comes from a page of another address.", 403)
    return None


def is_allowed_host(host: str | None) -> bool:
    """Whether `server.allowedHosts` allows a Host header: names, *.names, *; an empty list allows all."""
    allowed = [name.strip().lower().rstrip(".") for name in st.get_option("server.allowedHosts")]
    if not allowed or "*" in allowed:
        return True
    name = _hostname(host)
    return name in allowed or any(one.startswith("*.") and name.endswith(one[1:]) for one in allowed)


def is_allowed_origin(asked: Headers) -> bool:
    """Whether a request comes from an own or allowed page, or from no browser: other programs send no Origin."""
    return ("origin" not in asked or not st.get_option("server.enableCORS") or _is_own(asked)
            or asked["origin"] in map(str.strip, st.get_option("server.corsAllowedOrigins")))


def _is_own(asked: Headers) -> bool:
    """Whether the Origin is a page of this server under the name in the Host header."""
    try:
        origin = urlsplit(asked["origin"])
    except ValueError:
        return False
    return origin.scheme in ("http", "https") and origin.netloc == asked.get("host")


def _hostname(host: str | None) -> str:
    """The name in a Host header, without its port; "" for an invalid header.

    >>> [_hostname(host) for host in ("School.example.:8501", "[::1]:80", "a@b", "a/b", None)]
    ['school.example', '::1', '', '', '']
    """
    try:
        parts = urlsplit(f"//{host or ''}")
        is_one = parts.netloc == host and "@" not in host and parts.port != 0       # raises if the port is no number
        return (parts.hostname or "").rstrip(".") if is_one else ""
    except ValueError:
        return ""


def _client(scope: Scope) -> str:
    """The address of the client; if a trusted proxy (FORWARDED_ALLOW_IPS) passes it on, that of the proxy's client."""
    return (scope.get("client") or ("",))[0]


def _sifted(receive: Receive) -> Receive:
    """The messages of a websocket without those that pages of this app never send; nothing waits for their answers."""
    async def sifted() -> Message:
        while (message := await receive())["type"] == "websocket.receive" and not is_taken(message.get("bytes")):
            pass
        return message

    return sifted


def is_taken(frame: bytes | None) -> bool:
    """Whether pages of this app send such a frame, or it is so long that Streamlit closes the socket because of it."""
    if frame is None:           # a text
        return False
    if len(frame) > st.get_option("server.maxWidgetStateSize") * 2**20:
        return True
    if (asked := wire.kind_of(frame)) is None:
        return False
    kind, operation = asked
    return kind in TAKEN and (operation is None or operation in TAKEN_OPERATIONS)


def headers(frame_ancestors: tuple[str, ...]) -> dict[str, str]:
    """The headers of every answer. frame_ancestors: further origins whose pages may show the app in a frame."""
    # Streamlit loads a component's code as a blob, and its protobuf multiplies 64-bit numbers in WebAssembly. Charts
    # need no eval: Streamlit has Vega interpret its expressions.
    scripts = " ".join(("'self'", "blob:", "'wasm-unsafe-eval'", *_own_scripts()))
    policy = {
        "default-src": "'self'",
        "script-src": scripts,
        "style-src": "'self' 'unsafe-inline'",
        "img-src": "'self' data: blob:",
        "font-src": "'self' data:",
        "worker-src": "'self' blob:",
        "object-src": "'none'",
        "base-uri": "'self'",
        "form-action": "'self'",
        "frame-ancestors": " ".join(("'self'", *frame_ancestors)),
    }
    return {
        "Content-Security-Policy": "; ".join(f"{name} {value}" for name, value in policy.items()),
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",       # an address carries the reader's prompt
    }


def _own_scripts() -> list[str]:
    """The hashes of the inline scripts in Streamlit's own page."""
    page = (Path(st.__file__).parent / "static" / "index.html").read_text(encoding="utf-8")
    digests = [hashlib.sha256(script.encode()).digest() for script in INLINE_SCRIPT.findall(page)]
    return [f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests]
