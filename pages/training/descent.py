"""Gradient descent on a loss that can be seen: plain, with momentum, and Adam, from the same start, by torch's
own optimizers.
"""
import numpy as np
import pandas as pd
import streamlit as st
import torch

from core.app.base.markdown import unmarked
from core.app.compute import cache
from core.app.frame import Lesson, Question, Reading
from core.app.state import reader
from core.figures.numbers import latex_number, latex_operand, readable
from core.learning import descent
from core.learning.descent import SURFACES, Surface
from core.learning.learner import OPTIMIZERS, Knobs
from pages.training import optimisation_charts as figures
from pages.training.optimisation_charts import Axis
from pages.training.shared import PREFIX, attached, chart_height, keep, read, show_spec

MEANINGS = {"sgd": "key", "momentum": "value", "adam": "query"}
LEVELS = (0.05, 0.3, 1, 2.5, 5, 10, 20, 40)
STEPS_OF_TEN = 20         # settings of the learning rate in a power of ten
ERRORS = (1e-6, 1e4)
RUN_OFF = 1e6             # a loss that is not worth its number


def draw(page: Lesson) -> Reading:
    """The instrument; returns what it shows."""
    surface = SURFACES[read("surface")]
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        rate = _rate(page)
        st.slider(page.label("descent_steps"), 1, 200, width=220, **attached("descent_steps"))
    paths = {optimizer: walked(read("surface"), optimizer, rate, read("descent_steps")) for optimizer in OPTIMIZERS}
    title = _title(page, surface, rate, paths)
    st.markdown(f"**{title}**")
    with st.container(key=f"{PREFIX}descent"):
        map_, beside = st.columns([6, 5], gap="medium")
        with map_:
            _map(page, surface, paths)
        with beside:
            _errors(page, surface, paths)
            _growth(page, surface, rate)
    return Reading(_lines(page, surface, rate, paths), _question(page, surface),
                   [descent.path, Knobs.make, getattr(descent, read("surface")), descent.growth],
                   {"paths.csv": lambda: table(surface, paths)}, f".st-key-{PREFIX}descent", title,
                   summary={page.label("view_schedules"): unmarked(title)})


def _rate(page: Lesson) -> float:
    keep(descent_rate=round(STEPS_OF_TEN * read("descent_rate")) / STEPS_OF_TEN)
    powers = [k / STEPS_OF_TEN for k in range(-3 * STEPS_OF_TEN, 1)]
    st.select_slider(page.label("descent_rate"), powers, format_func=lambda power: readable(10 ** power), width=320,
                     **attached("descent_rate"))
    return 10 ** read("descent_rate")


def walked(surface: str, optimizer: str, rate: float, n_steps: int) -> np.ndarray:
    """The path of an optimizer, computed once."""
    return cache.result(("descent", surface, optimizer, rate, n_steps),
                        lambda: descent.path(SURFACES[surface], optimizer, rate, n_steps), lambda made: made.nbytes)


def losses(surface: Surface, path: np.ndarray) -> np.ndarray:
    """The loss at every point of a path."""
    return surface.loss(torch.from_numpy(path)).numpy()


def _title(page: Lesson, surface: Surface, rate: float, paths: dict[str, np.ndarray]) -> str:
    ends = ", ".join(f"{page.label(f'optimizer_{name}')} {_loss(page, losses(surface, path)[-1])}"
                     for name, path in paths.items())
    return page.label("descent_title_above" if rate > surface.bound else "descent_title", rate=readable(rate),
                      bound=readable(surface.bound), steps=read("descent_steps"), ends=ends)


def _loss(page: Lesson, loss: float) -> str:
    return readable(loss) if loss < RUN_OFF else page.label("word_run_off")


def _map(page: Lesson, surface: Surface, paths: dict[str, np.ndarray]) -> None:
    names = {page.label(f"optimizer_{name}"): name for name in paths}
    angles = np.linspace(0, 2 * np.pi, 121)
    rows = figures.surface_rows([surface.level(c, angles) for c in LEVELS],
                                {label: paths[name] for label, name in names.items()})
    spec = figures.surface(list(names), [MEANINGS[name] for name in names.values()],
                           Axis(page.label("axis_weight_1"), surface.x), Axis(page.label("axis_weight_2"), surface.y),
                           surface.start, surface.minimum, (page.label("word_start"), page.label("word_minimum")),
                           reader.theme(), reader.scale(), chart_height(35))
    show_spec("surface", rows, spec)


