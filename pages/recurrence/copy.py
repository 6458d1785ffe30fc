"""Copy: recall after a delay, learned while the reader watches by a tanh network, gated cells and one layer of
attention of the same size.
"""
import functools
import math
from bisect import bisect
from collections.abc import Callable, Hashable, Mapping, Sequence

import numpy as np
import pandas as pd
import streamlit as st

from core.app.lesson import Lesson, Options, Prediction, Question, Reading, Truth, job_controls
from core.app.state import Run, reader
from core.figures.lines import Axis
from core.figures.numbers import latex_number, percent, readable
from core.learning import memory_tasks
from core.learning.memory_tasks import CHANCE, CHANCE_LOSS, N_SYMBOLS, READERS, Recall, RecallRecord
from pages.recurrence import charts, recorded
from pages.recurrence.shared import (
    chart_height,
    line_frame,
    network_names,
    own_seed,
    read,
    show_lines,
    show_spec,
    slider,
    whole,
)

ASKED = "rnn"           # the network of the question before the picture
LIMITS = (2 * CHANCE, 0.5, 0.9)        # shares of right answers between the options of the questions
N_STEPS, EVERY = 500, 20
N_RECORDS = 1 + N_STEPS // EVERY
LETTERS = "abcdefgh"
MOST_BLANKS = 10        # blanks drawn one by one


def visible(symbol: int) -> str:
    """The text of a token id: a letter, a blank, or a mark ?j."""
    return LETTERS[symbol] if symbol < N_SYMBOLS else "·" if symbol == N_SYMBOLS else f"?{symbol - N_SYMBOLS}"


def shortened(inputs: tuple[int, ...]) -> list[str]:
    """The cells of a sequence; of more than MOST_BLANKS blanks, those in the middle are only counted.

    >>> shortened((0, *[8] * 20, 9))
    ['a', '·', '·', '·', '·', '·', '…', '10', '…', '·', '·', '·', '·', '·', '?1']
    """
    symbols, n = list(map(visible, inputs)), inputs.count(N_SYMBOLS)
    if n <= MOST_BLANKS:
        return symbols
    start = inputs.index(N_SYMBOLS) + MOST_BLANKS // 2
    hidden = n - MOST_BLANKS // 2 * 2
    return [*symbols[:start], "…", str(hidden), "…", *symbols[start + hidden:]]


def predict(page: Lesson, run: Run) -> Prediction | None:
    """How often one of the networks is right over the longest delay, at the end of the recorded training."""
    task, seed = Recall(int(read("remembered")), int(read("delay"))), int(read("seed"))
    kept = recorded.recall_run(task, seed)
    if not kept:
        return None

    def truth(_guess: int) -> Truth:
        line, attended = (kept[-1].accuracy[name] for name in (ASKED, "attention"))
        seen = 0 if max(line) < 2 * CHANCE else 1 if line[0] - line[-1] > CHANCE else 2
        return Truth(bisect(LIMITS, line[-1]), said=percent(line[-1]), seen=seen,
                     values={"right": percent(line[-1]), "attention": percent(attended[-1])})

    return Prediction("copy", right_options(page), truth,
                      {"k": task.n_remembered, "delay": task.most_delay, "steps": kept[-1].step,
                       "chance": percent(CHANCE)}, (task, seed))


def right_options(page: Lesson) -> Options:
    """How many answers may be right: as many as by chance, or more, up to nearly all."""
    return Options([page.label(f"right_{i}") for i in range(len(LIMITS) + 1)])


