"""Forward passes by replicas: what comes back is what is computed here, to the last bit; who does not answer is not
waited for; a model of a reader's own stays here.
"""
from __future__ import annotations

import functools
import http.server
import json
import threading

import pytest
import torch

from core.app.compute import cache
from core.base import deployment
from core.model import remote
from core.model.intervention import NOTHING, Intervention
from core.model.trace import Trace
from tests.helpers.passes import CHANGED, IDS, same


def here(name: str, intervention: Intervention = NOTHING, ids: tuple[int, ...] = IDS) -> Trace:
    with torch.inference_mode():
        return cache.shared_model(name, "cpu").model(torch.tensor(ids), intervention)


@functools.lru_cache(maxsize=1)
def replica() -> remote.Replica:
    return remote.Replica()


class Service:
    """A replica behind a port of this process."""

    def __init__(self) -> None:
        self.replica, self.asked, self.status = replica(), [], 200
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.answer(json.dumps(outer.replica.about()).encode())

            def do_POST(self) -> None:
                outer.asked.append(self.rfile.read(int(self.headers["Content-Length"])))
                self.answer(outer.replica.answer(outer.asked[-1]) if outer.status == 200 else b"no")

            def answer(self, body: bytes) -> None:
                self.send_response(outer.status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_) -> None:
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def replicas(monkeypatch: pytest.MonkeyPatch):
    """A service that the app is told of, and has found."""
    there = Service()
    monkeypatch.setenv(deployment.PASSES, there.address)
    assert remote.client(there.address).look()
    cache._traces().clear()
    yield there
    there.close()
    cache._traces().clear()


@pytest.mark.parametrize("name", ("stories-small", "positions-relative"))
def test_a_trace_comes_out_as_it_went_in_and_names_our_own_weights(name: str):
    model = cache.shared_model(name, "cpu").model
    for change in (NOTHING, CHANGED):
        made = here(name, change)
        sent = replica().answer(remote.request(name, None, IDS, change))
        back = remote.unpacked(sent, model)
        assert same(made, back) and len(sent) < made.n_bytes + 100_000, "weights are not sent, nor anything twice"
        assert [block.W_O.data_ptr() for block in back.blocks] == [block.W_O.data_ptr() for block in made.blocks]


def test_bundled_models_and_their_moments_are_computed_there_and_a_readers_own_here(replicas: Service):
    for name, change in (("stories-small", NOTHING), ("stories-small", CHANGED), ("stories-small@2250", CHANGED)):
        assert same(cache.trace(cache.shared_model(name, "cpu"), IDS, change), here(name, change))
    assert len(replicas.asked) == 3 and json.loads(replicas.asked[-1])["step"] == 2250
    loaded = cache.shared_model("stories-small", "cpu")
    own = cache.shared_model(cache.keep_own(loaded.model, loaded.tokenizer, "stories-small"), "cpu")
    assert same(cache.trace(own, IDS), here("stories-small")) and len(replicas.asked) == 3


def test_what_several_ask_for_at_once_is_asked_for_once(replicas: Service):
    loaded, go = cache.shared_model("stories-small", "cpu"), threading.Barrier(6)

    def ask() -> None:
        go.wait(60)
        cache.trace(loaded, IDS)

    threads = [threading.Thread(target=ask) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(replicas.asked) == 1


def test_who_does_not_answer_is_left_alone_and_found_again(replicas: Service, monkeypatch: pytest.MonkeyPatch):
    loaded, client, tries = cache.shared_model("stories-small", "cpu"), remote.client(replicas.address), []
    replicas.status = 503           # too many wait there: this pass is computed here, the next is asked for again
    assert same(cache._in_turn(loaded, IDS, NOTHING), here("stories-small")) and len(replicas.asked) == 1
    replicas.status = 200
    assert same(cache._in_turn(loaded, IDS, NOTHING), here("stories-small")) and len(replicas.asked) == 2
    replicas.close()
    asked = remote.Client._exchange
    monkeypatch.setattr(remote.Client, "_exchange", lambda self, *rest: tries.append(rest[0]) or asked(self, *rest))
    monkeypatch.setattr(client, "_next_look", float("inf"))
    for _ in range(3):
        assert same(cache._in_turn(loaded, IDS, NOTHING), here("stories-small"))
    assert tries == ["POST"] and not client.look(), "one found out, the others did not wait"
    monkeypatch.setattr(remote.Client, "look", lambda self: setattr(self, "_is_up", True))
    monkeypatch.setattr(client, "_next_look", 0.0)
    assert (same(cache._in_turn(loaded, IDS, NOTHING), here("stories-small"))
            and tries == ["POST", "GET"]), "looked up aside; this reader is not kept"


def test_another_version_and_what_is_no_request_is_refused_and_no_trace_not_taken(
        replicas: Service, monkeypatch: pytest.MonkeyPatch):
    asked = json.loads(remote.request("stories-small", None, IDS, NOTHING))
    for wrong in ({"fingerprint": "x"}, {"model": "../stories"}, {"step": 7}, {"token_ids": []}, {"token_ids": [-1]},
                  {"token_ids": [10**9]}, {"token_ids": [0] * 10_000}, {"token_ids": ["a"]},
                  {"intervention": {"record": "Intervention", "mask": "sideways"}},
                  {"intervention": {"record": "system"}}, {"intervention": None}):
        with pytest.raises(remote.RemoteError):
            replicas.replica.answer(json.dumps(asked | wrong).encode())
    model, sent = cache.shared_model("stories-small", "cpu").model, replicas.replica.answer(json.dumps(asked).encode())
    for wrong in (b"", b"not a file", sent[:-1], sent.replace(b"BlockTrace", b"BlackTrace")):
        with pytest.raises(remote.RemoteError):
            remote.unpacked(wrong, model)
    with pytest.raises(remote.RemoteError):
        remote.unpacked(sent, cache.shared_model("positions-none", "cpu").model)
    monkeypatch.setattr(replicas.replica, "about", lambda: {"fingerprint": "x"})
    assert not remote.Client(replicas.address).look()
