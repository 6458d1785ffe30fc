"""Scaling: the experiment that shows why scores are divided by √d_k, and what the division does to the loaded
model's heads.
"""
import math

import numpy as np
import pandas as pd
import streamlit as st

from core.analysis import score_scaling
from core.analysis.score_scaling import D_KS, Estimate, Experiment, HeadScaling
from core.app.compute import cache
from core.app.lesson import Lesson, Options, Prediction, Question, Reading, Truth
from core.app.state import Run, reader
from core.app.state.run import selection
from core.base.markdown import escaped
from core.components.lib.token_view import token_view
from core.figures.heads import head_name
from core.figures.numbers import latex_number, latex_operand, percent, plain_number, readable
from pages.attention.shared import PREFIX, choice, keep, own_seed, read

PICTURE = f"{PREFIX}scaling_picture"      # not the key of a setting
KINDS = ("scaled", "unscaled")
HALF = 0.5                                # of the weight
# of a HeadScaling; the picture shows the first three
HEAD_MEASURES = ("variance", "entropy_scaled", "entropy_unscaled", "entropy_by_width")
# Variance, softmax, entropy and gradient of scores by the width d_k, with and without ÷ √d_k, under one slider.
_picture = token_view("attention_scaling", __file__)


def predict(page: Lesson, run: Run) -> Prediction:
    """How the softmax shares out the weight where scores are not divided."""
    at, n, seed = place(), int(read("scaling_keys")), read("scaling_seed")
    d = D_KS[at]

    def truth(_: int) -> Truth:
        scaled, unscaled = (float(weights.max()) for weights in experiment(seed, n).example_weights(at))
        return Truth(2 if unscaled >= HALF else 0 if unscaled < 2 / n else 1, said=percent(unscaled),
                     seen=0 if unscaled > scaled else 1 if d == 1 else 2,
                     values={"without": percent(unscaled), "with": percent(scaled), "even": percent(1 / n)})

    return Prediction("scaling", Options([*page.labels("guess_scaling").values()]), truth, {"n": n, "d": d},
                      (seed, n, d))


