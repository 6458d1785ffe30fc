"""Averages: a head's output is a weighted mean of values; without feed-forward parts the tokens of a model become
alike.
"""
from dataclasses import dataclass

import numpy as np
import pandas as pd
import streamlit as st
import torch

from core.analysis import stream_and_heads
from core.analysis.arrays import to_numpy
from core.analysis.attention_steps import Steps, head_steps, tempered_weights
from core.analysis.embeddings import principal_axes
from core.app.lesson import Lesson, Options, Prediction, Question, Reading, Truth
from core.app.lesson.selection_controls import pick
from core.app.parts import charts
from core.app.state import Run, reader
from core.app.state.run import selection
from core.base.markdown import code
from core.components.lib.bytes import pack
from core.components.lib.instrument import instrument
from core.figures import residual_stream as figures
from core.figures.heads import head_name
from core.figures.numbers import latex_number, latex_operand, probability, readable
from core.model.intervention import Intervention, SublayerEdit
from pages.attention import bends
from pages.attention.shared import PREFIX, choice, keep, picked_block, read

PICTURE = f"{PREFIX}average"
CHART, CHART_PRESENT = 300, 235     # pixels
LEAST_CHANGE = 0.02          # of the mean cosine: below it tokens are about as alike as before
LEAST_TOKENS = 3
ASKED_TAU = 2.0              # the temperature of the question
# The values that a head averages, on the plane of their two principal axes, their hull, and the output inside it.
_picture = instrument("attention_average", __file__)


@dataclass(frozen=True)
class Plane:
    """The n values that the query sees: their coordinates on their two principal axes (n, 2), the share of the variance
    that the plane keeps, their scores (n,) and positions (n,).
    """

    points: np.ndarray
    share: float
    scores: np.ndarray
    positions: np.ndarray


def plane_of(steps: Steps) -> Plane:
    """The visible values on the plane of their two principal axes; a single value is at 0."""
    seen = steps.allowed
    values, scores, positions = steps.V[seen], to_numpy(steps.scores[seen]), np.flatnonzero(to_numpy(seen))
    view = principal_axes(values, 2)
    points = to_numpy(view(values))
    return Plane(np.pad(points, ((0, 0), (0, 2 - points.shape[1]))), view.kept if len(values) > 1 else 1.0,
                 scores, positions)


def without_feed_forward(run: Run) -> Intervention | None:
    """The feed-forward part of every block set to zero; None for a model that has none."""
    config = run.model.config
    return (None if config.d_ff is None
            else Intervention(sublayers=tuple(SublayerEdit(layer, "mlp") for layer in range(config.n_layers))))


def predict(page: Lesson, run: Run) -> Prediction | None:
    """Whether the tokens become more or less alike without the feed-forward parts."""
    if without_feed_forward(run) is None or len(run.tokens) < LEAST_TOKENS or read("average_part") != "average":
        return None

    def truth(_: int) -> Truth:
        lines = alike(run)
        above = np.round(lines["without"] - lines["whole"], 3)        # one sees no smaller distance
        crosses = (above > 0).any() and (above < 0).any()
        return Truth(2 if abs(above[-1]) < LEAST_CHANGE else 0 if above[-1] > 0 else 1, seen=int(crosses),
                     values={name: readable(float(line[-1])) for name, line in lines.items()})

    return Prediction("averages", Options([*page.labels("guess_averages").values()]), truth, {"n": len(run.tokens)})


def draw(page: Lesson, run: Run) -> Reading:
    """Draw the instrument; return what it shows."""
    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall"):
        bend = choice(page, "average_part") == "bend"
        if bend:
            bends.controls(page, run)
        else:
            pick(page, run, "layer", "head", "position")
    return bends.draw(page, run) if bend else _average(page, run)


def _average(page: Lesson, run: Run) -> Reading:
    block, weights = picked_block(run)
    chosen = selection(run)
    steps = head_steps(block, weights, chosen.head, chosen.position)
    plane, likeness, best = plane_of(steps), alike(run), int(steps.weights.argmax())
    head, alpha = head_name(chosen.layer, chosen.head), probability(float(tempered(steps)[best]))
    title = page.label("average_title", head=head, token=code(run.tokens[chosen.position]),
                       n=int(steps.allowed.sum()), answering=code(run.tokens[best]), alpha=alpha)
    st.markdown(f"**{title}**")
    left, right = st.columns([3, 2], gap="medium")
    with left:
        _draw_plane(page, run, plane)
        if not reader.present():
            st.caption(page.label("plane_caption", share=readable(100 * plane.share)))
    with right:
        _likeness_chart(page, run, likeness)
    values = pd.DataFrame(to_numpy(steps.V)).add_prefix("v")
    return Reading(_lines(page, run, steps, likeness), question(page, run, steps),
                   [head_steps, tempered_weights, stream_and_heads.mean_pairwise_cosine],
                   {"values.csv": lambda: values.assign(weight=to_numpy(steps.weights), token=run.tokens),
                    "likeness.csv": lambda: pd.DataFrame(likeness)},
                   ".instrument .picture", title, None,
                   {page.label("pin_head"): head, "i": str(chosen.position), "max α": alpha})


