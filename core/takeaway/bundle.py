"""Scripts of the app as one: a file that is opened from a disk, or a worker, can import no other file."""
import posixpath
import re
from pathlib import Path

from core.components import scripts

IMPORT = re.compile(r'^import (?:(\w+)|\{([^}]*)\})\s+from "(\.[^"]+)";$', re.M)
LATER = re.compile(r'(?<=[ =])import\("(\.[^"]+)"\)')       # a module that the app loads when it is needed
EXPORT = re.compile(r"^export ((?:async )?function|class|const) (\w+)", re.M)
DEFAULT = re.compile(r"^export default ", re.M)


def bundle(script: Path) -> str:
    """One script that does what this module and all that it imports do, in that order. Its exports are lost.

    Each module becomes a function that returns its exports. Raises ValueError for an import or export that is written
    in another way, and for modules that import each other in a circle.
    """
    order: dict[str, str] = {}
    _add(scripts.path_of(script), order, ())
    return "const modules = {};\n" + "\n".join(order.values())


def _add(path: str, order: dict[str, str], above: tuple[str, ...]) -> None:
    if path in above:
        raise ValueError(f"{path} imports itself by way of {above[-1]}.")
    if path in order:
        return
    text = scripts.files()[path].decode()
    for name in (*(found[2] for found in IMPORT.findall(text)), *LATER.findall(text)):
        _add(_beside(path, name), order, (*above, path))
    order[path] = _module(path, text)


def _beside(path: str, name: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(path), name))


def _module(path: str, text: str) -> str:
    exports = [name for _, name in EXPORT.findall(text)]
    text = IMPORT.sub(lambda found: _taken(path, *found.groups()), text)
    text = LATER.sub(lambda found: f'Promise.resolve(modules["{_beside(path, found[1])}"])', text)
    text, n_default = DEFAULT.subn("const whole = ", EXPORT.sub(r"\1 \2", text))
    if left := re.search(r"^(?:import|export)\b.*", text, re.M):
        raise ValueError(f"{path}: {left[0]!r} cannot be bundled.")
    named = [*exports, *(["default: whole"] if n_default else [])]
    return f'modules["{path}"] = (() => {{\n{text}\nreturn {{ {", ".join(named)} }};\n}})();'


def _taken(path: str, default: str | None, names: str | None, name: str) -> str:
    taken = f"default: {default}" if default else re.sub(r"\s+", " ", names.replace(" as ", ": ")).strip()
    return f'const {{ {taken} }} = modules["{_beside(path, name)}"];'
