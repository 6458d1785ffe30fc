"""Whether a reader's page is still open, for threads that compute for the reader and know no session."""
from collections.abc import Callable

from streamlit import runtime
from streamlit.runtime.scriptrunner import get_script_run_ctx


def of_this_session() -> Callable[[], bool]:
    """A question that any thread may ask: whether a browser is connected to the session that calls this.

    A connection that broke may come back.
    """
    context = get_script_run_ctx(suppress_warning=True)
    if context is None:
        return lambda: True
    session_id = context.session_id
    return lambda: not runtime.exists() or runtime.get_instance().is_active_session(session_id) is not False
