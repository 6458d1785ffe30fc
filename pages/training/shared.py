"""The lesson's settings, and the small pieces that its views share."""
import functools
import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence

import numpy as np
import pandas as pd
import streamlit as st
import torch
from streamlit.delta_generator import DeltaGenerator

from core.analysis.arrays import to_numpy
from core.app.compute import cache
from core.app.lesson import Lesson, Question, job_controls, selection_controls, views
from core.app.parts import charts as frame_charts
from core.app.state import reader
from core.app.state.lesson_settings import Setting, Settings, view_setting
from core.components.residual_grid import Grid, residual_grid
from core.figures import residual_stream
from core.figures.lines import Axis
from core.figures.numbers import latex_number, latex_operand
from core.learning import backprop, descent, instructions, kepler, learner, rlhf, schedules, tuning, tuning_texts
from core.learning.schedules import Schedule
from core.model.tokenizer import Tokenizer
from core.model.transformer import Transformer
from pages.training import charts

PREFIX = "training_"
CHART, CHART_PRESENT = 350, 270      # px of a chart that fits a 720 px screen, usually and in present mode
SETTINGS = Settings("training", {
    "view": view_setting("training"),
    "unit": Setting("nats", options=("nats", "bits")),
    "packed": Setting(False),
    "place": Setting(-1, low=-1),                 # the picked prediction of a packed row; −1: that of the largest loss
    # of back propagation: the inputs and weights that the reader has set, behind the seed they belong to; how many
    # updates were taken from there; the step of the pass; the number that is opened
    "net": Setting(""),
    "net_updates": Setting(0, low=0, high=200),
    "net_at": Setting(11, low=0, high=12),
    "net_picked": Setting("w12"),
    "net_true": Setting("0", options=("0", "1", "2")),
    "net_activation": Setting("tanh", options=tuple(backprop.ACTIVATIONS)),
    "net_optimizer": Setting("sgd", options=backprop.OPTIMIZERS),
    "net_rate": Setting(-0.3, low=-2.0, high=1.0),      # log10 of the learning rate
    "task": Setting("copying", options=tuple(learner.TASKS)),
    "size": Setting("tiny", options=tuple(learner.SIZES)),
    "optimizer": Setting("adam", options=learner.OPTIMIZERS),
    "rate": Setting(-2.5, low=-5.0, high=0.5),    # log10 of the learning rate
    "seed": Setting(0, low=0, high=99),
    "head": Setting(0, low=0),                    # of the live model, counted through its layers
    "late": Setting(False),                       # the curves begin shortly before the rise of induction
    "milestone": Setting(0, low=-1),              # index of the moment; −1: the last
    "stage": Setting("tuned", options=("pretrained", "tuned", "aligned")),
    "base": Setting("small", options=("small", "random", "loaded")),
    "pairs": Setting("feeling", options=(*tuning_texts.KINDS, "fact")),
    "topic": Setting(""),                         # of the made-up fact; "": the lesson's own
    "food": Setting(""),
    "parts": Setting("all", options=tuning.PARTS),
    "rank": Setting(4, low=1, high=16),
    "judge": Setting("happy", options=(*tuning_texts.JUDGES, "own")),
    "beta": Setting(0.1, low=0.02, high=1.0),
    # of RLHF: the stage that is open, the policy (its β as text, or dpo), and which of its records; −1: the last
    "rlhf_stage": Setting("reinforcement", options=("demonstrations", "comparisons", "reinforcement")),
    "policy": Setting("0.0", options=(*map(str, rlhf.BETAS), "dpo")),
    "rlhf_at": Setting(-1, low=-1),
    # of instructions: what is open; the order of the collections; the data set, its row and the template; the answer in
    # the chat; how many texts a model has written, and the bound of their overlap
    "built": Setting("collections", options=("collections", *instructions.BUILT, "inputs")),
    "sentence": Setting(""),                      # that GPT-1's inputs are made of; "": the lesson's own
    "collections_by": Setting("built", options=("built", "size", "date")),
    "data_set": Setting("sentiment", options=instructions.SETS),
    "data_row": Setting(0, low=0, high=999),
    "template": Setting("0", options=("0", "1", "2")),
    "turn": Setting(0, low=0, high=99),
    "written": Setting(6, low=1, high=40),
    "overlap": Setting(instructions.MOST_OVERLAP, low=0.3, high=1.0),
    "asked": Setting("pair", options=("pair", "prompt")),      # the text that the model continues before and after
    "example": Setting(0, low=0, high=999),       # index of the held-out pair
    "dice": Setting(0, low=0, high=999),          # seed of the sampled text
    "row_length": Setting(16, low=4, high=32),    # tokens of a packed row
    "row_place": Setting(0, low=0),               # the picked place, counted through the rows
    "part": Setting("schedules", options=("schedules", "descent")),
    # the schedule drawn: the reader's own, or a name of core.learning.schedules.table
    "like": Setting("own"),
    "schedule": Setting("constant", options=schedules.KINDS),
    "warmup": Setting(5, low=0, high=50),         # % of the run
    "total": Setting(2000, low=100, high=20_000),
    "floor": Setting(10, low=0, high=100),        # % of the peak
    "surface": Setting("bowl", options=tuple(descent.SURFACES)),
    "descent_rate": Setting(-1.3, low=-3.0, high=0.0),      # log10
    "descent_steps": Setting(40, low=1, high=200),
    "structure": Setting("ellipse", options=tuple(kepler.STRUCTURES)),
    "method": Setting("lm", options=kepler.METHODS),
    "noise": Setting(1.0, low=0.0, high=32.0),    # minutes of arc
    "measured": Setting(24, low=4, high=60),
    "fit_step": Setting(0, low=-1),               # of the steps that a fit keeps; −1: the last
    "day": Setting(9831, low=0, high=36525),      # after noon of 1 January 2000
})
read, keep, attached = SETTINGS.read, SETTINGS.keep, SETTINGS.attached
choice, show, show_spec = (functools.partial(views.choice, SETTINGS), functools.partial(frame_charts.draw, PREFIX),
                           functools.partial(frame_charts.draw_spec, PREFIX))
