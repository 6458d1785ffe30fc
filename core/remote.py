"""Forward passes on Ray Serve: replicas that hold the bundled models and are started and ended with the load, on GPUs where the cluster has them, else on the CPU.

Ray is imported when it is asked for and not before. Its processes hand each other what they send as pickles, among themselves; nothing that a reader sends is ever unpickled.
Sources: Moritz et al. 2018, "Ray: A Distributed Framework for Emerging AI Applications"; the documentation of Ray Serve, "Autoscaling" and "Deployment handles".
"""
from __future__ import annotations

import functools
import hashlib
import logging
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from core import checkpoints
from core.intervention import Intervention
from core.model import Transformer
from core.trace import Trace, mapped

LOG = logging.getLogger(__name__)
APPLICATION = "transformer"
MOST_MODELS = 12            # that one replica keeps
SECONDS = 20                # that a pass may take there
REST = 15                   # seconds without another try, after one that failed
CODE = Path(__file__).resolve().parent


# ---- a Trace on its way ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Array:
    """Stands in a packed Trace where the array of this number belongs."""

    number: int


@dataclass(frozen=True)
class Weight:
    """Stands where a parameter of the model belongs, which is at both ends already."""

    name: str


@dataclass(frozen=True)
class Packed:
    """A Trace whose tensors stand beside it, each once."""

    trace: Trace
    arrays: list[np.ndarray]


def packed(trace: Trace, model: Transformer) -> Packed:
    """A Trace of the model, as it is sent; its tensors are moved to the CPU."""
    weights = {(weight.data_ptr(), weight.shape): name for name, weight in model.named_parameters()}
    arrays, seen = [], {}

    def stand_in(entry):
        if not isinstance(entry, Tensor):
            return entry
        if name := weights.get((entry.data_ptr(), entry.shape)):
            return Weight(name)
        key = (entry.data_ptr(), entry.shape, entry.stride(), entry.dtype)
        if key not in seen:
            seen[key] = Array(len(arrays))
            arrays.append(entry.cpu().contiguous().numpy())
        return seen[key]

    return Packed(mapped(trace, stand_in), arrays)


def unpacked(sent: Packed, model: Transformer) -> Trace:
    """The Trace again; its tensors are copies, which nothing else holds."""
    weights, tensors = dict(model.named_parameters()), [torch.from_numpy(np.array(array)) for array in sent.arrays]
    return mapped(sent.trace, lambda entry: tensors[entry.number] if isinstance(entry, Array) else weights[entry.name] if isinstance(entry, Weight) else entry)


# ---- where they are computed -----------------------------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=1)
def fingerprint() -> str:
    """Of what a pass is computed with: this program's code, torch, and the bundled models by name and size. Only an equal one computes for us."""
    found = hashlib.sha256(torch.__version__.encode())
    for path in sorted(CODE.glob("*.py")):
        found.update(path.read_bytes())
    for path in sorted(checkpoints.BUNDLED.rglob("*.*")):
        found.update(f"{path.relative_to(checkpoints.BUNDLED)} {path.stat().st_size}".encode())
    return found.hexdigest()


class Passes:
    """What one replica does."""

    def __init__(self) -> None:
        torch.set_num_threads(1)            # as in the app: the same number of threads gives the same last digits
        self._device = "cuda" if torch.cuda.is_available() else "cpu"
        self._model = functools.lru_cache(maxsize=MOST_MODELS)(lambda name, step: checkpoints.load_bundled(name, self._device, step)[0])

    def fingerprint(self) -> str:
        return fingerprint()

    def trace(self, name: str, step: int | None, token_ids: tuple[int, ...], intervention: Intervention) -> Packed:
        """The pass of a bundled model, as it was after `step` steps of its training, or in the end."""
        model = self._model(name, step)
        with torch.inference_mode():
            return packed(model(torch.tensor(token_ids, dtype=torch.int64, device=self._device), intervention), model)


# ---- who asks for them -----------------------------------------------------------------------------------------------------------------


