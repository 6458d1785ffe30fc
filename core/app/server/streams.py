"""A limit on the server's event streams: each keeps a file open, and a thousand idle ones stopped the whole app on a
system that allows 1,024 open files.
"""
from collections import Counter

try:
    import resource
except ImportError:         # on Windows, whose sockets are no files
    resource = None

MOST = 3_000                # streams of phones
OTHERS = 300                # files that the app needs beside them
OF_A_CLASS, OF_A_PHONE, OF_A_WALL = 500, 3, 20      # a class takes 400 phones; a phone has a few tabs


def open_more_files() -> None:
    """Let this process open as many files as the system allows."""
    if resource:
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def most() -> int:
    """The number of phones' streams that fit into the files that this process may open."""
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0] if resource else MOST + OTHERS
    return MOST if resource and files == resource.RLIM_INFINITY else max(0, min(MOST, files - OTHERS))


class Streams:
    """The open streams: by class, and by phone or, under None, wall. A wall is never refused because of phones."""

    def __init__(self) -> None:
        self._of: Counter[tuple[str, str | None]] = Counter()
        self._of_class: Counter[str] = Counter()        # without walls

    def __len__(self) -> int:
        return self._of.total()

    def may(self, code: str, phone: str | None) -> bool:
        """Whether there is room for one more stream."""
        if phone is None:
            return self._of[code, phone] < OF_A_WALL
        return (self._of[code, phone] < OF_A_PHONE and self._of_class[code] < OF_A_CLASS
                and self._of_class.total() < most())

    def begin(self, code: str, phone: str | None) -> None:
        """Note that a stream begins."""
        self._of[code, phone] += 1
        self._of_class[code] += phone is not None

    def end(self, code: str, phone: str | None) -> None:
        """Note that a stream has ended."""
        self._of[code, phone] -= 1
        self._of_class[code] -= phone is not None
        for counted, name in ((self._of, (code, phone)), (self._of_class, code)):
            if not counted[name]:
                del counted[name]
