"""A server of Redis or Valkey of the tests' own, which keeps nothing."""
from __future__ import annotations

import contextlib
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass

from assets.deploy.replicas import end, free_ports

NAMES = ("valkey-server", "redis-server")
START_SECONDS = 30


def program() -> str | None:
    """The server that this machine has, if any."""
    return next(filter(None, map(shutil.which, NAMES)), None)


@dataclass
class RedisServer:
    """One that can be stopped and started again at its address, with nothing in it, or with what a file has kept."""

    port: int
    folder: str | None = None
    process: subprocess.Popen | None = None

    @property
    def address(self) -> str:
        return f"redis://127.0.0.1:{self.port}"

    def start(self) -> None:
        keeps = (["--appendonly", "yes", "--appendfsync", "always", "--dir", self.folder] if self.folder
                 else ["--save", "", "--appendonly", "no"])
        self.process = subprocess.Popen([program(), "--port", str(self.port), "--bind", "127.0.0.1", *keeps],
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        finish = time.monotonic() + START_SECONDS
        while time.monotonic() < finish:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1) as asked:
                asked.sendall(b"PING\r\n")
                if asked.recv(16).startswith(b"+PONG"):
                    return
            time.sleep(0.02)
        raise RuntimeError("The store did not start.")

    def stop(self) -> None:
        end(self.process)


@contextlib.contextmanager
def redis_server(folder: str | None = None) -> Iterator[RedisServer]:
    """A running one, stopped at the end. folder: where it keeps what it has, over a stop; None: nowhere."""
    server = RedisServer(free_ports(1)[0], folder)
    server.start()
    try:
        yield server
    finally:
        server.stop()
