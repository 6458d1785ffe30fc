"""The app's JavaScript, served as files: every .js below core/ and pages/, at <base path>/js/<version>/<path
in the project>.

The files are ES modules that import each other by relative paths, so all imports of a page come from one version. The
version is a hash of all files: a browser keeps a file for a year, and replicas give the same addresses.
"""
import functools
import gzip
import hashlib
import os
import re
from collections.abc import Iterator
from pathlib import Path

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from core.components import addresses

PROJECT = Path(__file__).resolve().parents[2]
PREFIX = "js"
AGAIN = ".again"        # after a version: the same files at other addresses, for a browser that failed to get one
FOR_EVER = "public, max-age=31536000, immutable"
# A page that was opened before an update, or at another replica during one, asks for a version that is not here.
# It gets the present file, which no browser keeps under that address.
THIS_TIME = "no-cache"
_COMMENT = re.compile(rb"^[ \t]*(?://[^\n]*|/\*(?:[^*]|\*(?!/))*\*/[ \t]*)\n", re.MULTILINE)
_IMPORT = re.compile(rb'^(?:import|export|\})[^"\n]* from "(\.[^"]+)";$', re.MULTILINE)


@functools.cache
def files() -> dict[str, bytes]:
    """The content of each file by its path in the project, read once: together less than a megabyte. Comments that have
    lines of their own are left out, a fifth of what a browser would get; those in a line stay.
    """
    paths = sorted(path for folder in ("core", "pages") for path in (PROJECT / folder).rglob("*.js"))
    return {path.relative_to(PROJECT).as_posix(): _COMMENT.sub(b"", path.read_bytes()) for path in paths}


@functools.cache
def version() -> str:
    """A hash of all files and their paths, 12 hexadecimal digits."""
    digest = hashlib.sha256()
    for path, content in files().items():
        digest.update(f"{path} {len(content)} ".encode() + content)
    return digest.hexdigest()[:12]


def address(script: Path) -> str:
    """The absolute path at which a browser imports this file."""
    return addresses.below(PREFIX, version(), path_of(script))


def imported(script: Path) -> list[str]:
    """All files that this one imports, directly or through others, relative to its folder.

    A browser learns the imports of a module when it has read it, so a picture with modules four deep would wait for
    four round trips (0.7 s more before the first picture, at 60 ms each); told of all, it asks for them together.
    """
    found = [path_of(script)]
    for path in found:
        found += [other for other in _imports(path) if other not in found]
    return [os.path.relpath(path, os.path.dirname(found[0])) for path in found[1:]]


def _imports(path: str) -> Iterator[str]:
    for name in _IMPORT.findall(files()[path]):
        yield os.path.normpath(os.path.join(os.path.dirname(path), name.decode()))


def path_of(script: Path) -> str:
    """The file's path in the project. Raises ValueError for a file that is not served."""
    path = script.resolve().relative_to(PROJECT).as_posix()
    if path not in files():
        raise ValueError(f"{script} is no JavaScript of the app.")
    return path


async def _answer(request: Request) -> Response:
    content = files().get(request.path_params["path"])
    if content is None:
        return PlainTextResponse("There is no such script.", 404)
    keep = FOR_EVER if request.path_params["version"] in (version(), version() + AGAIN) else THIS_TIME
    headers = {"Cache-Control": keep, "Vary": "Accept-Encoding"}
    if "gzip" in request.headers.get("accept-encoding", ""):
        content, headers = _compressed(content), headers | {"Content-Encoding": "gzip"}
    return Response(content, media_type="text/javascript", headers=headers)


@functools.cache
def _compressed(content: bytes) -> bytes:
    """A file compressed with gzip, to a third of its bytes; done once."""
    return gzip.compress(content, mtime=0)


ROUTE = Route(addresses.below(PREFIX, "{version}", "{path:path}"), _answer)
