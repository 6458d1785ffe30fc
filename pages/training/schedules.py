"""Learning rates: schedules drawn over the steps, those of large models among them, and taken along into the live run;
and three optimizers on a loss that can be seen.
"""
import math

import numpy as np
import pandas as pd
import streamlit as st

from core.app.base.markdown import unmarked
from core.app.frame import Lesson, Question, Reading
from core.app.state import Run, reader
from core.figures.numbers import latex_number, latex_operand, readable, superscript
from core.learning import schedules
from core.learning.learner import Knobs
from core.learning.schedules import ADAM_OF_OURS, KINDS, Schedule
from core.learning.schedules import Settings as Trained
from pages.training import descent
from pages.training import optimisation_charts as figures
from pages.training.optimisation_charts import Axis
from pages.training.shared import PREFIX, attached, chart_height, choice, keep, read, scheduled, show_spec

OWN = "own"
N_POINTS = 240          # of a curve
WIDTH, WARMUP = 512, 4000      # of the first Transformer, whose formula stands in the numbers


def draw(page: Lesson, run: Run) -> Reading:
    """The instrument; returns what it shows."""
    with st.container(horizontal=True, vertical_alignment="center", gap="medium", key=f"{PREFIX}schedules_controls"):
        part = choice(page, "part")
        if part == "descent":
            choice(page, "surface")
        else:
            _like(page)
    return descent.draw(page) if part == "descent" else _schedules(page)


def _like(page: Lesson) -> None:
    """Whose schedule it is."""
    known = {row.name: row for row in schedules.table()}
    if read("like") not in known:
        keep(like=OWN)
    st.selectbox(page.label("like"), [OWN, *known],
                 format_func=lambda name: page.label("like_own") if name == OWN else name, width=260,
                 label_visibility="collapsed", **attached("like"))
    if read("like") == OWN:
        choice(page, "schedule")


def trained() -> Trained | None:
    """The model of the table that was picked; None where the reader sets it all."""
    return next((row for row in schedules.table() if row.name == read("like")), None)


def _schedules(page: Lesson) -> Reading:
    row = trained()
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        _sliders(page, row)
    shown = scheduled() if row is None else row.schedule(read("warmup") / 100, read("total")) if row.drawable else None
    peak = 10 ** read("rate") if row is None else row.rate
    title = _title(page, row, shown, peak)
    st.markdown(f"**{title}**")
    if row is None:
        _chart(page, {kind: Schedule(kind, shown.start, shown.total, shown.floor) for kind in KINDS}, shown.kind,
               peak, chart_height(30))
    else:
        picture, facts = st.columns([7, 5], gap="medium")
        with picture:
            if shown is not None:
                _chart(page, {shown.kind: shown}, shown.kind, peak, chart_height(30))
            else:
                st.info(page.label("not_drawn",
                                   name=row.name, why=page.label("not_drawn_rate" if row.rate is None
                                                                 else f"not_drawn_{row.decay or 'decay'}")))
        with facts, st.container(key=f"{PREFIX}facts"):
            st.markdown(_facts(page, row))
    return Reading(_lines(page, shown, peak, row), None if shown is None else _question(page, shown),
                   [Schedule.share, Knobs.rate_at],
                   {"schedule.csv": lambda: rates(shown, peak), "settings.csv": lambda: table(page)},
                   f".st-key-{PREFIX}schedule" if shown is not None else f".st-key-{PREFIX}facts", title, table(page),
                   summary={page.label("view_schedules"): unmarked(title)})


def _sliders(page: Lesson, row: Trained | None) -> None:
    """What can be turned: all of one's own schedule; of a model's only what the table leaves open."""
    if row is None:
        low, high = -20, 2
        keep(rate=round(4 * read("rate")) / 4)
        st.select_slider(page.label("peak"), [quarter / 4 for quarter in range(low, high + 1)],
                         format_func=lambda power: readable(10 ** power, 2), width=170, **attached("rate"))
    if row is None or (row.warmup == "yes" and row.start_steps is None and row.drawable):
        st.slider(page.label("warmup" if row is None else "warmup_open"), 0, 50, format="%d %%", width=200,
                  **attached("warmup"))
    if row is None:
        st.slider(page.label("total"), 100, 20_000, step=100, width=170, **attached("total"))
        st.slider(page.label("floor"), 0, 100, format="%d %%", width=150, disabled=read("schedule") == "constant",
                  **attached("floor"))
    st.button(page.label("train_with"), key=f"{PREFIX}train_with", icon=":material/arrow_forward:",
              disabled=row is not None and not row.drawable, on_click=_train_with, args=(row,),
              help=page.label("train_with_help", total=read("total")))


