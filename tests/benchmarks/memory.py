"""What a session costs in memory, and what a cold start costs in time."""
from __future__ import annotations

import time
from pathlib import Path

from tests.benchmarks.browser import first_picture
from tests.benchmarks.timing import Figure, figure
from tests.browser.serving import chromium, serve, settle

HERE = Path(__file__).parent


def resident_megabytes(pid: int) -> float:
    """RSS of a process in MB, from /proc (Linux)."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1e3
    raise RuntimeError(f"Process {pid} reports no resident memory.")


def cold_start_figures(picture: str, repeats: int = 3) -> list[Figure]:
    """From starting the process to the first picture of the overview in a browser, against an empty Streamlit app."""
    ours, reference = [], []
    with chromium() as browser:
        for _ in range(repeats):
            for script, cwd, what, into in ((HERE.parents[1] / "app.py", HERE.parents[1], picture, ours),
                                            (HERE / "apps" / "empty.py", HERE / "apps", "[data-testid=stSlider]", reference)):
                start = time.perf_counter()
                with serve(script, cwd=cwd) as server:
                    first_picture(browser, server, "", what)
                    into.append(time.perf_counter() - start)
    return [figure("cold start to first picture", ours, reference, "s", "reference: an empty Streamlit app, plain settings")]


def session_figures(n_sessions: int = 20) -> list[Figure]:
    """Resident memory of the server, and what each of n_sessions readers with a prompt of their own adds."""
    with serve() as server, chromium() as browser:
        def reader(i: int):
            context = browser.new_context()
            page = context.new_page()
            page.goto(f"{server.url}/heads?prompt=Reader {i} has a dog and a cat. " + "One day they went to the park. " * 5)
            settle(page)
            return context

        first = reader(0)
        base = resident_megabytes(server.process.pid)
        contexts = [reader(i + 1) for i in range(n_sessions)]
        each = (resident_megabytes(server.process.pid) - base) / n_sessions
        for context in [first, *contexts]:
            context.close()
    return [figure("server with one reader", [base], None, "MB"),
            figure("each further reader, own prompt of 60 tokens", [each], None, "MB", f"mean of {n_sessions}; traces are bounded at 512 MiB for all")]
