"""Live: a small transformer learns a task in a thread of this session, while the reader changes its settings, stops it,
inspects it and downloads it.
"""
import math
from bisect import bisect
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import streamlit as st
from torch import Tensor

from core.app.lesson import Lesson, Options, Prediction, Question, Reading, Truth, job_controls
from core.app.parts.guard import fragment
from core.app.state import Run, prompts, reader
from core.base.markdown import code
from core.figures.lines import Axis
from core.figures.numbers import grouped, latex_number, latex_operand, readable
from core.learning import grammar, recorded
from core.learning import learner as learning
from core.learning.learner import BATCH, CLIP, Knobs, Learner, LearningTask, Progress
from core.learning.recorded import LiveRun
from core.learning.schedules import KINDS
from core.model.transformer import Transformer
from pages.training import schedules
from pages.training.shared import (
    PREFIX,
    adopt,
    ask,
    attached,
    chart_height,
    choice,
    fraction,
    keep,
    loss_and_exponential,
    newest,
    own_seed,
    pick_power,
    read,
    reset_button,
    scheduled,
    show_curve,
    show_pattern,
    side_by_side,
    take_home,
)

LEARNERS = "training_learners"      # of the session: key -> Learner, the latest last
MOST_LEARNERS = 4
# the small charts: name, end of the axis, format of its labels; present mode has room for one
SMALL = (("accuracy", 1.0, "%"), ("gradient_norm", 4.0, "~g"))
LIMITS = (100, 1_000, 20_000)       # rows between the options of the question
AXIS_STEPS = (100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 10 ** 6)


@dataclass(frozen=True, eq=False)
class Replay:
    """A recorded run in the place of a Learner that has not begun: what the pictures ask of one."""

    task: LearningTask
    model: Transformer
    knobs: Knobs
    tokens: list[str]
    history: tuple[Progress, ...]
    pattern: Tensor


def predict(page: Lesson, run: Run) -> Prediction | None:
    """After how many rows most answers of the recorded run are right; not asked where a task has no right answers."""
    kept = recorded_run()
    steps = None if kept is None else recorded.reached(kept.history)
    if steps is None:
        return None
    task = read("task")

    def truth(_: int) -> Truth:
        rows, levels = steps * BATCH, learning.TASKS[task]().levels
        return Truth(bisect(LIMITS, rows), said=grouped(rows),
                     values={"steps": grouped(steps), "rows": grouped(rows), "blind": readable(levels["blind"])})

    return Prediction("live", Options([page.label(f"rows_{i}") for i in range(len(LIMITS) + 1)]), truth,
                      {"task": page.label(f"asked_{task}"), "batch": BATCH})


def draw(page: Lesson, run: Run) -> Reading:
    """Draw the instrument; return what it shows."""
    with side_by_side("center", "medium"):
        choice(page, "task")
        choice(page, "size")
        if read("task") == "text":
            st.caption(page.label("text_note_prompt" if text_of(page, run)[1] else "text_note_passage",
                                  n=learning.LEAST_TEXT))
    key = _key(page, run)
    learner = learner_of(key)
    with side_by_side("bottom"):
        verb = "resume" if learner.step else "train" if recorded_run() is None else "train_here"
        running = job_controls.training_controls(page, key, verb, learner.learn, stop="pause")
        if job_controls.trains():
            _knobs(page, key, learner)
    job_controls.follow(page, key, running, lambda _: _picture(page, shown_of(page, key, learner)))
    shown = shown_of(page, key, learner)
    return Reading(_lines(page, shown, shown.history[-1]), _question(page, learner),
                   [Learner.learn, Learner._one_step, type(learner.task).rows],
                   {"training.csv": lambda: table(list(shown.history))}, ".st-key-training_live_pictures",
                   _title(page, shown), schedules.table(page))


