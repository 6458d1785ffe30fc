"""What a reader sees when something fails: a plain sentence. The details go to the server's log."""
import contextlib
import functools
import logging
from collections.abc import Callable, Iterator

import streamlit as st

from core.app.base import devices, prose
from core.app.compute import cache, queue
from core.app.state import fragments, reader

LOG = logging.getLogger(__name__)


@contextlib.contextmanager
def guard() -> Iterator[None]:
    """Runs a part of a page.

    An exception ends the part with a message in its place; a full graphics card moves the model to the CPU.
    """
    try:
        with queue.PAGES:
            yield
    except Exception as error:   # Streamlit's own stop and rerun signals are no Exceptions and pass through
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
    """`st.fragment`, with a failure shown as the frame shows it: what changes together, redrawn without the rest of the
    page; by itself every `run_every` seconds.

    key: by which `fragments.rerun(key)` asks for it.
    """

    @functools.wraps(function)
    def guarded(*args, **kwargs):
        fragments.begin(key)
        with guard():
            return function(*args, **kwargs)

    return st.fragment(guarded, run_every=run_every, key=key)
