"""The server ends as by a crash while pages are open: they come back with what was on them.

On one port without anything before it, and behind nginx on another replica.
"""
from __future__ import annotations

import os
import shutil
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from assets.deploy.replicas import HOST, Replicas, free_ports, running
from tests.browser.replicas_trial import came_back, opened, trial

needs_nginx = pytest.mark.skipif(shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin") is None,
                                 reason="nginx is not installed: apt-get install nginx")


def test_a_server_that_was_killed_and_started_again_shows_its_readers_what_they_had(browser: Browser, tmp_path: Path):
    (port,) = free_ports(1)
    server = Replicas(f"http://{HOST}:{port}", "", {}, dict(os.environ), tmp_path)
    server.start(port)
    try:
        server.wait(port)
        readers = [opened(browser, server.url, path)
                   for path in ("heads?layer=2&head=1&heads_panel=roles", "tokens?position=3&tokens_view=methods")]
        for i, reader in enumerate(readers):
            reader.types(f"Tom and Mia went to the park {i}")
        before = [reader.state() for reader in readers]
        server.kill(port)
        server.start(port)
        server.wait(port)
        came_back(readers, 0)
        assert [reader.state() for reader in readers] == before
        for reader in readers:
            reader.types("The bank of the river")       # and the first thing that is done there counts
        assert not any(reader.errors for reader in readers)
        assert "Traceback" not in (tmp_path / f"replica_{port}.log").read_text()
    finally:
        server.processes[port].kill()
        server.processes[port].wait()
        for reader in readers:
            reader.page.context.close()


@needs_nginx
def test_readers_of_a_replica_that_was_killed_go_on_at_another(browser: Browser):
    # the name by which nginx is called has to reach the replicas on every way, even the websocket's
    with running(2, base="/class", environment={"STREAMLIT_SERVER_ALLOWED_HOSTS": "127.0.0.1"}) as here:
        trial(here, browser, 2, 0, 0)
        assert_nothing_is_kept_of_a_prompt(here)
        assert_what_no_page_offers_is_refused(here)


def answered(here: Replicas, path: str, method: str = "GET", **headers: str) -> tuple[int, dict[str, str]]:
    """Status and headers of what nginx answers below the base path."""
    request = urllib.request.Request(f"{here.url}/{path}", None, headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, dict(answer.headers)
    except urllib.error.HTTPError as refused:
        return refused.code, dict(refused.headers)


def assert_nothing_is_kept_of_a_prompt(here: Replicas) -> None:
    """A replica dies and its reader loads the page: nginx asks the dead one first, and could note query and referrer.
    """
    here.kill(list(here.processes)[0])
    page = "heads?prompt=a%20secret%20prompt"
    status, headers = answered(here, page, Cookie="replica=1", Referer=f"{here.url}/{page}")
    assert status == 200 and "frame-ancestors" in headers["content-security-policy"]
    logs = {path.name: path.read_text() for path in here.folder.glob("*.log")}
    assert {"access.log", "error.log"} <= logs.keys() and '"GET /class/heads" 200' in logs["access.log"]
    assert [name for name, log in logs.items() if "secret" in log or "prompt=" in log] == []


def assert_what_no_page_offers_is_refused(here: Replicas) -> None:
    for method, path in (("PUT", "_stcore/upload_file/session/name"), ("GET", "_stcore/metrics")):
        assert answered(here, path, method)[0] == 404
