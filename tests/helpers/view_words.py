"""The words of each view of a lesson: its paragraphs, its question, its labels, and the strings of its modules."""
from __future__ import annotations

import ast
import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from core.base import catalogue, prose

PAGES = catalogue.PAGES
SHARED = ("shared", "charts")       # the modules of a lesson that several views take pieces of


@dataclass(frozen=True)
class ViewWords:
    """explanation: the paragraphs below the picture, one string for each kind of model that has its own. rest: all
    else that may stand on the page, a line each; {} stands for a value.
    """

    lesson: str
    view: str
    explanation: tuple[str, ...]
    rest: tuple[str, ...]

    @property
    def name(self) -> str:
        return f"{self.lesson}/{self.view}".rstrip("/")

    @property
    def lines(self) -> tuple[str, ...]:
        return self.explanation + self.rest


def names() -> list[str]:
    """The name of every view of every lesson, "lesson/view"; a lesson whose page is no table of views is one. Reads no
    view, since every worker asks when it collects its tests.
    """
    return [f"{entry.id}/{view}".rstrip("/") for entry in catalogue.existing() for view in _modules_of(entry.id)]


def of(name: str) -> ViewWords:
    """The words of the view of this name."""
    lesson, _, view = name.partition("/")
    return _view(lesson, view, _modules_of(lesson)[view])


@functools.cache
def _modules_of(lesson: str) -> dict[str, list[str]]:
    """view -> the modules that draw it, as the page names them."""
    page = ast.parse((PAGES / lesson / "page.py").read_text())
    tables = [{key.value: [value.id] for key, value in zip(node.keys, node.values)}
              for node in ast.walk(page) if isinstance(node, ast.Dict)]
    return tables[0] if tables else {"": [path.stem for path in (PAGES / lesson).glob("*.py")]}


def _view(lesson: str, view: str, modules: list[str]) -> ViewWords:
    sections = prose.load(lesson).sections
    trees = _trees(lesson, modules)
    strings = [text for tree in trees for text in _strings(tree)]
    own = f"explanation_{view}" if f"explanation_{view}" in sections else "explanation"
    parts = f"explanation_{view}_" if view else "explanation"
    paragraphs, rest = [], [text for text in strings if "\\" in text]
    for heading, body in sections.items():
        kind, _, name = heading.rpartition(": ")
        if kind in ("", "encoder", "encoder-decoder") and (name == own or name.startswith(parts)):
            paragraphs.append(body)
        elif name == "labels":
            rest += _labels(prose.parse(lesson, f"# labels\n{body}").labels, view, trees, strings)
        elif kind.endswith("before") and view in ("", name) or (
                kind.endswith("try") and (not view or f"_view: {view}\n" in body)):
            rest += body.splitlines()
    return ViewWords(lesson, view, tuple(paragraphs), (*rest, *_script_strings(lesson, modules)))


def _labels(labels: Mapping[str, str], view: str, trees: list[ast.AST], strings: list[str]) -> list[str]:
    """The labels that the view's modules name, and those that are named after it."""
    after = (view, f"differs_{view}") if view else ("differs",)
    beginnings = tuple(f"{name}_" for name in (*after, *(name for tree in trees for name in _families(tree))))
    named = {key for text in set(strings) for key in _named(text, labels, strings)}
    named |= {f"column_{text}" for text in strings}         # a table's columns have their titles by name
    return [text for key, text in labels.items() if key in named or key.startswith(beginnings)]


def _trees(lesson: str, modules: list[str]) -> list[ast.AST]:
    """The syntax trees of the modules and of those of the lesson that they import; of SHARED, the imported names."""
    trees, waiting, seen = [], [(name, None) for name in modules], set()
    while waiting:
        name, names = waiting.pop()
        path = PAGES / lesson / f"{name}.py"
        if (name, names) in seen or not path.exists():
            continue
        seen.add((name, names))
        tree = _parsed(path)
        trees += [tree] if names is None else [node for node in tree.body if getattr(node, "name", None) in names]
        if names is None:
            waiting += [found for node in tree.body if isinstance(node, ast.ImportFrom)
                        for found in _imported(lesson, node)]
    return trees


@functools.cache
def _parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def _imported(lesson: str, node: ast.ImportFrom) -> list[tuple[str, tuple[str, ...] | None]]:
    names = tuple(alias.name for alias in node.names)
    if node.module == f"pages.{lesson}":
        return [(name, None) for name in names if name not in SHARED]
    module = (node.module or "").removeprefix(f"pages.{lesson}.")
    return [] if module == node.module else [(module, names if module in SHARED else None)]


@functools.cache
def _strings(tree: ast.AST) -> list[str]:
    """The strings of a tree, its docstrings left out; a value that is put in is {}."""
    inner = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    told = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    return [_text(node) for node in ast.walk(tree) if id(node) not in inner | told
            and (isinstance(node, ast.JoinedStr) or isinstance(node, ast.Constant) and isinstance(node.value, str))]


def _text(node: ast.JoinedStr | ast.Constant) -> str:
    return node.value if isinstance(node, ast.Constant) else "".join(
        part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)


def _named(text: str, labels: Mapping[str, str], strings: Sequence[str]) -> list[str]:
    """The labels that a string of the source can name. What is put into it is a string of the same source where one
    fits, else anything.
    """
    if "{}" not in text:
        return [text] if text in labels else []
    if not re.fullmatch(r"(\w|\{\})+", text) or not re.search(r"[a-z]{3}", text):
        return []
    pattern = re.compile(text.replace("{}", "(.+)"))
    fitting = [(key, found) for key in labels if (found := pattern.fullmatch(key))]
    return [key for key, found in fitting if set(found.groups()) <= set(strings)] or [key for key, _ in fitting]


@functools.cache
def _families(tree: ast.AST) -> list[str]:
    """The beginnings of labels that are read all at once: page.labels("columns")."""
    return [node.args[0].value for node in ast.walk(tree) if isinstance(node, ast.Call)
            and getattr(node.func, "attr", "") == "labels" and node.args and isinstance(node.args[0], ast.Constant)]


def _script_strings(lesson: str, modules: list[str]) -> list[str]:
    """The strings of the scripts that have the modules' names, without comments."""
    paths = [path for module in modules if (path := PAGES / lesson / f"{module}.js").exists()]
    return [text for path in paths for text in re.findall(
        r'"[^"\n]*"|`[^`]*`', re.sub(r"/\*.*?\*/|//.*", "", path.read_text(), flags=re.DOTALL))]
