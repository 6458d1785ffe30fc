"""The server ends as by a crash while pages are open: they come back with what was on them.

On one port without anything before it, and behind nginx on another replica.
"""
from __future__ import annotations

import os
import shutil
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
    with running(2, base="/class") as here:
        trial(here, browser, 2, 0, 0)
