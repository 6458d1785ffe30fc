"""Gradient descent on a loss that can be seen: plain, with momentum, and Adam, from the same start, by torch's
own optimizers.
"""
import math
from collections.abc import Callable

import numpy as np
import pandas as pd
import streamlit as st
import torch

from core.app.compute import cache
from core.app.lesson import Lesson, Question, Reading
from core.app.state import reader
from core.figures.lines import Axis
from core.figures.numbers import grouped, latex_number, latex_operand, readable
from core.learning import descent
from core.learning.descent import SURFACES, Surface
from core.learning.learner import OPTIMIZERS, Knobs
from pages.training import charts
from pages.training.shared import (
    PREFIX,
    ask,
    chart_height,
    fraction,
    look,
    numeric,
    pick_power,
    read,
    show_curves,
    show_spec,
    side_by_side,
)

MEANINGS = {"sgd": "key", "momentum": "value", "adam": "query"}
LEVELS = (0.05, 0.3, 1, 2.5, 5, 10, 20, 40)
STEPS_OF_TEN = 20         # settings of the learning rate in a power of ten
ERRORS = (1e-6, 1e4)      # ends of the loss axis
DIVERGED = 1e6             # a loss that is not worth its number


def draw(page: Lesson) -> Reading:
    """Draw the instrument; return what it shows."""
    surface = SURFACES[read("surface")]
    with side_by_side("bottom", "medium"):
        rate = pick_power(page, "descent_rate", STEPS_OF_TEN, width=320,
                          format_func=lambda power: readable(10 ** power))
        numeric(st.slider, page, "descent_steps", width=220)
    paths = {optimizer: path_of(read("surface"), optimizer, rate, read("descent_steps")) for optimizer in OPTIMIZERS}
    title = _title(page, surface, rate, paths)
    st.markdown(f"**{title}**")
    with st.container(key=f"{PREFIX}descent"):
        map_, beside = st.columns([6, 5], gap="medium")
        with map_:
            _map(page, surface, paths)
        with beside:
            _errors(page, surface, paths)
            if not reader.present():
                _growth(page, surface, rate)
    return Reading(_lines(page, surface, rate, paths), _question(page, surface),
                   [descent.path, Knobs.make, getattr(descent, read("surface")), descent.growth],
                   {"paths.csv": lambda: table(surface, paths)}, f".st-key-{PREFIX}descent", title)


def path_of(surface: str, optimizer: str, rate: float, n_steps: int) -> np.ndarray:
    """The path of an optimizer, shared by all readers."""
    return cache.result(("descent", surface, optimizer, rate, n_steps),
                        lambda: descent.path(SURFACES[surface], optimizer, rate, n_steps), lambda path: path.nbytes)


def losses(surface: Surface, path: np.ndarray) -> np.ndarray:
    """(n,) the loss at every point of a path (n, 2)."""
    return surface.loss(torch.from_numpy(path)).numpy()


def _title(page: Lesson, surface: Surface, rate: float, paths: dict[str, np.ndarray]) -> str:
    ends = ", ".join(f"{page.label(f'optimizer_{name}')} {_loss(page, losses(surface, path)[-1])}"
                     for name, path in paths.items())
    return page.label("descent_title_above" if rate > surface.bound else "descent_title", rate=readable(rate),
                      bound=readable(surface.bound), steps=read("descent_steps"), ends=ends)


def _loss(page: Lesson, loss: float) -> str:
    return readable(loss) if loss < DIVERGED else page.label("word_run_off")


def _map(page: Lesson, surface: Surface, paths: dict[str, np.ndarray]) -> None:
    names, angles = {name: page.label(f"optimizer_{name}") for name in paths}, np.linspace(0, 2 * np.pi, 121)
    rows = charts.surface_rows([surface.level(c, angles) for c in LEVELS],
                               {names[name]: path for name, path in paths.items()})
    show_spec("surface", rows, charts.surface(
        {names[name]: MEANINGS[name] for name in paths},
        Axis(page.label("axis_weight_1"), surface.x), Axis(page.label("axis_weight_2"), surface.y),
        {page.label("word_start"): surface.start, page.label("word_minimum"): surface.minimum}, look(),
        chart_height(35)))


