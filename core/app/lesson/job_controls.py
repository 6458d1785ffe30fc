"""Parts of views with a long computation (a job of `core.app.compute.queue`): its buttons, and a picture that follows
it while it runs.
"""
from collections.abc import Callable, Hashable, Iterator

import streamlit as st

from core.app.compute import presence, queue
from core.app.compute.queue import Job
from core.app.lesson.lesson import Lesson
from core.app.parts.guard import fragment
from core.base import deployment

MOST_KEPT = 12                 # finished jobs that a session can look at again
LONGEST_END = 10               # seconds to wait for a stopped job
EVERY = 0.8                    # seconds between two pictures
JOB = "job"                    # key of the fragment that follows a job


def _jobs(page: Lesson) -> dict[Hashable, Job]:
    """This session's computations in the lesson, the latest last."""
    return st.session_state.setdefault(f"{page.id}_jobs", {})


def job_of(page: Lesson, key: Hashable) -> Job | None:
    """This session's computation with these settings, running or ended; None if there is none."""
    return _jobs(page).get(key)


def records_of(page: Lesson, key: Hashable) -> list:
    """The records that this session's computation has yielded so far."""
    job = job_of(page, key)
    return [] if job is None else list(job.records)


def running(page: Lesson, key: Hashable) -> bool:
    job = job_of(page, key)
    return job is not None and job.running


def trains() -> bool:
    """Whether readers may train models on this server."""
    return deployment.current().training


def training_controls(page: Lesson, key: Hashable, verb: str, make: Callable[[], Iterator], stop: str = "stop") -> bool:
    """`controls` of a training; if the server allows no training, a sentence that says so."""
    if not trains():
        st.caption(page.frame_words.label("training_off"))
        return False
    return controls(page, key, verb, make, stop)


def controls(page: Lesson, key: Hashable, verb: str, make: Callable[[], Iterator], stop: str = "stop") -> bool:
    """Draw the button that starts a job (its label is `verb`), or the button that stops it or leaves the line (`stop`);
    return whether the job was running or waiting when the button was drawn.
    """
    # one element that changes: two elements would stand side by side while pictures follow each other quickly
    key_of_both = f"{page.id}_run"
    if was_running := running(page, key):
        job = job_of(page, key)
        label = page.frame_words.label("worker_leave") if job.waiting and not job.records else page.label(stop)
        st.button(label, key=key_of_both, icon=":material/stop:", on_click=job.stop)
    else:
        st.button(page.label(verb), key=key_of_both, icon=":material/play_arrow:", type="primary", on_click=_start,
                  args=(page, key, make))
    return was_running


def end(page: Lesson) -> None:
    """Stop this session's jobs in the lesson, and wait until they have ended."""
    for job in _jobs(page).values():
        job.stop()
    for job in _jobs(page).values():
        job.wait(LONGEST_END)


def _start(page: Lesson, key: Hashable, make: Callable[[], Iterator]) -> None:
    """Start a job; a session has one at a time, so its running job is stopped first."""
    end(page)
    job, kept = None if running(page, key) else queue.start(make, presence.of_this_session()), _jobs(page)
    st.session_state[f"{page.id}_full"] = job is None
    if job is not None:
        kept.pop(key, None)
        kept[key] = job
        for old in list(kept)[:-MOST_KEPT]:
            del kept[old]


def follow(page: Lesson, key: Hashable, was_running: bool, draw: Callable[[list], None],
           total: int | None = None) -> None:
    """Draw a job's records. If it `was_running` when its button was drawn, draw again while records come, and run the
    page once more at the end. A job that waits in the line says its place there. total: how many records there will
    be, for the progress bar above.
    """
    job = job_of(page, key)
    was_waiting = job is not None and job.waiting
    if st.session_state.pop(f"{page.id}_full", False):
        st.warning(page.frame_words.label("worker_full", n=queue.MOST_AT_ONCE, waiting=queue.MOST_WAITING))
    if job is not None and job.failed:
        st.error(page.frame_words.label("worker_failed"))

    def picture() -> None:
        ended, records = not running(page, key), records_of(page, key)      # in this order, so that no record is missed
        if was_running and job.waiting:
            before, seconds = job.wait_told
            st.info(page.frame_words.label("worker_waits" if before else "worker_next", n=queue.MOST_AT_ONCE,
                                           before=before, seconds=seconds), icon=":material/hourglass_empty:")
        if was_running and total is not None:
            st.progress(min(1.0, len(records) / total),
                        text=page.frame_words.label("progress", done=len(records), total=total))
        draw(records)
        if was_running and (ended or job.waiting != was_waiting):
            st.rerun()

    # even at rest: a picture in the same place is updated, not drawn a second time
    fragment(picture, run_every=EVERY if was_running else None, key=JOB)()