class Client:
    """The way to the replicas. It is connected on a thread of its own: until it is, and for a while after a failure, nobody waits for it."""

    def __init__(self, address: str) -> None:
        """address: "ray://host:port", or "ray": the cluster that RAY_ADDRESS names or that runs on this machine, else one that is started here."""
        self._address, self._handle, self._failed = None if address == "ray" else address, None, 0.0
        self._connecting = threading.Lock()
        self._ever = threading.Event()

    @property
    def is_down(self) -> bool:
        """Whether the last try failed."""
        return self._failed > 0

    def trace(self, name: str, step: int | None, token_ids: tuple[int, ...], intervention: Intervention, model: Transformer) -> Trace | None:
        """The pass of a bundled model; `model` is the same at this end. None: not now, or it failed there, and the asker computes it."""
        if self._failed and time.monotonic() - self._failed < REST:
            return None
        if self._handle is None:
            self._connect_aside()
            return None
        return self._tried(lambda: unpacked(self._handle.trace.remote(name, step, token_ids, intervention).result(timeout_s=SECONDS), model))

    def wait(self, seconds: float) -> bool:
        """Whether it is connected, after so many seconds at most."""
        self._connect_aside()
        self._ever.wait(seconds)
        return self._handle is not None

    def _connect_aside(self) -> None:
        if self._connecting.acquire(blocking=False):
            threading.Thread(target=self._connect, daemon=True).start()

    def _connect(self) -> None:
        try:
            self._handle = self._tried(lambda: deployed(self._address))
        finally:
            self._connecting.release()
            self._ever.set()

    def _tried(self, call: Callable):
        """What the call gives; None where it failed. A failure of the pass itself is the asker's to meet again, and no reason to stay away."""
        from ray.exceptions import RayTaskError
        try:
            found = call()
        except RayTaskError:
            LOG.warning("A pass failed on Ray Serve; it is computed here.", exc_info=True)
            return None
        except Exception:
            LOG.warning("Ray Serve does not answer; passes are computed here for %s s.", REST, exc_info=True)
            self._failed = time.monotonic()
            return None
        self._failed = 0.0
        return found


@functools.lru_cache(maxsize=2)
def client(address: str) -> Client:
    """This process's client."""
    return Client(address)


def deployed(address: str | None):
    """The handle of the deployment, which is made where there is none, or one of another version."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    import ray
    from ray import serve
    if not ray.is_initialized():
        ray.init(address, include_dashboard=None if address else False, log_to_driver=False, configure_logging=False, runtime_env={"env_vars": {"PYTHONPATH": str(CODE.parent), "OMP_NUM_THREADS": "1"}})
    try:
        handle = serve.get_app_handle(APPLICATION)
        if handle.fingerprint.remote().result(timeout_s=SECONDS) == fingerprint():
            return handle
    except Exception:                   # which of Ray's it is when there is none yet differs with the cluster's state
        LOG.info("There is no such deployment yet.", exc_info=True)
    serve.start(proxy_location="Disabled")          # asked for by handle alone: no port is opened
    handle = serve.run(_application(ray.cluster_resources()), name=APPLICATION, route_prefix=None)
    if handle.fingerprint.remote().result(timeout_s=SECONDS) != fingerprint():
        raise RuntimeError("The cluster has another version of this program or of its models.")
    return handle


def _application(resources: dict[str, float]):
    """The deployment: a GPU or a core each, one replica at rest, as many as the cluster has under load."""
    from ray import serve
    gpus, cores = int(resources.get("GPU", 0)), int(resources.get("CPU", 1))
    deployment = serve.deployment(
        name="Passes", ray_actor_options={"num_cpus": 1, "num_gpus": 1 if gpus else 0}, max_ongoing_requests=4,
        autoscaling_config={"min_replicas": 1, "max_replicas": max(1, gpus or cores - 1), "target_ongoing_requests": 2})
    return deployment(Passes).bind()
