"""Whether a reader is still there: what is computed for one who has closed the browser ends by itself."""
from __future__ import annotations

import time
from collections.abc import Callable

from streamlit import runtime
from streamlit.runtime.scriptrunner import get_script_run_ctx

AWAY = 60       # seconds without a connection after which a reader is gone; a lost network comes back sooner


def of_this_reader() -> Callable[[], bool]:
    """A question for any thread: is the reader of the present session connected, or was within AWAY? Always yes where there is no server."""
    context = get_script_run_ctx()
    if context is None or not runtime.exists():
        return lambda: True
    server, session, seen = runtime.get_instance(), context.session_id, time.monotonic()

    def here() -> bool:
        nonlocal seen
        if server.is_active_session(session):
            seen = time.monotonic()
        return time.monotonic() - seen < AWAY

    return here
