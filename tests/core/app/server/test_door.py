"""The door: what is refused before Streamlit hears of it, and what headers every answer has."""
from __future__ import annotations

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route, WebSocketRoute
from starlette.testclient import TestClient
from starlette.websockets import WebSocket, WebSocketDisconnect
from streamlit.proto.BackMsg_pb2 import BackendOperationRequest, BackMsg

from core.app.server import door
from tests.helpers.coroutines import finished

METHODS = ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"]
HOME, STREAM = "http://school.example", "ws://school.example/_stcore/stream"


async def reached(request: Request) -> PlainTextResponse:
    return PlainTextResponse("reached")


async def echo(websocket: WebSocket) -> None:
    """Answers with the Origin that it was told, then with every frame that comes through."""
    await websocket.accept()
    await websocket.send_text(websocket.headers.get("origin", "none"))
    async for message in websocket.iter_bytes():
        await websocket.send_bytes(message)


@pytest.fixture
def options(monkeypatch: pytest.MonkeyPatch) -> dict:
    """Streamlit's settings that the door reads, to be changed."""
    values = {"server.allowedHosts": [], "server.corsAllowedOrigins": [], "server.enableCORS": True,
              "server.maxWidgetStateSize": 2, "server.baseUrlPath": ""}
    monkeypatch.setattr(door.st, "get_option", values.__getitem__)
    return values


@pytest.fixture
def here(options: dict) -> TestClient:
    return client("203.0.113.7")


def client(address: str) -> TestClient:
    """A client of that address of a server that answers everything."""
    routes = [WebSocketRoute("/_stcore/stream", echo), Route("/{path:path}", reached, methods=METHODS)]
    return TestClient(Starlette(routes=routes, middleware=[Middleware(door.Door)]), HOME, client=(address, 5000))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("path", ["/_stcore/upload_file/session/name", "/_stcore/upload_file/", "/_stcore/upload_file"])
def test_no_way_of_uploading_reaches_streamlit(here: TestClient, method: str, path: str):
    assert here.request(method, path).status_code == 404


def test_what_pages_ask_for_reaches_the_app(here: TestClient):
    for method, path in (("GET", "/"), ("GET", "/_stcore/health"), ("POST", "/live/heads"), ("GET", "/static/js/x.js")):
        assert here.request(method, path).text == "reached"


def test_metrics_are_for_the_machine_itself(here: TestClient):
    assert here.get("/_stcore/metrics").status_code == 404
    for address in ("127.0.0.1", "::1"):
        assert client(address).get("/_stcore/metrics").text == "reached"
    assert client("127.0.0.1").put("/_stcore/upload_file/a/b").status_code == 404


HOSTS = [("school.example", True), ("SCHOOL.example:8501", True), ("school.example.", True), ("a.lan.example", True),
         ("lan.example", False), ("evil.example", False), ("school.example.evil.example", False), ("", False),
         ("user@school.example", False), ("school.example/x", False), ("school.example:x", False), ("[::1", False)]


@pytest.mark.parametrize(("host", "is_allowed"), HOSTS)
def test_a_name_that_is_not_allowed_is_refused_on_every_route(here: TestClient, options: dict, host: str,
                                                              is_allowed: bool):
    options["server.allowedHosts"] = ["school.example", "*.lan.example"]
    for method, path in (("GET", "/"), ("POST", "/live/heads"), ("GET", "/static/js/x.js"), ("GET", "/_stcore/health")):
        assert here.request(method, path, headers={"Host": host}).status_code == (200 if is_allowed else 403), path
    assert opens(here, Host=host) == is_allowed


def test_a_machine_may_ask_itself_how_it_is(here: TestClient, options: dict):
    options["server.allowedHosts"] = ["school.example"]
    for host in ("127.0.0.1:8501", "localhost", "[::1]:8501"):
        assert here.get("/_stcore/health", headers={"Host": host}).status_code == 200
        assert here.get("/", headers={"Host": host}).status_code == 403


def opens(here: TestClient, **headers: str) -> bool:
    """Whether a websocket is opened."""
    try:
        with here.websocket_connect(STREAM, headers=headers):
            return True
    except WebSocketDisconnect as closed:
        assert closed.code == door.POLICY_VIOLATION
        return False


