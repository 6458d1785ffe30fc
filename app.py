"""The server: `streamlit run app.py` serves this App. For every reader it runs core/app/server/script.py.

The server listens before torch is loaded: meanwhile a browser loads Streamlit's own files.
"""
import contextlib
import gc
import os
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import streamlit as st
from starlette.middleware import Middleware

from core.app.server import class_routes, routes, start, streams
from core.app.server.door import Door
from core.app.server.pace import Paced
from core.app.streamlit import fixes
from core.base import deployment
from core.components import addresses, scripts

SCRIPT = Path(__file__).resolve().parent / "core" / "app" / "server" / "script.py"
ANSWERS = {"heads": "pages.heads.route:answer", "heads_rollout": "pages.heads.route:rollout_answer",
           "attention_weights": "pages.attention.weights_route:answer",
           "overview_inside": "pages.overview.inside:answer",
           "sparse_patterns": "pages.architectures.cost:answer", "places": "core.base.finder:answer"}
deployment.check()
fixes.apply()
streams.open_more_files()
# Read by torch and by numpy, both loaded later: more threads spin against each other as soon as two readers compute at
# once (numpy's alone took two thirds of the processor time of a page on positions), and change the last digits.
os.environ.setdefault("OMP_NUM_THREADS", "1")


@contextlib.asynccontextmanager
async def _prepared(_app: st.App) -> AsyncIterator[None]:
    print(f"The app is at {' and '.join(addresses.of_server())}", flush=True)
    threading.Thread(target=_prepare, name="prepare", daemon=True).start()
    async with class_routes.kept():
        yield


def _prepare() -> None:
    """Load torch and the frame of every page, and let it prepare itself."""
    gc.disable()        # else a fifth of the time goes into collections that find nothing
    try:
        frame = start.frame()
    finally:
        gc.freeze()
        gc.enable()
    if frame:
        frame.prepare()


app = st.App(SCRIPT, middleware=[Middleware(Paced), Middleware(Door)], lifespan=_prepared,
             routes=[*(routes.route(name, answer, waits=name != "places") for name, answer in ANSWERS.items()),
                     *class_routes.routes(), addresses.HOME_ROUTE, scripts.ROUTE])
