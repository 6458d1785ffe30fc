"""Modules as one script: what they export reaches whoever imports it, and what cannot be bundled is named."""
import subprocess
from pathlib import Path

import pytest

from core.components import scripts
from core.takeaway.bundle import bundle


def bundled(monkeypatch: pytest.MonkeyPatch, files: dict[str, str]) -> str:
    monkeypatch.setattr(scripts, "files", lambda: {path: text.encode() for path, text in files.items()})
    return bundle(scripts.PROJECT / next(iter(files)))


def run(script: str) -> str:
    done = subprocess.run(["node", "-e", script], capture_output=True, text=True, timeout=60, check=True)
    return done.stdout.strip()


def test_exports_reach_whoever_imports_them_and_each_module_runs_once(monkeypatch):
    files = {
        "core/top.js": """import total from "./lib/total.js";
import { one,
  two as second } from "./lib/numbers.js";
const load = () => import("./lib/words.js");
load().then(({ word }) => console.log(total(), one, second, word));
""",
        "core/lib/total.js": """import { one, two }
  from "./numbers.js";
export default function () { return one + two; }
""",
        "core/lib/words.js": """import { Named } from "./numbers.js";
export const word = new Named().name;
""",
        "core/lib/numbers.js": """console.log("once");
export const one = 1;
export const two = 2;
export class Named { name = "n"; }
export async function later() {}
"""}
    assert run(bundled(monkeypatch, files)) == "once\n3 1 2 n"


@pytest.mark.parametrize("text, said", [
    ('import * as all from "./other.js";\n', "cannot be bundled"), ("export { a };\n", "cannot be bundled"),
    ("export let a = 1;\n", "cannot be bundled"), ('import { a } from "./other.js";\n', "imports itself")])
def test_what_cannot_be_bundled_is_named(monkeypatch, text: str, said: str):
    files = {"core/top.js": text, "core/other.js": 'import { b } from "./top.js";\nexport const a = 1;\n'}
    with pytest.raises(ValueError, match=said):
        bundled(monkeypatch, files)


@pytest.mark.parametrize("path", ["overview/own/host.js", "overview/own/worker.js", "attention/steps.js"])
def test_a_picture_of_the_app_is_a_script_that_a_browser_can_read(path: str, tmp_path: Path):
    (tmp_path / "all.js").write_text(bundle(scripts.PROJECT / "pages" / path), encoding="utf-8")
    subprocess.run(["node", "--check", str(tmp_path / "all.js")], check=True, timeout=60)
