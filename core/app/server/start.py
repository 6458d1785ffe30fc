"""The frame of every page, which brings torch: loaded once, or why it cannot be.

On Windows without the C++ runtime, in an environment that was made halfway, or without memory, torch fails in many
ways; whoever starts the app and whoever opens a page are told what to do.
"""
import importlib
import pkgutil
import threading
from types import ModuleType

FRAME = "core.app.frame.shell"
_lock = threading.Lock()
_loaded: list[ModuleType] = []
_why: list[str] = []        # at most one: what is loaded halfway fails otherwise at a second try


def frame() -> ModuleType | None:
    """The frame's module; None where it cannot be loaded, which the terminal is told once."""
    with _lock:
        if not (_loaded or _why):
            try:
                _loaded.append(importlib.import_module(FRAME))
            except (Exception, SystemExit) as error:
                _why.append(told(error))
                print(_why[0], flush=True)
    return _loaded[0] if _loaded else None


def why_not() -> str:
    """Why the frame cannot be loaded, in two sentences; "" where it can, or nobody has tried yet."""
    return _why[0] if _why else ""


def told(error: BaseException) -> str:
    """A sentence on what is wrong and one on what to do, where loading torch and the frame has raised this error."""
    words = pkgutil.resolve_name("core.app.base.prose:load")("app")     # numpy comes with it, later
    text = f"{type(error).__name__}: {error}"
    is_runtime = isinstance(error, OSError) and any(sign in text for sign in ("WinError", ".dll"))
    kind = ("runtime" if is_runtime else "memory" if isinstance(error, MemoryError)
            else "environment" if isinstance(error, ImportError) else "other")
    return f"{words.label('no_start', error=' '.join(text.split())[:300])} {words.label(f'no_start_{kind}')}"
