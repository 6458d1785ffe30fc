"""What the views with a long computation share: its buttons, its progress, and a picture that follows it while it runs."""
from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator

import streamlit as st

from core.ui import jobs
from core.ui.guard import fragment
from core.ui.jobs import Job
from core.ui.lesson import Lesson

KEPT = "recurrence_jobs"       # of the session: (view, settings) -> Job
MOST_KEPT = 12                 # finished ones that a session can look at again
EVERY = 0.8                    # seconds between two pictures


def job_of(key: Hashable) -> Job | None:
    """This session's computation with these settings, running or ended; None if there is none."""
    return st.session_state.get(KEPT, {}).get(key)


def records_of(key: Hashable) -> list:
    """What it has made so far."""
    job = job_of(key)
    return [] if job is None else list(job.records)


def controls(page: Lesson, key: Hashable, verb: str, make: Callable[[], Iterator]) -> None:
    """The button that starts it, or the one that stops it."""
    job = job_of(key)
    if job is not None and job.running:
        st.button(page.label("stop"), key="recurrence_stop", icon=":material/stop:", on_click=job.stop)
    else:
        st.button(page.label(verb), key="recurrence_start", icon=":material/play_arrow:", type="primary", on_click=_start, args=(page, key, make))


def _start(page: Lesson, key: Hashable, make: Callable[[], Iterator]) -> None:
    """One at a time for each session: what it has running is stopped and gives its place."""
    kept = st.session_state.setdefault(KEPT, {})
    for other in kept.values():
        other.stop()
    for other in kept.values():
        other.wait(2)
    job = jobs.start(make)
    st.session_state["recurrence_full"] = job is None
    if job is not None:
        kept.pop(key, None)
        kept[key] = job
        for old in list(kept)[:-MOST_KEPT]:
            del kept[old]


def follow(page: Lesson, key: Hashable, total: int, draw: Callable[[list], None]) -> None:
    """Draws the records, again and again while they come, with the progress out of `total` records above; the whole page once more at the end."""
    job = job_of(key)
    if st.session_state.pop("recurrence_full", False):
        st.warning(page.label("full", n=jobs.MOST_AT_ONCE))
    if job is not None and job.failed:
        st.error(page.label("failed"))
    if job is None or not job.running:
        draw(records_of(key))
        return

    def picture() -> None:
        records, running = records_of(key), job.running
        st.progress(min(1.0, len(records) / total), text=page.label("progress", done=len(records), total=total))
        draw(records)
        if not running:
            st.rerun()

    fragment(picture, run_every=EVERY)()