look = frame_charts.reader_look
own_seed = functools.partial(selection_controls.own_seed, SETTINGS)


def chart_height(less: int = 0) -> int:
    """The height of a chart that fits the first screen, in pixels; `less`: the height of other elements there."""
    return (CHART_PRESENT if reader.present() else CHART) - less


def scheduled() -> Schedule:
    """The reader's own schedule."""
    return Schedule(read("schedule"), round(read("total") * read("warmup") / 100), read("total"), read("floor") / 100)


def place_of(name: str, n: int, otherwise: int) -> int:
    """A setting that is an index, if it is in 0 … n − 1, else `otherwise`."""
    place = read(name)
    return place if 0 <= place < n else otherwise


def side_by_side(alignment: str = "center", gap: str = "small", **options) -> DeltaGenerator:
    """A container for controls in one line."""
    return st.container(horizontal=True, vertical_alignment=alignment, gap=gap, **options)


def one_of(page: Lesson, name: str) -> None:
    """Draw a list for a setting of several options; the labels are `<name>_<option>`."""
    st.selectbox(page.label(name), SETTINGS.each[name].options, width=190, label_visibility="collapsed",
                 format_func=lambda option: page.label(f"{name}_{option}"), **attached(name))


def numeric(widget: Callable, page: Lesson, name: str, label: str = "", **options) -> None:
    """Draw a slider or a field for a numeric setting within its bounds. label: if it is not `name`."""
    setting = SETTINGS.each[name]
    widget(page.label(label or name), setting.low, setting.high, **options, **attached(name))


def pick_power(page: Lesson, name: str, per_ten: int, label: str = "", **options) -> float:
    """Draw a slider for a setting that is an exponent of ten, with `per_ten` steps in each power; return the power."""
    setting = SETTINGS.each[name]
    keep(**{name: round(per_ten * read(name)) / per_ten})       # a URL may have a value between two steps
    powers = [k / per_ten for k in range(round(per_ten * setting.low), round(per_ten * setting.high) + 1)]
    st.select_slider(page.label(label or name), powers, **options, **attached(name))
    return 10.0 ** read(name)


def newest(kept: dict, most: int) -> None:
    """Drop all but the `most` entries added last."""
    for old in list(kept)[:-most]:
        del kept[old]


def reset_button(page: Lesson, store: str, key: Hashable) -> None:
    """Draw the button that ends the training and deletes its state: the entry `key` of the session's dict `store`."""
    def reset() -> None:
        job_controls.end(page)
        st.session_state.get(store, {}).pop(key, None)

    st.button(page.label("reset"), key=f"{store}_reset", icon=":material/restart_alt:", on_click=reset)


