"""The place of assets, JSON in files, and times of change of files and folders; the disk is asked at most once a
second.
"""
import json
import os
import time
from pathlib import Path

ASSETS = Path(__file__).resolve().parents[1] / "assets"
LOOKS = 1.0       # seconds for which the disk's answer holds
_times: dict[Path, tuple[float, int]] = {}


def read_json(path: Path):
    """The value that a file of JSON holds. Raises OSError or ValueError for a file without one."""
    return json.loads(path.read_text(encoding="utf-8"))


def write_json(path: Path, value, indent: int = 0, **options) -> None:
    """Write the value to a file; options: those of json.dumps."""
    path.write_text(json.dumps(value, indent=indent, **options) + "\n", encoding="utf-8")


def create_private(path: Path) -> None:
    """Make an empty file, which nobody else on this machine can read, if it does not exist. Raises OSError if it cannot
    be written.
    """
    os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))


def modified(path: Path) -> int:
    """The path's time of modification in nanoseconds, as it was within the last LOOKS seconds.

    Raises OSError if there is no such path.

    A run of a page asks some fifty times, and each look at the disk would hand Python to another reader's thread.
    """
    now = time.monotonic()
    asked, time_ns = _times.get(path, (-LOOKS, 0))
    if now - asked >= LOOKS:
        time_ns = path.stat().st_mtime_ns
        _times[path] = now, time_ns
    return time_ns
