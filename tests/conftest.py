"""Shared by all tests: the project root importable, one thread to compute in, as the app runs, one search for
components instead of one for every page that a test opens, one server for all workers; which worker gets which tests,
and what is told at the end of a run.
"""
import collections
import functools
import gc
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from streamlit.components.v2 import manifest_scanner
from streamlit.testing.v1 import local_script_runner
from xdist.scheduler import LoadScopeScheduling

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

os.environ.setdefault("OMP_NUM_THREADS", "1")       # before torch and numpy are loaded

# What is compiled once need not be again, by every worker and every server: half of a worker's start.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

os.environ.setdefault("TRANSFORMER_ASK_FIRST", "off")      # pictures stand as soon as a page is opened

from core import files  # noqa: E402  (found through the path above)
from core.app.compute import cache, growing_results  # noqa: E402
from tests.helpers import one_server  # noqa: E402

growing_results.PATIENCE = 300      # seconds: a page that is read after one run is whole, however slow the machine
files.LOOKS = 0           # what a test writes is read at once

# AppTest reads the metadata of every installed package each time a test opens a page, which takes as long as the page
# itself; they stay the same while the tests run.
manifest_scanner.scan_component_manifests = functools.cache(manifest_scanner.scan_component_manifests)


def _wait(runner: local_script_runner.LocalScriptRunner, timeout: float) -> None:
    """Wait for a page's script. AppTest looks every millisecond whether it has ended, and each look takes the
    interpreter from the script.
    """
    runner._script_thread.join(timeout)
    if not runner.script_stopped():
        runner.request_stop()
        raise RuntimeError(f"The script has not ended after {timeout} s.")


local_script_runner.require_widgets_deltas = _wait

TOLD = 10               # of the slowest files, at the end of a run of more files than that
FOLDER = pytest.StashKey[str]()     # of what the workers of a run share


# They go through many pages, and their cases are handed out one by one.
WALKS = frozenset({"tests/browser/test_walk.py", "tests/browser/test_firefox.py", "tests/pages/test_every_control.py",
                   "tests/pages/test_other_models.py"})


class Pieces(LoadScopeScheduling):
    """Hands out a lesson's folder or another file as one piece, and the cases of a walk one by one.

    The groups of `--dist=loadgroup` are written into a field that pytest no longer reads: each case went to some
    worker, and what a file prepares was prepared by all of them.
    """

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        return nodeid if file in WALKS else str(_piece(Path(file)))


@pytest.hookimpl(optionalhook=True)     # xdist's
def pytest_xdist_make_scheduler(config: pytest.Config, log) -> Pieces:
    return Pieces(config, log)


@pytest.hookimpl(tryfirst=True)         # before pytest reads the markers
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark walks; what is no walk, needs no browser and is not long is quick."""
    for item in items:
        if item.path.relative_to(ROOT).as_posix() in WALKS:
            item.add_marker("walk")
        elif item.get_closest_marker("long") is None and "browser" not in item.path.parts:
            item.add_marker("quick")
    items.sort(key=_turn)       # what is begun last is short, and no worker works on while the others have ended


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Collect no garbage while tests are collected, a quarter of that time, and later none among modules and tests,
    which stay: each collection walked over a million objects.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def _piece(path: Path) -> Path:
    """The path that names the piece of a file: its folder where that is a lesson's, whose tests open the same pages."""
    return path.parent if path.parts[:2] == ("tests", "pages") and len(path.parts) == 4 else path


def _turn(item: pytest.Item) -> tuple[bool, bool, bool]:
    """When an item is handed out: walks first, then files that need a browser, then the other long ones."""
    walk, long = (item.get_closest_marker(name) is not None for name in ("walk", "long"))
    return "browser" not in item.path.parts, not walk, not long


def pytest_configure(config: pytest.Config) -> None:
    shared = getattr(config, "workerinput", {}).get("folder")
    config.stash[FOLDER] = shared or tempfile.mkdtemp(prefix="live-transformer-tests-")


@pytest.hookimpl(optionalhook=True)     # xdist's
def pytest_configure_node(node) -> None:
    node.workerinput["folder"] = node.config.stash[FOLDER]


def pytest_unconfigure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        one_server.close(Path(config.stash[FOLDER]))
        shutil.rmtree(config.stash[FOLDER])


@pytest.fixture(scope="session")
def server(pytestconfig: pytest.Config) -> one_server.Server:
    """The server of the app that all workers share, for tests that change nothing of it."""
    return one_server.join(Path(pytestconfig.stash[FOLDER]))


@pytest.fixture
def empty_caches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Traces and results as a new process keeps them: none. What others have made is there again afterwards: to make
    all of it anew takes a minute.
    """
    for name in ("_traces", "_results"):
        empty = cache.ByteBoundedCache(getattr(cache, name)().capacity)
        monkeypatch.setattr(cache, name, lambda empty=empty: empty)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Tell the slowest files, and what was passed over and why."""
    seconds: collections.Counter[str] = collections.Counter()
    for outcome in ("passed", "failed", "skipped", ""):
        for report in terminalreporter.stats.get(outcome, ()):
            if hasattr(report, "duration"):
                seconds[report.nodeid.partition("::")[0]] += report.duration
    if len(seconds) > TOLD:
        terminalreporter.section(f"the {TOLD} slowest of {len(seconds)} files")
        for name, took in seconds.most_common(TOLD):
            terminalreporter.line(f"{took:7.1f} s  {name}")
    passed_over = {str(report.longrepr[2]).removeprefix("Skipped: ") for report in
                   terminalreporter.stats.get("skipped", ())}
    for reason in sorted(passed_over):
        terminalreporter.line(f"passed over: {reason}")
