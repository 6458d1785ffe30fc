"""The app as several replicas behind nginx, all on this machine, to try it:

    .venv/bin/python assets/deploy/replicas.py --replicas 3 --port 8080

Each replica is a process of its own; nginx takes nginx.conf beside this file. Ctrl-C stops all of them.
`--conf 8511 8512 8513` only prints replicas.conf for these ports.
"""
from __future__ import annotations

import argparse
import contextlib
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
HOST = "127.0.0.1"
START_SECONDS = 240
DEAD_SECONDS = 5            # that a replica which did not answer is left alone


@dataclass
class Replicas:
    """What runs: the address of nginx, and the replicas' processes by their ports.

    A port's process changes when it is started again.
    """

    url: str
    base: str
    processes: dict[int, subprocess.Popen]
    environment: dict[str, str]
    folder: Path

    def kill(self, port: int) -> None:
        """Ends a replica as a crash would."""
        self.processes[port].send_signal(signal.SIGKILL)
        self.processes[port].wait()

    def start(self, port: int) -> None:
        """Starts a replica on its port; `wait` says when it answers."""
        with (self.folder / f"replica_{port}.log").open("a") as log:
            self.processes[port] = subprocess.Popen(
                [sys.executable, "-m", "streamlit", "run", str(ROOT / "app.py"), "--server.port", str(port),
                 "--server.address", HOST, "--server.headless", "true"],
                cwd=ROOT, env=self.environment, stdout=log, stderr=subprocess.STDOUT)

    def wait(self, port: int) -> None:
        """Until a replica answers. RuntimeError, with its log, where it ends or is too slow."""
        process, end = self.processes[port], time.monotonic() + START_SECONDS
        while process.poll() is None and time.monotonic() < end:
            if answers(f"http://{HOST}:{port}{self.base}/_stcore/health"):
                return
            time.sleep(0.1)
        raise RuntimeError(f"A replica did not start:\n{(self.folder / f'replica_{port}.log').read_text()}")


def answers(url: str) -> bool:
    """Whether there is an answer of status 200."""
    with contextlib.suppress(OSError), urllib.request.urlopen(url, timeout=2) as answer:
        return answer.status == 200
    return False


def replicas_conf(ports: Sequence[int]) -> str:
    """replicas.conf: by the reader's cookie its replica, the others standing in when that is dead; without a cookie the
    one with the fewest open pages.

    Not by the reader's address: a whole school may have one.
    """
    alive = f"max_fails=1 fail_timeout={DEAD_SECONDS}s"
    lines = [f"# Written by replicas.py for the replicas on ports {', '.join(map(str, ports))}. A replica's address "
             "must be an IP address with its port, as $upstream_addr has it.", "", "upstream any {",
             "    zone any 64k;", "    least_conn;", *(f"    server {HOST}:{port} {alive};" for port in ports), "}"]
    for i, own in enumerate(ports, 1):
        others = [f"    server {HOST}:{port} {alive} backup;" for port in ports if port != own]
        lines += [f"upstream replica_{i} {{", f"    zone replica_{i} 64k;",
                  f"    server {HOST}:{own} {alive};", *others, "}"]
    lines += ["", "map $cookie_replica $wanted {", "    default any;",
              *(f"    {i} replica_{i};" for i in range(1, len(ports) + 1)), "}"]
    lines += ["map $upstream_addr $answered {", "    default 0;",
              *(f'    "~(^|[ ,]){HOST.replace(".", "[.]")}:{port}$" {i};' for i, port in enumerate(ports, 1)), "}"]
    return "\n".join(lines) + "\n"


def free_ports(n: int) -> list[int]:
    """Ports of this machine that nobody listens on."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(n)]
        for one in sockets:
            one.bind((HOST, 0))
        return [one.getsockname()[1] for one in sockets]


@contextlib.contextmanager
def running(n: int, port: int | None = None, base: str = "",
            environment: dict[str, str] | None = None) -> Iterator[Replicas]:
    """n replicas behind nginx on `port` (None: a free one), stopped at the end. base: the base path, "" or "/class"."""
    nginx = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")
    if nginx is None:
        raise RuntimeError("nginx is not installed.")
    front, *ports = ([port] if port else free_ports(1)) + free_ports(n)
    shared = os.environ | {"STREAMLIT_SERVER_COOKIE_SECRET": secrets.token_hex(32),
                           "STREAMLIT_SERVER_BASE_URL_PATH": base.strip("/")} | (environment or {})
    with tempfile.TemporaryDirectory() as written:
        folder = Path(written)
        (folder / "temporary").mkdir()
        (folder / "nginx.conf").write_text(
            (HERE / "nginx.conf").read_text().replace("listen 8080; ", f"listen {HOST}:{front}; "))
        (folder / "replicas.conf").write_text(replicas_conf(ports))
        here = Replicas(f"http://{HOST}:{front}{base}", base, {}, shared, folder)
        front_process = None
        try:
            for one in ports:
                here.start(one)
            for one in ports:
                here.wait(one)
            # else nginx gives its workers to a user who may not write into the folder
            own_user = "user root; " if os.geteuid() == 0 else ""
            front_process = subprocess.Popen([nginx, "-p", str(folder), "-c", "nginx.conf", "-e",
                                              str(folder / "error.log"), "-g", f"{own_user}daemon off;"])
            _until(lambda: answers(f"{here.url}/_stcore/health"), folder)
            yield here
        finally:
            for process in filter(None, (front_process, *here.processes.values())):
                end(process)


def _until(is_so, folder: Path) -> None:
    end = time.monotonic() + 20
    while not is_so():
        if time.monotonic() > end:
            raise RuntimeError(f"nginx did not start:\n{(folder / 'error.log').read_text()}")
        time.sleep(0.1)


def end(process: subprocess.Popen) -> None:
    """Asks a process to end, and ends it where it does not within ten seconds."""
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description="The app as several replicas behind nginx, all on this machine.")
    parser.add_argument("--replicas", type=int, default=3)
    parser.add_argument("--port", type=int, default=8080)
    parser.add_argument("--base-path", default="", help="such as /class")
    parser.add_argument("--conf", type=int, nargs="+", metavar="PORT",
                        help="only print replicas.conf for replicas on these ports")
    asked = parser.parse_args()
    if asked.conf:
        print(replicas_conf(asked.conf), end="")
        return
    base = f"/{asked.base_path.strip('/')}" if asked.base_path.strip("/") else ""
    with contextlib.suppress(KeyboardInterrupt), running(asked.replicas, asked.port, base) as here:
        print(f"{here.url} is served by "
              f"{', '.join(f'port {port} (process {process.pid})' for port, process in here.processes.items())}. "
              f"Ctrl-C ends it.", flush=True)
        signal.pause()


if __name__ == "__main__":
    main()
