"""A torch that cannot be loaded: the terminal, every page and the health check say so, and what to do."""
from __future__ import annotations

import os
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from assets.deploy.replicas import HOST, Replicas, free_ports
from core.app.server import start
from tests.helpers.lessons import SCRIPT

LIBRARY = "[WinError 1114] A dynamic link library (DLL) initialization routine failed. Error loading c10.dll"
KINDS = [(OSError(LIBRARY), "Visual C++"), (ImportError("No module named 'torch._C'"), "README"),
         (MemoryError(), "memory"), (SystemExit(3), "README"), (RuntimeError("already registered"), "README")]


@pytest.mark.parametrize(("error", "remedy"), KINDS, ids=[type(error).__name__ for error, _ in KINDS])
def test_a_page_says_what_is_wrong_and_what_to_do_and_the_terminal_once(error, remedy, monkeypatch, capsys):
    tried, load = [], start.importlib.import_module

    def fail(name, *package):
        if name != start.FRAME:
            return load(name, *package)
        tried.append(name)
        raise error

    monkeypatch.setattr(start, "_loaded", [])
    monkeypatch.setattr(start, "_why", [])
    monkeypatch.setattr(start.importlib, "import_module", fail)
    at = [AppTest.from_file(SCRIPT).run() for _ in range(2)][-1]
    said = start.why_not()
    assert [one.value for one in at.error] == [said] and not at.exception and tried == [start.FRAME]
    assert remedy in said and type(error).__name__ in said and "\n" not in said
    assert capsys.readouterr().out.count(said) == 1


def test_a_server_without_torch_says_so_where_its_health_is_asked_for(tmp_path: Path):
    (tmp_path / "torch.py").write_text(f"raise OSError({LIBRARY!r})")
    (port,) = free_ports(1)
    server = Replicas(f"http://{HOST}:{port}", "", {}, os.environ | {"PYTHONPATH": str(tmp_path)}, tmp_path)
    server.start(port)
    try:
        said = refused(f"{server.url}/_stcore/health", server.processes[port])
    finally:
        server.kill(port)
    log = (tmp_path / f"replica_{port}.log").read_text()
    assert "Visual C++" in said and log.count(said) == 1 and "Traceback" not in log


def refused(url: str, process: subprocess.Popen) -> str:
    """The answer with status 503, as soon as it comes."""
    while process.poll() is None:
        try:
            urllib.request.urlopen(url, timeout=10).close()
        except urllib.error.HTTPError as error:
            assert error.code == 503
            return error.read().decode()
        except OSError:             # not yet
            pass
        time.sleep(0.05)
    raise AssertionError("the server has ended")
