"""Bottleneck: an encoder-decoder with one vector between, against one with attention to all encoder states, both
trained while the reader watches.
"""
import functools
import math
from bisect import bisect

import numpy as np
import streamlit as st

from core.app.lesson import Lesson, Prediction, Question, Reading, Truth, job_controls
from core.app.state import Run, reader
from core.figures.numbers import latex_number, latex_operand, percent, readable
from core.learning import memory_tasks
from core.learning.memory_tasks import N_SYMBOLS, WRITERS, Rewriting, RewritingRecord
from pages.recurrence import charts, recorded
from pages.recurrence.copy import (
    LIMITS,
    answers,
    curves,
    kept_unless_run,
    right_options,
    training_tables,
    training_title,
    visible,
)
from pages.recurrence.shared import chart_height, choice, named, own_seed, read, show_spec, slider

N_STEPS, EVERY = 600, 25
N_RECORDS = 1 + N_STEPS // EVERY
CLEAR = 0.05            # a larger difference of two accuracies is seen as one
NUMBER_BITS = 32        # of a number of the vector


def predict(page: Lesson, run: Run) -> Prediction | None:
    """How many symbols of the longest source are right when one vector has to hold it, in the recorded training."""
    task, n_hidden, seed = Rewriting(read("order"), int(read("longest"))), int(read("hidden")), int(read("seed"))
    kept = recorded.rewriting_run(task, n_hidden, seed)
    if not kept:
        return None

    def truth(_guess: int) -> Truth:
        one, attended = (kept[-1].accuracy[name][-1] for name in WRITERS)
        gap = attended - one
        return Truth(bisect(LIMITS, one), said=percent(one), seen=0 if gap > CLEAR else 2 if gap < -CLEAR else 1,
                     values={"one": readable(task.longest * one), "attention": readable(task.longest * attended)})

    return Prediction("bottleneck", right_options(page), truth,
                      {"n": task.longest, "m": n_hidden, "steps": kept[-1].step,
                       "order": page.label(f"asked_{task.order}")}, (task, n_hidden, seed))


def draw(page: Lesson, run: Run) -> Reading:
    """Draw the instrument and return what it shows."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        order = choice(page, "order")
        longest = slider(page, "longest", 2)
        n_hidden = int(named(page, "hidden"))
        seed = own_seed(page)
        task = Rewriting(order, longest)
        key = ("bottleneck", task, n_hidden, seed)
        kept = kept_unless_run(page, key, recorded.rewriting_run(task, n_hidden, seed))
        running = job_controls.training_controls(
            page, key, "train_here" if kept else "train",
            lambda: memory_tasks.train_rewriting(task, n_hidden, seed, N_STEPS, EVERY))
    job_controls.follow(page, key, running,
                        lambda records: _picture(page, task, n_hidden, seed, kept or records, bool(kept)), N_RECORDS)
    records = kept or job_controls.records_of(page, key)
    last = records[-1] if records else before(task, n_hidden, seed)
    return Reading(_lines(page, task, n_hidden, last), _question(page, task, n_hidden),
                   [memory_tasks.EncoderDecoder, memory_tasks.train_rewriting],
                   training_tables(task.lengths(), records, "length"),
                   ".st-key-recurrence_bottleneck_pictures", _title(page, task, records, bool(kept)))


@functools.lru_cache(maxsize=64)
def before(task: Rewriting, n_hidden: int, seed: int) -> RewritingRecord:
    """The record of the untrained pair."""
    return next(memory_tasks.train_rewriting(task, n_hidden, seed))


def _title(page: Lesson, task: Rewriting, records: list[RewritingRecord], is_recorded: bool) -> str:
    return training_title(page, "bottleneck", records, is_recorded, longest=task.longest)


def _picture(page: Lesson, task: Rewriting, n_hidden: int, seed: int, records: list[RewritingRecord],
             is_recorded: bool) -> None:
    """Draw what both write, and where attention looks."""
    st.markdown(f"**{_title(page, task, records, is_recorded)}**")
    last = records[-1] if records else before(task, n_hidden, seed)
    names = {name: page.label(f"writer_{name}") for name in WRITERS}
    with st.container(key="recurrence_bottleneck_pictures"):
        left, right = st.columns([5, 3], gap="medium")
        with left:
            if not reader.present():
                answers(page, [("row_source", last.source), ("row_target", last.target)], names,
                        last.written, last.target)
            curves(page, last.accuracy, task.lengths(), records, names, N_STEPS, page.label("axis_length"),
                   chart_height(66 if reader.present() else 160))
        with right:
            st.caption(page.label("caption_alignment" if last.step else "caption_alignment_before"))
            rows = charts.alignment_rows(np.array(last.alignment), list(map(visible, last.source)),
                                          list(map(visible, last.written["attention"])))
            show_spec("alignment", rows, charts.alignment(page.label("axis_source"), page.label("axis_written"),
                                                           reader.theme(), reader.scale(),
                                                           chart_height(66 if reader.present() else 40)))


def _lines(page: Lesson, task: Rewriting, n_hidden: int, last: RewritingRecord) -> list[tuple[str, str]]:
    n, row, length = task.longest, last.alignment[0], task.lengths()[-1]
    terms = " + ".join(map(latex_operand, row[:4])) + (r" + \dots" if len(row) > 4 else "")
    right = [rf"{length} \cdot {latex_operand(accuracy)} = {latex_number(length * accuracy)}"
             for accuracy in (last.accuracy[name][-1] for name in ("bottleneck", "attention"))]
    return [
        (page.label("numbers_source_bits", n=n), rf"n \log_2 {N_SYMBOLS} = {n} \cdot 3 = {3 * n}\ \text{{bits}}"),
        (page.label("numbers_vectors", m=n_hidden, n=n),
         rf"m = {n_hidden} \quad\text{{against}}\quad n\, m = {n} \cdot {n_hidden} = {n * n_hidden}"),
        (page.label("numbers_alignment", symbol=visible(last.written["attention"][0])),
         rf"\sum_j \alpha_{{1j}} = {terms} = {latex_number(sum(row))}"),
        (page.label("numbers_right", length=length), r"n \cdot \text{accuracy}:\quad " + r", \qquad ".join(right)),
    ]


def _question(page: Lesson, task: Rewriting, n_hidden: int) -> Question:
    """How many symbols the bits of the one vector could hold."""
    bits = math.log2(N_SYMBOLS)
    room = int(n_hidden * NUMBER_BITS / bits)
    options = sorted({task.longest, n_hidden, n_hidden * NUMBER_BITS, room})
    return page.question("room", [str(option) for option in options], options.index(room), m=n_hidden,
                         bits=NUMBER_BITS, all=n_hidden * NUMBER_BITS, kinds=N_SYMBOLS, each=f"{bits:.0f}", room=room,
                         n=task.longest)
