"""Gradient: the size of the gradient over k steps in a tanh network, in gated cells and through attention."""
from bisect import bisect
from collections.abc import Sequence

import numpy as np
import pandas as pd
import streamlit as st
import torch

from core.app.compute import cache
from core.app.lesson import Lesson, Options, Prediction, Question, Reading, Truth
from core.app.state import Run
from core.figures.lines import Axis
from core.figures.numbers import bracketed, latex_number, latex_operand, readable
from core.learning import recurrent_cells
from core.learning.recurrent_cells import GATES, MATRICES
from pages.recurrence.shared import (
    chart_height,
    choice,
    line_frame,
    network_names,
    own_seed,
    read,
    show_lines,
    slider,
    whole,
)

N_HIDDEN = 32
INPUT_SIZE = 0.5         # standard deviation of the inputs, for which tanh units are mostly in their steep part
ASKED = 60               # steps of the question
NORMS = (0.9, 1.2, 1.5, 2.0)       # from which the question has the best one picked
LIMITS = (1e-3, 0.8, 1.25)         # factors between the options of the question
ON_THE_BOUND = 0.01      # relative distance of two lines that lie on each other
LINES = ("rnn", "bound", "lstm", "gru", "attention", "gates")


def gradients(norm: float, matrix: str, activation: str, keep: float, n_steps: int, seed: int) -> dict[str, np.ndarray]:
    """Gradient norms by distance 0 … T (attention: 0 … T − 1) for each of LINES, shared by all readers."""
    def make() -> dict[str, np.ndarray]:
        generator = torch.Generator().manual_seed(seed)
        X = INPUT_SIZE * torch.randn(128, N_HIDDEN, generator=generator, dtype=torch.float64)[:n_steps]
        cells = {kind: recurrent_cells.random_cell(kind, N_HIDDEN, N_HIDDEN, generator, norm, matrix, keep,
                                                   activation if kind == "rnn" else "tanh") for kind in GATES}
        head = recurrent_cells.random_head(N_HIDDEN, generator)
        norms = {kind: recurrent_cells.gradient_norms(cell, X) for kind, cell in cells.items()}
        norms |= {"bound": recurrent_cells.gradient_bound(cells["rnn"], X),
                  "gates": recurrent_cells.gate_path(cells["lstm"], X),
                  "attention": recurrent_cells.attention_gradient_norms(head, X)}
        return {name: values.numpy() for name, values in norms.items()}

    return cache.result(("recurrence gradient", norm, matrix, activation, keep, n_steps, seed), make,
                        lambda value: 8 * sum(map(len, value.values())))


def predict(page: Lesson, run: Run) -> Prediction:
    """Ask how much of a small change the plain network keeps over the distance: hardly any, less, as much, more."""
    setting = settings()
    *_, n_steps, _ = setting
    distance = picked_distance(n_steps)

    def truth(_guess: int) -> Truth:
        norms = gradients(*setting)
        rnn, bound = norms["rnn"], norms["bound"]
        factor = readable(rnn[distance])
        return Truth(bisect(LIMITS, rnn[distance]), said=page.label("times", factor=factor),
                     seen=1 if np.allclose(rnn, bound, rtol=ON_THE_BOUND) else 0,
                     values={"factor": factor, "bound": readable(bound[distance])})

    return Prediction("gradient", Options([page.label(f"change_{i}") for i in range(len(LIMITS) + 1)]), truth,
                      {"norm": readable(read("norm")), "k": distance,
                       "flattens": page.label(f"flattens_{read('activation')}")}, (*setting, distance))


def settings() -> tuple[float, str, str, float, int, int]:
    """The arguments of `gradients`."""
    return (round(read("norm"), 2), read("matrix"), read("activation"), read("keep"), int(read("steps")),
            int(read("seed")))


def picked_distance(n_steps: int) -> int:
    return int(min(read("distance"), n_steps - 1))