def _errors(page: Lesson, surface: Surface, paths: dict[str, np.ndarray]) -> None:
    height, y = chart_height(195), Axis(page.label("axis_descent_loss"), ERRORS, log=True)
    found = {page.label(f"optimizer_{name}"): (np.arange(len(path)), np.maximum(losses(surface, path), ERRORS[0]))
             for name, path in paths.items()}
    spec = figures.curves(list(found), list(MEANINGS.values()),
                          Axis(page.label("axis_steps"), (0, read("descent_steps")), format=",d"), y, reader.theme(),
                          scale=reader.scale(), height=height)
    show_spec("descent_loss", figures.curve_rows(found, y, height, reader.scale()), spec)


def _growth(page: Lesson, surface: Surface, rate: float) -> None:
    """|1 − η λ| of the flattest and the steepest direction over η: where it passes 1."""
    height, most = chart_height(195), 1.6 * surface.bound
    etas, y = np.linspace(0, most, 161), Axis(page.label("axis_growth"), (0.0, 2.2))
    found = {page.label("direction", curvature=readable(curvature)): (etas, np.abs(1 - etas * curvature))
             for curvature in surface.curvatures}
    spec = figures.curves(list(found), ["muted", "key"],
                          Axis(page.label("axis_eta"), (0.0, most)), y, reader.theme(), across={1.0: ""},
                          upright={surface.bound: page.label("rule_bound"),
                                   min(rate, most): page.label("rule_now" if rate <= most else "rule_beyond")},
                          scale=reader.scale(), height=height)
    show_spec("descent_growth", figures.curve_rows(found, y, height, reader.scale()), spec)


def _lines(page: Lesson, surface: Surface, rate: float, paths: dict[str, np.ndarray]) -> list[tuple[str, str]]:
    low, high = surface.curvatures
    (x, y), eta = paths["sgd"][0], latex_operand(rate)
    after = paths["sgd"][1]
    gradient = (paths["sgd"][0] - after) / rate
    return [
        (page.label("numbers_bound"), rf"\eta < \frac{{2}}{{\lambda_{{\max}}}} = \frac{{2}}{{{latex_operand(high)}}} = "
                                      rf"{latex_number(surface.bound)}"),
        (page.label("numbers_growth"),
         rf"|1 - \eta \lambda_{{\max}}| = |1 - {eta} \cdot {latex_operand(high)}| = "
         rf"{latex_number(descent.growth(rate, high))}, \qquad |1 - \eta \lambda_{{\min}}| = |1 - {eta} \cdot "
         rf"{latex_operand(low)}| = {latex_number(descent.growth(rate, low))}"),
        (page.label("numbers_condition"),
         rf"\kappa = \frac{{\lambda_{{\max}}}}{{\lambda_{{\min}}}} = "
         rf"\frac{{{latex_operand(high)}}}{{{latex_operand(low)}}} = {latex_number(high / low)}"),
        (page.label("numbers_momentum_bound", beta=descent.MOMENTUM),
         rf"\frac{{2 (1 + \beta)}}{{\lambda_{{\max}}}} = \frac{{2 \cdot "
         rf"{1 + descent.MOMENTUM:g}}}{{{latex_operand(high)}}} = {latex_number(2 * (1 + descent.MOMENTUM) / high)}"),
        (page.label("numbers_first_step"),
         rf"({latex_operand(x)}, {latex_operand(y)}) - {eta} \cdot ({latex_operand(gradient[0])}, "
         rf"{latex_operand(gradient[1])}) = ({latex_number(after[0])}, {latex_number(after[1])})")]


def _question(page: Lesson, surface: Surface) -> Question:
    low, high = surface.curvatures
    options = [1 / high, 2 / high, 1 / low, 2 / low]
    return Question("descent", page.label("question_descent", low=readable(low), high=readable(high)),
                    [f"η = {readable(value)}" for value in options], 1,
                    page.label("because_descent", high=readable(high), bound=readable(surface.bound)))


def table(surface: Surface, paths: dict[str, np.ndarray]) -> pd.DataFrame:
    """Every step of every path."""
    return pd.concat([pd.DataFrame({"optimizer": name, "step": range(len(path)), "x": path[:, 0], "y": path[:, 1],
                                    "loss": losses(surface, path)}) for name, path in paths.items()], ignore_index=True)
