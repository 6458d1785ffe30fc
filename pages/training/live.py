"""Live: a small transformer learns a task in a thread of this session, and is turned, stopped, looked into and taken
home while it does.
"""
import math
from collections.abc import Hashable

import numpy as np
import pandas as pd
import streamlit as st

from core.app.base.markdown import code, unmarked
from core.app.compute import cache
from core.app.frame import Lesson, Question, Reading, job_controls
from core.app.frame.guard import fragment
from core.app.state import Run, reader
from core.components.residual_grid import residual_grid
from core.figures.numbers import latex_number, latex_operand, readable
from core.learning import grammar
from core.learning import learner as learning
from core.learning.learner import CLIP, Knobs, Learner, Progress
from core.learning.schedules import KINDS
from core.model.tokenizer import visible_form
from pages.training import charts as figures
from pages.training import schedules
from pages.training.shared import PREFIX, SETTINGS, attached, chart_height, choice, keep, read, scheduled, show_spec

LEARNERS = "training_learners"      # of the session: key -> Learner, the latest last
MOST_LEARNERS = 4
# the small charts and where their axes end; present mode has room for one
SMALL = (("accuracy", 1.0), ("gradient_norm", 4.0))
NO_CHARACTER = "▯"                  # bytes that are none, as an untrained model writes them
MEANINGS = {"held_out": "query", "loss": "excluded", "accuracy": "value", "gradient_norm": "key"}
AXIS_STEPS = (100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 10 ** 6)


def draw(page: Lesson, run: Run) -> Reading:
    """The instrument; returns what it shows."""
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        choice(page, "task")
        choice(page, "size")
        if read("task") == "text":
            st.caption(page.label("text_note_prompt" if text_of(page, run)[1] else "text_note_passage",
                                  n=learning.LEAST_TEXT))
    key = _key(page, run)
    learner = learner_of(key)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        running = job_controls.training_controls(page, key, "train" if not learner.step else "resume",
                                                 learner.learn, stop="pause")
        if job_controls.trains():
            _knobs(page, key, learner)
    job_controls.follow(page, key, running, lambda _: _picture(page, learner))
    last = learner.history[-1]
    return Reading(_lines(page, learner, last), _question(page, learner),
                   [Learner.learn, Learner._one_step, type(learner.task).rows],
                   {"training.csv": lambda: table(list(learner.history))}, ".st-key-training_live_pictures",
                   _title(page, learner, last), schedules.table(page),
                   summary={page.label("view_live"): unmarked(_title(page, learner, last))})


def _knobs(page: Lesson, key: Hashable, learner: Learner) -> None:
    """What is turned while it learns."""
    st.button(page.label("reset"), key="training_reset", icon=":material/restart_alt:",
              on_click=_reset, args=(page, key))
    choice(page, "optimizer")
    rate = _rate(page)
    with st.popover(page.label("more"), key="training_more"):
        _more(page, learner)
    learner.knobs = Knobs(read("optimizer"), rate, scheduled())


def _more(page: Lesson, learner: Learner) -> None:
    """Where it begins, and where the model can go."""
    st.number_input(page.label("seed"), 0, 99, step=1, width=110, **attached("seed"))
    st.selectbox(page.label("schedule"), KINDS, format_func=lambda kind: page.label(f"schedule_{kind}"),
                 help=page.label("schedule_help"), **attached("schedule"))
    card = page.label("card", task=page.label(f"task_{read('task')}"), seed=read("seed"), size=read("size"))
    st.download_button(page.label("take"), lambda: learner.saved(card), file_name=f"{read('task')}-{read('size')}.zip",
                       mime="application/zip", icon=":material/download:", key="training_zip",
                       on_click="ignore", help=page.label("take_help"))
    st.button(page.label("adopt"), key="training_adopt", help=page.label("adopt_help"),
              on_click=_adopt, args=(learner,))