def _train_with(row: Trained | None) -> None:
    """Takes the schedule along into the live view: of a model's its shape, scaled to the reader's steps, and its
    optimizer where this app has it; the peak is the reader's.
    """
    if row is not None:
        shape = row.schedule(read("warmup") / 100, read("total")).scaled(read("total"))
        keep(schedule=shape.kind, warmup=round(100 * shape.start / shape.total), floor=round(100 * shape.floor),
             optimizer=ADAM_OF_OURS.get(row.optimizer, read("optimizer")))
    keep(view="live")


def _chart(page: Lesson, drawn: dict[str, Schedule], picked: str, peak: float, height: int) -> None:
    total = max(schedule.total for schedule in drawn.values())
    steps = np.unique(
        np.concatenate([np.linspace(0, total - 1, N_POINTS), np.geomspace(1, total, N_POINTS) - 1]).round())
    found = {page.label(f"schedule_{kind}"): (steps, peak * np.array([schedule.share(int(step)) for step in steps]))
             for kind, schedule in drawn.items()}
    y = Axis(page.label("axis_rate"), (0.0, 1.08 * peak), format="~g" if peak >= 1e-3 else "~e")
    meanings = ["query" if kind == picked else "excluded" for kind in drawn]
    spec = figures.curves(list(found), meanings, Axis(page.label("axis_steps"), (0, total), format=",d"), y,
                          reader.theme(), solid=page.label(f"schedule_{picked}"), scale=reader.scale(), height=height)
    show_spec("schedule", figures.curve_rows(found, y, height, reader.scale()), spec)


def _title(page: Lesson, row: Trained | None, shown: Schedule | None, peak: float | None) -> str:
    if row is None:
        return page.label("schedules_title", kind=page.label(f"schedule_{shown.kind}").capitalize(),
                          peak=readable(peak), start=shown.start, total=shown.total,
                          end=readable(peak * shown.share(shown.total - 1)))
    if shown is None:
        return page.label("schedules_title_open", name=row.name)
    steps = "counted" if row.steps else "corpus" if row.least_steps else "unknown"
    return page.label(f"schedules_title_{steps}", name=row.name, kind=page.label(f"schedule_{shown.kind}"),
                      peak=superscript(peak), total=f"{shown.total:,}".replace(",", "\u202f"),
                      tokens=f"{(row.tokens or 0) / 1e9:g}")


def _facts(page: Lesson, row: Trained) -> str:
    """What the table tells of a model, and what it leaves open, line by line."""
    told = list(zip(page.label("columns_settings").split("|"), _told(page, row)))[1:]
    lines = [f"{name}: **{value}**" for name, value in told if value != page.label("not_told")]
    left = ", ".join(name for name, value in told if value == page.label("not_told"))
    return "  \n".join([*lines, *([page.label("facts_open", names=left)] if left else []),
                        page.label("facts_note", source=row.source)])


def _told(page: Lesson, row: Trained) -> tuple[str, ...]:
    decay = (page.label("decay_manual") if row.decay == "manual"
             else page.label(f"schedule_{row.decay}") if row.decay else None)
    if decay and row.floor:
        decay = page.label("decay_to", kind=decay, floor=f"{100 * row.floor:g}")
    values = (row.batch, None if row.rate is None else superscript(row.rate), row.warmup, decay, row.optimizer,
              row.precision, row.weight_decay, row.clip, row.dropout)
    return row.name, *(value if value is not None else page.label("not_told") for value in values)


