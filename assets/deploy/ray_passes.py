"""The forward passes of the bundled models on Ray Serve, which starts and ends replicas with the load:

    .venv/bin/python assets/deploy/ray_passes.py --most 4

It joins the cluster of --address, or of RAY_ADDRESS, or starts one on this machine that ends with it (Ctrl-C). The
app is told where it is by TRANSFORMER_PASSES=http://127.0.0.1:8000. Each machine of a cluster has this repository at
the same place and the packages of ray-requirements.txt. Whoever reaches the port can have passes computed: it is for
the app alone.

The cluster is started by the program's main thread: on Linux, Ray has the system kill the processes that it starts when
the thread that started them ends.
"""
from __future__ import annotations

import argparse
import os
import signal
import sys
from pathlib import Path

ROOT = str(Path(__file__).resolve().parent.parent.parent)
sys.path.insert(0, ROOT)
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")              # no telemetry
os.environ.setdefault("RAY_agent_register_timeout_ms", "120000")   # of a machine that is busy, or slow to read its disk

try:
    import ray
    from ray import serve
    from starlette.requests import Request
    from starlette.responses import JSONResponse, Response
except ImportError:
    raise SystemExit("Ray is not installed: pip install -r assets/deploy/ray-requirements.txt") from None

from core.model.remote import RemoteError, Replica


class Passes:
    """A replica as Serve calls it."""

    def __init__(self, device: str) -> None:
        self._replica = Replica(device)

    async def __call__(self, request: Request) -> Response:
        if request.method != "POST":
            return JSONResponse(self._replica.about())
        try:
            return Response(self._replica.answer(await request.body()), media_type="application/octet-stream")
        except RemoteError as error:
            return Response(str(error), status_code=400)


def application(least: int, most: int | None, ongoing: float, gpu: float):
    """The deployment: a core each, or a share of a GPU where the cluster has any; by default as many at most as it has
    room for, a core left to others.
    """
    resources = ray.cluster_resources()
    gpus, cores = resources.get("GPU", 0) if gpu else 0, resources.get("CPU", 1)
    room = int(gpus / gpu) if gpus else int(cores) - 1
    scaling = {"min_replicas": least, "max_replicas": most or max(least, room, 1), "target_ongoing_requests": ongoing,
               "upscale_delay_s": 5, "downscale_delay_s": 120}
    return serve.deployment(
        name="Passes", ray_actor_options={"num_cpus": 1, "num_gpus": gpu if gpus else 0}, autoscaling_config=scaling,
        max_ongoing_requests=max(2, round(2 * ongoing)), max_queued_requests=64, health_check_period_s=2,
        health_check_timeout_s=20)(Passes).bind("cuda" if gpus else "cpu")


def main() -> None:
    parser = argparse.ArgumentParser(description="The forward passes of the bundled models on Ray Serve.")
    parser.add_argument("--address",
                        help="of a cluster, such as 10.0.0.5:6379 (default: RAY_ADDRESS, else one is started here)")
    parser.add_argument("--host", default="127.0.0.1", help="whose port is opened (default: %(default)s)")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--least", type=int, default=1, help="replicas at rest (default: %(default)s)")
    parser.add_argument("--most", type=int, help="replicas under load (default: as many as there is room for)")
    parser.add_argument("--ongoing", type=float, default=2,
                        help="passes under way in a replica above which another is started (default: %(default)s)")
    parser.add_argument("--gpu", type=float, default=0.25,
                        help="share of a GPU that a replica takes, where there are any; 0: replicas stay on the CPU "
                             "(default: %(default)s)")
    asked = parser.parse_args()
    address = asked.address or os.environ.get("RAY_ADDRESS") or "local"
    ray.init(address, log_to_driver=False, runtime_env={"env_vars": {"PYTHONPATH": ROOT, "OMP_NUM_THREADS": "1"}},
             **({"include_dashboard": False} if address == "local" else {}))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))         # after Ray has set its own
    serve.start(proxy_location="HeadOnly", http_options={"host": asked.host, "port": asked.port})
    serve.run(application(asked.least, asked.most, asked.ongoing, asked.gpu), name="passes", route_prefix="/")
    print(f"Passes are computed at http://{asked.host}:{asked.port}. Ctrl-C ends it.", flush=True)
    try:
        signal.pause()
    except KeyboardInterrupt:
        pass
    finally:
        if address != "local":      # a cluster of its own ends with this program
            serve.delete("passes")
        ray.shutdown()


if __name__ == "__main__":
    main()