def _knobs(page: Lesson, key: Hashable, learner: Learner) -> None:
    """Draw the controls that change the training while it runs."""
    if job_controls.running(page, key) or learner.step:
        reset_button(page, LEARNERS, key)
    choice(page, "optimizer")
    pick_power(page, "rate", 4, format_func=lambda power: readable(10 ** power), width=190,
               help=page.label("rate_help"))
    with st.popover(page.label("more"), key="training_more"):
        _more(page, learner)
    learner.knobs = knobs()


def knobs() -> Knobs:
    """The reader's settings of the training."""
    return Knobs(read("optimizer"), 10.0 ** read("rate"), scheduled())


def recorded_run() -> LiveRun | None:
    """The recorded run of the present settings, if there is one."""
    return recorded.live_run(read("task"), read("size"), read("seed"), knobs())


def shown_of(page: Lesson, key: Hashable, learner: Learner) -> Learner | Replay:
    """The learner, or the recorded run as long as it has not begun."""
    kept = None if job_controls.running(page, key) or learner.step else recorded_run()
    if kept is None:
        return learner
    return Replay(learner.task, learner.model, knobs(), learner.tokens, kept.history, kept.pattern)


def _more(page: Lesson, learner: Learner) -> None:
    """Draw the seed, the schedule, the download and the button that makes the model the app's."""
    own_seed(page)
    st.selectbox(page.label("schedule"), KINDS, format_func=lambda kind: page.label(f"schedule_{kind}"),
                 help=page.label("schedule_help"), **attached("schedule"))
    task, size = read("task"), read("size")
    card = page.label("card", task=page.label(f"task_{task}"), seed=read("seed"), size=size)
    take_home(page, lambda: learner.saved(card), f"{task}-{size}", "training_zip")
    st.button(page.label("adopt"), key="training_adopt", help=page.label("adopt_help"),
              on_click=lambda: adopt(learner.copy(), learner.task.tokenizer, f"{task}-{learner.step}"))


def text_of(page: Lesson, run: Run) -> tuple[str, bool]:
    """The text of the task "own text": the prompt if it is long enough, else the lesson's passage; and whether it is
    the prompt.
    """
    prompt = prompts.clean_prompt(run.text)
    is_long = len(prompt.encode(errors="replace")) >= learning.LEAST_TEXT
    return prompt if is_long else page.text("passage"), is_long


def _key(page: Lesson, run: Run) -> Hashable:
    """The settings that identify a learner, with the text if it learns one."""
    return (read("task"), read("size"), read("seed"), text_of(page, run)[0] if read("task") == "text" else "")


def learner_of(key: Hashable) -> Learner:
    """This session's learner with these settings, created untrained at first use."""
    kept = st.session_state.setdefault(LEARNERS, {})
    if key not in kept:
        task, size, seed, text = key
        kept[key] = Learner(learning.OwnText(text) if task == "text" else learning.TASKS[task](), size, seed)
        newest(kept, MOST_LEARNERS)
    return kept[key]


def _title(page: Lesson, learner: Learner | Replay) -> str:
    mark = f"{page.label('recorded')} " * isinstance(learner, Replay)
    return mark + _state(page, learner, learner.history[-1])


def _state(page: Lesson, learner: Learner | Replay, last: Progress) -> str:
    if last.diverged:
        return page.label("live_title_diverged", steps=last.step)
    if not last.step:
        return page.label("live_title_before", n=grouped(learner.model.n_parameters))
    values = dict(steps=last.step, seconds=f"{last.seconds:.0f}", rate=readable(last.step / max(last.seconds, 1e-9), 2),
                  loss=readable(last.held_out), right=readable(100 * last.accuracy))
    if floor := learner.task.levels.get("floor"):
        return page.label("live_title_floor", above=readable(max(last.held_out - floor, 0.0), 2), **values)
    return page.label("live_title", **values)


