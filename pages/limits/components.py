"""Components: what each number of each word vector counts for the target, ∂ ln p / ∂x_{i,c}, exactly and, for the
picked one, by a finite difference.
"""
from dataclasses import dataclass

import numpy as np
import pandas as pd
import streamlit as st
import torch

from core.analysis import attribution
from core.app.compute import growing_results
from core.app.lesson import Lesson, Question, Reading
from core.app.state import Run, reader
from core.base.markdown import code
from core.components.lib.token_view import token_view
from core.figures.numbers import bracketed, latex_number, latex_operand, percent, readable
from pages.limits.shared import PREFIX, keep, read

STEP = 0.01        # of the finite difference, in the unit of a component
# The gradient of every token's vector as a map of tokens × components, of which one can be picked.
_picture = token_view("limits_components", __file__)


@dataclass(frozen=True)
class Scene:
    """The vectors x (N, d) of a prompt's tokens, the gradient (N, d) of ln p of the target, and the picked cell."""

    run: Run
    target: int
    x: np.ndarray
    gradient: np.ndarray
    score: float
    token: int
    component: int

    @property
    def slope(self) -> float:
        return float(self.gradient[self.token, self.component])


def scene_of(run: Run, target: int) -> Scene:
    """Everything for one target, computed once for all readers; the picked cell, or the one of the steepest slope."""
    def make() -> tuple[np.ndarray, np.ndarray, float]:
        score, x = _score(run, target)
        with torch.no_grad():
            value = float(score(x[None])[0])
        return x.cpu().numpy(), attribution.gradient(score, x[None])[0].cpu().numpy(), value

    x, gradient, score = growing_results.made(run.key("components", target), make, lambda value: 2 * value[0].nbytes)
    token, component = read("token"), read("component")
    if not (0 <= token < len(x) and 0 <= component < x.shape[1]):
        token, component = divmod(int(np.abs(gradient).argmax()), x.shape[1])
    return Scene(run, target, x, gradient, score, token, component)


def _score(run: Run, target: int) -> tuple[attribution.Score, torch.Tensor]:
    model = run.loaded.runner
    x = model.embed(torch.tensor(run.token_ids, device=model.device)).detach()
    return attribution.log_prob_score(model, target), x


def nudged(run: Run, target: int, token: int, component: int) -> tuple[float, float]:
    """ln p of the target with the component STEP lower and STEP higher."""
    def make() -> tuple[float, float]:
        score, x = _score(run, target)
        points = x[None].repeat(2, 1, 1)
        points[:, token, component] += torch.tensor([-STEP, STEP], device=x.device)
        with torch.no_grad():
            low, high = score(points).double().tolist()
        return low, high

    return growing_results.made(run.key("nudged", target, token, component), make, lambda _: 100)


def draw(page: Lesson, run: Run, target: int) -> Reading:
    """Draw the map of all components; return what it shows."""
    scene = scene_of(run, target)
    title = _title(page, scene)
    st.markdown(f"**{title}**")
    lengths = np.linalg.norm(scene.gradient, axis=1)
    _picture(page.header("components") | {
        "tokens": run.tokens, "d": scene.x.shape[1], "lengths": [readable(length) for length in lengths],
        "dots": [readable(dot) for dot in (scene.x * scene.gradient).sum(1)], "tall": 7 if reader.present() else 11,
        "settings": {"token": scene.token, "component": scene.component}},
        key=f"{PREFIX}components", on_settings=lambda settings: keep(**{
            name: settings[name] for name in ("token", "component") if name in settings}),
        arrays={"slopes": scene.gradient.astype(np.float32), "x": scene.x.astype(np.float32)})
    return Reading(_lines(page, scene), _question(page, scene), [attribution.gradient, attribution.log_prob_score],
                   {"components.csv": lambda: _table(scene)}, f".st-key-{PREFIX}components", title)


def _title(page: Lesson, scene: Scene) -> str:
    i, c = divmod(int(np.abs(scene.gradient).argmax()), scene.x.shape[1])
    largest = np.sort(np.abs(scene.gradient).ravel())[::-1]
    half = int(np.searchsorted(np.cumsum(largest ** 2), 0.5 * (largest ** 2).sum())) + 1
    return page.label("components_title", target=code(scene.run.tokenizer.visible(scene.target)),
                      p=percent(float(np.exp(scene.score))), token=code(scene.run.tokens[i]), c=c,
                      slope=readable(scene.gradient[i, c]), half=half, all=scene.gradient.size)


def _lines(page: Lesson, scene: Scene) -> list[tuple[str, str]]:
    low, high = nudged(scene.run, scene.target, scene.token, scene.component)
    name = {"token": code(scene.run.tokens[scene.token]), "c": scene.component}
    dots = scene.x[scene.token].astype(np.float64) * scene.gradient[scene.token]
    own = float(dots[scene.component])
    return [(page.label("numbers_slope", **name),
             rf"\frac{{\partial \ln p}}{{\partial x_{{{scene.token},{scene.component}}}}} = "
             rf"{latex_number(scene.slope)}"),
            (page.label("numbers_difference_of", step=STEP),
             rf"\frac{{{bracketed(latex_operand(high))} - ({latex_operand(low)})}}{{2 \cdot {STEP}}} = "
             rf"{latex_number((high - low) / (2 * STEP))}"),
            (page.label("numbers_all_components", d=len(dots), **name),
             rf"\sum_c x_c \frac{{\partial \ln p}}{{\partial x_c}} = {latex_number(own)} + "
             rf"({latex_number(float(dots.sum()) - own)}) = {latex_number(float(dots.sum()))}")]


def _question(page: Lesson, scene: Scene) -> Question:
    """Ask how a step of the component changes ln p."""
    change = 2 * STEP * scene.slope
    options = sorted({round(change, 6), round(-change, 6), round(change / 2, 6), 0.0})
    if len(options) < 4:
        options = [-0.1, 0.0, 0.1]
    right = int(np.abs(np.array(options) - change).argmin())
    offered = [page.label("components_option", change=readable(value, 2)) for value in options]
    return page.question("components", offered, right, token=code(scene.run.tokens[scene.token]), c=scene.component,
                         slope=readable(scene.slope, 4), step=2 * STEP, change=readable(change, 2))


def _table(scene: Scene) -> pd.DataFrame:
    return pd.DataFrame([(i, token, c, scene.x[i, c], scene.gradient[i, c]) for i, token in enumerate(scene.run.tokens)
                         for c in range(scene.x.shape[1])], columns=["position", "token", "component", "x", "slope"])
