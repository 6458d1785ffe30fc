"""The server that all workers of a run share: the first that needs it starts it, and the run's end ends it.

Whoever changes anything of a server (its settings, its models, what it keeps) starts one of their own.
"""
from __future__ import annotations

import contextlib
import json
import time
from pathlib import Path

import psutil
from filelock import FileLock

from tests.browser.serving import ROOT, Server, start

TOLD = "server.json"        # in the folder of the run: address and process
SECONDS = 10                # that it is given to end by itself


def join(folder: Path) -> Server:
    """The run's server, started now unless it runs."""
    with FileLock(folder / "lock"):
        if not (folder / TOLD).exists():
            with (folder / "server.log").open("w+") as log:
                started = start(ROOT / "app.py", (), log)
            (folder / TOLD).write_text(json.dumps([started.url, started.process.pid]))
        url, pid = json.loads((folder / TOLD).read_text())
    return Server(url, psutil.Process(pid), (folder / "server.log").open())


def close(folder: Path) -> None:
    """End the run's server, if it was started."""
    with contextlib.suppress(FileNotFoundError, psutil.NoSuchProcess):
        _, pid = json.loads((folder / TOLD).read_text())
        process = psutil.Process(pid)
        process.terminate()
        # no child of this process, so that nobody may take note of its end
        ends = time.monotonic() + SECONDS
        while process.status() != psutil.STATUS_ZOMBIE:
            if time.monotonic() > ends:
                process.kill()
            time.sleep(0.05)
