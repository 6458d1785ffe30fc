"""LayerNorm, RMSNorm and BatchNorm on the live model's stream: which numbers each averages over, and whose output
depends on the other tokens of the batch.
"""
import math
from bisect import bisect
from dataclasses import dataclass

import pandas as pd
import streamlit as st
import torch
from torch import Tensor

from core.analysis import stream_and_heads
from core.analysis.arrays import to_numpy
from core.analysis.norm_inputs import norm_input, norm_places
from core.app.lesson import Lesson, Options, Prediction, Question, Reading, Truth
from core.app.lesson.selection_controls import picked_norm
from core.app.parts.charts import screen_taken
from core.app.state import Run, reader
from core.base.markdown import code, unmarked
from core.components.lib.token_view import token_view
from core.components.residual_grid import Grid, residual_grid
from core.figures.numbers import bracketed, latex_number, latex_operand, percent, readable, superscript
from core.model import normalisation
from pages.architectures.shared import PREFIX, SETTINGS, SHARED_CSS, attached, histogram, keep, read

KINDS = ("layernorm", "rmsnorm", "batchnorm")
REACH = 4                   # of the histograms of the norms' outputs, on both sides of 0, at least
BINS = 31
MOST_CHARACTERS = 500       # of the text that joins the batch
SHIFT = 5.0                 # added in the question
LIMITS = (0.1, 0.5)         # of its length by which a vector moves, between the options of the question
MOST_ASKED = 60             # characters of the text that joins, in the question before the picture
# Three norms of one token: the cells that each averages over, its statistics, its result, and whether other tokens
# change it.
_picture = token_view("architecture_norms", __file__, SHARED_CSS)


@dataclass(frozen=True)
class Batch:
    """The input of a norm, float64: matrix (N, d) of the prompt and extra (K, d) of the text that joins the batch; the
    position of the token; ε.
    """

    matrix: Tensor
    extra: Tensor
    position: int
    epsilon: float

    @property
    def joined(self) -> Tensor:
        """(N + K, d) both texts in one batch."""
        return torch.cat([self.matrix, self.extra])

    @property
    def alone(self) -> Tensor:
        """(1, d) the token by itself."""
        return self.row[None]

    @property
    def row(self) -> Tensor:
        """(d,) the token's vector."""
        return self.matrix[self.position]

    def normed(self, kind: str) -> Tensor:
        """(d,) the token after a norm, among the prompt's tokens."""
        return normed(kind, self.matrix, self.position, self.epsilon)


def predict(page: Lesson, run: Run) -> Prediction | None:
    """How far a text that joins the batch moves the token under BatchNorm; asked of two tokens or more, and a text."""
    typed, chosen = read("norms_other")[:MOST_CHARACTERS], reader.selection()
    places = [place for place in SETTINGS.each["norms_where"].options if place in norm_places(run.model.config)]
    if len(run.tokens) < 2 or not typed.strip() or not places:
        return None
    where = read("norms_where") if read("norms_where") in places else places[0]

    def truth(_: int) -> Truth:
        batch = batch_of(run, typed, where, chosen.layer, chosen.position)
        layer, rms, batchnorm = (change(kind, batch, batch.joined, batch.position) for kind in KINDS)
        return Truth(0 if batchnorm == 0 else 1 + bisect(LIMITS, batchnorm), said=percent(batchnorm),
                     seen=0 if layer == rms == 0 else 1,
                     values={"moved": percent(batchnorm)})

    other = typed if len(typed) <= MOST_ASKED else f"{typed[:MOST_ASKED]}…"
    return Prediction("norms", Options([page.label(f"moves_{i}") for i in range(len(LIMITS) + 2)]), truth,
                      {"other": other, "token": run.tokens[chosen.position]},
                      (where, chosen.layer, chosen.position, typed))


