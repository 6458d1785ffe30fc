"""The versions that are pinned in several places are the same, and what the container installs is whole."""
import ast
import re
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
DEPLOY = ROOT / "assets" / "deploy"


def pins(path: Path) -> dict[str, str]:
    """The version of each package that a file pins, by name."""
    found = re.findall(r"^([\w.-]+)(?:\[\w+\])?==([^\s#]+)", path.read_text(), re.MULTILINE)
    return {name.lower().replace("_", "-"): version for name, version in found}


EXTRAS = {"streamlit": "performance"}
OF_A_GPU = ("nvidia-", "cuda-", "triton")          # what torch asks for where it is not the build for processors
TESTED = pins(ROOT / ".ci" / "constraints.txt")


def imported() -> set[str]:
    """The distributions that the app imports, beside Python's own modules."""
    names = {name.partition(".")[0] for file in (*ROOT.glob("core/**/*.py"), *ROOT.glob("pages/**/*.py"))
             for node in ast.walk(ast.parse(file.read_text()))
             for name in ([alias.name for alias in node.names] if isinstance(node, ast.Import)
                          else [node.module] if isinstance(node, ast.ImportFrom) else [])}
    there = metadata.packages_distributions()
    return {there[name][0].lower().replace("_", "-") for name in names & set(there)}


def test_all_that_the_app_imports_is_named():
    assert imported() - set(pins(DEPLOY / "requirements.txt")) == set()


def needs(name: str, extra: str = "") -> set[str]:
    """A package's needs on Linux, with an extra of its own if one is named."""
    asked = map(Requirement, metadata.requires(name) or ())
    there = {"extra": extra, "sys_platform": "linux", "platform_system": "Linux", "python_version": "3.11"}
    names = {one.name.lower().replace("_", "-") for one in asked if one.marker is None or one.marker.evaluate(there)}
    return {name for name in names if not name.startswith(OF_A_GPU)}


def test_every_pin_is_the_version_that_is_tested():
    named = pins(ROOT / "requirements.txt") | pins(DEPLOY / "requirements.txt")
    assert {name: version for name, version in named.items() if TESTED.get(name, version) != version} == {}


def closure(names: set[str]) -> set[str]:
    """The packages and all that they need, in turn."""
    seen: set[str] = set()
    while names:
        seen |= names
        names = {need for name in names for need in needs(name, EXTRAS.get(name, ""))} - seen
    return seen


def test_all_that_is_installed_is_pinned():
    assert closure(set(pins(ROOT / "requirements.txt")) | set(pins(DEPLOY / "requirements.txt"))) - set(TESTED) == set()


def test_the_lock_holds_the_tested_version_of_all_that_the_app_needs():
    locked = pins(DEPLOY / "locked.txt")
    assert {name: version for name, version in locked.items() if TESTED[name] != version} == {}
    assert closure(set(pins(DEPLOY / "requirements.txt"))) - {"torch"} == set(locked)


def test_every_file_of_the_lock_is_held_to_a_hash():
    lines = [line for line in (DEPLOY / "locked.txt").read_text().splitlines() if not line.startswith("#")]
    assert [line for line in lines if not re.fullmatch(r"\S+==\S+( --hash=sha256:[0-9a-f]{64}){1,2}", line)] == []
