"""README and the documents beside the prose: what they name is there, and what they list is whole."""
import importlib.util
import re
import shlex
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
TEXT = ROOT / "assets" / "text"
DOCUMENTS = [ROOT / "README.md", *sorted((TEXT / "docs").glob("*.md"))]
TOP = r"(?:core|pages|tests|assets|\.ci|\.streamlit)/"


def names(path: Path) -> str:
    """A test's name for a document."""
    return path.stem


def written(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def paths_in(document: str) -> set[str]:
    """The paths of this repository in code spans and code blocks, without those that stand for many (<name>, *, …)."""
    spans = re.findall(r"`([^`]+)`", re.sub(r"```.*?```", "", document, flags=re.DOTALL))
    blocks = re.findall(r"```\w*\n(.*?)```", document, re.DOTALL)
    named = {word for span in [*spans, *blocks] for word in re.findall(rf"(?<![\w./]){TOP}[^\s,;:()]*", span)}
    return {path for path in named if not re.search(r"[<*…]", path)}


def modules_in(document: str) -> set[str]:
    """Modules started by `python -m` or `torchrun -m`, and the commands of README's table under that heading."""
    started = re.findall(r"(?:python|torchrun [\w -]+?) -m ([\w.]+)", document)
    return {*started, *re.findall(r"^\| `(tests\.[\w.]+)", document, re.MULTILINE)} - {"venv", "pytest"}


@pytest.mark.parametrize("path", DOCUMENTS, ids=names)
def test_every_file_and_folder_that_a_document_names_is_there(path: Path):
    assert sorted(name for name in paths_in(written(path)) if not (ROOT / name).exists()) == []


@pytest.mark.parametrize("path", DOCUMENTS, ids=names)
def test_every_module_that_a_document_starts_can_be_started(path: Path):
    assert sorted(name for name in modules_in(written(path)) if importlib.util.find_spec(name) is None) == []


@pytest.mark.parametrize("path", DOCUMENTS, ids=names)
def test_every_link_of_a_document_leads_to_a_file(path: Path):
    links = re.findall(r"\]\((?!https?://)([^)#]+)\)", written(path))
    assert [link for link in links if not (path.parent / link).is_file()] == []


def test_the_house_of_readme_has_its_rooms_in_the_app_and_every_folder_of_core():
    block = written(ROOT / "README.md").partition("## The house")[2].split("```")[1]
    rows = re.findall(r"^( *)([\w./]+?)/? {2,}\S", block, re.MULTILINE)
    listed = {f"core/app/{name}" if indent else name for indent, name in rows}
    assert {name for name in listed if not (ROOT / name).exists()} == set()
    folders = {f"core/{folder.parent.name}" for folder in ROOT.glob("core/*/__init__.py")}
    rooms = {f"core/app/{folder.parent.name}" for folder in ROOT.glob("core/app/*/__init__.py")}
    assert folders | rooms <= listed


def test_readme_is_short_and_begins_with_two_commands():
    lines = written(ROOT / "README.md").splitlines()
    commands = [line for line in lines if line.startswith("python3 -m venv ")]
    assert len(lines) <= 150 and [shlex.split(command)[-1] for command in commands] == ["app.py", "pytest"]
    assert [line for line in lines if len(line) > 120 and line not in commands] == []


def test_readme_lists_every_lesson_in_the_order_of_the_navigation():
    titles = re.findall(r"^lesson_\w+: (.+)$", written(TEXT / "en" / "app.md"), re.MULTILINE)
    table = written(ROOT / "README.md").partition("## The lessons")[2].partition("## ")[0]
    assert re.findall(r"^\| ([A-Z][^|]+) \|", table, re.MULTILINE) == titles


def test_the_document_on_models_has_every_bundled_one():
    document = written(TEXT / "docs" / "models.md")
    bundled = {folder.name for folder in (ROOT / "assets" / "models").iterdir()}
    rows = re.findall(r"^\| `([\w-]+)…?` \|", document, re.MULTILINE)
    assert {name for name in bundled if not (name in rows or f"{name.partition('-')[0]}-" in rows)} == set()
