"""Forward passes on Ray Serve: what is sent is what was computed, a pass there equals one here to the last bit, and who does not answer is not waited for. With a Ray on this machine, where it is installed."""
import importlib.util
import subprocess
import sys

import pytest
import torch

from core import remote
from core.intervention import NOTHING, HeadEdit, Intervention
from core.trace import Trace, mapped
from core.ui import cache, deployment
from tests.lessons import ROOT, fine, open_at

CHANGED = Intervention(heads=(HeadEdit(1, 2, "zero"), HeadEdit(3, 0, "scale", 0.5)), mask="bidirectional")
ids = (0, 17, 300, 5, 9, 44)
needs_ray = pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray is not installed: pip install -r assets/deploy/ray-requirements.txt")


def tensors(trace: Trace) -> list[torch.Tensor]:
    found: list[torch.Tensor] = []
    mapped(trace, lambda entry: found.append(entry) if isinstance(entry, torch.Tensor) else None)
    return found


def same(a: Trace, b: Trace) -> bool:
    return len(tensors(a)) == len(tensors(b)) > 100 and all(x.dtype == y.dtype and torch.equal(x, y) for x, y in zip(tensors(a), tensors(b), strict=True))


class Answers:
    """In place of Ray's handle: the replica's own code, in this process; or a failure."""

    def __init__(self, failure: Exception | None = None) -> None:
        self.passes, self.failure, self.asked, self.trace = remote.Passes(), failure, [], self

    def remote(self, *arguments):
        self.asked.append(arguments)
        return self

    def result(self, timeout_s: float):
        if self.failure is not None:
            raise self.failure
        return self.passes.trace(*self.asked[-1])


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch):
    """Passes go to a client whose handle is put in its place."""
    client = remote.Client("ray")
    monkeypatch.setattr(remote, "client", lambda address: client)
    monkeypatch.setattr(remote.Client, "_tried", lambda self, call: tried(self, call))
    monkeypatch.setattr(deployment, "current", lambda: deployment.Deployment(passes="ray"))
    return client


def tried(client: remote.Client, call):
    """`Client._tried` without Ray's own exceptions, which are not here."""
    try:
        return call()
    except ConnectionError:
        client._failed = remote.time.monotonic()


def test_a_trace_comes_out_as_it_went_in_and_names_our_own_weights():
    model = cache.shared_model("stories", "cpu").model
    with torch.inference_mode():
        trace = model(torch.tensor(ids), CHANGED)
    sent = remote.packed(trace, model)
    back = remote.unpacked(sent, model)
    assert same(trace, back) and back.config == trace.config and back.n_bytes <= trace.n_bytes
    assert back.blocks[0].W_O.data_ptr() == trace.blocks[0].W_O.data_ptr(), "weights are not sent"
    assert sum(array.nbytes for array in sent.arrays) <= trace.n_bytes


def test_bundled_models_and_their_moments_are_asked_for_by_name(asked: remote.Client):
    asked._handle = handle = Answers()
    for name, named in (("stories", ("stories", None)), ("stories-small@2250", ("stories-small", 2250))):
        loaded = cache.shared_model(name, "cpu")
        with torch.inference_mode():
            assert same(cache._forward(loaded, ids, CHANGED), loaded.model(torch.tensor(ids), CHANGED))
        assert handle.asked[-1] == (*named, ids, CHANGED)


def test_a_model_of_a_readers_own_is_computed_here(asked: remote.Client):
    loaded = cache.shared_model("stories", "cpu")
    name = cache.keep_own(loaded.model, loaded.tokenizer, "mine")
    asked._handle = handle = Answers()
    assert same(cache._forward(cache.shared_model(name, "cpu"), ids, NOTHING), cache._forward(loaded, ids, NOTHING))
    assert len(handle.asked) == 1


def test_who_does_not_answer_is_left_alone_and_said_to_be_down(asked: remote.Client, monkeypatch: pytest.MonkeyPatch):
    asked._handle = handle = Answers(ConnectionError("gone"))
    loaded = cache.shared_model("stories", "cpu")
    with torch.inference_mode():
        expected = loaded.model(torch.tensor(ids))
    assert same(cache._forward(loaded, ids, NOTHING), expected) and same(cache._forward(loaded, ids, NOTHING), expected)
    assert len(handle.asked) == 1 and cache.passes_are_down()
    monkeypatch.setattr(remote, "REST", 0)
    handle.failure, asked._failed = None, asked._failed
    assert same(cache._forward(loaded, ids, NOTHING), expected) and len(handle.asked) == 2


def test_the_app_starts_without_ray():
    code = "import sys, core.ui.cache, core.remote; print([name for name in sys.modules if name.partition('.')[0] == 'ray'])"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=240).stdout.strip() == "[]"


@needs_ray
def test_a_pass_on_ray_serve_equals_one_here_bit_for_bit_and_its_end_is_said(monkeypatch: pytest.MonkeyPatch):
    import ray
    from ray import serve
    for name, value in {"RAY_ADDRESS": "local", "RAY_agent_register_timeout_ms": "240000", "RAY_raylet_start_wait_time_s": "240"}.items():       # a machine may be slow
        monkeypatch.setenv(name, value)
    monkeypatch.setenv(deployment.PASSES, "ray")
    client = remote.client("ray")
    try:
        assert client.wait(240)
        forward = cache.Transformer.forward
        monkeypatch.setattr(cache.Transformer, "forward", None)         # nothing is computed here
        there = [cache._forward(cache.shared_model(name, "cpu"), ids, change) for name in ("stories", "stories-small@2250", "positions-rotary") for change in (NOTHING, CHANGED)]
        monkeypatch.setattr(cache.Transformer, "forward", forward)
        for name in ("stories", "stories-small@2250", "positions-rotary"):
            model = cache.shared_model(name, "cpu").model
            with torch.inference_mode():
                assert same(there.pop(0), model(torch.tensor(ids))) and same(there.pop(0), model(torch.tensor(ids), CHANGED))
        assert not cache.passes_are_down()
        serve.delete(remote.APPLICATION)
        cache._traces().clear()
        at = open_at("heads", prompt="A prompt that nobody has asked for yet")
        assert fine(at) and cache.passes_are_down()
    finally:
        serve.shutdown()
        ray.shutdown()
        remote.client.cache_clear()
