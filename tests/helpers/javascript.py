"""The project's JavaScript, run by node."""
from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import playwright

PROJECT = Path(__file__).parents[2]
PATIENCE = 300      # seconds
_SCRIPT = """import * as m from "ADDRESS";
const { VALUES } = DATA;
const plain = (_, value) => (ArrayBuffer.isView(value) ? Array.from(value) : value);
process.stdout.write(JSON.stringify(EXPRESSION, plain));"""


def node() -> str:
    """The path of the node that playwright ships: of one version everywhere, and it takes .js files for modules."""
    return str(Path(playwright.__file__).parent / "driver" / ("node.exe" if os.name == "nt" else "node"))


def evaluate(module: str, expression: str, **values: object) -> object:
    """The value of a JavaScript expression, in which `m` has the exports of a module (a path in the project) and each
    of `values` goes by its name. Typed arrays come as lists; what is not finite comes as None. Raises AssertionError
    with node's output.
    """
    parts = {"ADDRESS": (PROJECT / module).as_uri(), "VALUES": ", ".join(values), "EXPRESSION": expression}
    script = _SCRIPT.replace("DATA", json.dumps(values))      # NaN and Infinity are JavaScript, as Python writes them
    for name, part in parts.items():
        script = script.replace(name, part, 1)
    return json.loads(_run(["--input-type=module"], script))


def run_tests(folder: Path, values: Path) -> None:
    """Run all *.test.mjs in a folder, which find the values from Python in the JSON file `values`.

    Raises AssertionError with node's output where one fails, or where there is none.
    """
    files = sorted(map(str, folder.glob("*.test.mjs")))
    assert files, f"There are no tests in {folder}."
    _run(["--test", *files], environment={"VALUES": str(values)})


def _run(arguments: Sequence[str], script: str = "", environment: Mapping[str, str] | None = None) -> str:
    done = subprocess.run([node(), "--no-warnings", *arguments], input=script, cwd=PROJECT, capture_output=True,
                          encoding="utf-8", timeout=PATIENCE, env=os.environ | (environment or {}))
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