def _rate(page: Lesson) -> float:
    """The learning rate, a quarter of a power of ten a step."""
    low, high = (round(4 * bound) for bound in (SETTINGS.each["rate"].low, SETTINGS.each["rate"].high))
    keep(rate=round(4 * read("rate")) / 4)                  # an address may ask for what lies between two steps
    st.select_slider(page.label("rate"), [quarter / 4 for quarter in range(low, high + 1)],
                     format_func=lambda power: readable(10 ** power, 2), width=190, help=page.label("rate_help"),
                     **attached("rate"))
    return 10.0 ** read("rate")


def text_of(page: Lesson, run: Run) -> tuple[str, bool]:
    """What the task "own text" learns from: the prompt, if it is long enough, else the lesson's passage; whether it
    is the prompt.
    """
    own = reader.clean_prompt(run.text)
    return (own, True) if len(own.encode(errors="replace")) >= learning.LEAST_TEXT else (page.text("passage"), False)


def _key(page: Lesson, run: Run) -> Hashable:
    """What a learner is made from. The text too, where it learns that."""
    return (read("task"), read("size"), read("seed"), text_of(page, run)[0] if read("task") == "text" else "")


def learner_of(key: Hashable) -> Learner:
    """This session's learner with these settings, untrained when it is asked for first."""
    kept = st.session_state.setdefault(LEARNERS, {})
    if key not in kept:
        task, size, seed, text = key
        kept[key] = Learner(learning.OwnText(text) if task == "text" else learning.TASKS[task](), size, seed)
        for old in list(kept)[:-MOST_LEARNERS]:
            del kept[old]
    return kept[key]


def _reset(page: Lesson, key: Hashable) -> None:
    job_controls.end(page)
    st.session_state.get(LEARNERS, {}).pop(key, None)


def _adopt(learner: Learner) -> None:
    """Makes the model as it is now the one that every lesson runs."""
    name = cache.keep_own(learner.copy(), learner.task.tokenizer, f"{read('task')}-{learner.step}")
    st.session_state["own_models"] = [*st.session_state.get("own_models", ()), name][-MOST_LEARNERS:]
    reader.apply({"model": name})


def _title(page: Lesson, learner: Learner, last: Progress) -> str:
    if last.diverged:
        return page.label("live_title_diverged", steps=last.step)
    if not last.step:
        return page.label("live_title_before", n=f"{learner.model.n_parameters:,}".replace(",", "\u202f"))
    values = dict(steps=last.step, seconds=f"{last.seconds:.0f}", rate=readable(last.step / max(last.seconds, 1e-9), 2),
                  loss=readable(last.held_out), right=readable(100 * last.accuracy))
    if "floor" in learner.task.levels and learner.task.levels["floor"]:
        return page.label("live_title_floor",
                          above=readable(max(last.held_out - learner.task.levels["floor"], 0.0), 2), **values)
    return page.label("live_title", **values)


def _picture(page: Lesson, learner: Learner) -> None:
    """Title, sample, curves and one pattern, of what stands now."""
    history = list(learner.history)
    last = history[-1]
    st.markdown(f"**{_title(page, learner, last)}**  \n{_sample(page, last)}{_rate_now(page, learner, last)}")
    drawn = learning.thinned(history)
    end = next(n for n in AXIS_STEPS if n >= last.step)
    with st.container(key="training_live_pictures"):
        loss, small, pattern = st.columns([5, 3, 4], gap="medium")
        with loss:
            _loss(page, learner, drawn, end)
        with small:
            for name, top in SMALL[:1] if reader.present() else SMALL:
                st.caption(page.label(f"caption_{name}"))
                levels = {page.label("level_clip", c=readable(CLIP)): CLIP} if name == "gradient_norm" else None
                show_spec(name, _frame(page, (name,), drawn), figures.curve(
                    {name: page.label(f"line_{name}")}, MEANINGS, page.label("axis_steps"), "", reader.theme(),
                    x_domain=(0, end), y_domain=(0, top), levels=levels, y_format="%" if name == "accuracy" else "~g",
                    scale=reader.scale(), height=chart_height(120 if reader.present() else 250)))
        with pattern:
            fragment(lambda: _pattern(page, learner))()        # another head redraws nothing else