def _picture(page: Lesson, learner: Learner | Replay) -> None:
    """Draw the title, the sample, the curves and one attention pattern of the current state."""
    history = list(learner.history)
    last = history[-1]
    st.markdown(f"**{_title(page, learner)}**  \n{_sample(page, last)}{_rate_now(page, learner, last)}")
    records = learning.thinned(history)
    with st.container(key="training_live_pictures"):
        loss, small, pattern = st.columns([5, 3, 4], gap="medium")
        with loss:
            _loss(page, learner, records)
        with small:
            for name, top, form in SMALL[:1] if reader.present() else SMALL:
                st.caption(page.label(f"caption_{name}"))
                levels = {page.label("level_clip", c=readable(CLIP)): CLIP} if name == "gradient_norm" else None
                most = max([top, *(1.05 * value for record in records
                                   if math.isfinite(value := getattr(record, name)) and name != "accuracy")])
                _curve(page, (name,), records, Axis("", (0, most), format=form),
                       chart_height((85 if reader.class_step() else 120) if reader.present() else 250), levels=levels)
        with pattern:
            # another head redraws nothing else
            fragment(lambda: _pattern(page, learner), key="training_pattern")()


def _curve(page: Lesson, lines: Sequence[str], records: list[Progress], y: Axis, height: int, **options) -> None:
    """Chart some values of the records over the steps; the chart has the name of the last of `lines`."""
    steps = [progress.step for progress in records]
    x = Axis(page.label("axis_steps"), (0, next(n for n in AXIS_STEPS if n >= steps[-1])), format=",d")
    show_curve(page, lines[-1], "line", {line: (steps, [getattr(progress, line) for progress in records])
                                         for line in lines}, x, y, height, **options)


def _rate_now(page: Lesson, learner: Learner, last: Progress) -> str:
    """The current learning rate of the schedule; empty for a constant one."""
    schedule = learner.knobs.schedule
    return ("" if schedule.kind == "constant"
            else page.label("rate_now", kind=page.label(f"schedule_{schedule.kind}"),
                            rate=readable(learner.knobs.rate_at(last.step), 3), total=schedule.total))


def _sample(page: Lesson, last: Progress) -> str:
    given, written, right = (code(part) if part else "–" for part in last.sample)
    if last.sample[2]:
        return page.label("sample_right" if last.sample[1] == last.sample[2] else "sample_wrong", given=given,
                          written=written, right=right)
    return page.label("sample_text", written=written)


def _loss(page: Lesson, learner: Learner | Replay, records: list[Progress]) -> None:
    # in a class no row of views stands above
    levels, size = learner.task.levels, learner.model.config.vocab_size
    st.caption(page.label("caption_loss", vocabulary=size, start=readable(math.log(size))))
    named = {page.label(f"level_{name}", nats=readable(value)): value for name, value in levels.items()}
    most = max(1.25 * max(levels.values()), 1.05 * records[0].held_out)       # the whole way down
    _curve(page, ("held_out", "loss"), records, Axis(page.label("axis_loss"), (0, most)),
           chart_height(60 if reader.class_step() else 95), levels=named, changes=changes(page, records))


def changes(page: Lesson, records: list[Progress]) -> dict[float, str]:
    """The steps at which the optimizer or the learning rate changed, and the new values."""
    return {float(before.step): f"{page.label(f'optimizer_{after.knobs.optimizer}')} "
                                f"{readable(after.knobs.learning_rate)}"
            for before, after in zip(records, records[1:]) if before.step and before.knobs != after.knobs}


def _pattern(page: Lesson, learner: Learner) -> None:
    n_heads, patterns = learner.model.config.n_heads, learner.pattern.flatten(0, 1)
    caption = page.label("caption_pattern")
    at, widget = min(read("head"), len(patterns) - 1), f"{PREFIX}head_pick_{len(patterns)}"
    with side_by_side():
        st.caption(caption)
        st.selectbox(page.label("head"), range(len(patterns)), index=at, key=widget, label_visibility="collapsed",
                     format_func=lambda i: f"{i // n_heads}.{i % n_heads}", width=90,
                     on_change=lambda: keep(head=st.session_state[widget]))
    show_pattern(page, "pattern", patterns[at], learner.tokens, caption, 115)


