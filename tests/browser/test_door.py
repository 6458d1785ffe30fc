"""The door of a real server: what Streamlit would do for anyone is not done, and pages keep their content
security policy.
"""
from __future__ import annotations

import re
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from core.base import catalogue, prose
from tests.benchmarks.reader import Reader
from tests.browser.serving import ROOT, Server, go_to, rest, serve, settle
from tests.helpers.coroutines import finished
from tests.pages.test_pages import PAGES

# Every violation of the policy on the page, also inside a component's own tree.
WATCH = """window.violations = [];
document.addEventListener("securitypolicyviolation", (event) =>
    violations.push(`${event.violatedDirective} ${event.blockedURI}`));"""
# From a timer, for what playwright itself evaluates may run text as code.
EVAL = """() => new Promise((told) => setTimeout(() => {
    try { told(new Function("return 'ran'")()); } catch { told("refused"); }
}))"""
# Writes down every name that a process looks up, and every address that it connects to.
TELLS_ITS_CALLS = """
import os, sys

def told(what):
    with open(os.environ["CALLS"], "a") as file:
        print(what, file=file)

def hook(event, arguments):
    if event == "socket.getaddrinfo":
        told(arguments[0])
    elif event == "socket.connect" and arguments[0].type != 2:      # to connect a socket of packets sends nothing
        told(arguments[1][0])

sys.addaudithook(hook)
told("watching")
"""


@pytest.fixture(scope="module")
def watched(browser: Browser, server: Server) -> Iterator[Page]:
    """A page that notes what its policy forbids."""
    context = browser.new_context()
    context.add_init_script(WATCH)
    page = context.new_page()
    page.goto(server.url)
    settle(page)
    yield page
    context.close()


def policy(server: Server, path: str = "") -> str:
    """The content security policy that comes with an address."""
    with urllib.request.urlopen(f"{server.url}/{path}", timeout=30) as answer:
        return answer.headers["content-security-policy"]


@pytest.mark.parametrize("name", [*PAGES, catalogue.COURSE, catalogue.MODELS, catalogue.TOUR])
def test_a_page_loads_nothing_that_its_policy_forbids(watched: Page, server: Server, name: str):
    path = catalogue.url_path(name)
    assert policy(server, path) == policy(server)       # so the page need not be loaded anew under its own
    go_to(watched, f"{server.url}/{path}")
    title = prose.load("library" if name == catalogue.MODELS else name).section("title")
    watched.get_by_role("heading", name=title, exact=True).wait_for()
    settle(watched)
    rest(watched)
    assert watched.evaluate("violations.splice(0)") == []


@pytest.mark.parametrize("dimensions", ["2", "3"])
def test_the_map_of_the_vocabulary_is_drawn_under_the_policy(watched: Page, server: Server, dimensions: str):
    """The one picture of Plotly, whose WebGL of a plane is text that runs as code."""
    settings = f"embeddings_view=map&embeddings_dimensions={dimensions}"
    go_to(watched, f"{server.url}/{catalogue.url_path('embeddings')}?{settings}")
    watched.locator(".st-key-embeddings_map").locator({"2": "path.point", "3": ".gl-container canvas"}[dimensions]
                                                      ).first.wait_for()
    settle(watched)
    rest(watched)
    assert watched.evaluate("violations.splice(0)") == []


def test_a_page_may_not_load_from_elsewhere_nor_run_text_as_code(watched: Page):
    watched.evaluate("() => { document.body.append(Object.assign(new Image(), {src: "
                     "'http://elsewhere.example/x.png'})); }")
    watched.wait_for_function("violations.some((said) => said.startsWith('img-src'))")
    assert watched.evaluate(EVAL) == "refused"


def status(server: Server, method: str, path: str) -> int:
    request = urllib.request.Request(f"{server.url}/{path}", b"x" if method == "PUT" else None, method=method)
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status
    except urllib.error.HTTPError as refused:
        return refused.code


def test_a_server_keeps_no_uploads_and_gives_no_host_a_say(server: Server):
    assert status(server, "PUT", "_stcore/upload_file/session/name") == 404
    with urllib.request.urlopen(f"{server.url}/_stcore/host-config", timeout=30) as answer:
        assert b'"allowedOrigins":[]' in answer.read()


def misses(server: Server) -> int:
    """How often anything that Streamlit keeps for all readers had to be made."""
    with urllib.request.urlopen(f"{server.url}/_stcore/metrics", timeout=30) as answer:
        told = answer.read().decode()
    return sum(map(int,
                   re.findall(r'^cache_lookups_total{.*st_cache_resource.*result="miss"} (\d+)', told, re.MULTILINE)))


def stream(server: Server) -> str:
    """The address of its websocket."""
    return server.url.replace("http", "ws", 1) + "/_stcore/stream"


async def clear_caches(server: Server) -> None:
    """Send what Streamlit's hidden menu sends, then a sign of life: its answer says that both were heard."""
    async with connect(stream(server), subprotocols=["streamlit", "none"]) as socket:
        for message in (BackMsg(clear_cache=True), BackMsg(app_heartbeat=True)):
            await socket.send(message.SerializeToString())
        while not ForwardMsg.FromString(await socket.recv()).heartbeat_ack:
            pass


async def opened_after(server: Server) -> tuple[int, int]:
    """Misses before and after one page asks for all caches to be cleared and another reader opens a page again."""
    async with Reader(server.url) as reader:
        await reader.open("tokens", "tokens_view=methods")
        before = misses(server)
        await clear_caches(server)
        await reader.open("tokens", "tokens_view=methods")
        return before, misses(server)


def no_page_clears_the_caches_of_all_readers(server: Server) -> None:
    """On a server of which nobody else opens a page."""
    before, after = finished(opened_after(server))
    assert before == after > 0


async def is_let_in(server: Server, origin: str) -> bool:
    try:
        async with connect(stream(server), subprotocols=["streamlit", "none"], origin=origin):
            return True
    except InvalidStatus:
        return False


def test_a_server_asks_nobody_on_the_internet_and_lets_no_page_clear_its_caches(tmp_path: Path):
    """Neither when it starts as in the container nor when pages of other addresses call, allowed ones among them, nor
    when its own pages are read.
    """
    (tmp_path / "sitecustomize.py").write_text(TELLS_ITS_CALLS)
    calls, allowed = tmp_path / "calls", "http://allowed.example"
    watching = {"PYTHONPATH": str(tmp_path), "CALLS": str(calls), "STREAMLIT_SERVER_CORS_ALLOWED_ORIGINS": allowed}
    with serve(ROOT / "app.py", "--server.address", "0.0.0.0", env=watching) as server:
        assert finished(is_let_in(server, allowed)) and not finished(is_let_in(server, "http://other.example"))
        port = server.url.rpartition(":")[2]
        assert f"The app is at http://localhost:{port} and http://" in server.said()
        no_page_clears_the_caches_of_all_readers(server)
    assert {"watching"} <= set(calls.read_text().split()) <= {"watching", "None", "0.0.0.0", "127.0.0.1",
                                                              "localhost", "::1"}