def _rate_now(page: Lesson, learner: Learner, last: Progress) -> str:
    """Where the schedule stands; nothing where the learning rate stays as it is."""
    schedule = learner.knobs.schedule
    return ("" if schedule.kind == "constant"
            else page.label("rate_now", kind=page.label(f"schedule_{schedule.kind}"),
                            rate=readable(learner.knobs.rate_at(last.step), 3), total=schedule.total))


def _sample(page: Lesson, last: Progress) -> str:
    given, written, right = (code(visible_form(part.strip().encode()).replace("\ufffd", NO_CHARACTER)) if part.strip()
                             else "–" for part in last.sample)
    if last.sample[2]:
        return page.label("sample_right" if last.sample[1] == last.sample[2] else "sample_wrong", given=given,
                          written=written, right=right)
    return page.label("sample_text", written=written)


def _loss(page: Lesson, learner: Learner, drawn: list[Progress], end: int) -> None:
    levels = learner.task.levels
    named = {page.label(f"level_{name}", nats=readable(value)): value for name, value in levels.items()}
    shown = ("held_out", "loss")
    st.caption(page.label("caption_loss", vocabulary=learner.model.config.vocab_size,
                          start=readable(math.log(learner.model.config.vocab_size))))
    show_spec("loss", _frame(page, shown, drawn), figures.curve(
        {line: page.label(f"line_{line}") for line in shown}, MEANINGS, page.label("axis_steps"),
        page.label("axis_loss"), reader.theme(), x_domain=(0, end), y_domain=(0, 1.25 * max(levels.values())),
        levels=named, changes=turned(page, drawn), scale=reader.scale(), height=chart_height(95)))


def _frame(page: Lesson, shown: tuple[str, ...], drawn: list[Progress]) -> pd.DataFrame:
    """The data of a chart: what was not measured has no point."""
    rows = [(page.label(f"line_{line}"), p.step, getattr(p, line)) for line in shown for p in drawn
            if math.isfinite(getattr(p, line))]
    return pd.DataFrame(rows, columns=["line", "x", "y"])


def turned(page: Lesson, drawn: list[Progress]) -> dict[float, str]:
    """The steps at which optimizer or learning rate were changed, and to what."""
    found = {}
    for before, after in zip(drawn, drawn[1:]):
        if before.step and before.knobs != after.knobs:
            found[float(before.step)] = (f"{page.label(f'optimizer_{after.knobs.optimizer}')} "
                                         f"{readable(after.knobs.learning_rate, 2)}")
    return found


