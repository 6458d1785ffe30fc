"""Results that a view computes when it is opened: on a thread of its own, shared by all who ask for the same, drawn as
they grow, and kept for all when they are whole.

A view that asks for a kept result gets it at once. Otherwise it waits PATIENCE seconds for it; then it gets the part
that there is so far, or is left if there is nothing to show yet. `views.draw` then says how far the result is, beside a
button that stops it, and redraws the view while it grows, or once there is something to show. A result that is asked
for anywhere else is simply computed.

What a bundled model would need seconds for when a view is first opened is recorded in the files RECORDED, made by
`python -m core.recordings`, and shown at once, until the reader asks for it anew.
"""
import functools
import secrets
import threading
import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

import streamlit as st

from core.app.compute import cache, presence, queue
from core.app.streamlit import context
from core.base import prose
from core.files import ASSETS, read_json

PATIENCE = 0.8          # seconds that a page waits for a result before it shows the part that there is
# seconds between two looks at a computation; they are at least IDLE times as long as drawing its picture takes
EVERY, IDLE = 0.7, 3
MOST_KEPT = 4           # latest computations that a session holds, whole or stopped
# in the session: key -> job; the session's name among the readers of a job
JOBS, READER = "working_jobs", "working_reader"
# seconds between two pictures of the open lesson, if it shows something that grows
GROWS = "working_grows"
RECORDED = "*_opening.json"    # in assets/teaching/: what is recorded, by the text of the result's key
ANEW = "computed_anew"          # in the session: the keys of recorded results that its reader has asked for anew


@dataclass(frozen=True)
class Part:
    """Progress of a computation: `done` of `total` steps, 0 of 0 if that is not known, and `value`, the result so far,
    None if there is none. The last part has the whole.
    """

    value: object = None
    done: int = 0
    total: int = 0


class NotYet(BaseException):
    """Leave a view whose result is not there yet: a signal, not a failure that a part of the page could show."""


@dataclass(frozen=True)
class Look:
    """A computation at one moment: its latest part, whether it has ended, whether it grows for this session, which may
    have turned away, and the seconds since it was asked for.

    It may end at any moment, so a drawing must use one look for all its decisions: in two looks it may both grow and
    have ended, and would then be neither followed nor drawn as the whole.
    """

    part: Part = field(default_factory=Part)
    ended: bool = True
    grows: bool = False
    seconds: float = 0.0


class _Shared:
    """One computation and the sessions that wait for it; it is stopped when the last of them turns away."""

    def __init__(self, key: Hashable, steps: Callable[[], Iterator[Part]], size: Callable[[object], int]) -> None:
        self.readers: dict[str, Callable[[], bool]] = {}        # by name: whether their page is open
        self._key, self._steps, self._size = key, steps, size
        self.job = queue.queue(self._parts, lambda: any(is_there() for is_there in list(self.readers.values())))

    def look(self) -> Look:
        """The computation now. `running` is read first, so that the part of an ended one is its last."""
        runs = self.job.running
        part = self.job.records[-1] if self.job.records else Part()
        return Look(part, not runs, runs and _reader() in self.readers, self.job.seconds)

    def _parts(self) -> Iterator[Part]:
        if (known := cache.kept(self._key)) is not None:    # made by another job since this one was asked for
            yield Part(known, 1, 1)
            return
        part = Part()
        for part in self._steps():
            yield part
        cache.result(self._key, lambda: part.value, self._size)


_running: dict[Hashable, _Shared] = {}
_lock = threading.Lock()


@dataclass
class Frame:
    """A view that is being drawn: the unfinished computation that it shows, the look at it when it was asked for, its
    key, and its text for the reader.
    """

    shared: _Shared | None = None
    look: Look = field(default_factory=Look)
    key: Hashable = None
    said: str = ""
    shows_parts: bool = False   # and not the whole alone
    left: bool = False          # there was nothing to show
    recorded: list[Hashable] = field(default_factory=list)      # the keys of recorded results that it shows
    began: float = field(default_factory=time.monotonic)
    waited: float = 0.0         # seconds of the time since then

    @property
    def awaits(self) -> bool:
        """Whether there was nothing to show yet, but will be."""
        return self.left and self.look.grows and not (self.shows_parts and self.look.part.value is not None)


