"""Phones and a teacher of a class, without a browser: the requests that their pages make."""
from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
import urllib.error
import urllib.request
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from core.app.classroom import codes

SECONDS = 120


def posted(url: str, body: dict) -> tuple[int, dict]:
    """Status and answer of what is posted; (0, {}) where nobody answers."""
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=SECONDS) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as refused:
        return refused.code, {}
    except OSError:
        return 0, {}


@dataclass
class Teacher:
    """A teacher with a class at a server."""

    url: str
    code: str = ""
    key: str = ""

    def __post_init__(self) -> None:
        status, opened = posted(f"{self.url}/class", {})
        assert status == 200
        self.code, self.key = opened["code"], opened["key"]

    def act(self, what: str, **more) -> dict:
        """Do it, again where the server did not answer."""
        for _ in range(SECONDS):
            status, answer = posted(f"{self.url}/class/{self.code}", {"key": self.key, "do": what, **more})
            if status == 200:
                return answer
        raise AssertionError((what, status))

    @property
    def wall(self) -> str:
        """The address of what the wall is shown."""
        return f"{self.url}/j/{self.code}/events?wall={codes.kept(self.key)}"


@dataclass
class Phone:
    """A phone that has joined a class."""

    url: str
    code: str
    number: str = field(default_factory=lambda: secrets.token_hex(16))

    @property
    def events(self) -> str:
        return f"{self.url}/j/{self.code}/events?phone={self.number}"

    async def answer(self, question: int, guess: object) -> bool:
        """Whether the server says that it is kept."""
        status, told = await request(f"{self.url}/j/{self.code}/answer",
                                     {"phone": self.number, "question": question, "guess": guess})
        return status == 200 and json.loads(told)["kept"]


async def request(url: str, body: dict | None = None) -> tuple[int, bytes]:
    """Status and body of one request, on a connection of its own; (0, b"") where nobody answers."""
    with contextlib.suppress(OSError, asyncio.IncompleteReadError):
        reader, writer = await _sent(url, body)
        try:
            status, length = await _head(reader)
            return status, await reader.readexactly(length) if length is not None else await reader.read()
        finally:
            writer.close()
    return 0, b""


@contextlib.asynccontextmanager
async def stream(url: str) -> AsyncIterator[AsyncIterator[dict]]:
    """The events that come at an address, as long as the block runs."""
    reader, writer = await _sent(url, None)
    try:
        status, _ = await _head(reader)
        assert status == 200, (status, url)
        yield _events(reader)
    finally:
        writer.close()


async def _events(reader: asyncio.StreamReader) -> AsyncIterator[dict]:
    while line := await reader.readline():
        if line.startswith(b"data: "):
            yield json.loads(line.removeprefix(b"data: "))


async def _sent(url: str, body: dict | None) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    parts = urlsplit(url)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port, limit=2**20)
    written = b"" if body is None else json.dumps(body).encode()
    path = parts.path + (f"?{parts.query}" if parts.query else "")
    writer.write(f"{'GET' if body is None else 'POST'} {path} HTTP/1.1\r\nHost: {parts.netloc}\r\n"
                 f"Content-Type: application/json\r\nContent-Length: {len(written)}\r\n\r\n".encode() + written)
    await writer.drain()
    return reader, writer


async def _head(reader: asyncio.StreamReader) -> tuple[int, int | None]:
    """Status and length of an answer, whose head is read; no length where it comes in pieces."""
    status, length = int((await reader.readuntil(b"\r\n")).split()[1]), None
    while (line := await reader.readline()).strip():
        if line.lower().startswith(b"content-length:"):
            length = int(line.split(b":")[1])
    return status, length
