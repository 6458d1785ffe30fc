"""A page's picture as it would be in another state, drawn without a session: the page is run for an address up to the component that is asked for, and what that would be given is the answer.

What stands on the page comes from the address alone, as for whoever opens a link. `drawn` runs the page, and `core.ui.components` ends it when the component's turn comes.
"""
from __future__ import annotations

import threading
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path

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


class Drawn(BaseException):
    """Ends the page's run when the component is reached: a signal, and no failure that a part of the page could show."""

    def __init__(self, data: object) -> None:
        self.data = data


@dataclass(frozen=True)
class Asked:
    """A page by its lesson's id, the query of its address, the theme that its reader sees, and the key of the component that is asked for."""

    page: str
    query: str
    theme: str
    key: str

    def __post_init__(self) -> None:
        """ValueError for what no page sends."""
        if self.page not in {entry.id for entry in catalogue.existing()} or self.theme not in THEMES or not isinstance(self.query, str) or not isinstance(self.key, str):
            raise ValueError("there is no such page or theme")


class _Untouched:
    """The state of a component whose reader has picked nothing."""

    def __getattr__(self, name: str) -> None:
        return None


_asked: ContextVar[Asked | None] = ContextVar("prerender", default=None)


def running() -> bool:
    """Whether this is a run that only one component is asked of."""
    return _asked.get() is not None


def reached(key: str, data: object) -> _Untouched:
    """In the place of a component: ends the run where it is what is asked for, else is one that no reader has touched."""
    if key == _asked.get().key:
        raise Drawn(data)
    return _Untouched()


def drawn(asked: Asked) -> bytes:
    """The bytes that the component would be given. ValueError where the page does not draw it, or gives it no bytes."""
    made: list[object] = []
    thread = threading.Thread(target=_run, args=(asked, made), name="prerender")       # a context stays with its thread
    thread.start()
    thread.join()
    if not made or not isinstance(made[0], bytes):
        raise ValueError("there is no such picture on this page")
    return made[0]


def _run(asked: Asked, made: list[object]) -> None:
    from core.ui import state      # these import what imports this
    from core.ui.guard import guard
    context = _context(asked)
    add_script_run_ctx(threading.current_thread(), context)
    context.reset(asked.query, "", context_info=ContextInfo(color_scheme=asked.theme))
    context.on_script_start()
    _asked.set(asked)
    try:
        with guard():
            state.begin()
            state.enter("" if asked.page == catalogue.HOME else asked.page)
            path = catalogue.entry(asked.page).path
            exec(compile(path.read_bytes(), path, "exec"), {"__name__": asked.page})        # runpy changes sys.argv, which other threads read
    except Drawn as end:
        made.append(end.data)
    except (RerunException, StopException):      # Streamlit's own signals: the page goes elsewhere
        return


def _context(asked: Asked) -> ScriptRunContext:
    """A session that has just been opened, and that nobody sees: what is sent to it is dropped."""
    return ScriptRunContext(session_id=f"prerender {threading.get_ident()}", _enqueue=lambda message: None, query_string=asked.query, session_state=SafeSessionState(SessionState(), lambda: None),
                            uploaded_file_mgr=MemoryUploadedFileManager(""), main_script_path=str(APP), user_info={}, fragment_storage=MemoryFragmentStorage(), pages_manager=PagesManager(str(APP)))
