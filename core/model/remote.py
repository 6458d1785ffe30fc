"""Forward passes that replicas compute for the app: what is sent there and back, what a replica does with it, and the
app's side of it.

A request is JSON, an answer one safetensors file: nothing is pickled, and neither side trusts the other to be of its
version. The app does not need Ray Serve, which runs the replicas (assets/deploy/ray_passes.py): autoscaling, queues and
the replacement of a dead replica are its work.
"""
import dataclasses
import functools
import hashlib
import http.client
import json
import logging
import os
import threading
import time
import urllib.parse
from pathlib import Path

import numpy as np
import safetensors
import torch
from safetensors.numpy import save as written_arrays
from safetensors.torch import load as read_tensors
from torch import Tensor

from core.model import checkpoints, config, trace
from core.model.config import ModelConfig
from core.model.intervention import HeadEdit, Intervention, Patch, SublayerEdit
from core.model.trace import Trace
from core.model.transformer import Transformer

LOG = logging.getLogger(__name__)
MOST_MODELS = 16            # the most that one replica keeps
# seconds for a connection, and then for each part of an answer: the most that a reader waits in vain
CONNECT, SECONDS = 1.0, 3.0
REST = 5.0                  # seconds between two looks at a service that does not answer
CODE = Path(__file__).resolve().parent
RECORDS = {record.__name__: record for record in (*trace.RECORDS, ModelConfig, *config.RECORDS.values(), Intervention,
                                                  HeadEdit, SublayerEdit, Patch)}


class RemoteError(Exception):
    """A request that cannot be answered; the message says why."""


# ---- what is sent ----------------------------------------------------------------------------------------------------


def _to_json(value, tensor):
    """A record in a form for JSON; `tensor` gives what stands for a tensor."""
    if isinstance(value, Tensor):
        return tensor(value)
    if isinstance(value, tuple):
        return [_to_json(entry, tensor) for entry in value]
    if type(value).__name__ in RECORDS:
        return {"record": type(value).__name__,
                **{field.name: _to_json(getattr(value, field.name), tensor) for field in dataclasses.fields(value)}}
    return value


def _from_json(value, tensor):
    """The record that `_to_json` wrote; `tensor` gives back the tensor from what stands for it."""
    if isinstance(value, list):
        return tuple(_from_json(entry, tensor) for entry in value)
    if not isinstance(value, dict):
        return value
    if "record" not in value:
        return tensor(value)
    fields = {name: _from_json(entry, tensor) for name, entry in value.items() if name != "record"}
    return RECORDS[value["record"]](**fields)


def packed(made: Trace, model: Transformer) -> bytes:
    """A Trace of the model as a safetensors file: a tensor with two names is written once, and a parameter of the model
    is only named.
    """
    weights = {(weight.data_ptr(), weight.shape): name for name, weight in model.named_parameters()}
    arrays: dict[str, np.ndarray] = {}
    names: dict[tuple, dict] = {}

    def stand_in(tensor: Tensor) -> dict:
        key = (tensor.data_ptr(), tensor.shape, tensor.stride(), tensor.dtype)
        if name := weights.get(key[:2]):
            return {"weight": name}
        if key not in names:
            names[key] = {"tensor": str(len(arrays))}
            arrays[str(len(arrays))] = np.ascontiguousarray(tensor.cpu().numpy())
        return names[key]

    written = json.dumps(_to_json(made, stand_in))
    return written_arrays(arrays, {"trace": written})


def unpacked(sent: bytes, model: Transformer) -> Trace:
    """The Trace again, with the parameters of this end's model. Raises RemoteError for anything else."""
    try:
        header = json.loads(sent[8:8 + int.from_bytes(sent[:8], "little")])
        weights, tensors = dict(model.named_parameters()), read_tensors(sent)
        made = _from_json(json.loads(header["__metadata__"]["trace"]),
                     lambda entry: tensors[entry["tensor"]] if "tensor" in entry else weights[entry["weight"]])
    except (ValueError, KeyError, TypeError, safetensors.SafetensorError) as error:
        raise RemoteError(f"The answer is no Trace: {error!r}") from error
    if not isinstance(made, Trace) or made.config != model.config:
        raise RemoteError("The answer is no Trace of this model.")
    return made


def request(name: str, step: int | None, token_ids: tuple[int, ...], intervention: Intervention) -> bytes:
    """A request for one pass of a bundled model, as it was after `step` steps of its training or, for None, at its end.
    """
    fields = {"fingerprint": fingerprint(), "model": name, "step": step, "token_ids": token_ids,
              "intervention": _to_json(intervention, None)}
    return json.dumps(fields).encode()


@functools.lru_cache(maxsize=1)
def fingerprint() -> str:
    """A hash of what a pass is computed with: this program's code, torch, and the bundled models by name and size.

    App and replica compare theirs, and work together only if the two are equal.
    """
    # without the build: the app's may be for the CPU, a replica's for a GPU
    digest = hashlib.sha256(torch.__version__.partition("+")[0].encode())
    if not (sources := sorted(CODE.rglob("*.py"))):
        raise FileNotFoundError(f"There is no code in {CODE}.")
    for path in sources:
        digest.update(path.read_bytes())
    for path in sorted(checkpoints.BUNDLED.rglob("*.*")):
        digest.update(f"{path.relative_to(checkpoints.BUNDLED)} {path.stat().st_size}".encode())
    return digest.hexdigest()