def _pattern(page: Lesson, learner: Learner) -> None:
    n_heads, total = learner.model.config.n_heads, learner.pattern.shape[0] * learner.pattern.shape[1]
    at = min(read("head"), total - 1)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.caption(page.label("caption_pattern"))
        st.selectbox(page.label("head"), range(total), index=at, format_func=lambda i: f"{i // n_heads}.{i % n_heads}",
                     key=f"{PREFIX}head_pick_{total}", label_visibility="collapsed", width=90,
                     on_change=lambda: keep(head=st.session_state[f"{PREFIX}head_pick_{total}"]))
    pattern = learner.pattern[at // n_heads, at % n_heads].double().numpy()
    seen = np.where(np.tri(len(pattern), dtype=bool), pattern, np.nan)
    residual_grid(seen, row_labels=learner.tokens, column_labels=learner.tokens, legend=page.label("legend_pattern"),
                  reading=page.label("reading_pattern"), twin=page.label("caption_pattern"),
                  theme=reader.theme(), picked=None, limits=(0.0, 1.0), least_row=4, height=chart_height(115),
                  most_height=chart_height(115), column_band=False, present=reader.present(),
                  key=f"{PREFIX}pattern", on_pick=lambda row, column: None)


def table(history: list[Progress]) -> pd.DataFrame:
    """Every record, a row each."""
    return pd.DataFrame([{"step": p.step, "seconds": p.seconds, "loss": p.loss, "held_out": p.held_out,
                          "gradient_norm": p.gradient_norm, "accuracy": p.accuracy, "whole_rows": p.whole,
                          "optimizer": p.knobs.optimizer, "learning_rate": p.rate, "sample": p.sample[1]}
                         for p in history])


def _lines(page: Lesson, learner: Learner, last: Progress) -> list[tuple[str, str]]:
    config, rate, levels = learner.model.config, learner.knobs.learning_rate, learner.task.levels
    d, n_layers, size, n = config.d_model, config.n_layers, config.vocab_size, config.n_context
    block = 12 * d * d + 13 * d
    found = [(page.label("numbers_parameters"),
              rf"|V|\,d + N d + L\,(12 d^2 + 13 d) + 2d = {size} \cdot {d} + {n} \cdot {d} + {n_layers} \cdot "
              rf"{block} + {2 * d} = {learner.model.n_parameters}"),
             (page.label(f"numbers_{learner.knobs.optimizer}"), _update(learner.knobs.optimizer, latex_operand(rate)))]
    if last.step and math.isfinite(last.gradient_norm):
        shortened = min(1.0, CLIP / max(last.gradient_norm, 1e-12))
        norm = latex_operand(last.gradient_norm)
        found.append((page.label("numbers_clip"),
                      rf"\min\left(1, \frac{{{CLIP:g}}}{{\lVert g \rVert}}\right) = \min\left(1, "
                      rf"\frac{{{CLIP:g}}}{{{norm}}}\right) = {latex_number(shortened)}"))
    if read("task") == "grammar":
        words = grammar.made_up().states[grammar.made_up().start]
        terms = " - ".join(rf"{p:g} \ln {p:g}" for _, p, _ in words)
        found.append((page.label("numbers_state", words=" / ".join(code(word) for word, _, _ in words)),
                      rf"H = -{terms} = {latex_number(grammar.entropy(np.array([p for _, p, _ in words])))}"))
        found.append((page.label("numbers_floor", n=learning.N_WORDS),
                      rf"\bar H = {latex_number(levels['floor'])}\ \text{{nats}}, \qquad e^{{\bar H}} = "
                      rf"e^{{{latex_operand(levels['floor'])}}} = {latex_number(math.exp(levels['floor']))}"))
        if math.isfinite(last.held_out):
            found.append((page.label("numbers_above"),
                          rf"L - \bar H = {latex_operand(last.held_out)} - {latex_operand(levels['floor'])} = "
                          rf"{latex_number(last.held_out - levels['floor'])}"))
    return found


def _update(optimizer: str, rate: str) -> str:
    """The rule that moves a weight, with today's learning rate."""
    if optimizer == "sgd":
        return rf"\theta \leftarrow \theta - \eta g = \theta - {rate}\, g"
    if optimizer == "momentum":
        return rf"v \leftarrow 0.9\, v + g, \qquad \theta \leftarrow \theta - \eta v = \theta - {rate}\, v"
    return (rf"m \leftarrow 0.9\, m + 0.1\, g, \quad s \leftarrow 0.999\, s + 0.001\, g^2, \quad \theta \leftarrow "
            rf"\theta - {rate}\, \frac{{m / (1 - 0.9^t)}}{{\sqrt{{s / (1 - 0.999^t)}} + 10^{{-8}}}}")


def _question(page: Lesson, learner: Learner) -> Question:
    """What less than the whole row is worth: the blind guess of a task with answers, the word or the letter
    before in a text.
    """
    levels, chance, task = learner.task.levels, math.log(learner.task.tokenizer.vocab_size), read("task")
    asked = "blind" if "blind" in levels else "bigram"
    values = sorted({0.0, chance, levels[asked], 2 * levels[asked] if asked == "blind" else levels["unigram"]})
    return Question(f"live_{task}", page.label(f"question_{asked}", task=page.label(f"task_{task}")),
                    [page.label("question_uniform_option", loss=readable(value)) for value in values],
                    values.index(levels[asked]),
                    page.label(f"because_{asked}", loss=readable(levels[asked]), chance=readable(chance),
                               size=learner.task.tokenizer.vocab_size))
