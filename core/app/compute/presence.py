"""Whether a reader's page is still open, for threads that compute for the reader and know no session."""
from collections.abc import Callable

from core.app.streamlit import context


def of_this_session() -> Callable[[], bool]:
    """A question that any thread may ask: whether a browser is connected to the session that calls this.

    A connection that broke may come back.
    """
    session = context.session_id()
    return lambda: session is None or context.is_connected(session)