# ---- a replica -------------------------------------------------------------------------------------------------------


class Replica:
    """One replica: it holds the bundled models that it was asked for, on its device."""

    def __init__(self, device: str = "cpu") -> None:
        torch.set_num_threads(1)            # as in the app: the same number of threads gives the same last digits
        self._device = device
        self._model = functools.lru_cache(maxsize=MOST_MODELS)(
            lambda name, step: checkpoints.load_bundled(name, self._device, step)[0])
        self._n_passes = 0

    def about(self) -> dict:
        """A description of this replica: fingerprint, device, process, and how many passes it has computed."""
        return {"fingerprint": fingerprint(), "device": self._device, "process": os.getpid(), "passes": self._n_passes}

    def answer(self, asked: bytes) -> bytes:
        """The Trace that `request` asks for, packed.

        Raises RemoteError for anything but a request of this version, and the pass's own errors as they are.
        """
        try:
            fields = json.loads(asked)
            if fields["fingerprint"] != fingerprint():
                raise RemoteError("The app has another version of this program or of its models.")
            model, ids = self._model(fields["model"], fields["step"]), fields["token_ids"]
            intervention = _from_json(fields["intervention"], None)
            if not isinstance(intervention, Intervention):
                raise TypeError("no Intervention")
            if (not 0 < len(ids) <= model.config.n_context
                    or not all(type(i) is int and 0 <= i < model.config.vocab_size for i in ids)):
                raise ValueError("no tokens of the model, or too many")
        except (ValueError, KeyError, TypeError, checkpoints.CheckpointError) as error:
            raise RemoteError(f"This is no request: {error!r}") from error
        with torch.inference_mode():
            sent = packed(model(torch.tensor(ids, dtype=torch.int64, device=self._device), intervention), model)
        self._n_passes += 1
        return sent


# ---- the app's side --------------------------------------------------------------------------------------------------


class Client:
    """The way to the replicas behind one address.

    A separate thread finds out whether they answer: until they do, and after a failure, nobody waits for them.
    """

    def __init__(self, address: str) -> None:
        """address: "http://host:port" or https, with a path if the service has one."""
        self._parts = urllib.parse.urlsplit(address)
        self._is_up, self._next_look, self._looking = False, 0.0, threading.Lock()
        self._logged = ""

    def trace(self, name: str, step: int | None, token_ids: tuple[int, ...], intervention: Intervention,
              model: Transformer) -> Trace | None:
        """The pass of a bundled model, which is `model` at this end. None: not now; the caller then computes it."""
        if not self._is_up:
            self._look_aside()
            return None
        try:
            status, sent = self._exchange("POST", request(name, step, token_ids, intervention))
            if status == 200:
                return unpacked(sent, model)
            # such as 503: too many wait there
            LOG.warning("A pass is computed here, since the replicas answered with status %s: %s", status, sent[:200])
        except (OSError, http.client.HTTPException) as error:
            self._is_up = False
            self._log_once(f"Passes are computed here, since the replicas do not answer: {error!r}")
        except RemoteError as error:
            LOG.warning("A pass is computed here: %s", error)
        return None

    def look(self) -> bool:
        """Whether the replicas answer and have this version."""
        try:
            status, sent = self._exchange("GET")
            theirs = json.loads(sent)["fingerprint"] if status == 200 else f"status {status}"
        except (OSError, http.client.HTTPException, ValueError, KeyError, TypeError) as error:
            theirs = repr(error)
        self._is_up = theirs == fingerprint()
        self._log_once("Passes are computed by the replicas." if self._is_up
                   else f"Passes are computed here: the replicas are not there, or of another version ({theirs}).")
        return self._is_up

    def _log_once(self, news: str) -> None:
        if news != self._logged:
            LOG.warning(news)
            self._logged = news

    def _look_aside(self) -> None:
        if time.monotonic() >= self._next_look and self._looking.acquire(blocking=False):
            threading.Thread(target=self._look_once, daemon=True).start()

    def _look_once(self) -> None:
        try:
            self.look()
        finally:
            self._next_look = time.monotonic() + REST
            self._looking.release()

    def _exchange(self, method: str, body: bytes | None = None) -> tuple[int, bytes]:
        made = http.client.HTTPSConnection if self._parts.scheme == "https" else http.client.HTTPConnection
        connection = made(self._parts.hostname, self._parts.port, timeout=CONNECT)
        try:
            connection.connect()
            connection.sock.settimeout(SECONDS)
            connection.request(method, self._parts.path or "/", body)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()


@functools.lru_cache(maxsize=2)
def client(address: str) -> Client:
    """This process's client of an address."""
    return Client(address)