ORIGINS = [(HOME, True), ("https://school.example", True), ("http://evil.example", False), ("null", False),
           ("//school.example", False),
           ("http://evil.example//school.example", False), ("http://school.example.evil", False),
           ("http://school.example:81", False), ("http://localhost", False), ("http://[school.example", False)]


@pytest.mark.parametrize(("origin", "is_allowed"), ORIGINS)
def test_a_page_of_another_address_may_read_and_nothing_else(here: TestClient, origin: str, is_allowed: bool):
    assert here.get("/static/js/x.js", headers={"Origin": origin}).status_code == 200
    assert here.post("/live/heads", headers={"Origin": origin}).status_code == (200 if is_allowed else 403)
    assert opens(here, Origin=origin) == is_allowed


def test_an_origin_that_the_operator_allows_is_not_looked_at_again(here: TestClient, options: dict):
    options["server.corsAllowedOrigins"] = ["https://lms.example"]
    with here.websocket_connect(STREAM, headers={"Origin": "https://lms.example"}) as socket:
        assert socket.receive_text() == "none"
    with here.websocket_connect(STREAM, headers={"Origin": HOME}) as socket:
        assert socket.receive_text() == HOME
    assert here.post("/live/heads", headers={"Origin": "https://lms.example"}).status_code == 200
    assert not opens(here, Origin="https://other.example")
    options["server.enableCORS"] = False
    assert opens(here, Origin="https://other.example")


def operation(**payload) -> BackMsg:
    return BackMsg(backend_operation_request=BackendOperationRequest(**payload))


DROPPED = [BackMsg(clear_cache=True), BackMsg(load_git_info=True), BackMsg(set_run_on_save=True), BackMsg(),
           BackMsg(debug_shutdown_runtime=True), BackMsg(debug_disconnect_websocket=True),
           BackMsg(file_urls_request={}), operation(install_skills={}), operation(dismiss_skills_nudge={})]
TAKEN = [BackMsg(app_heartbeat=True), BackMsg(rerun_script={"query_string": "prompt=x"}), BackMsg(stop_script=True),
         operation(deferred_file={}), operation(dataframe_chunk={})]


def test_messages_that_no_page_sends_are_dropped_and_the_others_come_in_their_order(here: TestClient):
    with here.websocket_connect(STREAM) as socket:
        socket.receive_text()
        socket.send_text("hello")
        socket.send_bytes(b"\xff\xff garbage")
        for message in DROPPED:
            socket.send_bytes(message.SerializeToString())
        for message in TAKEN:
            socket.send_bytes(message.SerializeToString())
        assert [BackMsg.FromString(socket.receive_bytes()) for _ in TAKEN] == TAKEN


def test_a_frame_that_is_too_long_is_left_to_streamlit_which_closes_the_socket(options: dict):
    assert door.is_taken(b"\xff" * (2 * 2**20 + 1)) and not door.is_taken(b"\xff" * 2 * 2**20)


def test_every_answer_says_who_may_frame_it_and_what_it_may_load(here: TestClient):
    for path in ("/", "/live/heads", "/_stcore/upload_file/a/b"):
        given = here.get(path).headers
        assert given["x-content-type-options"] == "nosniff" and given["referrer-policy"] == "no-referrer"
        policy = given["content-security-policy"]
        assert "frame-ancestors 'self'" in policy and "default-src 'self'" in policy and "'unsafe-eval'" not in policy


def test_the_operator_names_who_may_frame_the_app(options: dict, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TRANSFORMER_FRAME_ANCESTORS", "https://moodle.school.example, https://*.lms.example:8443")
    policy = client("127.0.0.1").get("/").headers["content-security-policy"]
    assert policy.endswith("frame-ancestors 'self' https://moodle.school.example https://*.lms.example:8443")


def test_the_start_and_the_end_of_the_server_pass_through():
    seen = []

    async def app(scope, receive, send):
        seen.append(scope)

    finished(door.Door(app)({"type": "lifespan"}, None, None))
    assert seen == [{"type": "lifespan"}]
