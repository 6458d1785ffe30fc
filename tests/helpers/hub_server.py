"""A stand-in for the Hugging Face Hub on this machine: what of its HTTP interface huggingface_hub uses to list and
fetch a model's files.
"""
from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

COMMIT = "0123456789abcdef0123456789abcdef01234567"


class Hub(BaseHTTPRequestHandler):
    """Models are folders under `root`, two levels deep; `gated` ones are listed, and their files refused; `asked` keeps
    every request, `ranges` those for a part.

    cuts: file, "us/model/model.safetensors" -> after how many bytes each answer with it breaks off, in turn; the
    rest come whole.
    """

    root: Path
    gated: set[str] = set()
    asked: list[str] = []
    ranges: list[str] = []
    cuts: dict[str, list[int]] = {}
    protocol_version = "HTTP/1.1"

    def log_message(self, *args) -> None:
        """Silent."""

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        path = unquote(urlsplit(self.path).path).strip("/")
        type(self).asked.append(f"{self.command} {path}")
        parts = path.split("/")
        if parts[:2] == ["api", "models"]:
            self._api("/".join(parts[2:4]), parts[4:])
        else:
            self._file("/".join(parts[:2]), "/".join(parts[4:]))

    def _api(self, name: str, rest: list[str]) -> None:
        if not (self.root / name).is_dir():
            return self._answer(404, b"{}", {"X-Error-Code": "RepoNotFound"})
        files = [{"type": "file", "path": file.name, "size": file.stat().st_size, "oid": _tag(file)}
                 for file in sorted((self.root / name).iterdir())]
        told = (files if rest[:1] == ["tree"]
                else {"_id": "1", "id": name, "modelId": name, "sha": COMMIT, "private": False, "tags": [],
                      "siblings": [{"rfilename": file["path"]} for file in files]})
        self._answer(200, json.dumps(told).encode(), {"Content-Type": "application/json"})

    def _file(self, name: str, file: str) -> None:
        path = self.root / name / file
        if not (self.root / name).is_dir():
            return self._answer(404, b"", {"X-Error-Code": "RepoNotFound"})
        if name in self.gated:
            return self._answer(401, b"", {"X-Error-Code": "GatedRepo"})
        if not path.is_file():
            return self._answer(404, b"", {"X-Error-Code": "EntryNotFound", "X-Repo-Commit": COMMIT})
        content, headers = path.read_bytes(), {"ETag": f'"{_tag(path)}"', "X-Repo-Commit": COMMIT,
                                               "Accept-Ranges": "bytes"}
        if asked := self.headers.get("Range"):
            type(self).ranges.append(f"{name}/{file} {asked}")
            first, _, last = asked.removeprefix("bytes=").partition("-")
            part = content[int(first):int(last) + 1 if last else None]
            return self._answer(
                206, part, headers | {"Content-Range": f"bytes {first}-{int(first) + len(part) - 1}/{len(content)}"},
                self._cut(f"{name}/{file}", last))
        self._answer(200, content, headers, self._cut(f"{name}/{file}"))

    def _cut(self, file: str, last: str = "") -> int | None:
        """After how many bytes this answer breaks off; None if it does not.

        A part with an end is a look at a header, and comes whole.
        """
        return self.cuts[file].pop(0) if self.cuts.get(file) and self.command == "GET" and not last else None

    def _answer(self, status: int, body: bytes, headers: dict[str, str], cut: int | None = None) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body[:cut])
            self.close_connection = cut is not None or self.close_connection


def _tag(file: Path) -> str:
    return hashlib.sha1(file.read_bytes()).hexdigest()


@contextmanager
def served(root: Path, gated: set[str] = frozenset(),
           cuts: dict[str, list[int]] | None = None) -> Iterator[tuple[str, type[Hub]]]:
    """The address of a Hub with the models under `root`, and what it keeps of the requests, as they come."""
    handler = type("Served", (Hub,), dict(root=root, gated=set(gated), asked=[], ranges=[], cuts=cuts or {}))
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", handler
    finally:
        server.shutdown()
        server.server_close()
