"""Load the frame of every page, and torch with it, once; or say why it cannot be loaded.

On Windows without the C++ runtime, in an unfinished environment, or without memory, torch fails in many ways; the
person who starts the app and the readers who open a page are told what to do.
"""
import importlib
import pkgutil
import threading
from types import ModuleType

FRAME = "core.app.shell.shell"
_lock = threading.Lock()
_loaded: list[ModuleType] = []
_why: list[str] = []        # at most one: a half-loaded module fails in another way at a second try


def frame() -> ModuleType | None:
    """The frame's module; None if it cannot be loaded, which is printed once."""
    with _lock:
        if not (_loaded or _why):
            try:
                _loaded.append(importlib.import_module(FRAME))
            except (Exception, SystemExit) as error:
                _why.append(told(error))
                print(_why[0], flush=True)
    return _loaded[0] if _loaded else None


def why_not() -> str:
    """The reason why the frame cannot be loaded, in two sentences; "" if it can, or nobody has tried yet."""
    return _why[0] if _why else ""


def told(error: BaseException) -> str:
    """A sentence on what is wrong and one on what to do, after loading torch and the frame has raised this error."""
    words = pkgutil.resolve_name("core.base.prose:load")("app")     # imported late, since it imports numpy
    text = f"{type(error).__name__}: {error}"
    is_runtime = isinstance(error, OSError) and any(sign in text for sign in ("WinError", ".dll"))
    kind = ("runtime" if is_runtime else "memory" if isinstance(error, MemoryError)
            else "environment" if isinstance(error, ImportError) else "other")
    return f"{words.label('no_start', error=' '.join(text.split())[:300])} {words.label(f'no_start_{kind}')}"
