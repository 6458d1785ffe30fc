"""LayerNorm on the picked vector; against BatchNorm on the same matrix."""
import numpy as np
import pandas as pd
import streamlit as st
from torch import Tensor

from core.analysis.arrays import to_numpy
from core.analysis.norm_inputs import norm_input, norm_places
from core.analysis.stream_and_heads import Standardised, standardise
from core.app.lesson import Lesson, Options, Prediction, Question, Reading, Truth
from core.app.lesson.selection_controls import picked_norm
from core.app.parts.charts import screen_taken
from core.app.state import Run, reader
from core.base.markdown import code, unmarked
from core.components.residual_grid import Grid, residual_grid
from core.figures.numbers import bracketed, latex_number, latex_operand, readable
from core.model import normalisation
from core.model.norms import Norm
from pages.residual_stream.charts import vector_bars
from pages.residual_stream.shared import PREFIX, SETTINGS, choice, keep, look, read, show

ALIKE = 1.05            # the ratio up to which two lengths count as alike


def predict(page: Lesson, run: Run) -> Prediction | None:
    """Ask which of two vectors, a short and a long one, is longer once each is divided by its deviation."""
    place = read("norm_where")
    if read("norm_view") != "vector" or place not in norm_places(run.model.config) or len(run.token_ids) < 2:
        return None
    selected, kind = reader.selection(), run.model.config.norm
    matrix, norm = norm_input(run.model, run.trace, place, selected.layer)
    X = matrix.double()
    lengths = X.norm(dim=-1)
    pair = selected.position, int((lengths / lengths[selected.position]).log().abs().argmax())
    short, long = sorted(pair, key=lengths.__getitem__)

    def truth(_: int) -> Truth:
        mean, std = normalisation.norm_statistics(X, kind, norm.epsilon)
        normed = ((X - mean) / std).norm(dim=-1)
        ratio = float(normed[long] / normed[short])
        return Truth(1 if 1 / ALIKE < ratio < ALIKE else 0 if ratio > 1 else 2,
                     values={"after_short": readable(float(normed[short])), "after_long": readable(float(normed[long])),
                             "root": readable(X.shape[1] ** 0.5)})

    rms = "_rms" if kind == "rmsnorm" else ""
    return Prediction("norm", Options([*page.labels("guess_norm").values()]), truth, {
        "what": page.label(f"norm_does{rms}"), "d": X.shape[1],
        **{name: run.tokens[at] for name, at in (("short", short), ("long", long))},
        **{f"{name}_length": readable(float(lengths[at])) for name, at in (("short", short), ("long", long))}})


def draw(page: Lesson, run: Run) -> Reading:
    """Draw the instrument; return what it shows."""
    view = choice(page, "norm_view")
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        where, layer, position = picked_norm(page, run, SETTINGS, "norm_where")
    matrix, norm = norm_input(run.model, run.trace, where, layer)
    return (_vector if view == "vector" else _against_batch)(page, run, matrix, norm, position)


# ---- one vector ------------------------------------------------------------------------------------------------------


def _vector(page: Lesson, run: Run, matrix: Tensor, norm: Norm, position: int) -> Reading:
    kind, x = run.model.config.norm, matrix[position].double()
    mean, std = (float(value) for value in normalisation.norm_statistics(x, kind, norm.epsilon))
    after, rms = norm(matrix[position], kind).double(), "_rms" if kind == "rmsnorm" else ""
    title = page.label(f"title_norm{rms}", token=code(run.tokens[position]), mean=readable(mean), std=readable(std),
                       before=readable(float(x.norm())), standard=readable(float(((x - mean) / std).norm())),
                       after=readable(float(after.norm())))
    st.markdown(f"**{title}**")
    vectors = {name: to_numpy(vector) for name, vector in (("x", x), ("standardised", (x - mean) / std),
                                                           ("normed", after))}
    captions = {"before": "stage_before", "standard": f"stage_standard{rms}", "after": f"stage_after{rms}"}
    with st.container(key=f"{PREFIX}vector", gap=None):
        for (name, caption), values in zip(captions.items(), vectors.values()):
            last, looks = name == "after", look(presenting=-10)
            looks["height"] = looks["height"] // 3 - 8 + 34 * last
            show(vector_bars(values, page.label(caption), page.label("axis_feature"), last, **looks), f"vector_{name}")
    return Reading(_norm_lines(page, norm, x, mean, std, after, bool(rms)), _scale_question(page, x, norm, kind),
                   [normalisation.norm_statistics, normalisation.normalise],
                   {"layer_norm.csv": lambda: pd.DataFrame({"feature": range(len(x)), **vectors})},
                   f".st-key-{PREFIX}vector", title)


