"""Disk space for models of the Hub: all together within a bound.

If it is reached, downloads are refused and nothing is deleted: other programs may use the folder (HF_HOME) as well.
"""
import functools
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from core.base import deployment
from core.huggingface import hub

SECONDS = 5             # for which the measured size is taken to be right: measuring is a walk through the whole folder
_coming: list[int] = []
_lock = threading.Lock()


class Full(Exception):
    """There is no room for a download."""


def bound() -> int:
    """The most bytes that all downloads take together."""
    return deployment.current().hub_bytes


def taken() -> int:
    """The bytes of all downloads, with those still coming."""
    return _taken(int(time.monotonic() / SECONDS)) + sum(_coming)


def fits(n_bytes: int) -> bool:
    """Whether there is room for a download of that many bytes; always for 0, a model that is here already."""
    return not n_bytes or taken() + n_bytes <= bound()


@contextmanager
def reserved(n_bytes: int) -> Iterator[None]:
    """Reserve room for the block's download. Raises Full if there is none."""
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