def draw(page: Lesson, run: Run) -> Reading:
    """Draw the controls and the four charts; return what they show."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key=f"{PREFIX}scaling_controls"):
        st.markdown(page.label("scaling_keys"), width="content")
        choice(page, "scaling_keys")
        own_seed(page, "scaling_seed", page.label("scaling_seed_help", draws=score_scaling.DRAWS))
        heads = heads_of(run)
        if not reader.present():
            st.markdown(_model_says(page, run, heads), width="stretch")
    results, at = experiment(read("scaling_seed"), int(read("scaling_keys"))), place()
    _picture(message(page, run, results, heads, at), key=PICTURE, on_settings=lambda sent: _settled(run, sent))
    with_, without = (m.mean[at] for m in results.entropy)
    title = page.label("scaling_title", d=D_KS[at], n=results.n, variance=readable(results.variance.mean[at]),
                       scaled=readable(with_), unscaled=readable(without))
    return Reading(_lines(page, run, results, heads, at), _question(page, results, at),
                   [score_scaling.products, score_scaling.experiment, score_scaling.entropy_share,
                    score_scaling.gradient_size, score_scaling.head_scaling],
                   {"scaling.csv": lambda: table(results), "heads.csv": lambda: head_table(run, heads)},
                   ".scaling-charts", title,
                   summary={"Var(q·k)": readable(results.variance.mean[at]),
                            page.label("scaling_entropy"): f"{readable(with_)} / {readable(without)}"})


def _settled(run: Run, sent: dict) -> None:
    """Keep the picked width d_k and the picked head."""
    keep(scaling_d=sent.get("d", D_KS[0]))
    n_heads = run.model.config.n_heads
    if isinstance(head := sent.get("head"), int) and 0 <= head < n_heads * run.model.config.n_layers:
        reader.select(layer=head // n_heads, head=head % n_heads)


def place() -> int:
    """The index of D_KS that is nearest to the setting."""
    return min(range(len(D_KS)), key=lambda k: abs(math.log2(D_KS[k] / read("scaling_d"))))


def experiment(seed: int, n: int) -> Experiment:
    """The experiment with a seed and n keys, shared by all readers."""
    return cache.result(("attention scaling", seed, n), lambda: score_scaling.experiment(seed, n),
                        lambda value: 2_000 + value.example.nbytes)


def heads_of(run: Run) -> tuple[HeadScaling, ...]:
    """The effect of the division on the heads of every block on the prompt; empty for additive scores, which have no
    product to divide.
    """
    if run.model.config.score == "additive":
        return ()
    return cache.result(run.key("attention scaling of heads"),
                        lambda: tuple(score_scaling.head_scaling(block, run.model.config)
                                      for block in run.trace.blocks),
                        lambda value: 200 + sum(4 * each.variance.nbytes for each in value))


def message(page: Lesson, run: Run, results: Experiment, heads: tuple[HeadScaling, ...], at: int) -> dict:
    """The header of the component, as scaling.js has it."""
    weights = [results.example_weights(k) for k in range(len(D_KS))]
    chosen, config = selection(run), run.model.config
    live = None if not heads else {
        "d": config.d_k, "picked": chosen.layer * config.n_heads + chosen.head,
        "names": [head_name(*divmod(k, config.n_heads)) for k in range(config.n_layers * config.n_heads)],
        **{name: _numbers(np.concatenate([getattr(each, measure) for each in heads]))
           for name, measure in zip(("variance", *KINDS), HEAD_MEASURES)}}
    return page.header("scaling") | {"d_ks": D_KS, "n": results.n,
            "variance": _estimate(results.variance), "heads": live, "settings": {"d": D_KS[at]},
            "weights": {kind: [pair[k].tolist() for pair in weights] for k, kind in enumerate(KINDS)},
            **{name: dict(zip(KINDS, map(_estimate, getattr(results, name)))) for name in ("entropy", "gradient")}}


def _numbers(values: np.ndarray) -> list[float | None]:
    """The values for JSON, where None stands for NaN."""
    return [value if math.isfinite(value) else None for value in values.tolist()]


def _estimate(estimate: Estimate) -> dict[str, list[float]]:
    return {"mean": estimate.mean.tolist(), "error": estimate.error.tolist()}


def _model_says(page: Lesson, run: Run, heads: tuple[HeadScaling, ...]) -> str:
    """The picked head's numbers, also as they were if the root of the model's width divided its scores."""
    chosen = selection(run)
    if not heads:
        return page.label("scaling_additive", model=escaped(run.title))
    if len(run.token_ids) < 2:
        return page.label("scaling_short")
    measures = {name: readable(getattr(heads[chosen.layer], measure)[chosen.head])
                for name, measure in zip(("variance", *KINDS, "wide"), HEAD_MEASURES)}
    config = run.model.config
    said = page.label("line_scaling_model", head=head_name(chosen.layer, chosen.head), d=config.d_k, **measures)
    return said + (" " + page.label("line_scaling_width", d=config.d_model, **measures)
                   if config.d_model != config.d_k else "")


def table(results: Experiment) -> pd.DataFrame:
    """The experiment, a row for each d_k."""
    estimates = {"variance": results.variance} | {f"{name}_{kind}": e for name in ("entropy", "gradient")
                                               for kind, e in zip(KINDS, getattr(results, name))}
    return pd.DataFrame({"d_k": D_KS} | {f"{name}{column}": values for name, e in estimates.items()
                                         for column, values in (("", e.mean), ("_error", e.error))})


def head_table(run: Run, heads: tuple[HeadScaling, ...]) -> pd.DataFrame:
    """The measures of the model's heads, a row for each."""
    config = run.model.config
    layer, head = np.divmod(np.arange(len(heads) * config.n_heads), config.n_heads)
    return pd.DataFrame({"layer": layer, "head": head, "d_k": config.d_k}
                        | {name: [value for each in heads for value in getattr(each, name)] for name in HEAD_MEASURES})


