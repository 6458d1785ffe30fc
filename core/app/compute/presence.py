"""Whether a reader's page is still open, for threads that compute for the reader outside any session."""
from collections.abc import Callable

from core.app.streamlit import context


def of_this_session() -> Callable[[], bool]:
    """Return a function for any thread that says whether a browser is connected to the session that calls this.

    A broken connection may come back.
    """
    session = context.session_id()
    return lambda: session is None or context.is_connected(session)
