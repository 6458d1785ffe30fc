"""Serial: the losses of a text waited for, step by step; and a recurrent pass, token after token, timed against one
parallel pass of attention on this machine.
"""
from bisect import bisect

import pandas as pd
import streamlit as st

from core.app.lesson import Lesson, Options, Prediction, Question, Reading, Truth, job_controls
from core.app.state import Run
from core.cost import sequence_work
from core.figures.lines import Axis
from core.figures.numbers import grouped, readable
from core.figures.style import POWER_OF_TEN
from core.learning import recurrent_cells
from core.learning.recurrent_cells import Timing
from pages.recurrence import recorded, waiting
from pages.recurrence.shared import chart_height, choice, line_frame, named, network_names, read, show_lines

LENGTHS = (32, 64, 128, 256, 512, 1024, 2048)
WORK = {"rnn": sequence_work.recurrent, "attention": sequence_work.attention, "pairs": sequence_work.attention_pairs}
ORDERED = "rnn", "attention"    # rows with a count of the steps
RUNNERS = ("rnn", "attention", "generation")
TIMES = (-2, 4)                 # powers of ten of the axis, in milliseconds
LIMITS = (0.2, 0.8, 1.25)       # of attention's time over the recurrent one, between the options of the question
PIECES = 8                      # into which the question cuts the text


def predict(page: Lesson, run: Run) -> Prediction | None:
    """Whether one pass of attention takes less time in the recorded run than the recurrent network, or more; not asked
    where losses are waited for.
    """
    if _waits(run):
        return None
    d = int(read("width"))
    timings = recorded.race(d)
    if not timings or job_controls.job_of(page, ("serial", d)) is not None:
        return None
    last = timings[-1]

    def truth(_guess: int) -> Truth:
        slower = [timing.attention > timing.rnn for timing in timings]
        seen = 0 if slower[-1] and not slower[0] else 2 if all(slower) else 1
        said = _milliseconds(last.attention)
        return Truth(bisect(LIMITS, last.attention / last.rnn), said=said, seen=seen, values={"attention": said})

    return Prediction("serial", Options([page.label(f"takes_{i}") for i in range(len(LIMITS) + 1)]), truth,
                      {"n": grouped(last.n), "d": d, "rnn": _milliseconds(last.rnn)}, d)


def _waits(run: Run) -> bool:
    return read("race") == "losses" and waiting.is_for(run)


def draw(page: Lesson, run: Run) -> Reading:
    """Draw the instrument and return what it shows."""
    if not _waits(run):
        return _times(page, run)
    choice(page, "race")
    return waiting.draw(page, run)


def _times(page: Lesson, run: Run) -> Reading:
    """The charts of what was timed and counted."""
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        if waiting.is_for(run):
            choice(page, "race")
        d = int(named(page, "width"))
        key = ("serial", d)
        running = job_controls.controls(page, key, "time_it", lambda: recurrent_cells.race(LENGTHS, d))
    is_own = job_controls.job_of(page, key) is not None

    def shown(records: list[Timing]) -> list[Timing]:
        return records if is_own else [*recorded.race(d)]

    job_controls.follow(page, key, running, lambda records: _picture(page, shown(records), d, is_own),
                        len(LENGTHS))
    timings = shown(job_controls.records_of(page, key))
    return Reading(_lines(page, timings, d), _question(page),
                   [recurrent_cells.race, sequence_work.recurrent, sequence_work.attention],
                   {"times.csv": lambda: _table(timings, d)}, ".st-key-recurrence_serial_pictures",
                   _title(page, timings, is_own))


def _title(page: Lesson, timings: list[Timing], is_own: bool) -> str:
    if not timings:
        return page.label("serial_title_before")
    last = timings[-1]
    return page.label("serial_title" if is_own else "serial_title_recorded", n=grouped(last.n),
                      **{name: _milliseconds(getattr(last, name)) for name in RUNNERS})


def _milliseconds(seconds: float) -> str:
    return f"{readable(1e3 * seconds)} ms"


