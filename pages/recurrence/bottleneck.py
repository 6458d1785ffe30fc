"""Bottleneck: an encoder-decoder with one vector between, against one with attention to all encoder states, both
trained while the reader watches.
"""
import functools

import numpy as np
import streamlit as st

from core.app.frame import Lesson, Question, Reading, job_controls
from core.app.state import Run, reader
from core.figures import lines as figures
from core.figures.numbers import latex_number, latex_operand, readable
from core.learning import memory_tasks
from core.learning.memory_tasks import N_SYMBOLS, WRITERS, Rewriting, RewritingRecord
from pages.recurrence.copy import answers, curves, training_tables, training_title, visible
from pages.recurrence.shared import chart_height, choice, named, seed_field, show_spec, slider

N_STEPS, EVERY = 600, 25
N_RECORDS = 1 + N_STEPS // EVERY


def draw(page: Lesson, run: Run) -> Reading:
    """Draw the instrument and return what it shows."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        order = choice(page, "order")
        longest = slider(page, "longest", 2)
        n_hidden = int(named(page, "hidden"))
        seed = seed_field(page)
        task = Rewriting(order, longest)
        key = ("bottleneck", task, n_hidden, seed)
        running = job_controls.training_controls(
            page, key, "train", lambda: memory_tasks.train_rewriting(task, n_hidden, seed, N_STEPS, EVERY))
    job_controls.follow(page, key, running, lambda records: _picture(page, task, n_hidden, seed, records), N_RECORDS)
    records = job_controls.records_of(page, key)
    last = records[-1] if records else before(task, n_hidden, seed)
    return Reading(_lines(page, task, n_hidden, last), _question(page, last),
                   [memory_tasks.EncoderDecoder, memory_tasks.train_rewriting],
                   training_tables(task.lengths(), records, "length"),
                   ".st-key-recurrence_bottleneck_pictures", _title(page, task, records))


@functools.lru_cache(maxsize=64)
def before(task: Rewriting, n_hidden: int, seed: int) -> RewritingRecord:
    """The record of the untrained pair."""
    return next(memory_tasks.train_rewriting(task, n_hidden, seed))


def _title(page: Lesson, task: Rewriting, records: list[RewritingRecord]) -> str:
    return training_title(page, "bottleneck", records, longest=task.longest)


def _picture(page: Lesson, task: Rewriting, n_hidden: int, seed: int, records: list[RewritingRecord]) -> None:
    st.markdown(f"**{_title(page, task, records)}**")
    last = records[-1] if records else before(task, n_hidden, seed)
    names = {name: page.label(f"writer_{name}") for name in WRITERS}
    with st.container(key="recurrence_bottleneck_pictures"):
        left, right = st.columns([5, 3], gap="medium")
        with left:
            if not reader.present():
                answers(page, [("row_source", last.source), ("row_target", last.target)], names,
                        last.written, last.target)
            curves(page, last.accuracy, task.lengths(), records, names, N_STEPS, page.label("axis_length"),
                   chart_height(60 if reader.present() else 160))
        with right:
            st.caption(page.label("caption_alignment" if last.step else "caption_alignment_before"))
            rows = figures.alignment_rows(np.array(last.alignment), list(map(visible, last.source)),
                                          list(map(visible, last.written["attention"])))
            show_spec("alignment", rows, figures.alignment(page.label("axis_source"), page.label("axis_written"),
                                                           reader.theme(), reader.scale(), chart_height(40)))


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


def _question(page: Lesson, last: RewritingRecord) -> Question:
    """To which place of the source the first written symbol attends most."""
    row, n = last.alignment[0], len(last.alignment[0])
    right = int(np.argmax(row))
    options = sorted([*dict.fromkeys((right, 0, n - 1, n // 2, 1, n - 2))][:4])
    return page.question("bottleneck", [page.label("question_bottleneck_option", place=place + 1,
                                                   symbol=visible(last.source[place])) for place in options],
                         options.index(right), place=right + 1, weight=readable(row[right]))
