"""Serial: a recurrent pass, which waits for itself at every token, timed against one parallel pass of attention
on this machine.
"""
import pandas as pd
import streamlit as st

from core.app.frame import Lesson, Question, Reading, job_controls
from core.app.state import Run
from core.figures.lines import Axis
from core.figures.numbers import readable
from core.learning import recurrent_cells
from core.learning.recurrent_cells import Timing
from pages.recurrence.shared import chart_height, named, network_names, show_lines

LENGTHS = (32, 64, 128, 256, 512, 1024, 2048)
RUNNERS = ("rnn", "attention", "generation")


def draw(page: Lesson, run: Run) -> Reading:
    """The instrument; returns what it shows."""
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        d = int(named(page, "width"))
        key = ("serial", d)
        running = job_controls.controls(page, key, "time_it", lambda: recurrent_cells.race(LENGTHS, d))
    job_controls.follow(page, key, running, lambda timings: _picture(page, timings, d), len(LENGTHS))
    timings = job_controls.records_of(page, key)
    title = _title(page, timings)
    return Reading(_lines(page, timings, d), _question(page),
                   [recurrent_cells.race, recurrent_cells.rnn_flops, recurrent_cells.attention_flops],
                   {"times.csv": lambda: _table(timings, d)}, ".st-key-recurrence_serial_pictures", title)


def _title(page: Lesson, timings: list[Timing]) -> str:
    if not timings:
        return page.label("serial_title_before")
    last = timings[-1]
    return page.label("serial_title", n=last.n, rnn=_milliseconds(last.rnn), attention=_milliseconds(last.attention),
                      generation=_milliseconds(last.generation))


def _milliseconds(seconds: float) -> str:
    return f"{readable(1e3 * seconds)} ms"


def _picture(page: Lesson, timings: list[Timing], d: int) -> None:
    st.markdown(f"**{_title(page, timings)}**")
    both, tokens = network_names(page, ("rnn", "attention")), Axis(page.label("axis_tokens"), "log",
                                                                   (LENGTHS[0], LENGTHS[-1]), LENGTHS[::2])
    with st.container(key="recurrence_serial_pictures"):
        times, steps, work = st.columns([5, 4, 4], gap="medium")
        with times:
            st.caption(page.label("caption_times" if timings else "caption_no_times"))
            frame = pd.DataFrame([{"network": name, "x": timing.n, "y": 1e3 * getattr(timing, name)}
                                  for timing in timings for name in RUNNERS], columns=["network", "x", "y"])
            show_lines("times", frame, network_names(page, RUNNERS), tokens, _powers(page.label("axis_times"), -2, 3),
                       chart_height(30), points=True)
        with steps:
            st.caption(page.label("caption_steps"))
            frame = pd.DataFrame([{"network": name, "x": n, "y": 1 if name == "attention" else n} for n in LENGTHS
                                  for name in both])
            show_lines("steps", frame, both, tokens, _powers(page.label("axis_steps"), 0, 4), chart_height(30))
        with work:
            st.caption(page.label("caption_flops"))
            frame = pd.DataFrame([{"network": name, "x": n, "y": flops(n, d)} for n in LENGTHS
                                  for name, flops in (("rnn", recurrent_cells.rnn_flops),
                                                      ("attention", recurrent_cells.attention_flops))])
            show_lines("flops", frame, both, tokens, _powers(page.label("axis_flops"), 5, 10), chart_height(30))


def _powers(title: str, low: int, high: int) -> Axis:
    """A logarithmic axis over the powers of ten from `low` to `high`."""
    return Axis(title, "log", (0.8 * 10.0 ** low, 10.0 ** high), tuple(10.0 ** i for i in range(low, high + 1)))


def _lines(page: Lesson, timings: list[Timing], d: int) -> list[tuple[str, str]]:
    n = timings[-1].n if timings else LENGTHS[-1]
    rnn, attention = recurrent_cells.rnn_flops(n, d), recurrent_cells.attention_flops(n, d)
    lines = [(page.label("numbers_rnn_flops", n=n, d=d), rf"4 N d^2 = 4 \cdot {n} \cdot {d}^2 = {rnn}"),
             (page.label("numbers_attention_flops"),
              rf"6 N d^2 + 4 N^2 d = 6 \cdot {n} \cdot {d}^2 + 4 \cdot {n}^2 \cdot {d} = {attention}"),
             (page.label("numbers_crossing"), rf"4 N^2 d > 6 N d^2 \iff N > \tfrac{{3}}{{2}}\, d = {3 * d // 2}")]
    if timings:
        last = timings[-1]
        lines.append((page.label("numbers_speed", n=n),
                      rf"\frac{{{rnn}}}{{{1e3 * last.rnn:.4f}\ \text{{ms}}}} = {rnn / last.rnn / 1e9:.4f}\ "
                      rf"\text{{GFLOP/s}}, \qquad \frac{{{attention}}}{{{1e3 * last.attention:.4f}\ \text{{ms}}}} = "
                      rf"{attention / last.attention / 1e9:.4f}\ \text{{GFLOP/s}}"))
    return lines


def _question(page: Lesson) -> Question:
    return Question("serial", page.label("question_serial"), [page.label(f"question_serial_{i}") for i in range(4)], 1,
                    page.label("because_serial"))


def _table(timings: list[Timing], d: int) -> pd.DataFrame:
    """What was timed, and what it costs; without times until they were taken."""
    times = {timing.n: timing for timing in timings}
    return pd.DataFrame(
        [{"tokens": n, "rnn_flops": recurrent_cells.rnn_flops(n, d),
          "attention_flops": recurrent_cells.attention_flops(n, d), "rnn_steps": n, "attention_steps": 1}
         | ({f"{name}_ms": 1e3 * getattr(times[n], name) for name in RUNNERS} if n in times else {}) for n in LENGTHS])
