"""Show the reader a plain sentence when something fails. The details go to the server's log."""
import contextlib
import functools
import logging
from collections.abc import Callable, Iterator

import streamlit as st

from core.app.compute import cache, queue
from core.app.state import fragments, reader
from core.base import devices, prose

LOG = logging.getLogger(__name__)


@contextlib.contextmanager
def guard() -> Iterator[None]:
    """Run a part of a page.

    An exception ends the part with a message in its place; if the graphics card is full, the model moves to the CPU.
    """
    try:
        with queue.PAGES:
            yield
    except Exception as error:   # Streamlit's own stop and rerun signals are not Exceptions and pass through
        LOG.exception("A part of the page failed.")
        if not devices.is_out_of_memory(error):
            st.error(prose.load("app").label("error"))
            return
        cache.clear()
        if reader.device() == devices.CPU:
            st.error(prose.load("app").label("error_memory"))
        else:
            reader.fall_back_to_cpu()


def fragment(function: Callable, run_every: float | None = None, key: str | None = None) -> Callable:
    """`st.fragment` under `guard`: a part of the page that is redrawn without the rest; by itself every `run_every`
    seconds.

    key: the name by which `fragments.rerun(key)` asks for it.
    """

    @functools.wraps(function)
    def guarded(*args, **kwargs):
        fragments.begin(key)
        with guard():
            return function(*args, **kwargs)

    return st.fragment(guarded, run_every=run_every, key=key)
