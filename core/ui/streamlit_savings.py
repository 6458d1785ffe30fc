"""What Streamlit 1.67 does many times over in every run of a page, done once; app.py puts these in the place of Streamlit's own.

The threads of a whole class share one Python: what a run takes all the others wait for, and whoever lets go of it for a call of the system, to wake another thread or to send a message,
waits in the line of all until it has it back. For an answer of some hundred messages the loop was woken 87 times and asked the system 109 times what is new; now it is 10 and 38 times.
"""
from __future__ import annotations

import asyncio
import collections
import functools
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from streamlit import config
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.NewSession_pb2 import CustomThemeConfig
from streamlit.runtime import app_session
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.runtime import Runtime
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.session_manager import ActiveSessionInfo
from streamlit.runtime.state.common import is_element_id
from streamlit.runtime.state.safe_session_state import SafeSessionState
from streamlit.runtime.state.session_state import _is_internal_key

MOST_HELD = 0.06        # seconds that a run's messages wait for each other

_all_of, _populate_theme = SafeSessionState.filtered_state.fget, app_session._populate_theme_msg
_call_soon, _flush, _send, _enqueued = AppSession._call_soon_on_event_loop, AppSession.flush_browser_queue, Runtime._send_message, Runtime._enqueued_some_message


class NamedState(Mapping):
    """`SafeSessionState.filtered_state`, looked up as it is asked for.

    Most widgets ask it for their own key alone. Streamlit would gather the values of all keys for each of them, and make a class of its own for every component among these: a tenth of a run.
    """

    def __init__(self, state: SafeSessionState) -> None:
        self._state = state

    def __getitem__(self, key: str) -> object:
        if is_element_id(key) or _is_internal_key(key):       # what has no name of the app's
            raise KeyError(key)
        with self._state._lock:
            return self._state._state[key]

    def __iter__(self) -> Iterator[str]:
        return iter(_all_of(self._state))

    def __len__(self) -> int:
        return len(_all_of(self._state))


def populate_theme(message: CustomThemeConfig, section: str = "theme") -> None:
    """`app_session._populate_theme_msg`: every run tells the browser the same of all sections of the theme, for which Streamlit goes through all of its settings six times."""
    message.MergeFrom(_theme_of(section))


@functools.cache
def _theme_of(section: str) -> CustomThemeConfig:
    message = CustomThemeConfig()
    _populate_theme(message, section)
    return message


config.on_config_parsed(_theme_of.cache_clear, force_connect=True)      # a file of settings is read anew when it has changed


# ---- from a run to the browser ----------------------------------------------------------------------------------------------------


def call_soon(session: AppSession, callback: Callable[[], None]) -> None:
    """`AppSession._call_soon_on_event_loop`, by which a run's thread hands over each of its messages: the server's loop is woken once for all that come until it looks."""
    handed = session.__dict__.setdefault("_handed_over", collections.deque())
    handed.append(callback)
    if not session.__dict__.get("_is_woken"):           # two threads that both see it do no harm
        session._is_woken = True
        _call_soon(session, functools.partial(_take_over, session, handed))


def _take_over(session: AppSession, handed: collections.deque[Callable[[], None]]) -> None:
    """On the loop: all that was handed over, in its order. What comes from here on may wake it again."""
    session._is_woken = False
    try:
        while handed:
            handed.popleft()()
    finally:
        if handed:      # one has failed, as the loop will say; the others do not fail with it
            _call_soon(session, functools.partial(_take_over, session, handed))


def enqueued_some_message(runtime: Runtime) -> None:
    """`Runtime._enqueued_some_message`, which wakes the loop through the system even where it is the loop itself that calls, as nearly always."""
    objects = runtime._get_async_objs()
    if asyncio._get_running_loop() is objects.eventloop:
        objects.need_send_data.set()
    else:
        _enqueued(runtime)


class Messages(list):
    """Several, that the loop takes for one."""


@dataclass
class Hold:
    """Until when the messages of a run wait for each other, by time.monotonic(), and whether the loop will look then by itself."""

    until: float
    looks: bool = False


_held: dict[str, Hold] = {}     # by session


def flush_browser_queue(session: AppSession) -> list[Messages]:
    """`AppSession.flush_browser_queue`; what a session is sent is sent together, where Streamlit's loop looks after everything else after each message. Nothing while it is held back."""
    hold = _held.get(session.id)
    if hold is not None and (left := hold.until - time.monotonic()) > 0:
        if not hold.looks:
            hold.looks = True
            asyncio.get_running_loop().call_later(left, enqueued_some_message, Runtime.instance())
        return []
    messages = _flush(session)
    return [Messages(messages)] if messages else []


@contextmanager
def together() -> Iterator[None]:
    """What a run draws inside goes to its browser in one piece; what is there after MOST_HELD seconds goes then.

    A page's browser goes over all of it for each piece that comes, and may draw a frame between two: the last picture of those that came first stood later by that.
    """
    context = get_script_run_ctx(suppress_warning=True)
    if context is None or not Runtime.exists():
        yield
        return
    _held[context.session_id] = Hold(time.monotonic() + MOST_HELD)
    try:
        yield
    finally:
        _held.pop(context.session_id, None)
        enqueued_some_message(Runtime.instance())


def send_message(runtime: Runtime, info: ActiveSessionInfo, messages: Messages | ForwardMsg) -> None:
    """`Runtime._send_message` of all of them."""
    for message in messages if isinstance(messages, Messages) else [messages]:
        _send(runtime, info, message)
