"""A page's pictures as they would be in another state, drawn without a session: the page is run for an address up to the components that are asked for, and what those would be given is the answer.

What stands on the page comes from the address alone, as for whoever opens a link, and from one control that is pressed. `drawn` runs the page, and `core.ui.components` ends it when the last
component has had its turn.
"""
from __future__ import annotations

import threading
from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from streamlit.proto.ClientState_pb2 import ContextInfo
from streamlit.runtime.fragment import MemoryFragmentStorage
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.pages_manager import PagesManager
from streamlit.runtime.scriptrunner import RerunException, StopException
from streamlit.runtime.scriptrunner_utils.script_run_context import ScriptRunContext, add_script_run_ctx
from streamlit.runtime.state import SafeSessionState, SessionState

from core.ui import catalogue

APP = Path(__file__).resolve().parents[2] / "app.py"
THEMES = ("light", "dark")


class Ended(BaseException):
    """Ends the page's run when all is there that will be: a signal, and no failure that a part of the page could show."""


@dataclass(frozen=True)
class Pressed:
    """A control that shows one of the settings of a lesson: the setting's name with the lesson's, the place of the option that is pressed, and how many options the control shows."""

    setting: str
    index: int
    of: int

    def __post_init__(self) -> None:
        """ValueError for what no browser sends."""
        if not isinstance(self.setting, str) or type(self.index) is not int or type(self.of) is not int or not 0 <= self.index < self.of:
            raise ValueError("there is no such control")


@dataclass(frozen=True)
class Asked:
    """A page by its lesson's id, the query of its address, the theme that its reader sees, the keys of the components that are asked for, and the control that is pressed."""

    page: str
    query: str
    theme: str
    keys: frozenset[str]
    pressed: Pressed | None = None
    given: dict[str, object] = field(default_factory=dict)      # what the components have been given so far
    met: list[str] = field(default_factory=list)                # the setting that is pressed, once the page has come by it

    def __post_init__(self) -> None:
        """ValueError for what no page sends."""
        if self.page not in {entry.id for entry in catalogue.existing()} or self.theme not in THEMES or not self.keys:
            raise ValueError("there is no such page or theme")


class _Untouched:
    """The state of a component whose reader has picked nothing."""

    def __getattr__(self, name: str) -> None:
        return None


THREAD = "prerender"        # the name of the threads that run a page for nobody
_asked: ContextVar[Asked | None] = ContextVar("prerender", default=None)


def running() -> bool:
    """Whether this is a run that only pictures are asked of."""
    return _asked.get() is not None


def pressed(setting: str) -> Pressed | None:
    """The press on the control of this setting, where that is what is asked about: once, for what the page makes of it stays in the session."""
    asked = _asked.get()
    if asked is None or asked.pressed is None or asked.pressed.setting != setting or asked.met:
        return None
    asked.met.append(setting)
    return asked.pressed


def picked(setting: str, options: Sequence) -> object | None:
    """The one of these options, all that the control of this setting shows, that is pressed; None where that is not what is asked about. Refused where the control showed others."""
    press = pressed(setting)
    if press is None:
        return None
    return options[press.index] if press.of == len(options) else refuse()


def refuse() -> NoReturn:
    """Ends the run with nothing: the control that is pressed is not what this page has."""
    _asked.get().given.clear()
    raise Ended


def stage_is_drawn() -> None:
    """Ends the run where the view's pictures have all had their turn: what is below them is asked of no run."""
    if running():
        raise Ended


def reached(key: str, data: object) -> _Untouched:
    """In the place of a component: keeps what it is given where it is asked for, and ends the run with the last of them. One that no reader has touched."""
    asked = _asked.get()
    if key in asked.keys:
        asked.given[key] = data
        if len(asked.given) == len(asked.keys):
            raise Ended
    return _Untouched()


def drawn(asked: Asked) -> dict[str, bytes]:
    """The bytes that each component would be given, of those that the page draws; nothing of what it gives no bytes, or where it has no such control."""
    thread = threading.Thread(target=_run, args=(asked,), name=THREAD)       # a context stays with its thread
    thread.start()
    thread.join()
    known = asked.pressed is None or asked.met
    return {key: data for key, data in asked.given.items() if isinstance(data, bytes) and known}


def _run(asked: Asked) -> None:
    from core.ui import devices, state      # these import what imports this
    from core.ui.guard import guard
    context = _context(asked)
    add_script_run_ctx(threading.current_thread(), context)
    context.reset(asked.query, "", context_info=ContextInfo(color_scheme=asked.theme))
    context.on_script_start()
    _asked.set(asked)
    devices.compute_alone()
    try:
        with guard():
            state.begin()
            state.enter("" if asked.page == catalogue.HOME else asked.page)
            path = catalogue.entry(asked.page).path
            exec(compile(path.read_bytes(), path, "exec"), {"__name__": asked.page})        # runpy changes sys.argv, which other threads read
    except (Ended, RerunException, StopException):      # the latter are Streamlit's own: the page goes elsewhere
        return


def _context(asked: Asked) -> ScriptRunContext:
    """A session that has just been opened, and that nobody sees: what is sent to it is dropped."""
    return ScriptRunContext(session_id=f"prerender {threading.get_ident()}", _enqueue=lambda message: None, query_string=asked.query, session_state=SafeSessionState(SessionState(), lambda: None),
                            uploaded_file_mgr=MemoryUploadedFileManager(""), main_script_path=str(APP), user_info={}, fragment_storage=MemoryFragmentStorage(), pages_manager=PagesManager(str(APP)))
