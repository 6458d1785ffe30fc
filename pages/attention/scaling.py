"""Scaling: the experiment that shows why scores are divided by √d_k, and what the division does to the loaded
model's heads.
"""
import math

import numpy as np
import pandas as pd
import streamlit as st

from core.analysis import score_scaling
from core.analysis.score_scaling import D_KS, Experiment, HeadScaling, Measured
from core.app.base.markdown import escaped
from core.app.compute import cache
from core.app.frame import Lesson, Question, Reading
from core.app.state import Run, reader
from core.components.lib.token_view import token_view
from core.figures.heads import head_name
from core.figures.numbers import latex_number, latex_operand, plain_number, readable
from pages.attention.shared import PREFIX, choice, keep, read, throw_again

PICTURE = f"{PREFIX}scaling"
# Variance, softmax, entropy and gradient of scores by the width d_k, with and without ÷ √d_k, under one slider.
_picture = token_view("attention_scaling", __file__)


def draw(page: Lesson, run: Run) -> Reading:
    """The controls and the four charts; returns what they show."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key=f"{PREFIX}scaling_controls"):
        st.markdown(page.label("scaling_keys"), width="content")
        choice(page, "scaling_keys")
        throw_again(page, "scaling_seed", draws=score_scaling.DRAWS)
        heads = heads_of(run)
        if not reader.present():
            st.markdown(_model_says(page, run, heads), width="stretch")
    found, at = experiment(read("scaling_seed"), int(read("scaling_keys"))), place()
    _picture(message(page, run, found, heads, at), key=PICTURE, on_settings=lambda sent: _settled(run, sent))
    with_, without = (m.mean[at] for m in found.entropy)
    title = page.label("scaling_title", d=D_KS[at], n=found.n, variance=readable(found.variance.mean[at]),
                       scaled=readable(with_), unscaled=readable(without))
    return Reading(_lines(page, run, found, heads, at), _question(page, found, at),
                   [score_scaling.products, score_scaling.experiment, score_scaling.entropy_share,
                    score_scaling.gradient_size, score_scaling.head_scaling],
                   {"scaling.csv": lambda: table(found), "heads.csv": lambda: head_table(run, heads)},
                   ".scaling-charts", title,
                   summary={"Var(q·k)": readable(found.variance.mean[at]),
                            page.label("scaling_entropy"): f"{readable(with_)} / {readable(without)}"})


def _settled(run: Run, sent: dict) -> None:
    """Keeps the width and the head that the reader has picked."""
    keep(scaling_d=sent.get("d", D_KS[0]))
    n_heads = run.model.config.n_heads
    if isinstance(head := sent.get("head"), int) and 0 <= head < n_heads * run.model.config.n_layers:
        reader.select(layer=head // n_heads, head=head % n_heads)


def place() -> int:
    """Which of D_KS the slider stands on: the nearest to what the address says."""
    return min(range(len(D_KS)), key=lambda k: abs(math.log2(D_KS[k] / read("scaling_d"))))


def experiment(seed: int, n: int) -> Experiment:
    """The experiment of a seed, once for all who ask."""
    return cache.result(("attention scaling", seed, n), lambda: score_scaling.experiment(seed, n),
                        lambda made: 2_000 + made.example.nbytes)


def heads_of(run: Run) -> tuple[HeadScaling, ...]:
    """The division's effect on the heads of every block on the prompt; empty for a model that divides no product."""
    if run.model.config.score == "additive":
        return ()
    return cache.result(run.key("attention scaling of heads"),
                        lambda: tuple(score_scaling.head_scaling(block, run.model.config)
                                      for block in run.trace.blocks),
                        lambda made: 200 + sum(3 * each.variance.nbytes for each in made))


def message(page: Lesson, run: Run, found: Experiment, heads: tuple[HeadScaling, ...], at: int) -> dict:
    """The header of the component, as scaling.js has it."""
    weights = [found.example_weights(k) for k in range(len(D_KS))]
    selection, config = reader.selection(), run.model.config
    live = None if not heads else {"d": config.d_k, "picked": selection.layer * config.n_heads + selection.head,
                                   "names": [head_name(layer, head) for layer in range(config.n_layers)
                                             for head in range(config.n_heads)],
                                   **{name: _numbers(np.concatenate([getattr(each, field) for each in heads]))
                                      for name, field in (("variance", "variance"), ("scaled", "entropy_scaled"),
                                                          ("unscaled", "entropy_unscaled"))}}
    return {"text": page.labels("scaling"), "scale": reader.scale(), "d_ks": D_KS, "n": found.n,
            "variance": _measured(found.variance), "heads": live, "settings": {"d": D_KS[at]},
            "weights": {kind: [pair[k].tolist() for pair in weights] for k, kind in enumerate(("scaled", "unscaled"))},
            **{name: dict(zip(("scaled", "unscaled"), map(_measured, getattr(found, name))))
               for name in ("entropy", "gradient")}}


def _numbers(values: np.ndarray) -> list[float | None]:
    """For JSON, which has no NaN."""
    return [float(value) if math.isfinite(value) else None for value in values]


def _measured(measured: Measured) -> dict[str, list[float]]:
    return {"mean": measured.mean.tolist(), "error": measured.error.tolist()}


def _model_says(page: Lesson, run: Run, heads: tuple[HeadScaling, ...]) -> str:
    """The picked head's numbers in one sentence."""
    selection, config = reader.selection(), run.model.config
    if not heads:
        return page.label("scaling_additive", model=escaped(run.model_name))
    mine = heads[selection.layer]
    if len(run.token_ids) < 2:
        return page.label("scaling_short")
    return page.label("scaling_model", head=head_name(selection.layer, selection.head), d=config.d_k,
                      variance=readable(mine.variance[selection.head]),
                      scaled=readable(mine.entropy_scaled[selection.head]),
                      unscaled=readable(mine.entropy_unscaled[selection.head]))


