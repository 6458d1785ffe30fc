"""Streams are counted, bounded for a phone, a class and in all, and walls are not refused for phones."""
from __future__ import annotations

import pytest

from core.app.server import streams
from core.app.server.streams import OF_A_CLASS, OF_A_PHONE, OF_A_WALL, Streams


def taken(held: Streams, code: str, phone: str | None, most: int) -> int:
    """How many streams begin before one is refused."""
    for n in range(most):
        if not held.may(code, phone):
            return n
        held.begin(code, phone)
    return most


def test_a_phone_a_class_and_all_together_have_their_bounds(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(streams, "most", lambda: 700)
    held = Streams()
    assert taken(held, "A", "1", 9) == OF_A_PHONE
    assert sum(taken(held, "A", str(i), 1) for i in range(2, 900)) == OF_A_CLASS - OF_A_PHONE
    assert sum(taken(held, "B", str(i), 1) for i in range(900)) == 700 - OF_A_CLASS
    assert taken(held, "A", None, 99) == taken(held, "C", None, 99) == OF_A_WALL


def test_a_stream_that_ends_makes_room_and_nothing_is_left_of_it():
    held = Streams()
    taken(held, "A", "1", 9)
    held.begin("A", None)
    held.end("A", "1")
    assert held.may("A", "1") and len(held) == OF_A_PHONE
    for phone in ("1", "1", None):
        held.end("A", phone)
    assert len(held) == 0 and not held._of and not held._of_class


@pytest.mark.skipif(streams.resource is None, reason="sockets are no files here")
def test_the_files_that_may_be_open_bound_them_and_are_raised_to_what_the_system_allows(
        monkeypatch: pytest.MonkeyPatch):
    limits = {"now": (1_024, 20_000)}
    monkeypatch.setattr(streams.resource, "getrlimit", lambda _: limits["now"])
    monkeypatch.setattr(streams.resource, "setrlimit", lambda _, to: limits.update(now=to))
    assert streams.most() == 1_024 - streams.OTHERS
    streams.open_more_files()
    assert limits["now"] == (20_000, 20_000) and streams.most() == streams.MOST
    limits["now"] = (streams.resource.RLIM_INFINITY,) * 2
    assert streams.most() == streams.MOST
