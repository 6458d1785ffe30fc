"""Names of the Hugging Face models that readers may load: "folder:<name below a root>" and "hub:<owner/name>".

The operator allows them by environment variables (core.base.deployment); a reader's text is looked up among the
allowed names and never made into a path.
"""
import functools
import os
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path

from core.base import deployment
from core.base.deployment import is_hub_name

IN_FOLDER, ON_HUB = "folder:", "hub:"
CONFIG, GGUF = "config.json", ".gguf"
MOST_FOLDERS, MOST_LOOKED_AT, MOST_DEPTH = 200, 5_000, 4
SECONDS = 5                  # for which the list of folders is taken to be right


def is_library_name(name: str) -> bool:
    """Whether a name is that of a model in a folder or on the Hub, allowed or not."""
    return name.startswith((IN_FOLDER, ON_HUB))


def short(name: str) -> str:
    """A model's name without the mark of its origin.

    >>> short("folder:t5/small"), short("stories")
    ('t5/small', 'stories')
    """
    return name.removeprefix(IN_FOLDER).removeprefix(ON_HUB)


def place(name: str) -> str:
    """The origin of a model: "in_folder", "on_hub", or "in_app"."""
    return "in_folder" if name.startswith(IN_FOLDER) else "on_hub" if name.startswith(ON_HUB) else "in_app"


def is_offered(name: str) -> bool:
    """Whether the operator lets readers ask for this model; it may still turn out that it cannot be loaded."""
    if name.startswith(IN_FOLDER):
        return name.removeprefix(IN_FOLDER) in folders()
    return name.startswith(ON_HUB) and is_hub_offered(name.removeprefix(ON_HUB))


def source(name: str) -> Path | str:
    """The folder or the Hub's name behind an offered name, for core.huggingface. Raises KeyError for any other name."""
    if not is_offered(name):
        raise KeyError(name)
    return folders()[name.removeprefix(IN_FOLDER)] if name.startswith(IN_FOLDER) else name.removeprefix(ON_HUB)


def is_hub_on() -> bool:
    return deployment.current().hub


def hub_models() -> tuple[str, ...]:
    """The only names of the Hub that may be asked for; () allows any."""
    return deployment.current().hub_models


def is_hub_offered(name: str) -> bool:
    """Whether a model of the Hub may be asked for."""
    return is_hub_on() and is_hub_name(name) and (not hub_models() or name in hub_models())


def folders() -> dict[str, Path]:
    """The models below the operator's roots: path below the root, with /, -> folder; a model in the root itself has the
    root's name.

    If two roots have the same name, the first root's is taken.
    """
    return _folders(deployment.current().model_roots, int(time.monotonic() / SECONDS))


@functools.lru_cache(maxsize=2)
def _folders(roots: tuple[Path, ...], _moment: int) -> dict[str, Path]:
    found: dict[str, Path] = {}
    for root in roots:
        for folder in _models_below(root):
            found.setdefault(root.name if folder == root else folder.relative_to(root).as_posix(), folder)
    return dict(sorted(found.items())[:MOST_FOLDERS])


def _models_below(root: Path) -> Iterator[Path]:
    """Folders with a config.json or a GGUF file (which is later refused as such), level by level. A link that leads out
    of the root is not followed, and no folder is looked into twice.
    """
    waiting, seen = deque([(root, 0)]), set()
    while waiting and len(seen) < MOST_LOOKED_AT:
        folder, depth = waiting.popleft()
        if (real := folder.resolve()) in seen or not real.is_relative_to(root):
            continue
        seen.add(real)
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError:                    # no folder, or none that may be read
            continue
        if (any((entry.name == CONFIG or entry.name.endswith(GGUF)) and entry.is_file() for entry in entries)
                and _stays_inside(entries, root)):
            yield folder
        elif depth < MOST_DEPTH:
            waiting.extend((Path(entry.path), depth + 1) for entry in entries
                           if not entry.name.startswith(".") and entry.is_dir())


def _stays_inside(entries: list[os.DirEntry], root: Path) -> bool:
    """Whether every file of a folder lies in the root, wherever links lead."""
    return all(Path(entry.path).resolve().is_relative_to(root) for entry in entries if entry.is_symlink())