def _norm_lines(page: Lesson, norm: Norm, x: Tensor, mean: float, std: float, after: Tensor,
                rms: bool) -> list[tuple[str, str]]:
    """The norm's statistics (mean and deviation, for RMSNorm only the latter), and its first two components."""
    sigma = latex_number(std)
    statistics = (rf"\sigma = \sqrt{{\tfrac{{1}}{{d}} \sum_c x_c^2 + \varepsilon}} = {sigma}" if rms else
                  rf"\mu = \frac{{1}}{{d}} \sum_c x_c = {latex_number(mean)}, \qquad \sigma = \sqrt{{\tfrac{{1}}{{d}} "
                  rf"\sum_c (x_c - \mu)^2 + \varepsilon}} = {sigma}")
    lines = [(page.label("numbers_rms" if rms else "numbers_mean"), statistics)]
    minus, number = ("", "") if rms else (r" - \mu", f" - {bracketed(latex_operand(mean))}")
    for c in range(min(2, len(x))):
        plus, added, caption = "", "", "numbers_component_gain"
        if norm.bias is not None:
            plus, added, caption = (rf" + \beta_{c + 1}", f" + {bracketed(latex_operand(norm.bias[c]))}",
                                    "numbers_component")
        lines.append((page.label(caption, c=c + 1),
                      rf"\alpha_{c + 1} \frac{{x_{c + 1}{minus}}}{{\sigma}}{plus} = "
                      rf"{bracketed(latex_operand(norm.weight[c]))} \cdot "
                      rf"\frac{{{latex_operand(x[c])}{number}}}{{{latex_operand(std)}}}{added} = "
                      rf"{latex_number(after[c])}"))
    return lines


def _scale_question(page: Lesson, x: Tensor, norm: Norm, kind: str) -> Question:
    """By which factor the norm's output grows when its input is ten times as long."""
    bias = None if norm.bias is None else norm.bias.double()
    once, tenfold = (normalisation.normalise(v, kind, norm.weight.double(), bias, norm.epsilon).norm()
                     for v in (x, 10 * x))
    ratio, factors = float(tenfold / once), {"times_ten": 10, "times_root": 10 ** 0.5, "times_one": 1,
                                             "times_tenth": 0.1}
    return Question("layer_norm", page.label("question_layer_norm"), [page.label(name) for name in factors],
                    int(np.argmin([abs(np.log(ratio / factor)) for factor in factors.values()])),
                    page.label("because_rms_norm" if bias is None else "because_layer_norm", ratio=readable(ratio, 6)))


# ---- against BatchNorm -----------------------------------------------------------------------------------------------


