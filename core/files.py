"""When a file or folder was changed, asked of the disk once a second at most."""
import time
from pathlib import Path

LOOKS = 1.0       # seconds for which what the disk said holds
_said: dict[Path, tuple[float, int]] = {}


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