def draw(page: Lesson, run: Run) -> Reading:
    """Draw the instrument and return what it shows."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        where, layer, position = picked_norm(page, run, SETTINGS, "norms_where")
        typed = st.text_input(page.label("norms_other"), max_chars=MOST_CHARACTERS, live=True, width=340,
                              **attached("norms_other"))
    batch = batch_of(run, typed[:MOST_CHARACTERS], where, layer, position)
    feature = min(read("norms_feature"), batch.matrix.shape[-1] - 1)
    title = _title(page, run, batch)
    left, right = st.columns([5, 8], gap="medium")
    with left:
        _matrix(page, run, batch, feature, title)
    with right:
        _picture(message(page, run, batch, feature), key=f"{PREFIX}norms_table", on_settings=lambda settings: None)
    return _reading(page, run, batch, feature, title)


def batch_of(run: Run, typed: str, where: str, layer: int, position: int) -> Batch:
    """The input of one norm of the model on the prompt, and on the other text without its end-of-text token."""
    matrix, norm = norm_input(run.model, run.trace, where, layer)
    extra = norm_input(run.model, run.with_text(typed).trace, where, layer)[0][1:]
    return Batch(matrix.double(), extra.double(), position, norm.epsilon)


def normed(kind: str, batch: Tensor, position: int, epsilon: float) -> Tensor:
    """(d,) row `position` of batch (N, d) after a norm without gain and shift: layernorm and rmsnorm over its features,
    batchnorm each feature over the rows.
    """
    if kind == "batchnorm":
        return stream_and_heads.standardise(batch, "tokens", epsilon).values[position]
    row = batch[position]
    return normalisation.normalise(row, kind, torch.ones_like(row), None, epsilon)


def change(kind: str, batch: Batch, companions: Tensor, position: int) -> float:
    """The relative change of the token's output when it is normed among `companions` (M, d), with its own vector at
    `position`.
    """
    return moved(batch.normed(kind), normed(kind, companions, position, batch.epsilon))


def moved(before: Tensor, after: Tensor) -> float:
    """‖after − before‖ / ‖before‖ of two vectors (d,)."""
    return float((after - before).norm() / before.norm().clamp(min=1e-12))


def _title(page: Lesson, run: Run, batch: Batch) -> str:
    apart = moved(batch.normed("layernorm"), batch.normed("rmsnorm"))
    values = {"token": code(run.tokens[batch.position]), "apart": percent(apart)}
    if not len(batch.extra):
        return page.label("norms_title_none", **values)
    *others, batchnorm = (change(kind, batch, batch.joined, batch.position) for kind in KINDS)
    still = max(others)
    return page.label("norms_title", moved=percent(batchnorm),
                      still=page.label("norms_exactly") if still == 0 else readable(still), **values)


def _matrix(page: Lesson, run: Run, batch: Batch, feature: int, title: str) -> None:
    n, d = batch.matrix.shape
    if not reader.present():
        st.markdown(page.label("norms_matrix", n=n, d=d))
    largest = max(float(batch.matrix.abs().max()), 1e-6)
    grid = Grid(to_numpy(batch.matrix), run.tokens, [str(i) for i in range(d)], page.label("norms_legend"),
                page.label("norms_reading"), unmarked(title), reader.theme(), (batch.position, feature),
                (-largest, largest), signed=True, least_column=1, least_row=1, numbered=True, row_band=True,
                height=180, fit=screen_taken(150), present=reader.present())
    residual_grid(grid, key=f"{PREFIX}norms_matrix", on_pick=_pick)


def _pick(row: int, column: int) -> None:
    keep(norms_feature=column)
    reader.select(position=row)


# ---- the component's data --------------------------------------------------------------------------------------------


def message(page: Lesson, run: Run, batch: Batch, feature: int) -> dict:
    """The header of the component, as norms.js describes it."""
    n, d = batch.matrix.shape
    x, token = batch.row, run.tokens[batch.position]
    largest = max(float(x.abs().max()), 1e-6)
    reach = float(f"{largest:.1g}")
    reach *= 1.5 if reach < largest else 1
    after = max(REACH, *(math.ceil(float(batch.normed(kind).abs().max())) for kind in KINDS))
    edges = (-float(after), float(after))
    return page.header("norms") | {"norms": [_row(page, batch, kind, feature, edges) for kind in KINDS], "edges": edges,
            "columns": {"result": page.label("norms_column_result", token=token, d=d),
                        "joined": page.label("norms_column_joined", k=len(batch.extra))},
            "before": {"name": page.label("norms_before", token=token, d=d), "edges": (-reach, reach),
                       "counts": histogram(to_numpy(x), (-reach, reach), BINS), "stat": _stat(page, x)}}


def _row(page: Lesson, batch: Batch, kind: str, feature: int, edges: tuple[float, float]) -> dict:
    n, d = batch.matrix.shape
    after = batch.normed(kind)
    mean, scale = statistics(kind, batch, feature)
    over = "column" if kind == "batchnorm" else "row"
    alone, joined = change(kind, batch, batch.alone, 0), change(kind, batch, batch.joined, batch.position)
    empty = not normed(kind, batch.alone, 0, batch.epsilon).any()
    return {"kind": kind, "name": page.label(f"norms_{kind}"), "formula": page.label(f"norms_formula_{kind}"),
            "over": over, "cells": page.label(f"norms_over_{over}", n=n, d=d),
            "statistics": page.label(f"norms_stat_{kind}", mean=readable(mean), scale=readable(scale), feature=feature),
            "counts": histogram(to_numpy(after), edges, BINS), "stat": _stat(page, after),
            "alone": page.label("norms_zeroed", value=percent(alone)) if empty else _written(page, alone),
            "joined": _written(page, joined), "still": [alone == 0, joined == 0]}


def statistics(kind: str, batch: Batch, feature: int) -> tuple[float, float]:
    """The mean and the scale by which the norm standardises the token (layernorm, rmsnorm) or the feature (batchnorm).
    """
    if kind == "batchnorm":
        stats = stream_and_heads.standardise(batch.matrix, "tokens", batch.epsilon)
        return float(stats.mean[0, feature]), float(stats.std[0, feature])
    mean, scale = normalisation.norm_statistics(batch.row, kind, batch.epsilon)
    return float(mean), float(scale)


def _stat(page: Lesson, values: Tensor) -> str:
    return page.label("norms_after_stat", mean=_near_zero(float(values.mean())),
                      std=readable(float(values.std(correction=0))))


def _near_zero(value: float) -> str:
    """A mean as text, with "0" for a rounding error."""
    return "0" if abs(value) < 1e-12 else readable(value)


def _written(page: Lesson, share: float) -> str:
    return page.label("norms_exactly") if share == 0 else percent(share)


# ---- in numbers, the question, the data ------------------------------------------------------------------------------


def _reading(page: Lesson, run: Run, batch: Batch, feature: int, title: str) -> Reading:
    x = batch.row
    rows = {kind: to_numpy(batch.normed(kind)) for kind in KINDS}
    table = pd.DataFrame({"feature": range(len(x)), "x": to_numpy(x)} | rows)
    return Reading(_lines(page, run, batch, feature), _question(page, run, batch),
                   [normed, normalisation.norm_statistics, stream_and_heads.standardise], {"norms.csv": lambda: table},
                   ".norms-table", title)


def _lines(page: Lesson, run: Run, batch: Batch, c: int) -> list[tuple[str, str]]:
    n, d = batch.matrix.shape
    x, token = batch.row, code(run.tokens[batch.position])
    value, square, variance = x[c], x.square().mean(), x.var(correction=0)
    (mean, scale), (_, rms), across = (statistics(kind, batch, c) for kind in KINDS)
    layer, root, result = (batch.normed(kind)[c] for kind in KINDS)
    put = latex_operand
    lines = [(page.label("norms_numbers_layer", token=token, c=c, d=d, epsilon=superscript(batch.epsilon)),
              _standardised("", value, mean, scale, layer)),
             (page.label("norms_numbers_rms"),
              rf"\text{{RMS}} = \sqrt{{{put(mean ** 2)} + {put(variance)} + {put(batch.epsilon)}}} = "
              rf"{latex_number(rms)}, \qquad \frac{{{put(value)}}}{{{put(rms)}}} = {latex_number(root)}"),
             (page.label("norms_numbers_batch", c=c, n=n), _standardised("_c", value, *across, result))]
    if len(batch.extra):
        joined = stream_and_heads.standardise(batch.joined, "tokens", batch.epsilon)
        numbers = joined.mean[0, c], joined.std[0, c], joined.values[batch.position, c]
        lines.append((page.label("norms_numbers_joined", token=token, c=c, k=len(batch.extra)),
                      _standardised("_c", value, *numbers)))
    lines.append((page.label("norms_numbers_share"),
                  rf"\frac{{\mu^2}}{{\text{{mean square}}}} = \frac{{{put(mean ** 2)}}}{{{put(square)}}} = "
                  rf"{latex_number(mean ** 2 / max(square, 1e-300))}"))
    return lines


def _standardised(index: str, value: Tensor, mean: Tensor | float, scale: Tensor | float, result: Tensor) -> str:
    """The LaTeX of a standardised value: mean and deviation with an index, then the fraction and its result."""
    mean, scale = latex_operand(mean), latex_operand(scale)
    return (rf"\mu{index} = {mean}, \quad \sigma{index} = {scale}, \qquad "
            rf"\frac{{{latex_operand(value)} - {bracketed(mean)}}}{{{scale}}} = {latex_number(result)}")


def shifted(kind: str, batch: Batch) -> float:
    """The relative change of the norm's output when SHIFT is added to every feature of the token."""
    return moved(*(normed(kind, row[None], 0, batch.epsilon) for row in (batch.row, batch.row + SHIFT)))


def _question(page: Lesson, run: Run, batch: Batch) -> Question:
    """Ask which norms ignore a constant added to every feature."""
    layer, rms = shifted("layernorm", batch), shifted("rmsnorm", batch)
    options = {"layer": (True, False), "rms": (False, True), "both": (True, True), "none": (False, False)}
    answer = [*options.values()].index((layer < 1e-6, rms < 1e-6))
    return page.question("norms", [page.label(f"norms_option_{name}") for name in options], answer,
                         token=code(run.tokens[batch.position]), layer=readable(layer), rms=readable(rms))