def _errors(page: Lesson, surface: Surface, paths: dict[str, np.ndarray]) -> None:
    lines = {page.label(f"optimizer_{name}"): (np.arange(len(path)), np.maximum(losses(surface, path), ERRORS[0]))
             for name, path in paths.items()}
    show_curves("descent_loss", lines, [MEANINGS[name] for name in paths],
                Axis(page.label("axis_steps"), (0, read("descent_steps")), format=",d"),
                Axis(page.label("axis_descent_loss"), ERRORS, log=True),
                chart_height(35 if reader.present() else 195))


def _growth(page: Lesson, surface: Surface, rate: float) -> None:
    """Chart |1 − η λ| of the flattest and the steepest direction over η, to show where it exceeds 1."""
    most = 1.6 * surface.bound
    etas = np.linspace(0, most, 161)
    lines = {page.label("direction", curvature=readable(curvature)): (etas, descent.growth(etas, curvature))
             for curvature in surface.curvatures}
    show_curves("descent_growth", lines, ["muted", "key"], Axis(page.label("axis_eta"), (0.0, most)),
                Axis(page.label("axis_growth"), (0.0, 2.2)), chart_height(195), across={1.0: ""},
                upright={surface.bound: page.label("rule_bound"),
                         min(rate, most): page.label("rule_now" if rate <= most else "rule_beyond")})


def _lines(page: Lesson, surface: Surface, rate: float, paths: dict[str, np.ndarray]) -> list[tuple[str, str]]:
    low, high = surface.curvatures
    flat, steep, eta, factor = latex_operand(low), latex_operand(high), latex_operand(rate), 1 + descent.MOMENTUM
    start, after = paths["sgd"][:2]
    gradient = (start - after) / rate
    growths = [rf"|1 - \eta \lambda_{{\{name}}}| = |1 - {eta} \cdot {latex_operand(curvature)}| = "
               f"{latex_number(descent.growth(rate, curvature))}" for name, curvature in (("max", high), ("min", low))]
    return [
        (page.label("numbers_bound"), rf"\eta < \frac{{2}}{{\lambda_{{\max}}}} = {fraction(2, steep)} = "
                                      f"{latex_number(surface.bound)}"),
        (page.label("numbers_growth"), r", \qquad ".join(growths)),
        (page.label("numbers_condition"),
         rf"\kappa = \frac{{\lambda_{{\max}}}}{{\lambda_{{\min}}}} = {fraction(steep, flat)} = "
         f"{latex_number(high / low)}"),
        (page.label("numbers_momentum_bound", beta=descent.MOMENTUM),
         rf"\frac{{2 (1 + \beta)}}{{\lambda_{{\max}}}} = \frac{{2 \cdot {factor:g}}}{{{steep}}} = "
         f"{latex_number(2 * factor / high)}"),
        (page.label("numbers_first_step"),
         rf"({_point(start, latex_operand)}) - {eta} \cdot ({_point(gradient, latex_operand)}) = "
         f"({_point(after, latex_number)})")]


def _point(point: np.ndarray, write: Callable[[float], str]) -> str:
    return ", ".join(map(write, point))


def _question(page: Lesson, surface: Surface) -> Question:
    """How many steps the flattest direction takes to a hundredth of the distance, at half of the bound."""
    low, high = surface.curvatures
    factor = 1 - low / high
    steps = math.ceil(math.log(0.01) / math.log(factor))
    return ask(page, "descent", {steps // 10, round(high / low) * 10, 10 * steps}, steps, grouped,
               factor=readable(factor), steps=grouped(steps), condition=readable(high / low))


def table(surface: Surface, paths: dict[str, np.ndarray]) -> pd.DataFrame:
    """The steps of all paths, a row for each."""
    return pd.concat([pd.DataFrame({"optimizer": name, "step": range(len(path)), "x": path[:, 0], "y": path[:, 1],
                                    "loss": losses(surface, path)}) for name, path in paths.items()], ignore_index=True)