def _lines(page: Lesson, run: Run, results: Experiment, heads: tuple[HeadScaling, ...],
           at: int) -> list[tuple[str, str]]:
    d, n, variance = D_KS[at], results.n, results.variance.mean[at]
    scaled, unscaled = results.example_weights(at)
    best, against = int(results.example[at].argmax()), page.label("scaling_against")
    product = results.example[at, best]

    def estimate(values: Estimate) -> str:
        return rf"{latex_number(values.mean[at])} \pm {latex_number(values.error[at])}"

    lines = [
        (page.label("scaling_numbers_variance"),
         rf"\mathrm{{Var}}(q \cdot k) = \sum_{{c=1}}^{{{d}}} \mathrm{{Var}}(q_c k_c) = \sum_{{c=1}}^{{{d}}} "
         rf"\mathrm{{E}}[q_c^2]\,\mathrm{{E}}[k_c^2] = {d}, \qquad"
         rf"\text{{{page.label('scaling_measured')}}}\ {estimate(results.variance)}"),
        (page.label("scaling_numbers_divided", d=d),
         rf"\mathrm{{Var}}\!\left(\frac{{q \cdot k}}{{\sqrt{{{d}}}}}\right) = \frac{{\mathrm{{Var}}(q \cdot "
         rf"k)}}{{{d}}} = \frac{{{latex_operand(variance)}}}{{{d}}} = {latex_number(variance / d)}"),
        (page.label("scaling_numbers_score", best=best + 1),
         rf"\frac{{q \cdot k_{{{best + 1}}}}}{{\sqrt{{{d}}}}} = "
         rf"\frac{{{latex_operand(product)}}}{{{latex_operand(math.sqrt(d))}}} = "
         rf"{latex_number(product / math.sqrt(d))}, \qquad \alpha_{{{best + 1}}} = "
         rf"{latex_number(scaled[best])} \;\text{{{against}}}\; {latex_number(unscaled[best])}"),
        (page.label("scaling_numbers_gradient"),
         rf"\lVert \mathrm{{diag}}(\alpha) - \alpha\,\alpha^{{\mathsf T}} \rVert_F = "
         rf"\sqrt{{\textstyle\sum \alpha^2 - 2\sum \alpha^3 + (\sum \alpha^2)^2}} = "
         rf"{_gradient_latex(scaled)}"),
        (page.label("scaling_numbers_entropy", n=n),
         rf"\frac{{H}}{{\ln {n}}} = {estimate(results.entropy[0])}\quad\text{{{against}}}\quad "
         rf"{estimate(results.entropy[1])}")]
    return lines + ([_head_line(page, run, heads)] if heads and len(run.token_ids) > 1 else [])


def _head_line(page: Lesson, run: Run, heads: tuple[HeadScaling, ...]) -> tuple[str, str]:
    """The measured variance of the picked head's products, over d_k."""
    chosen, d_k = selection(run), run.model.config.d_k
    var = heads[chosen.layer].variance[chosen.head]
    return (page.label("scaling_numbers_head", head=head_name(chosen.layer, chosen.head),
                       model=escaped(run.title)),
            rf"\frac{{\mathrm{{Var}}(q \cdot k)}}{{d_k}} = \frac{{{latex_operand(var)}}}{{{d_k}}} = "
            rf"{latex_number(var / d_k)}")


def _gradient_latex(p: np.ndarray) -> str:
    squares, cubes = float((p**2).sum()), float((p**3).sum())
    return (rf"\sqrt{{{latex_operand(squares)} - 2 \cdot {latex_operand(cubes)} + {latex_operand(squares)}^2}} = "
            rf"{latex_number(score_scaling.gradient_size(p))}")


def _question(page: Lesson, results: Experiment, at: int) -> Question:
    """Ask which number is the variance of q·k at four times the picked d_k, or at a quarter of the largest."""
    far = at + 2 if at + 2 < len(D_KS) else at - 2
    now, then = float(results.variance.mean[at]), float(results.variance.mean[far])
    step = D_KS[far] / D_KS[at]
    options = list(dict.fromkeys(map(readable, sorted((then, now, now * math.sqrt(step), now * step * step)))))
    return page.question("scaling", options, options.index(readable(then)), d=D_KS[at], now=readable(now),
                         other=D_KS[far], then=plain_number(then), error=plain_number(results.variance.error[far]))