def _picture(page: Lesson, timings: list[Timing], d: int, is_own: bool) -> None:
    """Draw times, steps and work by length."""
    st.markdown(f"**{_title(page, timings, is_own)}**")
    plain = {"rnn": page.label("network_recurrent")}
    runners, both, counted = (network_names(page, names) | plain for names in (RUNNERS, ORDERED, WORK))
    charts = [("times", runners, [(name, timing.n, 1e3 * getattr(timing, name)) for timing in timings
                                  for name in RUNNERS], TIMES),
              ("steps", both, [(name, n, 1 if name == "attention" else n) for n in LENGTHS for name in both], (0, 4)),
              ("flops", counted, [(name, n, flops(n, d)) for n in LENGTHS for name, flops in WORK.items()], (5, 10))]
    tokens = Axis(page.label("axis_tokens"), (LENGTHS[0], LENGTHS[-1]), log=True, tip=",d",
                  labels={"values": LENGTHS[::2], "format": ",d"})
    with st.container(key="recurrence_serial_pictures"):
        for column, (name, names, points, powers) in zip(st.columns([5, 4, 4], gap="medium"), charts):
            with column:
                st.caption(page.label(f"caption_{name}" if points else f"caption_no_{name}"))
                show_lines(name, line_frame(points), names, tokens, _powers(page.label(f"axis_{name}"), *powers),
                           chart_height(36), points=name == "times")


def _powers(title: str, low: int, high: int) -> Axis:
    """A logarithmic axis over the powers of ten from `low` to `high`."""
    return Axis(title, (0.8 * 10.0 ** low, 10.0 ** high), log=True,
                labels={"values": [10.0 ** i for i in range(low, high + 1)], "labelExpr": POWER_OF_TEN})


def _lines(page: Lesson, timings: list[Timing], d: int) -> list[tuple[str, str]]:
    n = timings[-1].n if timings else LENGTHS[-1]
    rnn, attention, pairs = (flops(n, d) for flops in WORK.values())
    lines = [(page.label("numbers_rnn_flops", n=n, d=d), rf"4 N d^2 = 4 \cdot {n} \cdot {d}^2 = {rnn}"),
             (page.label("numbers_attention_flops"),
              rf"6 N d^2 + 4 N^2 d = 6 \cdot {n} \cdot {d}^2 + 4 \cdot {n}^2 \cdot {d} = {attention}"),
             (page.label("numbers_pairs"),
              rf"4 N^2 d = 4 \cdot {n}^2 \cdot {d} = {pairs}, \qquad 4 N^2 d > 4 N d^2 \iff N > d = {d}"),
             (page.label("numbers_crossing"), rf"4 N^2 d > 6 N d^2 \iff N > \tfrac{{3}}{{2}}\, d = {3 * d // 2}")]
    if timings:
        speeds = [rf"\frac{{{flops}}}{{{1e3 * seconds:.4f}\ \text{{ms}}}} = {flops / seconds / 1e9:.4f}\ "
                  r"\text{GFLOP/s}"
                  for flops, seconds in ((rnn, timings[-1].rnn), (attention, timings[-1].attention))]
        lines.append((page.label("numbers_speed", n=n), r", \qquad ".join(speeds)))
    return lines


def _question(page: Lesson) -> Question:
    """Ask how much of attention's N² work is left when the text is cut into pieces."""
    n = LENGTHS[-1]
    return page.question("pieces", [page.label(f"question_pieces_{i}") for i in range(4)], 1,
                         n=grouped(n), pieces=PIECES, each=n // PIECES)


def _table(timings: list[Timing], d: int) -> pd.DataFrame:
    """Operations and steps by length, with the times if they were measured."""
    times = {timing.n: timing for timing in timings}
    return pd.DataFrame(
        [{"tokens": n} | {f"{name}_flops": flops(n, d) for name, flops in WORK.items()}
         | {"rnn_steps": n, "attention_steps": 1}
         | ({f"{name}_ms": 1e3 * getattr(times[n], name) for name in RUNNERS} if n in times else {}) for n in LENGTHS])
