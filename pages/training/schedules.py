"""Learning rates: schedules over the steps, those of large models among them, which the live training can use; and
three optimizers on a loss that can be seen.
"""
import math
from dataclasses import replace

import numpy as np
import pandas as pd
import streamlit as st

from core.app.lesson import Lesson, Number, Prediction, Question, Reading, Truth
from core.app.lesson.prediction import guess_of
from core.app.state import Run
from core.figures.lines import Axis
from core.figures.numbers import grouped, latex_number, latex_operand, readable, superscript
from core.learning import schedules
from core.learning.learner import Knobs
from core.learning.schedules import ADAM_OF_OURS, KINDS, Schedule
from core.learning.schedules import Settings as Trained
from pages.training import charts, descent
from pages.training.shared import (
    PREFIX,
    ask,
    attached,
    chart_height,
    choice,
    fraction,
    keep,
    look,
    numeric,
    pick_power,
    read,
    scheduled,
    show_curves,
    show_spec,
    side_by_side,
)

OWN = "own"
N_POINTS, N_KNOWN = 240, 61      # of a curve; of one of the known models
WIDTH, WARMUP = 512, 4000      # of the first Transformer, for its formula in the numbers


def predict(page: Lesson, run: Run) -> Prediction | None:
    """How much of its highest value 1 / √step has left halfway through the run; asked of the reader's own schedule."""
    if read("part") != "schedules" or read("like") != OWN:
        return None

    def truth(_: float) -> Truth:
        left = {kind: readable(100 * replace(scheduled(), kind=kind).share(read("total") // 2), 2) for kind in KINDS}
        return Truth(round(100 * half_left()), values=left)

    return Prediction("schedules", Number(0, 100, unit="%"), truth,
                      {"total": grouped(read("total")), "half": grouped(read("total") // 2),
                       "start": grouped(max(scheduled().start, 1)), "floor": read("floor")})


def half_left() -> float:
    """The share of the peak that 1 / √step has left halfway through the reader's schedule."""
    return replace(scheduled(), kind="inverse_sqrt").share(read("total") // 2)


def draw(page: Lesson, run: Run) -> Reading:
    """Draw the instrument; return what it shows."""
    with side_by_side("center", "medium", key=f"{PREFIX}schedules_controls"):
        part = choice(page, "part")
        if part == "descent":
            choice(page, "surface")
        else:
            _like(page)
    return descent.draw(page) if part == "descent" else _schedules(page, guess_of(page, "schedules", run))


def _like(page: Lesson) -> None:
    """Draw the choice of a model's schedule or the reader's own."""
    known = {row.name: row for row in schedules.table()}
    if read("like") not in known:
        keep(like=OWN)
    st.selectbox(page.label("like"), [OWN, *known],
                 format_func=lambda name: page.label("like_own") if name == OWN else name, width=260,
                 label_visibility="collapsed", **attached("like"))
    if read("like") == OWN:
        choice(page, "schedule")


def trained() -> Trained | None:
    """The picked model of the table; None for the reader's own schedule."""
    return next((row for row in schedules.table() if row.name == read("like")), None)


def _schedules(page: Lesson, guess: float | None) -> Reading:
    row = trained()
    with side_by_side("bottom", "medium"):
        _sliders(page, row)
    schedule = (scheduled() if row is None
                else row.schedule(read("warmup") / 100, read("total")) if row.drawable else None)
    peak = 10 ** read("rate") if row is None else row.rate
    title = _title(page, row, schedule, peak)
    st.markdown(f"**{title}**")
    if row is None:
        marks = {} if guess is None else {guess / 100 * peak: page.frame_words.label("before_mine")}
        _chart(page, {kind: replace(schedule, kind=kind) for kind in KINDS}, schedule.kind, peak, across=marks,
               upright={schedule.total // 2: page.label("rule_halfway")})
    else:
        picture, facts = st.columns([7, 5], gap="medium")
        with picture:
            if schedule is not None:
                _known_chart(page, row)
            else:
                why = "rate" if row.rate is None else row.decay or "decay"
                st.info(page.label("not_drawn", name=row.name, why=page.label(f"not_drawn_{why}")))
        with facts, st.container(key=f"{PREFIX}facts"):
            st.markdown(_facts(page, row))
    return Reading(_lines(page, schedule, peak, row), None if schedule is None else _question(page, schedule),
                   [Schedule.share, Knobs.rate_at],
                   {"schedule.csv": lambda: rates(schedule, peak), "settings.csv": lambda: table(page),
                    "known.csv": lambda: known_rates().set_axis(["model", "percent_of_run", "learning_rate"], axis=1)},
                   f".st-key-{PREFIX}{'facts' if schedule is None else 'schedule'}", title, table(page))


def _sliders(page: Lesson, row: Trained | None) -> None:
    """Draw the sliders: all of the reader's own schedule; for a model only those that the table leaves open."""
    if row is None:
        pick_power(page, "rate", 4, "peak", format_func=lambda power: readable(10 ** power), width=170)
    if row is None or (row.warmup == "yes" and row.start_steps is None and row.drawable):
        numeric(st.slider, page, "warmup", "warmup" if row is None else "warmup_open", format="%d %%",
                width=200 if row is None else 340)
    if row is None:
        numeric(st.slider, page, "total", step=100, width=170)
        numeric(st.slider, page, "floor", format="%d %%", width=150, disabled=read("schedule") == "constant")
    st.button(page.label("train_with"), key=f"{PREFIX}train_with", icon=":material/arrow_forward:",
              disabled=row is not None and not row.drawable, on_click=_train_with, args=(row,),
              help=page.label("train_with_help", total=read("total")))


def _train_with(row: Trained | None) -> None:
    """Callback: use the schedule in the live view. A model's schedule keeps its shape, scaled to the reader's steps,
    and its optimizer if this app has it; the peak is the reader's.
    """
    if row is not None:
        shape = row.schedule(read("warmup") / 100, read("total")).scaled(read("total"))
        keep(schedule=shape.kind, warmup=round(100 * shape.start / shape.total), floor=round(100 * shape.floor),
             optimizer=ADAM_OF_OURS.get(row.optimizer, read("optimizer")))
    keep(view="live")


def _chart(page: Lesson, drawn: dict[str, Schedule], picked: str, peak: float, **rules) -> None:
    total = max(curve.total for curve in drawn.values())
    steps = np.unique(
        np.concatenate([np.linspace(0, total - 1, N_POINTS), np.geomspace(1, total, N_POINTS) - 1]).round())
    lines = {page.label(f"schedule_{kind}"): (steps, peak * np.array([curve.share(int(step)) for step in steps]))
             for kind, curve in drawn.items()}
    show_curves("schedule", lines, ["query" if kind == picked else "excluded" for kind in drawn],
                Axis(page.label("axis_steps"), (0, total), format=",d"),
                Axis(page.label("axis_rate"), (0.0, 1.08 * peak)),
                chart_height(30), solid=page.label(f"schedule_{picked}"), **rules)


def _known_chart(page: Lesson, row: Trained) -> None:
    """Chart the schedule of every model that the table tells enough of, with `row` lit."""
    rows = known_rates()
    least = rows.groupby("name")["y"].last().min()        # a warm-up begins below, which would take half of the picture
    show_spec("schedule", rows, charts.among(
        row.name, Axis(page.label("axis_run"), (0, 100)),
        Axis(page.label("axis_rate"), (0.5 * least, 2 * rows["y"].max()), log=True), look(), chart_height(30)))


def known_rates() -> pd.DataFrame:
    """The learning rates y of the models in the table (line) over x, the percentage of the run that is done, after the
    first step; a warm-up of unknown length has the reader's.
    """
    drawn = [(row, row.schedule(read("warmup") / 100, read("total"))) for row in schedules.table() if row.drawable]
    return pd.DataFrame([(row.name, 100 * step / curve.total, row.rate * curve.share(step)) for row, curve in drawn
                         for step in np.unique(np.linspace(0, curve.total - 1, N_KNOWN).round()).astype(int).tolist()],
                        columns=["name", "x", "y"])


def _title(page: Lesson, row: Trained | None, schedule: Schedule | None, peak: float | None) -> str:
    if row is None:
        return page.label("schedules_title", kind=page.label(f"schedule_{schedule.kind}").capitalize(),
                          peak=readable(peak), start=schedule.start, total=schedule.total,
                          end=readable(peak * schedule.share(schedule.total - 1)))
    if schedule is None:
        return page.label("schedules_title_open", name=row.name)
    steps = "counted" if row.steps else "corpus" if row.least_steps else "unknown"
    return page.label(f"schedules_title_{steps}", name=row.name, kind=page.label(f"schedule_{schedule.kind}"),
                      peak=superscript(peak), total=grouped(schedule.total),
                      tokens=f"{(row.tokens or 0) / 1e9:g}")


def _facts(page: Lesson, row: Trained) -> str:
    """The table's settings of a model, and those it leaves open, a line for each."""
    values = dict(list(zip(page.label("columns_settings").split("|"), _cells(page, row)))[1:])
    unknown = page.label("not_told")
    lines = [f"{name}: **{value}**" for name, value in values.items() if value != unknown]
    if left := ", ".join(name for name, value in values.items() if value == unknown):
        lines.append(page.label("facts_open", names=left))
    return "  \n".join([*lines, page.label("facts_note", source=row.source)])


def _cells(page: Lesson, row: Trained) -> tuple[str, ...]:
    """A model's row of the table, in the order of the label `columns_settings`."""
    decay = (page.label("decay_manual") if row.decay == "manual"
             else page.label(f"schedule_{row.decay}") if row.decay else None)
    if decay and row.floor:
        decay = page.label("decay_to", kind=decay, floor=f"{100 * row.floor:g}")
    values = (row.batch, None if row.rate is None else superscript(row.rate), row.warmup, decay, row.optimizer,
              row.precision, row.weight_decay, row.clip, row.dropout)
    return row.name, *(value if value is not None else page.label("not_told") for value in values)


def table(page: Lesson) -> pd.DataFrame:
    """The training settings of large models, a row for each."""
    return pd.DataFrame([_cells(page, row) for row in schedules.table()],
                        columns=page.label("columns_settings").split("|"))


def rates(schedule: Schedule | None, peak: float | None) -> pd.DataFrame:
    """The learning rate at up to 2000 steps of a schedule."""
    steps = ([] if schedule is None else
             np.unique(np.linspace(0, schedule.total - 1, min(schedule.total, 2000)).round()).astype(int).tolist())
    return pd.DataFrame({"step": steps, "learning_rate": [peak * schedule.share(step) for step in steps]})


def _lines(page: Lesson, schedule: Schedule | None, peak: float | None, row: Trained | None) -> list[tuple[str, str]]:
    lines = []
    if schedule is not None:
        lines.append(_middle(page, schedule, peak))
        if schedule.start > 1 and schedule.rising:
            at = schedule.start // 2
            lines.append((page.label("numbers_warmup", step=at - 1),
                          rf"\eta_{{{at - 1}}} = {latex_operand(peak)} \cdot {fraction(at, schedule.start)} = "
                          f"{latex_number(peak * schedule.share(at - 1))}"))
    if row is not None and row.steps is None and row.least_steps:
        lines.append((page.label("numbers_steps", name=row.name),
                      f"{fraction(f'{row.tokens:.0f}', f'{row.batch_tokens:.0f}')} = "
                      f"{latex_number(row.tokens / row.batch_tokens)}"))
    if row is not None and row.decay == "inverse_sqrt" and row.warmup == "no":
        lines.append((page.label("numbers_flat"), rf"\frac{{1}}{{\sqrt{{s}}}} = {row.rate:g} \iff s = "
                                                  f"{fraction(1, f'{row.rate:g}^2')} = {1 / row.rate ** 2:.0f}"))
    first = latex_number(1 / math.sqrt(WIDTH * WARMUP), 7)
    return lines + [(page.label("numbers_first"),
                     r"\eta_s = d^{-1/2} \min\left(s^{-1/2},\ s \cdot w^{-3/2}\right), \qquad \eta_w = \frac{1}{"
                     rf"\sqrt{{d\,w}}}} = \frac{{1}}{{\sqrt{{{WIDTH} \cdot {WARMUP}}}}} = {first}")]


def _middle(page: Lesson, schedule: Schedule, peak: float) -> tuple[str, str]:
    """The learning rate halfway between the end of the warm-up and the end."""
    step = (schedule.start + schedule.total) // 2
    done = latex_operand((step - schedule.start) / max(schedule.total - schedule.start, 1))
    floor, rest = latex_operand(schedule.floor), latex_operand(1 - schedule.floor)
    if schedule.kind == "constant":
        return page.label("numbers_middle", step=step), rf"\eta_{{{step}}} = {latex_operand(peak)}"
    falling = {"linear": rf" \cdot ({floor} + {rest} \cdot (1 - {done}))",
               "cosine": rf" \cdot \left({floor} + {rest} \cdot \tfrac12 (1 + \cos({done}\,\pi))\right)",
               "inverse_sqrt": rf" \cdot \max\left({floor},\ \sqrt{{{max(schedule.start, 1)} / {step + 1}}}\right)"}
    return (page.label("numbers_middle", step=step),
            rf"\eta_{{{step}}} = {latex_operand(peak)}{falling[schedule.kind]} = "
            f"{latex_number(peak * schedule.share(step))}")


def _question(page: Lesson, schedule: Schedule) -> Question:
    """For how much of the training the rate exceeds half of the peak; the other kinds give the wrong options."""
    shares = {kind: replace(schedule, kind=kind).scaled(1000).above(0.5) / 10 for kind in KINDS}
    return ask(page, "schedule", {*shares.values(), 25.0}, shares[schedule.kind], lambda share: f"{share:g}\u00a0%",
               kind=page.label(f"schedule_{schedule.kind}"),
               **{kind: f"{share:.1f}\u00a0%" for kind, share in shares.items()})
