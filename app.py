"""The entry of the app: what `streamlit run` serves, and the script that it runs for every reader. Everything else is in pages/ and core/ui/.

The server listens before torch is loaded: a browser loads what Streamlit sends it meanwhile.
"""
import contextlib
import gc
import pkgutil
import threading
from collections.abc import AsyncIterator

import streamlit as st
from starlette.middleware import Middleware
from streamlit import net_util
from streamlit.runtime import app_session, state
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.pages_manager import PagesManager
from streamlit.runtime.runtime import Runtime
from streamlit.runtime.state.safe_session_state import SafeSessionState

from core.ui import addresses, deployment, live, streamlit_mends, streamlit_savings
from core.ui.pace import Paced

ANSWERS = {"heads": "core.ui.heads.live:answer", "heads_rollout": "core.ui.heads.live:rollout_answer", "attention_weights": "core.ui.attention.live:answer",
           "prerender": "core.ui.ahead:answer", "overview": "core.ui.overview:answer", "next_token": "core.ui.next_token:answer"}
deployment.check()
# Else a fresh server takes the folder pages/ for its older kind of app until st.navigation was called, and runs a page by itself.
PagesManager.uses_pages_directory = False
AppSession.request_rerun, AppSession._clear_queue = streamlit_mends.request_rerun, streamlit_mends.clear_queue
state.SessionState = streamlit_mends.SessionState
SafeSessionState.filtered_state, app_session._populate_theme_msg = property(streamlit_savings.NamedState), streamlit_savings.populate_theme
AppSession._call_soon_on_event_loop, AppSession.flush_browser_queue = streamlit_savings.call_soon, streamlit_savings.flush_browser_queue
Runtime._enqueued_some_message, Runtime._send_message = streamlit_savings.enqueued_some_message, streamlit_savings.send_message
# Streamlit would ask a server on the internet for this machine's address, at the start and whenever a page of another address opens a websocket, and answer nobody meanwhile.
net_util.get_external_ip = lambda: None


@contextlib.asynccontextmanager
async def _prepared(_app: st.App) -> AsyncIterator[None]:
    threading.Thread(target=_prepare, name="prepare", daemon=True).start()
    yield


def _prepare() -> None:
    """Loads torch and the frame of every page, and has it prepared."""
    gc.disable()        # else a fifth of this time goes into collections that find nothing
    try:
        prepare = pkgutil.resolve_name("core.ui.shell:prepare")
    finally:
        gc.freeze()
        gc.enable()
    prepare()


# This file is the script, too; beside it stand the routes.
app = st.App(__file__, routes=[*(live.route(name, answer) for name, answer in ANSWERS.items()), addresses.HOME_ROUTE], middleware=[Middleware(Paced)], lifespan=_prepared)

if __name__ == "__main__":
    from core.ui import shell
    shell.draw()