def _draw_plane(page: Lesson, run: Run, plane: Plane) -> None:
    """The values on their plane, weighted by softmax(scores / τ), τ = 2^temperature; the browser moves τ by itself."""
    header = {"tokens": [run.tokens[j] for j in plane.positions], "positions": plane.positions.tolist(),
              "labels": page.labels("average"), "settings": {"temperature": read("temperature")},
              "present": reader.present()}
    arrays = {"points": plane.points.astype(np.float32), "scores": plane.scores.astype(np.float32)}
    _picture(key=PICTURE, data=pack(header, arrays),
             on_settings=lambda settings: keep(temperature=settings["temperature"]))


def alike(run: Run) -> dict[str, np.ndarray]:
    """The mean cosine between different tokens in the stream, (L + 1,), of the "whole" model and "without" its
    feed-forward parts; empty for one token.
    """
    if len(run.tokens) < 2:
        return {}
    passes = {"whole": Intervention(), "without": without_feed_forward(run)}
    return {name: to_numpy(stream_and_heads.mean_pairwise_cosine(stream_and_heads.stream(run.trace_with(change))))
            for name, change in passes.items() if change is not None}


def _likeness_chart(page: Lesson, run: Run, likeness: dict[str, np.ndarray]) -> None:
    if not likeness:
        st.info(page.label("likeness_one_token"))
        return
    st.markdown(page.label("likeness_title" if "without" in likeness else "likeness_none",
                           **{name: readable(float(line[-1])) for name, line in likeness.items()}))
    charts.draw_spec(PREFIX, "likeness", *figures.growth_lines(
        {page.label(f"likeness_{name}"): line for name, line in likeness.items()}, ("residual", "attention"),
        (page.label("axis_blocks"), page.label("axis_likeness")), charts.reader_look(),
        CHART_PRESENT if reader.present() else CHART))
    if not reader.present():
        st.caption(page.label("likeness_note"))


def tempered(steps: Steps) -> torch.Tensor:
    """(N,) the weights at the temperature of the slider, as the picture has them."""
    return tempered_weights(torch.where(steps.allowed, steps.scores, -torch.inf), 2.0 ** read("temperature"))


def _lines(page: Lesson, run: Run, steps: Steps, likeness: dict[str, np.ndarray]) -> list[tuple[str, str]]:
    i, tau = selection(run).position, 2.0 ** read("temperature")
    lengths = steps.V.norm(dim=-1)
    longest = int(torch.where(steps.allowed, lengths, -1.0).argmax())
    weights = tempered(steps)
    best = int(steps.weights.argmax())
    exponentials = ((steps.scores[steps.allowed] - steps.top) / tau).exp()
    lines = [(page.label("numbers_convex"),
              rf"o_{{{i}}} = \sum_j \alpha_{{{i},j}} v_j, \qquad \alpha_{{{i},j}} \ge 0, \qquad \sum_j "
              rf"\alpha_{{{i},j}} = {latex_number(round(float(weights.sum()), 12))}"),
             (page.label("numbers_length", j=longest, token=code(run.tokens[longest])),
              rf"\lVert o_{{{i}}} \rVert = {latex_number((weights @ steps.V).norm())} \;\le\; \max_j \lVert v_j \rVert "
              rf"= \lVert v_{{{longest}}} \rVert = {latex_number(lengths[longest])}"),
             (page.label("numbers_tempered", tau=readable(tau, 4), j=best, token=code(run.tokens[best])),
              rf"\alpha_{{{i},{best}}}(\tau) = \frac{{1}}{{\sum_j e^{{(s_j - m)/\tau}}}} = "
              rf"\frac{{1}}{{{latex_operand(exponentials.sum())}}} = {latex_number(weights[best])}")]
    if "without" in likeness:
        lines.append((page.label("numbers_alike", n=run.model.config.n_layers),
                      rf"\overline{{\cos}} = {latex_number(likeness['whole'][-1])} \;\rightarrow\; "
                      rf"{latex_number(likeness['without'][-1])}"))
    return lines


def question(page: Lesson, run: Run, steps: Steps) -> Question:
    """Ask for the largest weight at another temperature; if only one key is seen, whether an average can exceed its
    largest part.
    """
    most, n = float(steps.weights.max()), int(steps.allowed.sum())
    then = float(tempered_weights(torch.where(steps.allowed, steps.scores, -torch.inf), ASKED_TAU).max())
    amounts = sorted({probability(value): value for value in (then, most / ASKED_TAU, most ** 2, 1 / n)}.items(),
                     key=lambda item: item[1])
    if n < LEAST_TOKENS or len(amounts) < 3:
        return page.question("exceeds", [page.label(f"option_{name}") for name in ("yes", "no")], 1)
    options = [text for text, _ in amounts]
    return page.question("averages", options, options.index(probability(then)), alpha=probability(most),
                         tau=f"{ASKED_TAU:g}", tempered=probability(then))
