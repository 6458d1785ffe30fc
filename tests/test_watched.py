"""When a file was changed: asked of the disk only now and then."""
from __future__ import annotations

import os
from pathlib import Path

import pytest

from core import watched


def test_what_the_disk_said_holds_for_a_while(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    now, path = [100.0], tmp_path / "words.md"
    monkeypatch.setattr(watched, "LOOKS", 1.0)
    monkeypatch.setattr(watched.time, "monotonic", lambda: now[0])
    with pytest.raises(FileNotFoundError):
        watched.modified(path)
    path.write_text("a")
    os.utime(path, ns=(5, 7))
    assert watched.modified(path) == 7
    os.utime(path, ns=(5, 9))
    now[0] += 0.9
    assert watched.modified(path) == 7
    now[0] += 0.2
    assert watched.modified(path) == 9
