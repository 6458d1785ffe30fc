"""Copy: recall after a delay, learned while one watches by a tanh network, gated cells and one layer of attention of the same size."""
from __future__ import annotations

import functools

import pandas as pd
import streamlit as st

from core import copying
from core.copying import CHANCE, CHANCE_LOSS, N_SYMBOLS, READERS, Recall, RecallRecord
from core.figures import recurrence as figures
from core.figures.numbers import latex_number, readable
from core.ui import state, worker
from core.ui.check import Question
from core.ui.lesson import Lesson
from core.ui.recurrence.reading import MEANINGS, chart_height, network_names, seed_field, show, slider
from core.ui.run import Run
from core.ui.views import Reading

N_STEPS, EVERY = 500, 20
N_RECORDS = 1 + N_STEPS // EVERY
LETTERS = "abcdefgh"


def written(symbol: int) -> str:
    """An id of the task as the picture shows it: a letter, a blank, or a mark ?j."""
    return LETTERS[symbol] if symbol < N_SYMBOLS else "·" if symbol == N_SYMBOLS else f"?{symbol - N_SYMBOLS}"


def draw(page: Lesson, run: Run) -> Reading:
    """The instrument; returns what it shows."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        task = Recall(slider(page, "remembered", 1), slider(page, "delay", 8))
        seed = seed_field(page)
        key = ("copy", task, seed)
        worker.controls(page, key, "train", lambda: copying.train_recall(task, seed, N_STEPS, EVERY))
    worker.follow(page, key, lambda records: _picture(page, task, seed, records), N_RECORDS)
    records = worker.records_of(page, key)
    return Reading(_lines(page, task, records), _question(page, task), [copying.train_recall, copying.attention_reader, copying.RecurrentReader, Recall.batch],
                   {"accuracy.csv": lambda: accuracy_table(task.delays(), records, "delay"), "loss.csv": lambda: loss_table(records)}, ".st-key-recurrence_copy_pictures", _title(page, task, records))


@functools.lru_cache(maxsize=64)
def before(task: Recall, seed: int) -> RecallRecord:
    """The untrained models, measured: what stands there before anything was learned."""
    return next(copying.train_recall(task, seed))


def _title(page: Lesson, task: Recall, records: list[RecallRecord]) -> str:
    if not records or not records[-1].step:
        return page.label("copy_title_before", k=task.n_remembered, delay=task.most_delay)
    last = {name: readable(100 * values[-1]) for name, values in records[-1].accuracy.items()}
    return page.label("copy_title", steps=records[-1].step, seconds=f"{records[-1].seconds:.0f}", delay=task.most_delay, **last)


def _picture(page: Lesson, task: Recall, seed: int, records: list[RecallRecord]) -> None:
    st.markdown(f"**{_title(page, task, records)}**")
    last, names = records[-1] if records else before(task, seed), network_names(page, READERS)
    with st.container(key="recurrence_copy_pictures"):
        show(_answers(page, last), "answers")
        curves(page, last.accuracy, task.delays(), records, names, N_STEPS, page.label("axis_delay"), chart_height(185))


def _answers(page: Lesson, record: RecallRecord):
    """The example as rows: what was read, what was asked for, what each network says."""
    n, k = len(record.inputs), len(record.targets)
    rows, cells = [page.label("row_input"), page.label("row_target")], [[written(i) for i in record.inputs], [""] * (n - k) + [written(i) for i in record.targets]]
    right: list[list[bool | None]] = [[None] * n, [None] * n]
    for name, answers in record.answers.items():
        rows.append(page.label(f"network_{name}"))
        cells.append([""] * (n - k) + [written(i) for i in answers])
        right.append([None] * (n - k) + [a == b for a, b in zip(answers, record.targets)])
    return figures.answers(rows, cells, right, 0, state.theme(), state.scale())


def curves(page: Lesson, accuracy: dict, places: tuple[int, ...], records: list, names: dict[str, str], n_steps: int, axis: str, height: int) -> None:
    """Accuracy by delay or length, as it is now, and the loss as it fell; chance as a line in both."""
    by_place, by_step = st.columns(2, gap="medium")
    with by_place:
        frame = pd.DataFrame([{"network": name, "x": x, "y": y} for name in names for x, y in zip(places, accuracy[name])])
        st.caption(page.label("caption_accuracy"))
        show(figures.lines(frame, names, MEANINGS, axis, page.label("axis_accuracy"), state.theme(), x_domain=(places[0], places[-1]), y_domain=(0, 1), level=(CHANCE, page.label("chance")), percent=True,
                           points=True, scale=state.scale(), height=height), "accuracy")
    with by_step:
        rows = [{"network": name, "x": record.step, "y": record.losses[name]} for record in records if record.step for name in names]
        st.caption(page.label("caption_loss"))
        show(figures.lines(pd.DataFrame(rows, columns=["network", "x", "y"]), names, MEANINGS, page.label("axis_training_steps"), page.label("axis_loss"), state.theme(), x_domain=(0, n_steps),
                           y_domain=(0, 2.5), level=(CHANCE_LOSS, page.label("chance")), scale=state.scale(), height=height), "loss")


def _lines(page: Lesson, task: Recall, records: list[RecallRecord]) -> list[tuple[str, str]]:
    lines = [(page.label("numbers_chance", n=N_SYMBOLS), rf"\frac{{1}}{{{N_SYMBOLS}}} = {latex_number(CHANCE)}, \qquad \ln {N_SYMBOLS} = {latex_number(CHANCE_LOSS)}"),
             (page.label("numbers_bits", k=task.n_remembered), rf"k \log_2 {N_SYMBOLS} = {task.n_remembered} \cdot 3 = {3 * task.n_remembered}\ \text{{bits}}"),
             (page.label("numbers_distance"), rf"T + k = {task.most_delay} + {task.n_remembered} = {task.most_delay + task.n_remembered}")]
    sizes = r", \quad ".join(rf"\text{{{page.label(f'network_{name}')}}}: {n}" for name, n in _sizes(task).items())
    lines.append((page.label("numbers_sizes"), sizes))
    if records and records[-1].step:
        found = r", \quad ".join(rf"\text{{{page.label(f'network_{name}')}}}: {latex_number(sum(values) / len(values))}" for name, values in records[-1].accuracy.items())
        lines.append((page.label("numbers_accuracy", n=copying.N_MEASURED, places=len(task.delays())), found))
    return lines


@functools.lru_cache(maxsize=64)
def _sizes(task: Recall) -> dict[str, int]:
    return {name: copying.n_parameters(model) for name, model in copying.readers(task, 0).items()}


def _question(page: Lesson, task: Recall) -> Question:
    """What a network that has forgotten everything pays a symbol, in nats."""
    options = [0.0, CHANCE_LOSS / task.n_remembered if task.n_remembered > 1 else CHANCE_LOSS / 2, CHANCE_LOSS, CHANCE_LOSS * (task.n_remembered + 1)]
    return Question("copy", page.label("question_copy", k=task.n_remembered, n=N_SYMBOLS), [page.label("question_copy_option", loss=readable(value)) for value in options], 2,
                    page.label("because_copy", n=N_SYMBOLS, loss=readable(CHANCE_LOSS), chance=readable(100 * CHANCE)))


def accuracy_table(places: tuple[int, ...], records: list, name: str) -> pd.DataFrame:
    """Accuracies of every record, place by place."""
    return pd.DataFrame([{"step": record.step, name: place, "network": network, "accuracy": value} for record in records for network, values in record.accuracy.items()
                         for place, value in zip(places, values)], columns=["step", name, "network", "accuracy"])


def loss_table(records: list) -> pd.DataFrame:
    """Mean losses since the record before, in nats."""
    return pd.DataFrame([{"step": record.step, "network": network, "loss": loss, "seconds": record.seconds} for record in records if record.step for network, loss in record.losses.items()],
                        columns=["step", "network", "loss", "seconds"])