def table(page: Lesson) -> pd.DataFrame:
    """How large models were trained, a row each."""
    return pd.DataFrame([_told(page, row) for row in schedules.table()],
                        columns=page.label("columns_settings").split("|"))


def rates(shown: Schedule | None, peak: float | None) -> pd.DataFrame:
    """The learning rate at up to 2000 steps of a schedule."""
    steps = ([] if shown is None
             else sorted({round(step) for step in np.linspace(0, shown.total - 1, min(shown.total, 2000))}))
    return pd.DataFrame({"step": steps, "learning_rate": [peak * shown.share(step) for step in steps]})


def _lines(page: Lesson, shown: Schedule | None, peak: float | None, row: Trained | None) -> list[tuple[str, str]]:
    found = []
    if shown is not None:
        found.append(_middle(page, shown, peak))
        if shown.start > 1 and shown.rising:
            at = shown.start // 2
            found.append((page.label("numbers_warmup", step=at - 1),
                          rf"\eta_{{{at - 1}}} = {latex_operand(peak)} \cdot \frac{{{at}}}{{{shown.start}}} = "
                          rf"{latex_number(peak * shown.share(at - 1))}"))
    if row is not None and row.steps is None and row.least_steps:
        found.append(
            (page.label("numbers_steps", name=row.name),
             rf"\frac{{{row.tokens:.0f}}}{{{row.batch_tokens:.0f}}} = {latex_number(row.tokens / row.batch_tokens)}"))
    if row is not None and row.decay == "inverse_sqrt" and row.warmup == "no":
        found.append((page.label("numbers_flat"), rf"\frac{{1}}{{\sqrt{{s}}}} = {row.rate:g} \iff s = "
                                                  rf"\frac{{1}}{{{row.rate:g}^2}} = {1 / row.rate ** 2:.0f}"))
    first = 1 / math.sqrt(WIDTH * WARMUP)
    return (found
            + [(page.label("numbers_first"),
                rf"\eta_s = d^{{-1/2}} \min\left(s^{{-1/2}},\ s \cdot w^{{-3/2}}\right), \qquad \eta_w = \frac{{1}}{{"
                rf"\sqrt{{d\,w}}}} = \frac{{1}}{{\sqrt{{{WIDTH} \cdot {WARMUP}}}}} = {latex_number(first, 7)}")])


def _middle(page: Lesson, shown: Schedule, peak: float) -> tuple[str, str]:
    """The learning rate in the middle of the way down."""
    at = (shown.start + shown.total) // 2
    done, floor, eta = (at - shown.start) / max(shown.total - shown.start, 1), shown.floor, latex_operand(peak)
    result = latex_number(peak * shown.share(at))
    falling = {"constant": "", "linear": rf" \cdot ({latex_operand(floor)} + {latex_operand(1 - floor)} "
                                         rf"\cdot (1 - {latex_operand(done)}))",
               "cosine": rf" \cdot \left({latex_operand(floor)} + {latex_operand(1 - floor)} \cdot \tfrac12 "
                         rf"(1 + \cos({latex_operand(done)}\,\pi))\right)",
               "inverse_sqrt": rf" \cdot \max\left({latex_operand(floor)},\ \sqrt{{{max(shown.start, 1)} / "
                               rf"{at + 1}}}\right)"}[shown.kind]
    return page.label("numbers_middle", step=at), rf"\eta_{{{at}}} = {eta}{falling} = {result}"


def _question(page: Lesson, shown: Schedule) -> Question:
    """How much of a run has more than half of the peak: of this schedule, among what the others would give."""
    def share(kind: str) -> float:
        scaled = Schedule(kind, shown.start, shown.total, shown.floor, shown.rising).scaled(1000)
        return scaled.above(0.5) / 1000

    options = sorted({round(100 * value, 1) for value in (*map(share, KINDS), 0.25)})
    return Question("schedule", page.label("question_schedule", kind=page.label(f"schedule_{shown.kind}")),
                    [f"{value:g} %" for value in options], options.index(round(100 * share(shown.kind), 1)),
                    page.label("because_schedule", **{kind: f"{100 * share(kind):.1f} %" for kind in KINDS}))