def take_home(page: Lesson, archive: Callable[[], bytes], file_name: str, key: str) -> None:
    """Draw the button that downloads a model in its current state as a ZIP."""
    st.download_button(page.label("take"), archive, file_name=f"{file_name}.zip", mime="application/zip",
                       icon=":material/download:", key=key, on_click="ignore", help=page.label("take_help"))


def adopt(model: Transformer, tokenizer: Tokenizer, name: str) -> None:
    """Make this copy of a model the one that every lesson runs and that tuning can begin with."""
    copy = cache.keep_own(model, tokenizer, name)
    st.session_state["own_models"] = [*st.session_state.get("own_models", ()), copy][-cache.MOST_OWN:]
    reader.apply({"model": copy})


# ---- pictures --------------------------------------------------------------------------------------------------------


def show_curve(page: Lesson, chart: str, prefix: str, lines: Mapping[str, tuple[Iterable, Iterable]], x: Axis, y: Axis,
               height: int, ends: Mapping[str, str] | None = None, **options) -> None:
    """Draw lines over the steps of a training by `charts.curve`: x and y by line, whose name is the label
    `<prefix>_<line>`. Values that are not finite have no point. ends: the text at the end of each line, if any.
    """
    names = {line: page.label(f"{prefix}_{line}") for line in lines}
    rows = pd.DataFrame([(names[line], "line", x_value, y_value) for line, points in lines.items()
                         for x_value, y_value in zip(*points) if math.isfinite(y_value)],
                        columns=["name", "role", "x", "y"])
    if ends:
        places = charts.end_places(rows, y, height, reader.scale())
        rows = pd.concat([rows, pd.DataFrame([(names[line], "end", text, places.get(names[line]))
                                              for line, text in ends.items()], columns=["name", "role", "end", "at"])])
    show_spec(chart, rows, charts.curve(names, x, y, look(), height, ends=bool(ends), **options))


def show_curves(chart: str, lines: Mapping[str, tuple[np.ndarray, np.ndarray]], meanings: Sequence[str], x: Axis,
                y: Axis, height: int, **options) -> None:
    """Draw lines by `charts.curves`: x and y by name, and the meanings of their colours."""
    show_spec(chart, charts.curve_rows(lines, y, height, reader.scale()),
              charts.curves(dict(zip(lines, meanings)), x, y, look(), height, **options))


def show_guesses(page: Lesson, chart: str, tokenizer: Tokenizer, probs: torch.Tensor, n: int, less: int) -> None:
    """Chart the n most probable next tokens of probs (|V|,)."""
    best = probs.double().topk(n)
    show(residual_stream.guesses([tokenizer.visible(int(i)) for i in best.indices], to_numpy(best.values),
                                 page.label("axis_probability"), reader.theme(), reader.scale(),
                                 chart_height(less)), chart)


def show_pattern(page: Lesson, name: str, pattern: torch.Tensor, tokens: Sequence[str], twin: str, less: int) -> None:
    """Draw a head's attention pattern (N, N); masked cells stay empty."""
    seen = np.where(np.tri(len(tokens), dtype=bool), to_numpy(pattern), np.nan)
    grid = Grid(seen, tokens, tokens, page.label("legend_pattern"), page.label("reading_pattern"), twin,
                reader.theme(), None, (0.0, 1.0), least_row=4, height=chart_height(less),
                most_height=chart_height(less), column_band=False, present=reader.present())
    residual_grid(grid, key=f"{PREFIX}{name}", on_pick=lambda row, column: None)


# ---- numbers and questions -------------------------------------------------------------------------------------------


def fraction(above: object, below: object) -> str:
    """A fraction in LaTeX.

    >>> fraction(1, "d")
    '\\\\frac{1}{d}'
    """
    return rf"\frac{{{above}}}{{{below}}}"


def nats(value: float) -> str:
    """A result in nats, in LaTeX."""
    return rf"{latex_number(value)}\ \text{{nats}}"


def loss_and_exponential(symbol: str, loss: float) -> str:
    """A loss in nats and e to its power, in LaTeX."""
    return (rf"{symbol} = {nats(loss)}, \qquad e^{{{symbol}}} = e^{{{latex_operand(loss)}}} = "
            rf"{latex_number(math.exp(loss))}")


def ask(page: Lesson, name: str, others: Iterable, answer: object, write: Callable[[object], str] = str, /,
        **values) -> Question:
    """The question `name` of the labels, whose options are these values and `answer`, sorted, without duplicates."""
    options = sorted({*others, answer})
    return page.question(name, [write(value) for value in options], options.index(answer), **values)
