"""The lesson's settings, and the small pieces that its views share."""
import functools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

import pandas as pd
import streamlit as st

from core.app.lesson import Lesson, selection_controls, views
from core.app.parts import charts as frame_charts
from core.app.state import reader
from core.app.state.lesson_settings import Setting, Settings, view_setting
from core.figures.lines import NAME_HEIGHT, Axis, line_rows
from core.learning.gate_merging import STAGES
from core.learning.recurrent_cells import ACTIVATIONS, GATES, MATRICES
from pages.recurrence import charts

PREFIX = "recurrence_"
CHART, CHART_PRESENT = 350, 325      # px of a chart that fits a 720 px screen, usually and in present mode
VIEWS = 10                           # px that a class gains: it shows no control of the views, and its bar is higher
# colours of the networks
MEANINGS = {"rnn": "residual", "lstm": "mlp", "gates": "mlp", "gru": "position", "attention": "attention",
            "pairs": "attention", "generation": "query", "bottleneck": "residual", "bound": "excluded"}
SETTINGS = Settings("recurrence", {
    "view": view_setting("recurrence"),
    "cell": Setting("rnn", options=tuple(GATES)),
    "layers": Setting("1", options=("1", "2", "3")),
    "both": Setting(False),
    "from": Setting(1, low=0),            # the first token of the path, which ends at the shared position
    "unit": Setting(0, low=0, high=15),
    "layer": Setting(0, low=0, high=2),
    "backward": Setting(False),           # the picked strip's direction
    "seed": Setting(0, low=0, high=99),
    "merged": Setting("gru", options=STAGES[1:]),       # into what the LSTM's gates are merged
    "part": Setting("f", options=("f", "i", "g", "o", "state", "shown")),      # of a cell, by its place in the LSTM
    "norm": Setting(1.0, low=0.5, high=2.0),
    "matrix": Setting("orthogonal", options=MATRICES),
    "activation": Setting("tanh", options=ACTIVATIONS),
    "keep": Setting(2.0, low=-2.0, high=6.0),
    "steps": Setting(64, low=16, high=128),
    "distance": Setting(20, low=1, high=128),
    "race": Setting("times", options=("losses", "times")),
    "width": Setting("64", options=("32", "64", "128")),
    "remembered": Setting(4, low=1, high=6),
    "delay": Setting(40, low=8, high=80),
    "order": Setting("copy", options=("copy", "reverse")),
    "longest": Setting(12, low=4, high=16),
    "hidden": Setting("64", options=("16", "64")),
})
read, keep, attached = SETTINGS.read, SETTINGS.keep, SETTINGS.attached
choice, show_spec = functools.partial(views.choice, SETTINGS), functools.partial(frame_charts.draw_spec, PREFIX)
own_seed = functools.partial(selection_controls.own_seed, SETTINGS)


def chart_height(less: int = 0) -> int:
    """The height of a chart that fits the first screen, in pixels; `less`: the height of other elements there."""
    return (CHART_PRESENT if reader.present() else CHART) + (VIEWS if reader.class_step() else 0) - less


def slider(page: Lesson, name: str, step: float, width: int = 190) -> int | float:
    """Draw a slider for a numeric setting within its bounds, and return its value."""
    setting = SETTINGS.each[name]
    kind = type(setting.default)
    return st.slider(page.label(name), kind(setting.low), kind(setting.high), step=kind(step),
                     help=page.words.labels.get(f"{name}_help"), width=width, **attached(name))


def named(page: Lesson, name: str) -> str:
    """Draw a choice after its name on one line, and return it."""
    return _after_name(page, name, lambda: choice(page, name))


def _after_name(page: Lesson, name: str, widget: Callable[[], int | str]) -> int | str:
    with st.container(horizontal=True, vertical_alignment="center", gap="small", width="content"):
        st.markdown(page.label(name), width="content", help=page.words.labels.get(f"{name}_help"))
        return widget()


def line_frame(points: Iterable[tuple[str, float, float]]) -> pd.DataFrame:
    """The points (network, x, y) of lines, as `show_lines` takes them."""
    return pd.DataFrame(points, columns=["network", "x", "y"])


def show_lines(name: str, frame: pd.DataFrame, names: Mapping[str, str], x: Axis, y: Axis, height: int,
               picked: float | None = None, **more) -> None:
    """Draw `charts.lines` over `frame` with a mark at `picked`; `more` goes to that function."""
    look = frame_charts.reader_look()
    rows = line_rows(frame.assign(name=frame["network"].map(names)), y, NAME_HEIGHT * look.scale / height, picked)
    inks = {title: look.ink(MEANINGS[network]) for network, title in names.items()}
    show_spec(name, rows, charts.lines(inks, *(replace(axis, ticks=6) for axis in (x, y)), look, height, **more))


def whole(title: str, domain: tuple[float, float] | None = None) -> Axis:
    """An axis of whole numbers."""
    return Axis(title, domain, format=",d", tip=",d")


def network_names(page: Lesson, names: Mapping[str, object] | tuple[str, ...]) -> dict[str, str]:
    """The names of the networks by their ids."""
    return {name: page.label(f"network_{name}") for name in names}
