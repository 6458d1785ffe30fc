"""Results that grow on a thread while pages show them: shared by readers, stopped when the last turns away, kept once
whole.
"""
from __future__ import annotations

import threading

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from core.app.compute import growing_results, queue
from core.app.compute.growing_results import Part
from core.base import prose
from tests.benchmarks.reader import GROWS, Answer, Reader, key_of, query_of
from tests.browser.serving import serve
from tests.helpers.coroutines import finished
from tests.helpers.lessons import fine

pytestmark = pytest.mark.long

gates: list[threading.Event] = []
begun: list[int] = []
broken = False


def steps():
    """Three parts, each after the first behind a gate."""
    begun.append(len(begun))
    if broken:
        raise RuntimeError("broken")
    for done, gate in enumerate(gates, 1):
        gate.wait(30)
        yield Part("abc"[:done], done, len(gates))


def script():
    import streamlit as st

    from core.app.compute import growing_results
    from core.base import prose
    from tests.core.app.compute import test_growing_results

    place = st.container()
    with growing_results.frame() as frame:
        st.write("controls")
        value, whole = growing_results.growing("the key", test_growing_results.steps, len, "{done} of {total} letters")
        st.write(f"{value} {whole}")
    growing_results.follow(frame, place, prose.load("app"))


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch, empty_caches: None):
    global broken
    broken = False
    begun.clear()
    gates[:] = [threading.Event() for _ in range(3)]
    monkeypatch.setattr(growing_results, "PATIENCE", 0.3)
    monkeypatch.setattr(growing_results, "_running", {})        # of another test's readers
    yield
    for gate in gates:
        gate.set()


def page() -> AppTest:
    return AppTest.from_function(script, default_timeout=600).run()


def said(at: AppTest) -> list[str]:
    return [element.value for element in at.markdown]


def job_of(at: AppTest) -> queue.Job:
    return at.session_state[growing_results.JOBS]["the key"].job


def test_what_grows_is_shared_and_is_stopped_when_the_last_reader_turns_away():
    words = prose.load("app")
    nothing = page()
    assert said(nothing) == ["controls"], "the view is left where there is nothing yet"
    assert nothing.button(key="working_stop").label == words.label("working_stop")
    gates[0].set()
    job = job_of(nothing)
    while not job.records:
        job.wait(0.05)
    one, other = nothing.run(), page()
    assert said(one) == said(other) == ["controls", "a False"] and len(begun) == 1 and job_of(other) is job
    one.button(key="working_stop").click().run()
    assert (job.running and one.button(key="working_again")
            and words.label("working_stopped", said="1 of 3 letters") in [caption.value for caption in one.caption])
    other.button(key="working_stop").click().run()
    gates[1].set()
    job.wait(30)
    assert job.stopped and said(other.run()) == ["controls", "ab False"], "what it has made stays"
    gates[2].set()
    one.session_state[growing_results.GROWS] = 1.0          # as the browser's first question leaves it
    one.button(key="working_again").click().run()
    for shared in one.session_state[growing_results.JOBS].values():
        shared.job.wait(30)
    assert (said(one.run()) == ["controls", "abc True"] and len(begun) == 2
            and one.session_state[growing_results.GROWS] is None and not one.button)
    assert said(page()) == ["controls", "abc True"] and len(begun) == 2, "it is kept for all"


def test_what_fails_is_raised_in_the_page_and_tried_again():
    global broken
    broken = True
    at = page()
    assert len(at.exception) == 1
    broken = False
    for gate in gates:
        gate.set()
    at.run()
    assert fine(at) and said(at)[-1] == "abc True" and len(begun) == 2


def ends_after_look(nth: int, monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Let a job end right after the nth time that a page asks whether it runs; what the page was told each time."""
    told, here, running = [], threading.current_thread(), queue.Job.running.fget

    def asked(job: queue.Job) -> bool:
        runs = running(job)
        if threading.current_thread().name != queue.NAME and threading.current_thread() is not here:
            told.append(runs)
            if len(told) == nth:
                for gate in gates:
                    gate.set()
                while running(job):
                    job.wait(0.01)
        return runs

    monkeypatch.setattr(queue.Job, "running", property(asked))
    return told


@pytest.mark.parametrize("parts", [0, 1], ids=["nothing yet", "a part"])
@pytest.mark.parametrize("nth", range(1, 7))
def test_a_job_that_ends_between_two_looks_is_drawn_whole_or_drawn_again(nth, parts, monkeypatch):
    followed, fragment = [], st.fragment

    def noted(draw, *, run_every=None, **others):
        followed.append(run_every)
        return fragment(draw, run_every=run_every, **others)

    monkeypatch.setattr(st, "fragment", noted)
    for gate in gates[:parts]:
        gate.set()
    told = ends_after_look(nth, monkeypatch)
    at = page()
    words = prose.load("app")
    assert fine(at) and told[:1] == [True]
    assert words.label("working_again") not in [button.label for button in at.button], "nobody has stopped it"
    if len(told) >= nth and not at.button:
        assert said(at)[-1] == "abc True"
    else:
        assert at.button(key="working_stop") and any(followed), "what is unfinished is drawn again"
    for gate in gates:
        gate.set()
    for shared in at.session_state[growing_results.JOBS].values():
        shared.job.wait(30)
    assert said(at.run()) == ["controls", "abc True"] and not at.button


def test_without_a_view_a_result_is_simply_computed():
    for gate in gates:
        gate.set()
    assert (growing_results.growing("another key", steps, len) == ("abc", True)
            and growing_results.made("a third", lambda: [1], len) == [1])


def test_those_that_wait_have_places_of_their_own_and_can_be_stopped_meanwhile():
    def wait():
        gates[0].wait(30)
        yield 1

    held = [queue.queue(wait) for _ in range(queue.MOST_QUEUED)]
    more = queue.queue(wait)
    more.stop()
    more.wait(30)
    assert (more.stopped and not more.records and all(job.running for job in held)
            and queue.in_line() == (0, 0)), "the places of what readers start are free"
    gates[0].set()
    for job in held:
        job.wait(30)
    assert all(job.records == [1] and not job.stopped for job in held)


class Counting(Reader):
    """Keeps what came with every run, and whether its page still says that it is not whole."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.came: list[tuple[int, bool]] = []
        self._before = 0

    def _end(self, status: int) -> None:
        super()._end(status)
        self.came.append((self.received - self._before, bool(self.find(lambda shown: key_of(shown) == GROWS))))
        self._before = self.received


async def long_wait(url: str) -> tuple[Answer, list[tuple[int, bool]], bool]:
    async with Counting(url) as reader:
        answer = await reader.open("limits", query_of(limits_view="meaning", limits_n="80"))
        return answer, reader.came, reader.has_picture("limits_shares")


def test_while_there_is_nothing_to_show_only_how_far_it_is_is_drawn_again():
    with serve() as server:
        answer, came, has_picture = finished(long_wait(server.url))
    waiting = [size for size, grows in came if grows]
    assert not answer.error and has_picture and not came[-1][1]
    *progress, below = sorted(waiting[1:])
    assert len(progress) > 2 and waiting[0] > 20_000 and max(progress) < 4_000 and below < 14_000, (
        "the whole page, once what is said below it, then its progress")
