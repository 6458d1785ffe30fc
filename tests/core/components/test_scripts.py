"""The route of the app's JavaScript: what it serves, for how long a browser keeps it, and what it refuses."""
from __future__ import annotations

import gzip
import re
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from core.components import scripts

WALL = Path("core", "components", "heads_wall", "heads_wall.js")


@pytest.fixture
def client() -> TestClient:
    return TestClient(Starlette(routes=[scripts.ROUTE]))


@pytest.fixture
def project(monkeypatch, tmp_path) -> Path:
    """Another project, whose only file so far is core/a.js."""
    def forget() -> None:
        scripts.files.cache_clear()
        scripts.version.cache_clear()

    monkeypatch.setattr(scripts, "PROJECT", tmp_path)
    (tmp_path / "core").mkdir()
    (tmp_path / "core" / "a.js").write_text("export const a = 1;\n")
    forget()
    yield tmp_path
    forget()


def test_a_script_is_served_and_kept_for_a_year(client):
    answer = client.get(scripts.address(scripts.PROJECT / WALL))
    assert answer.status_code == 200 and answer.content == scripts.files()[WALL.as_posix()]
    assert answer.headers["content-type"] == "text/javascript; charset=utf-8"
    assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
    other = scripts.address(scripts.PROJECT / WALL).replace(scripts.version(), scripts.version() + scripts.AGAIN)
    again = client.get(other)
    assert again.content == answer.content and again.headers["cache-control"] == answer.headers["cache-control"]


def test_comments_with_lines_of_their_own_stay_here(project):
    (project / "core" / "a.js").write_text(
        "// What it is.\n/** @typedef {{ n: number }} Message\n * a second line */\nconst a = 1;     // beside\n"
        "  /* in a\n   * class **/\nconst at = /** @type {string} */ (a) + \"http://b\";\n  // the end\n")
    scripts.files.cache_clear()
    assert scripts.files()["core/a.js"].decode() == (
        "const a = 1;     // beside\nconst at = /** @type {string} */ (a) + \"http://b\";\n")


def test_no_line_of_a_template_is_taken_for_a_comment():
    for path in scripts.files():
        code = re.sub(rb'"[^"\n]*"|/[^/\n]*`[^/\n]*/', b"", (scripts.PROJECT / path).read_bytes())   # strings, patterns
        at, ticks = 0, 0
        for comment in scripts._COMMENT.finditer(code):
            ticks += code[at:comment.start()].count(b"`")
            assert ticks % 2 == 0, (path, comment.group())
            at = comment.end()


def test_a_script_is_compressed_for_who_takes_it_so_and_for_nobody_else(client):
    address, plain = scripts.address(scripts.PROJECT / WALL), scripts.files()[WALL.as_posix()]
    with client.stream("GET", address, headers={"Accept-Encoding": "gzip, br"}) as answer:
        sent = b"".join(answer.iter_raw())
    assert answer.headers["content-encoding"] == "gzip"
    assert gzip.decompress(sent) == plain and 2 * len(sent) < len(plain)
    bare = client.get(address, headers={"Accept-Encoding": "identity"})
    assert "content-encoding" not in bare.headers and bare.content == plain
    assert answer.headers["vary"] == bare.headers["vary"] == "Accept-Encoding"


def test_a_page_from_before_an_update_gets_the_script_of_today_but_does_not_keep_it(client):
    answer = client.get(f"/js/0123456789ab/{WALL.as_posix()}")
    assert answer.status_code == 200 and answer.content == scripts.files()[WALL.as_posix()]
    assert answer.headers["cache-control"] == "no-cache"


@pytest.mark.parametrize("path", [
    "", "core", "core/app/server/routes.py",
    "core/components/heads_wall/heads_wall.css", "core/components/no.js", "app.py",
    "tests/benchmarks/latency.js", "core/../app.py", "core/%2e%2e/app.py", "../README.md", "/etc/passwd",
    "core/components/../base/prose.py", "core/app/server/routes.py%00.js", ".streamlit/config.toml"])
def test_nothing_else_is_served(client, path):
    assert client.get(f"/js/{scripts.version()}/{path}").status_code == 404


def test_it_is_only_read(client):
    assert client.post(scripts.address(scripts.PROJECT / WALL)).status_code == 405


def test_the_version_is_that_of_all_files_and_their_places(project):
    def changed() -> bool:
        before = scripts.version()
        scripts.files.cache_clear()
        scripts.version.cache_clear()
        return scripts.version() != before

    assert not changed()
    (project / "core" / "a.js").write_text("export const a = 2;\n")
    assert changed()
    (project / "core" / "a.js").rename(project / "core" / "b.js")
    assert changed()
    (project / "pages").mkdir()
    (project / "pages" / "c.js").write_text("")
    assert changed()
    (project / "core" / "d.py").write_text("")
    assert not changed()


def test_what_a_script_imports_by_itself_and_through_others_is_asked_for_with_it(project):
    (project / "core" / "b.js").write_text('import {\n  a,\n} from "./a.js";\nexport { c } from "./c/c.js";\n')
    (project / "core" / "c").mkdir()
    (project / "core" / "c" / "c.js").write_text(
        'import { a } from "../a.js";\nexport const c = "import x from \'./d.js\'";\n')
    assert scripts.imported(project / "core" / "b.js") == ["a.js", "c/c.js"]
    assert scripts.imported(project / "core" / "c" / "c.js") == ["../a.js"]
    with pytest.raises(ValueError):
        scripts.address(project / "core" / "e.js")


def test_every_import_leads_to_a_file():
    for path in scripts.files():
        for name in scripts.imported(scripts.PROJECT / path):
            assert (scripts.PROJECT / path).parent.joinpath(name).is_file(), (path, name)
