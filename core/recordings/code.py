"""The code that decides figures: every definition that a function reaches, found in the source without running it."""
import ast
import hashlib
from dataclasses import dataclass
from pathlib import Path

# What lies elsewhere in the house computes a model's pass, which has tests of its own, or draws.
FOLLOWED = ("core.learning.", "core.cost.", "core.evaluation.", "core.language.", "core.training.", "core.analysis.",
            "pages.")


@dataclass(frozen=True)
class Source:
    """A module's text: the statements that define each of its names, and the dotted name of each that it imports."""

    definitions: dict[str, list[ast.stmt]]
    imports: dict[str, str]


def code_hashes(root: Path, function: str) -> dict[str, str]:
    """Return, for each module of the repository that takes part, a hash of those of its definitions that the function
    (a dotted name) reaches, without comments, docstrings and white space.
    """
    sources: dict[str, Source | None] = {}
    found: dict[str, set[str]] = {}
    waiting = [function]
    while waiting:
        module, name = _owner(root, waiting.pop(), sources)
        if not name or name in found.get(module, ()):
            continue
        source = sources[module]
        if name in source.imports:
            waiting.append(source.imports[name])
        elif name in source.definitions:
            found.setdefault(module, set()).add(name)
            waiting += [used for node in source.definitions[name] for used in _used(node, module, source)]
    return {module: digest(repr([_shape(node) for name in sorted(names)
                                 for node in sources[module].definitions[name]]).encode())
            for module, names in sorted(found.items())}


def digest(data: bytes) -> str:
    """The first half of a SHA-256 hash in hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()[:32]


def _owner(root: Path, dotted: str, sources: dict[str, Source | None]) -> tuple[str, str]:
    """The module of a dotted name, and the name in it; an empty name for what is not followed, or is a module."""
    parts = dotted.split(".")
    for n in range(len(parts) - 1, 0, -1):
        module = ".".join(parts[:n])
        if f"{module}.".startswith(FOLLOWED):
            if module not in sources:
                sources[module] = _read(root.joinpath(*parts[:n]))
            if sources[module]:
                return module, parts[n]
    return dotted, ""


def _read(path: Path) -> Source | None:
    file = path.with_suffix(".py") if path.with_suffix(".py").is_file() else path / "__init__.py"
    if not file.is_file():
        return None
    tree, definitions = ast.parse(file.read_text(encoding="utf-8")), {}
    for node in tree.body:
        for name in _names(node):
            definitions.setdefault(name, []).append(node)
    return Source(definitions, {alias.asname or alias.name: f"{node.module}.{alias.name}" for node in ast.walk(tree)
                                if isinstance(node, ast.ImportFrom) for alias in node.names})


def _names(node: ast.stmt) -> set[str]:
    """The names that a statement of a module defines or changes."""
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return {node.name}
    targets = getattr(node, "targets", [getattr(node, "target", None)])
    return {each.id for target in targets if target for each in ast.walk(target) if isinstance(each, ast.Name)}


def _used(node: ast.AST, module: str, source: Source) -> list[str]:
    """The dotted names that a definition may use: its module's, imported ones, and those of an imported module."""
    names = [f"{module}.{each.id}" for each in ast.walk(node) if isinstance(each, ast.Name)]
    return names + [f"{source.imports[each.value.id]}.{each.attr}" for each in ast.walk(node)
                    if isinstance(each, ast.Attribute) and isinstance(each.value, ast.Name)
                    and each.value.id in source.imports]


def _shape(node: object) -> object:
    """A syntax tree as lists, without docstrings and empty fields: the same in every version of Python."""
    if isinstance(node, list):
        return [_shape(each) for each in node]
    if not isinstance(node, ast.AST):
        return node
    fields = dict(ast.iter_fields(node))
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and ast.get_docstring(node) is not None:
        fields["body"] = fields["body"][1:]
    return [type(node).__name__, *([name, _shape(value)] for name, value in fields.items() if value not in (None, []))]
