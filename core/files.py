"""Where assets are, JSON in files, and when a file or folder was changed, asked of the disk once a second at most."""
import json
import time
from pathlib import Path

ASSETS = Path(__file__).resolve().parents[1] / "assets"
LOOKS = 1.0       # seconds for which what the disk said holds
_said: dict[Path, tuple[float, int]] = {}


def read_json(path: Path):
    """The value that a file of JSON holds. Raises OSError or ValueError for a file that holds none."""
    return json.loads(path.read_text(encoding="utf-8"))


def write_json(path: Path, value, indent: int = 0, **options) -> None:
    """Write the value to a file; options: those of json.dumps."""
    path.write_text(json.dumps(value, indent=indent, **options) + "\n", encoding="utf-8")


def modified(path: Path) -> int:
    """The path's time of modification in nanoseconds, as it was within the last LOOKS seconds.

    Raises OSError where there is no such path.

    A run of a page would ask some fifty times, and every time another reader's thread has Python meanwhile.
    """
    now = time.monotonic()
    asked, said = _said.get(path, (-LOOKS, 0))
    if now - asked >= LOOKS:
        said = path.stat().st_mtime_ns
        _said[path] = now, said
    return said