def _against_batch(page: Lesson, run: Run, matrix: Tensor, norm: Norm, position: int) -> Reading:
    matrix = matrix.double()
    layer, batch = (standardise(matrix, over, norm.epsilon) for over in ("features", "tokens"))
    feature, token = min(read("feature"), matrix.shape[-1] - 1), code(run.tokens[position])
    moved = _moved_by_last(matrix, norm.epsilon, position)
    title = (page.label("title_batch_short") if moved is None else
             page.label("title_batch", token=token, layer=readable(moved[0]), batch=readable(moved[1]),
                        last=code(run.tokens[-1])))
    st.markdown(f"**{title}**")
    largest = max(float(layer.values.abs().max()), float(batch.values.abs().max()), 1e-6)
    pictures = (("raw", matrix, float(matrix.abs().max())), ("features", layer.values, largest),
                ("tokens", batch.values, largest))
    for column, (name, values, limit) in zip(st.columns(3), pictures):
        with column:
            st.markdown(page.label(f"caption_{name}"))
            grid = Grid(to_numpy(values), run.tokens, [str(i) for i in range(matrix.shape[-1])],
                        page.label(f"legend_{name}"), page.label("reading_matrix"), unmarked(title), reader.theme(),
                        (position, feature), (-limit, limit), signed=True, least_column=1, least_row=1, numbered=True,
                        row_band=name != "tokens", column_band=name == "tokens", height=200, fit=screen_taken(130),
                        present=reader.present())
            residual_grid(grid, key=f"{PREFIX}matrix_{name}", on_pick=_pick_feature)
    return Reading(_batch_lines(page, matrix, layer, batch, token, position, feature),
                   _batch_question(page, run, matrix, norm), [standardise],
                   {"per_token.csv": lambda: _statistics(layer, 1, "position", token=run.tokens),
                    "per_feature.csv": lambda: _statistics(batch, 0, "feature")},
                   f".st-key-{PREFIX}matrix_tokens", title)


def _batch_lines(page: Lesson, matrix: Tensor, layer: Standardised, batch: Standardised, token: str, row: int,
                 feature: int) -> list[tuple[str, str]]:
    """The statistics of the token's row and of the feature's column, and their cell under both norms."""
    def statistics(mean: Tensor, std: Tensor) -> str:
        return rf"\mu = {latex_number(mean)}, \qquad \sigma = {latex_number(std)}"

    x, normed, batched = (latex_number(values[row, feature]) for values in (matrix, layer.values, batch.values))
    return [(page.label("numbers_layer_stat", token=token), statistics(layer.mean[row, 0], layer.std[row, 0])),
            (page.label("numbers_batch_stat", feature=feature),
             statistics(batch.mean[0, feature], batch.std[0, feature])),
            (page.label("numbers_same_cell", token=token, feature=feature),
             rf"x = {x}, \quad \text{{LayerNorm: }} {normed}, \quad \text{{BatchNorm: }} {batched}")]


def _statistics(standardised: Standardised, axis: int, name: str, **columns) -> pd.DataFrame:
    """The mean and deviation over an axis of the matrix, a row for each index of the other axis, in the column `name`.
    """
    mean, std = (to_numpy(values.select(axis, 0)) for values in (standardised.mean, standardised.std))
    return pd.DataFrame({name: range(len(mean)), **columns, "mean": mean, "std": std})


def _pick_feature(row: int, column: int) -> None:
    keep(feature=column)
    reader.select(position=row)


def _moved_by_last(matrix: Tensor, epsilon: float, position: int) -> tuple[float, float] | None:
    """The relative change of the token's normed vector under LayerNorm and BatchNorm when the last token is removed;
    None for the last token.
    """
    if position == len(matrix) - 1 or len(matrix) < 2:
        return None
    moved = []
    for over in ("features", "tokens"):
        whole, short = (standardise(rows, over, epsilon).values[position] for rows in (matrix, matrix[:-1]))
        moved.append(float((whole - short).norm() / whole.norm().clamp(min=1e-12)))
    return tuple(moved)


def _batch_question(page: Lesson, run: Run, matrix: Tensor, norm: Norm) -> Question:
    """Ask what BatchNorm leaves of one token."""
    layer, batch = (float(standardise(matrix[-1:], over, norm.epsilon).values.abs().max())
                    for over in ("features", "tokens"))
    return page.question("batch_norm", [page.label(f"batch_{name}") for name in ("same", "zero", "large")],
                         int(batch < 1e-6), token=code(run.tokens[-1]), layer=readable(layer), batch=readable(batch))
