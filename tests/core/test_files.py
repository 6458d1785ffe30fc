"""When a file was changed: asked of the disk only now and then."""
from __future__ import annotations

import os
from pathlib import Path

import pytest

from core import files


def test_what_the_disk_said_holds_for_a_while(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    now, path = [100.0], tmp_path / "words.md"
    monkeypatch.setattr(files, "LOOKS", 1.0)
    monkeypatch.setattr(files.time, "monotonic", lambda: now[0])
    with pytest.raises(FileNotFoundError):
        files.modified(path)
    path.write_text("a")
    os.utime(path, ns=(5, 7))
    assert files.modified(path) == 7
    os.utime(path, ns=(5, 9))
    now[0] += 0.9
    assert files.modified(path) == 7
    now[0] += 0.2
    assert files.modified(path) == 9