def table(history: list[Progress]) -> pd.DataFrame:
    """The records, a row for each."""
    return pd.DataFrame([{"step": p.step, "seconds": p.seconds, "loss": p.loss, "held_out": p.held_out,
                          "gradient_norm": p.gradient_norm, "accuracy": p.accuracy, "whole_rows": p.whole,
                          "optimizer": p.knobs.optimizer, "learning_rate": p.rate, "sample": p.sample[1]}
                         for p in history])


def _lines(page: Lesson, learner: Learner, last: Progress) -> list[tuple[str, str]]:
    config, optimizer = learner.model.config, learner.knobs.optimizer
    d, n_layers, size, n = config.d_model, config.n_layers, config.vocab_size, config.n_context
    lines = [(page.label("numbers_parameters"),
              rf"|V|\,d + N d + L\,(12 d^2 + 13 d) + 2d = {size} \cdot {d} + {n} \cdot {d} + {n_layers} \cdot "
              rf"{12 * d * d + 13 * d} + {2 * d} = {learner.model.n_parameters}"),
             (page.label(f"numbers_{optimizer}"), _update(optimizer, latex_operand(learner.knobs.learning_rate)))]
    if last.step and math.isfinite(last.gradient_norm):
        shortened = min(1.0, CLIP / max(last.gradient_norm, 1e-12))
        smaller = [rf"\min\left(1, {fraction(f'{CLIP:g}', norm)}\right)"
                   for norm in (r"\lVert g \rVert", latex_operand(last.gradient_norm))]
        lines.append((page.label("numbers_clip"), f"{' = '.join(smaller)} = {latex_number(shortened)}"))
    return lines + (_grammar_lines(page, learner, last) if read("task") == "grammar" else [])


def _grammar_lines(page: Lesson, learner: Learner, last: Progress) -> list[tuple[str, str]]:
    """The entropy of the grammar's first word and per word, and the model's loss above it."""
    made_up, floor = grammar.made_up(), learner.task.levels["floor"]
    words = made_up.states[made_up.start]
    terms = " - ".join(rf"{p:g} \ln {p:g}" for _, p, _ in words)
    lines = [(page.label("numbers_state", words=" / ".join(code(word) for word, _, _ in words)),
              f"H = -{terms} = {latex_number(grammar.entropy(np.array([p for _, p, _ in words])))}"),
             (page.label("numbers_floor", n=learning.N_WORDS), loss_and_exponential(r"\bar H", floor))]
    if math.isfinite(last.held_out):
        lines.append((page.label("numbers_above"), rf"\mathcal{{L}} - \bar H = {latex_operand(last.held_out)} - "
                                                   f"{latex_operand(floor)} = {latex_number(last.held_out - floor)}"))
    return lines


def _update(optimizer: str, rate: str) -> str:
    """The optimizer's update rule with the current learning rate, in LaTeX."""
    return {"sgd": rf"\theta \leftarrow \theta - \eta g = \theta - {rate}\, g",
            "momentum": rf"v \leftarrow 0.9\, v + g, \qquad \theta \leftarrow \theta - \eta v = \theta - {rate}\, v",
            "adam": r"m \leftarrow 0.9\, m + 0.1\, g, \quad s \leftarrow 0.999\, s + 0.001\, g^2, \quad \theta "
                    rf"\leftarrow \theta - {rate}\, \frac{{m / (1 - 0.9^t)}}{{\sqrt{{s / (1 - 0.999^t)}} + 10^{{-8}}}}",
            }[optimizer]


def _question(page: Lesson, learner: Learner) -> Question:
    """The loss of a model that does not read the whole row: the blind guess of a task with answers, the bigram model of
    a text.
    """
    levels, size, task = learner.task.levels, learner.task.tokenizer.vocab_size, read("task")
    name, wrong = ("blind", 2 * levels["blind"]) if "blind" in levels else ("bigram", levels["unigram"])
    asked = ask(page, name, {0.0, math.log(size), wrong}, levels[name],
                lambda value: page.label("question_uniform_option", loss=readable(value)),
                task=page.label(f"task_{task}"), loss=readable(levels[name]), chance=readable(math.log(size)),
                size=size)
    return replace(asked, key=f"live_{task}")