def draw(page: Lesson, run: Run) -> Reading:
    """Draw the instrument and return what it shows."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        task = Recall(slider(page, "remembered", 1), slider(page, "delay", 8))
        seed = own_seed(page)
        key = ("copy", task, seed)
        kept = kept_unless_run(page, key, recorded.recall_run(task, seed))
        running = job_controls.training_controls(page, key, "train_here" if kept else "train",
                                                 lambda: memory_tasks.train_recall(task, seed, N_STEPS, EVERY))
    job_controls.follow(page, key, running,
                        lambda records: _picture(page, task, seed, kept or records, bool(kept)), N_RECORDS)
    records = kept or job_controls.records_of(page, key)
    return Reading(
        _lines(page, task, records), _question(page, task),
        [memory_tasks.train_recall, memory_tasks.attention_reader, memory_tasks.RecurrentReader, Recall.batch],
        training_tables(task.delays(), records, "delay"),
        ".st-key-recurrence_copy_pictures", _title(page, task, records, bool(kept)))


def kept_unless_run(page: Lesson, key: Hashable, kept: Sequence) -> list:
    """The records of a recorded training; empty once the reader has started one with these settings."""
    return [] if job_controls.job_of(page, key) is not None else [*kept]


@functools.lru_cache(maxsize=64)
def before(task: Recall, seed: int) -> RecallRecord:
    """The record of the untrained models."""
    return next(memory_tasks.train_recall(task, seed))


def _title(page: Lesson, task: Recall, records: list[RecallRecord], is_recorded: bool) -> str:
    return training_title(page, "copy", records, is_recorded, k=task.n_remembered, delay=task.most_delay)


def training_title(page: Lesson, name: str, records: list, is_recorded: bool, **values) -> str:
    """The accuracy of the networks at the longest delay or length, or, before any training, a note on the task."""
    if not records or not records[-1].step:
        return page.label(f"{name}_title_before", **values)
    last, mark = records[-1], f"{page.label('recorded')} " * is_recorded
    right = {network: percent(accuracy[-1]) for network, accuracy in last.accuracy.items()}
    return mark + page.label(f"{name}_title", steps=last.step, seconds=f"{last.seconds:.0f}", **values, **right)


def _picture(page: Lesson, task: Recall, seed: int, records: list[RecallRecord],
             is_recorded: bool) -> None:
    """Draw the task, the answers and the curves."""
    st.markdown(f"**{_title(page, task, records, is_recorded)}**")
    last, names = records[-1] if records else before(task, seed), network_names(page, READERS)
    with st.container(key="recurrence_copy_pictures"):
        if not reader.present():
            _sequence(page, last)
        beside, rest = st.columns([2, 9], gap="medium")
        with beside:
            st.caption(page.label("caption_answers"))
            answers(page, [("row_target", last.targets)], names, last.answers, last.targets)
        with rest:
            curves(page, last.accuracy, task.delays(), records, names, N_STEPS, page.label("axis_delay"),
                   chart_height(72 if reader.present() else 120))


def _sequence(page: Lesson, record: RecallRecord) -> None:
    """Draw the input as a row of symbols, blanks and marks."""
    row, symbols = page.label("row_input"), shortened(record.inputs)
    show_spec("input", charts.answer_rows([row], [symbols], [[None] * len(symbols)]),
              charts.answers([row], reader.theme(), reader.scale()))


def answers(page: Lesson, given: list[tuple[str, tuple[int, ...]]], names: dict[str, str],
            outputs: dict[str, tuple[int, ...]], targets: tuple[int, ...]) -> None:
    """Draw the rows of the example: the given ones, then the output of each network, marked right or wrong."""
    rows = [*(page.label(name) for name, _ in given), *(names[name] for name in outputs)]
    cells = [[*map(visible, symbols)] for symbols in (*dict(given).values(), *outputs.values())]
    right = [*[[None] * len(targets) for _ in given],
             *([a == b for a, b in zip(symbols, targets)] for symbols in outputs.values())]
    show_spec("answers", charts.answer_rows(rows, cells, right), charts.answers(rows, reader.theme(), reader.scale()))


def curves(page: Lesson, accuracy: dict, places: tuple[int, ...], records: list, names: dict[str, str], n_steps: int,
           axis: str, height: int) -> None:
    """Chart the current accuracy over the delay or length, and the loss over the steps, both with a line at chance."""
    by_place, by_step = st.columns(2, gap="medium")
    with by_place:
        st.caption(page.label("caption_accuracy"))
        frame = line_frame((name, x, y) for name in names for x, y in zip(places, accuracy[name]))
        show_lines("accuracy", frame, names, whole(axis, (places[0], places[-1])),
                   Axis(page.label("axis_accuracy"), (0, 1), format="%", tip=".1%"), height,
                   level=(CHANCE, page.label("chance")), points=True)
    with by_step:
        st.caption(page.label("caption_loss"))
        frame = line_frame((name, record.step, record.losses[name]) for record in records if record.step
                           for name in names)
        most = max([2.5, *(1.05 * frame["y"])])
        show_lines("loss", frame, names, whole(page.label("axis_training_steps"), (0, n_steps)),
                   Axis(page.label("axis_loss"), (0, most), format=""), height,
                   level=(CHANCE_LOSS, page.label("chance")), named=False)


def _lines(page: Lesson, task: Recall, records: list[RecallRecord]) -> list[tuple[str, str]]:
    lines = [(page.label("numbers_chance", n=N_SYMBOLS), rf"\frac{{1}}{{{N_SYMBOLS}}} = {latex_number(CHANCE)}, \qquad "
                                                         rf"\ln {N_SYMBOLS} = {latex_number(CHANCE_LOSS)}"),
             (page.label("numbers_bits", k=task.n_remembered),
              rf"k \log_2 {N_SYMBOLS} = {task.n_remembered} \cdot 3 = {3 * task.n_remembered}\ \text{{bits}}"),
             (page.label("numbers_distance"),
              rf"T + k = {task.most_delay} + {task.n_remembered} = {task.most_delay + task.n_remembered}"),
             (page.label("numbers_waits"),
              rf"T + 2k = {task.most_delay} + 2 \cdot {task.n_remembered} = {task.n_context}, \qquad 1")]
    lines.append((page.label("numbers_sizes"), _by_network(page, _sizes(task))))
    if records and records[-1].step:
        means = {name: latex_number(np.mean(values)) for name, values in records[-1].accuracy.items()}
        lines.append((page.label("numbers_accuracy", n=memory_tasks.N_MEASURED, places=len(task.delays())),
                      _by_network(page, means)))
    return lines


def _by_network(page: Lesson, values: Mapping[str, object]) -> str:
    return r", \quad ".join(rf"\text{{{page.label(f'network_{name}')}}}: {value}" for name, value in values.items())


@functools.lru_cache(maxsize=64)
def _sizes(task: Recall) -> dict[str, int]:
    return {name: memory_tasks.n_parameters(model) for name, model in memory_tasks.readers(task, 0).items()}


def _question(page: Lesson, task: Recall) -> Question:
    """The loss, in nats per symbol, of a network that has forgotten everything, with twice as many sorts of symbols."""
    n = 2 * N_SYMBOLS
    chance = math.log(n)
    options = [CHANCE_LOSS / 2, CHANCE_LOSS, chance, 2 * CHANCE_LOSS]
    return page.question("copy", [page.label("question_copy_option", loss=readable(value)) for value in options], 2,
                         k=task.n_remembered, n=n, before=N_SYMBOLS, loss=readable(chance), share=percent(1 / n, 2))


def training_tables(places: tuple[int, ...], records: list, name: str) -> dict[str, Callable[[], pd.DataFrame]]:
    """The downloads of a training. name: of the column of delays or lengths."""
    return {"accuracy.csv": lambda: accuracy_table(places, records, name), "loss.csv": lambda: loss_table(records)}


def accuracy_table(places: tuple[int, ...], records: list, name: str) -> pd.DataFrame:
    """The accuracies in every record by delay or length."""
    rows = [(record.step, place, network, value) for record in records for network, values in record.accuracy.items()
            for place, value in zip(places, values)]
    return pd.DataFrame(rows, columns=["step", name, "network", "accuracy"])


def loss_table(records: list) -> pd.DataFrame:
    """The mean losses since the previous record, in nats."""
    rows = [(record.step, network, loss, record.seconds) for record in records if record.step
            for network, loss in record.losses.items()]
    return pd.DataFrame(rows, columns=["step", "network", "loss", "seconds"])