_frame: ContextVar[Frame | None] = ContextVar("frame", default=None)


@contextmanager
def frame() -> Iterator[Frame]:
    """Allow unfinished results within the block; if the view is left without its result, the rest of the block is left
    as well.
    """
    here = Frame()
    token = _frame.set(here)
    try:
        yield here
    except NotYet:
        here.left = True
    finally:
        _frame.reset(token)


def growing(key: Hashable, steps: Callable[[], Iterator[Part]], size: Callable[[object], int],
            said: str = "") -> tuple[object, bool]:
    """The result so far, and whether that is the whole. Leave the view if there is nothing yet.

    key, size: as for cache.result. steps() yields Parts, without any call to Streamlit. said: the text for the reader
    meanwhile, with {done} and {total}.
    """
    if (here := _frame.get()) is not None:
        here.shows_parts = True
    value, whole = _so_far(here, key, steps, size, said)
    if value is None and not whole:
        raise NotYet
    return value, whole


def _so_far(here: Frame | None, key: Hashable, steps: Callable[[], Iterator[Part]], size: Callable[[object], int],
            said: str) -> tuple[object, bool]:
    """Like `growing`, but the value is None while there is nothing yet."""
    if here is None:
        return cache.result(key, lambda: _last(steps()), size), True
    if (known := cache.kept(key)) is not None:
        return known, True
    before = time.monotonic()
    shared = _asked(key, steps, size)
    here.waited += time.monotonic() - before
    look = shared.look()
    if look.ended and shared.job.failed:
        forget(key)
        raise shared.job.error
    if look.ended and not shared.job.stopped:
        if cache.kept(key) is not None:
            forget(key)                   # else this session holds it, so that it is not made again at every run
        return look.part.value, True
    here.shared, here.look, here.key, here.said = shared, look, key, said
    return look.part.value, False


def result(key: Hashable, steps: Callable[[], Iterator[Part]], size: Callable[[object], int], said: str = "",
           restore: Callable[[object], object] | None = None):
    """The whole result; leave the view until it is there. restore: makes it of what is recorded under this key, which
    is shown until this reader asks for it anew.
    """
    if restore is not None and (kept := _recorded().get(str(key))) is not None and not _is_asked_anew(key):
        if (here := _frame.get()) is not None:
            here.recorded.append(key)
        return cache.result(("recorded", key), lambda: restore(kept), size)
    value, whole = _so_far(_frame.get(), key, steps, size, said)
    if not whole:
        raise NotYet
    return value


def made(key: Hashable, make: Callable[[], object], size: Callable[[object], int],
         restore: Callable[[object], object] | None = None):
    """`result` of a computation that cannot say how far it is: `make()`, without any call to Streamlit."""
    def steps() -> Iterator[Part]:
        yield Part(make(), 1, 1)

    return result(key, steps, size, restore=restore)


@functools.cache
def _recorded() -> dict[str, object]:
    files = sorted((ASSETS / "teaching").glob(RECORDED))
    return {key: value for file in files for key, value in read_json(file).items()}


def _is_asked_anew(key: Hashable) -> bool:
    return context.session_id() is not None and key in st.session_state.get(ANEW, ())


def compute_anew(keys: Sequence[Hashable]) -> None:
    """Callback: from now on compute for this reader what these recordings stand for."""
    st.session_state[ANEW] = {*st.session_state.get(ANEW, ()), *keys}


def every() -> float | None:
    """Seconds between two pictures of the open lesson; None if it shows nothing that grows."""
    return st.session_state.get(GROWS)