def table(found: Experiment) -> pd.DataFrame:
    """The experiment, one d_k a row."""
    columns = {"d_k": D_KS, "variance": found.variance.mean, "variance_error": found.variance.error}
    for name in ("entropy", "gradient"):
        for kind, measured in zip(("scaled", "unscaled"), getattr(found, name)):
            columns |= {f"{name}_{kind}": measured.mean, f"{name}_{kind}_error": measured.error}
    return pd.DataFrame(columns)


def head_table(run: Run, heads: tuple[HeadScaling, ...]) -> pd.DataFrame:
    """The model's heads, one a row."""
    return pd.DataFrame([(layer, head, run.model.config.d_k, each.variance[head],
                          each.entropy_scaled[head], each.entropy_unscaled[head])
                         for layer, each in enumerate(heads) for head in range(len(each.variance))],
                        columns=["layer", "head", "d_k", "variance", "entropy_scaled", "entropy_unscaled"])


def _lines(page: Lesson, run: Run, found: Experiment, heads: tuple[HeadScaling, ...], at: int) -> list[tuple[str, str]]:
    d, n = D_KS[at], found.n
    weights = found.example_weights(at)
    best = int(found.example[at].argmax())
    product = float(found.example[at, best])
    lines = [
        (page.label("scaling_numbers_variance"),
         rf"\mathrm{{Var}}(q \cdot k) = \sum_{{c=1}}^{{{d}}} \mathrm{{Var}}(q_c k_c) = \sum_{{c=1}}^{{{d}}} "
         rf"\mathrm{{E}}[q_c^2]\,\mathrm{{E}}[k_c^2] = {d}, \qquad"
         rf"\text{{{page.label('scaling_measured')}}}\ {latex_number(found.variance.mean[at])} \pm "
         rf"{latex_number(found.variance.error[at])}"),
        (page.label("scaling_numbers_divided", d=d),
         rf"\mathrm{{Var}}\!\left(\frac{{q \cdot k}}{{\sqrt{{{d}}}}}\right) = \frac{{\mathrm{{Var}}(q \cdot "
         rf"k)}}{{{d}}} = \frac{{{latex_operand(found.variance.mean[at])}}}{{{d}}} = "
         rf"{latex_number(float(found.variance.mean[at]) / d)}"),
        (page.label("scaling_numbers_score", best=best + 1),
         rf"\frac{{q \cdot k_{{{best + 1}}}}}{{\sqrt{{{d}}}}} = "
         rf"\frac{{{latex_operand(product)}}}{{{latex_operand(math.sqrt(d))}}} = "
         rf"{latex_number(product / math.sqrt(d))}, \qquad \alpha_{{{best + 1}}} = "
         rf"{latex_number(weights[0][best])} \;\text{{{page.label('scaling_against')}}}\; "
         rf"{latex_number(weights[1][best])}"),
        (page.label("scaling_numbers_gradient"),
         rf"\lVert \mathrm{{diag}}(p) - p\,p^{{\mathsf T}} \rVert_F = \sqrt{{\textstyle\sum p^2 - 2\sum p^3 + (\sum "
         rf"p^2)^2}} = {_gradient_latex(weights[0])}"),
        (page.label("scaling_numbers_entropy", n=n),
         rf"\frac{{H}}{{\ln {n}}} = {latex_number(found.entropy[0].mean[at])} \pm "
         rf"{latex_number(found.entropy[0].error[at])}\quad\text{{{page.label('scaling_against')}}}\quad "
         rf"{latex_number(found.entropy[1].mean[at])} \pm {latex_number(found.entropy[1].error[at])}")]
    if heads and len(run.token_ids) > 1:
        selection, d_k = reader.selection(), run.model.config.d_k
        variance = float(heads[selection.layer].variance[selection.head])
        lines.append((page.label("scaling_numbers_head",
                                 head=head_name(selection.layer, selection.head), model=escaped(run.model_name)),
                      rf"\frac{{\mathrm{{Var}}(q \cdot k)}}{{d_k}} = \frac{{{latex_operand(variance)}}}{{{d_k}}} = "
                      rf"{latex_number(variance / d_k)}"))
    return lines


def _gradient_latex(p: np.ndarray) -> str:
    squares, cubes = float((p**2).sum()), float((p**3).sum())
    return (rf"\sqrt{{{latex_operand(squares)} - 2 \cdot {latex_operand(cubes)} + {latex_operand(squares)}^2}} = "
            rf"{latex_number(score_scaling.gradient_size(p))}")


def _question(page: Lesson, found: Experiment, at: int) -> Question:
    """The measured variance of q·k at four times the picked d_k, or a quarter where there is none: which
    of four numbers.
    """
    other = at + 2 if at + 2 < len(D_KS) else at - 2
    now, then = float(found.variance.mean[at]), float(found.variance.mean[other])
    step = D_KS[other] / D_KS[at]
    options = sorted({readable(then), readable(now), readable(now * math.sqrt(step)), readable(now * step * step)},
                     key=float)
    return Question("scaling", page.label("scaling_question", d=D_KS[at], now=readable(now), other=D_KS[other]),
                    options, options.index(readable(then)),
                    page.label("scaling_because", then=plain_number(then),
                               error=plain_number(found.variance.error[other]), other=D_KS[other]))
