"""The disk that models of the Hub fill: together within a bound.

Where it is reached, downloads are refused and nothing is deleted: the folder (HF_HOME) may be other programs' too.
"""
import functools
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from core.app.base import deployment
from core.huggingface import hub

SECONDS = 5             # for which the size of what lies there is taken to be right: a look is a walk through all of it
_coming: list[int] = []
_lock = threading.Lock()


class Full(Exception):
    """There is no room for a download."""


def bound() -> int:
    """The most bytes that all downloads take together."""
    return deployment.current().hub_bytes


def taken() -> int:
    """The bytes that they take, and those of the ones that come."""
    return _taken(int(time.monotonic() / SECONDS)) + sum(_coming)


def fits(n_bytes: int) -> bool:
    """Whether there is room for a download of that many bytes; for what is here already there is."""
    return not n_bytes or taken() + n_bytes <= bound()


@contextmanager
def reserved(n_bytes: int) -> Iterator[None]:
    """Keep room for what the block downloads. Raise Full where there is none."""
    with _lock:
        if not fits(n_bytes):
            raise Full
        _coming.append(n_bytes)
    try:
        yield
    finally:
        with _lock:
            _coming.remove(n_bytes)
        _taken.cache_clear()


@functools.lru_cache(maxsize=1)
def _taken(_moment: int) -> int:
    return hub.kept_bytes()
