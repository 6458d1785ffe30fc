"""The English of docstrings and comments: habits that a regular expression can name without false alarms."""
import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
ROOMS = ["app.py", "core", "pages", "tests"]
OPENING = re.compile(r"(What|Who|Whom|Whose|Which|Where|Of|That)\b")        # of a docstring
RELATIVE = re.compile(r"#\s*(of which|of whose|of whom|whose|whom)\b")      # at the beginning of a comment
HABITS = {
    re.compile(r"\b(None|NaN|\w+Error) where\b"): "say `if`",
    re.compile(r"\band so (is|are|do|does)\b"): "name both subjects before one verb",
    re.compile(r"(?<!, )\bso many\b"): "name the number",
    re.compile(r"\bof (which|whose|whom) (none|no)\b"): "begin a new clause with `none`",
    re.compile(r",? too(?=[.;]|$)"): "say `also` before the verb",
}


def prose(source: str) -> Iterator[tuple[int, str, bool]]:
    """Yield (line, text without line breaks, whether it is a docstring) of every docstring and comment."""
    for node in ast.walk(ast.parse(source)):
        documented = isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        if documented and (text := ast.get_docstring(node)):
            yield node.body[0].lineno, " ".join(text.split()), True
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string, False


def faults(source: str) -> Iterator[tuple[int, str]]:
    """Yield (line, what to do) for each habit in the prose of a Python file."""
    for line, text, is_docstring in prose(source):
        if found := (OPENING if is_docstring else RELATIVE).match(text):
            yield line, f'begin with the noun or the verb, not with "{found[0]}"'
        for habit, cure in HABITS.items():
            if found := habit.search(text):
                yield line, f'"{found[0]}": {cure}'


def test_prose_is_plain_english() -> None:
    files = [path for room in map(ROOT.joinpath, ROOMS) for path in ([room] if room.is_file() else room.rglob("*.py"))]
    assert len(files) > len(ROOMS)
    found = [f"{path.relative_to(ROOT)}:{line} {fault}" for path in sorted(files)
             for line, fault in faults(path.read_text(encoding="utf-8"))]
    assert not found, "\n".join(found)


def test_each_habit_is_found() -> None:
    example = '''"""What a file holds."""
SEED = 7        # of which none is held out
MOST = 3        # whose loss is least


def mean(n):
    """The mean of so many values, and so is
    the sum; None where n is 0. The median too.
    """


def fine(n):
    """The whole. There may be many, so many are left out, two of which we know; none is too small."""
'''
    assert [(line, fault.split('"')[1]) for line, fault in faults(example)] == [
        (1, "What"), (7, "None where"), (7, "and so is"), (7, "so many"), (7, " too"), (2, "# of which"),
        (2, "of which none"), (3, "# whose")]
