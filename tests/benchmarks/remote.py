"""Forward passes on Ray Serve against the same ones here, and what readers notice of a replica that is killed.

Ray is a package of its own: assets/deploy/ray-requirements.txt.
"""
from __future__ import annotations

import contextlib
import http.client
import importlib.util
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import torch

from assets.deploy.replicas import HOST, ROOT, end, free_ports
from core.model import checkpoints, remote
from core.model.intervention import NOTHING
from tests.benchmarks.timing import Figure, figure, in_turn
from tests.helpers.passes import CHANGED, IDS, same

START_SECONDS = 300         # a busy machine takes a minute


def installed() -> bool:
    """Whether Ray is."""
    return importlib.util.find_spec("ray") is not None


@contextlib.contextmanager
def running(*options: str) -> Iterator[str]:
    """assets/deploy/ray_passes.py with a cluster of its own on this machine; its address."""
    port = free_ports(1)[0]
    environment = {name: value for name, value in os.environ.items() if name != "RAY_ADDRESS"}
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        with log.open("w") as written:
            process = subprocess.Popen([sys.executable, str(ROOT / "assets" / "deploy" / "ray_passes.py"), "--port",
                                        str(port), *options], cwd=ROOT, env=environment, stdout=written, stderr=written)
        try:
            ends = time.monotonic() + START_SECONDS
            while about(f"http://{HOST}:{port}") is None:
                if process.poll() is not None or time.monotonic() > ends:
                    raise RuntimeError(f"Ray did not start:\n{log.read_text()}")
                time.sleep(0.5)
            yield f"http://{HOST}:{port}"
        finally:
            end(process)


def about(address: str) -> dict | None:
    """A replica's word on itself; None if none answers."""
    with (contextlib.suppress(OSError, ValueError, http.client.HTTPException),
          urllib.request.urlopen(address, timeout=5) as answer):
        return json.load(answer)
    return None


def remote_figures(repeats: int) -> list[Figure]:
    """First that passes are the same there and here, else an error; a Trace from a replica against one computed here,
    and a replica killed under a reader who asks all the time.
    """
    model, _ = checkpoints.load_bundled("stories")
    with running("--most", "1") as address, torch.inference_mode():
        client = remote.Client(address)
        client.look()
        _compare(client, address)
        figures = []
        for n in (16, 64, 256):
            ids = tuple(range(1, n + 1))
            runs = [lambda: client.trace("stories", None, ids, NOTHING, model), lambda: model(torch.tensor(ids))]
            figures.append(figure(f"Trace of stories by Ray Serve, {n} tokens", *in_turn(runs, repeats), "ms",
                                  "reference: the pass here"))
            figures.append(figure("  of it the app's own processor time", *in_turn(runs, repeats, time.process_time),
                                  "ms", "reference: the same"))
        return figures + _killed(client, address, model)


def _compare(client: remote.Client, address: str) -> None:
    """RuntimeError unless a model, a moment of one and another position, plain and changed, come from the replica, and
    are what they are here to the last bit.
    """
    before = about(address)["passes"]
    for name, step in (("stories", None), ("stories-small", 2250), ("positions-rotary", None)):
        model = checkpoints.load_bundled(name, step=step)[0]
        for change in (NOTHING, CHANGED):
            there = client.trace(name, step, IDS, change, model)
            if there is None or not same(there, model(torch.tensor(IDS), change)):
                raise RuntimeError(f"{name}: Ray Serve's pass is not the one here.")
    if about(address)["passes"] != before + 6:
        raise RuntimeError("The passes were not the replica's.")


def _killed(client: remote.Client, address: str, model) -> list[Figure]:
    """How long the only replica is missed, and the longest that a reader who asks twice a second waited meanwhile: the
    pass is computed here where there is no answer.
    """
    ids, killed = tuple(range(1, 65)), about(address)["process"]
    os.kill(killed, signal.SIGKILL)
    began, waits, here = time.monotonic(), [], 0
    while time.monotonic() - began < START_SECONDS:
        start = time.monotonic()
        if client.trace("stories", None, ids, NOTHING, model) is None:
            model(torch.tensor(ids))
            here += 1
        elif (found := about(address)) and found["process"] != killed:
            return [figure("a killed replica replaced, its passes asked for again", [time.monotonic() - began], None,
                           "s", f"meanwhile {here} of {len(waits) + 1} passes computed here"),
                    figure("the longest wait for a pass meanwhile", [max(waits, default=0.0)], None, "s")]
        waits.append(time.monotonic() - start)
        time.sleep(0.5)
    raise RuntimeError("The killed replica was not replaced.")