def follow(here: Frame, place, frame_words: prose.TextFile) -> None:
    """Say in `place` how far an unfinished result is, with a button that stops it or begins it again.

    Rerun the page when the lesson must from now on be redrawn regularly, or no longer.
    """
    if here.shared is not None:
        with place:
            (_await if here.awaits else _told)(here, frame_words)
    grows = here.look.grows and not here.awaits
    if grows and every() is None:
        _begin(max(EVERY, IDLE * (time.monotonic() - here.began - here.waited)))
    elif not grows and every() is not None:
        st.session_state[GROWS] = None
        st.rerun()


def _await(here: Frame, words: prose.TextFile) -> None:
    """Say how far it is, in a fragment of its own, until there is something to show; then rerun the page.

    Drawing the whole page each time would be a tenth of the work that a class gives the server.
    """
    drawn = []

    def tell() -> None:
        if drawn:
            here.look = here.shared.look()
            if not here.awaits:
                st.rerun()
        _told(here, words)
        drawn.append(True)

    st.fragment(tell, run_every=EVERY)()


def _begin(seconds: float) -> None:
    """Redraw the lesson regularly, every `seconds`, once the browser has the page and asks for more.

    An immediate rerun would drop elements not yet sent, and the controls would then stand at their least values.
    """
    drawn = []

    def begin() -> None:
        if drawn:
            st.session_state[GROWS] = seconds
            st.rerun()
        drawn.append(True)

    st.fragment(begin, run_every=EVERY)()


def _told(here: Frame, words: prose.TextFile) -> None:
    part = here.look.part
    known = bool(here.said and part.done)
    said = (here.said.format(done=part.done, total=part.total) if known
            else words.label("working_begins", seconds=f"{here.look.seconds:.0f}"))
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="working"):
        if here.look.grows:
            st.progress(min(1.0, part.done / part.total) if part.total else 0.0, text=said)
            st.button(words.label("working_stop"), key="working_stop", icon=":material/stop:",
                      on_click=_leave, args=(here.key,))
        else:
            st.caption(words.label("working_stopped", said=said if known else words.label("working_nothing")))
            st.button(words.label("working_again"), key="working_again", icon=":material/play_arrow:",
                      on_click=forget, args=(here.key,))


def _last(parts: Iterator[Part]) -> object:
    *_, part = (Part(), *parts)
    return part.value


def _mine() -> dict[Hashable, _Shared]:
    """This session's computations, the latest last."""
    return st.session_state.setdefault(JOBS, {})


def _reader() -> str:
    if READER not in st.session_state:
        st.session_state[READER] = secrets.token_hex(8)
    return st.session_state[READER]


def _asked(key: Hashable, steps: Callable[[], Iterator[Part]], size: Callable[[object], int]) -> _Shared:
    """The computation of `key`, begun now unless this session or another has it; the session no longer waits for its
    earlier ones.
    """
    mine = _mine()
    for other in [other for other, shared in mine.items() if other != key and shared.job.running]:
        _leave(other)
        del mine[other]
    if key in mine:
        return mine[key]
    with _lock:
        for ended in [other for other, shared in _running.items() if not shared.job.running]:
            del _running[ended]
        shared = _running.get(key) or _running.setdefault(key, _Shared(key, steps, size))
        shared.readers[_reader()] = presence.of_this_session()
    mine[key] = shared
    for old in list(mine)[:-MOST_KEPT]:
        del mine[old]
    shared.job.wait(PATIENCE)
    return shared


def _leave(key: Hashable) -> None:
    """Callback: this reader no longer waits for the computation."""
    shared = _mine().get(key)
    if shared is None or not shared.job.running:
        return
    with _lock:
        shared.readers.pop(_reader(), None)
        if not shared.readers:
            shared.job.stop()
            _running.pop(key, None)


def forget(key: Hashable) -> None:
    """Let go of a computation that has ended: the next request begins it again, unless its result is kept elsewhere."""
    if context.session_id() is None:
        return
    _mine().pop(key, None)
    with _lock:
        if (shared := _running.get(key)) is not None and not shared.job.running:
            del _running[key]