def draw(page: Lesson, run: Run) -> Reading:
    """Draw the instrument and return what it shows."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        slider(page, "norm", 0.05, 160)
        choice(page, "matrix")
        choice(page, "activation")
        slider(page, "keep", 0.5, 120)
        slider(page, "steps", 8, 110)
        slider(page, "distance", 1, 140)
        own_seed(page)
    setting = settings()
    norm, _, activation, bias, n_steps, _ = setting
    norms, distance = gradients(*setting), picked_distance(n_steps)
    title = page.label("gradient_title", norm=readable(norm), distance=distance,
                       **{name: readable(norms[name][distance]) for name in ("rnn", "lstm", "gates", "bound")})
    st.markdown(f"**{title}**")
    names = network_names(page, LINES) | {"rnn": page.label(f"network_{activation}")}
    show_lines("gradient", _frame(norms), names, whole(page.label("axis_distance")),
               Axis(page.label("axis_gradient"), log=True), chart_height(), picked=distance)
    return Reading(_lines(page, norms, norm, distance, bias), _question(page, setting),
                   [recurrent_cells.step_jacobians, recurrent_cells.gradient_norms,
                    recurrent_cells.gradient_bound, recurrent_cells.gate_path,
                    recurrent_cells.attention_gradient_norms],
                   {"gradients.csv": lambda: _table(norms)}, ".st-key-recurrence_gradient", title)


def _frame(norms: dict[str, np.ndarray]) -> pd.DataFrame:
    """The rows of the chart."""
    return line_frame((name, x, y) for name in LINES for x, y in enumerate(norms[name]))


def _lines(page: Lesson, norms: dict[str, np.ndarray], norm: float, k: int, bias: float) -> list[tuple[str, str]]:
    rnn, bound = norms["rnn"][k], norms["bound"][k]
    slopes, per_step = bound / norm ** k, rnn ** (1 / k)
    last = rf"\prod_{{s={f'T-{k - 1}' if k > 1 else 'T'}}}^{{T}}"       # over the last k steps
    sigma = 1 / (1 + np.exp(-bias))
    return [
        (page.label("numbers_gradient", k=k),
         rf"{_norm('h', 'h', k)} = \left\lVert {last} \operatorname{{diag}}(\varphi'(a_s))\, W_h \right\rVert = "
         rf"{latex_number(rnn)}"),
        (page.label("numbers_bound"),
         rf"{latex_number(rnn)} \;\le\; \lVert W_h \rVert^{{{k}}} {last} \max_i |\varphi'(a_{{s,i}})| = "
         rf"{latex_operand(norm)}^{{{k}}} \cdot {latex_operand(slopes)} = {latex_number(bound)}"),
        (page.label("numbers_rate", k=k), rf"{bracketed(latex_operand(rnn))}^{{1/{k}}} = {latex_number(per_step)}"),
        (page.label("numbers_keep", keep=readable(bias)),
         rf"\sigma(b_f)^{{{k}}} = {latex_number(sigma, 9)}^{{{k}}} = {latex_number(sigma ** k)}"),
        (page.label("numbers_gates", m=N_HIDDEN),
         rf"\max_i\; o_{{T,i}} \left(1 - \tanh^2 c_{{T,i}}\right) {last} f_{{s,i}} = "
         rf"{latex_number(norms['gates'][k])}"),
        (page.label("numbers_lstm"), rf"{_norm('h', '(h, c)', k)} = {latex_number(norms['lstm'][k])}"),
        (page.label("numbers_attention", k=k), rf"{_norm('z', 'x', k)} = {latex_number(norms['attention'][k])}"),
    ]


def _norm(of: str, by: str, k: int) -> str:
    """‖∂of_T/∂by_{T−k}‖ in LaTeX."""
    return rf"\left\lVert \frac{{\partial {of}_T}}{{\partial {by}_{{T-{k}}}}} \right\rVert"


def _question(page: Lesson, setting: tuple) -> Question:
    """With which of a few norms the plain network's gradient over ASKED steps stays nearest to 1, if its matrix is of
    the other sort.
    """
    _, matrix, activation, bias, _, seed = setting
    other = next(sort for sort in MATRICES if sort != matrix)
    factors = [float(gradients(norm, other, activation, bias, ASKED, seed)["rnn"][ASKED]) for norm in NORMS]
    best = int(np.argmin(np.abs(np.log(factors))))
    return page.question("norm", [readable(norm) for norm in NORMS], best, k=ASKED,
                         matrix=page.label(f"matrix_{other}"), activation=page.label(f"activation_{activation}"),
                         best=readable(NORMS[best]), norms=_listed(NORMS), factors=_listed(factors))


def _listed(values: Sequence[float]) -> str:
    return ", ".join(map(readable, values))


def _table(norms: dict[str, np.ndarray]) -> pd.DataFrame:
    """The norms by distance, a column for each line."""
    return pd.DataFrame({name: pd.Series(values) for name, values in norms.items()}).reset_index(names="distance")
