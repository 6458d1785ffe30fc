"""LayerNorm on the picked vector; against BatchNorm on this very matrix; pre-norm against post-norm in two
random models.
"""
from collections.abc import Sequence

import numpy as np
import pandas as pd
import streamlit as st
import torch
from streamlit.delta_generator import DeltaGenerator
from torch import Tensor

from core.analysis import stream_and_heads
from core.app.base.markdown import code, unmarked
from core.app.compute import cache
from core.app.frame import Lesson, Question, Reading
from core.app.state import Run, reader
from core.app.state.lesson_settings import Settings
from core.components.residual_grid import residual_grid
from core.figures import residual_stream as figures
from core.figures.numbers import bracketed, latex_number, readable
from core.model import normalisation
from core.model.block import Norm
from core.model.config import ModelConfig
from core.model.transformer import Transformer
from pages.residual_stream import charts as vector_figures
from pages.residual_stream.shared import (
    PREFIX,
    SETTINGS,
    attached,
    block_slider,
    chart_height,
    choice,
    keep,
    read,
    screen,
    show,
    to_numpy,
    token_slider,
)

RANDOM_WIDTH, RANDOM_TOKENS = 64, 32


def draw(page: Lesson, run: Run) -> Reading:
    """The instrument; returns what it shows."""
    shown = choice(page, "norm_view")
    if shown == "placement":
        return _placement(page, run)
    where, layer, position = picked_norm(page, run, SETTINGS, "norm_where",
                                         st.columns([2, 3, 4], vertical_alignment="bottom"))
    matrix, norm = norm_input(run, where, layer)
    return (_vector if shown == "vector" else _against_batch)(page, run, matrix, norm, position)


def picked_norm(page: Lesson, run: Run, settings: Settings, name: str,
                columns: Sequence[DeltaGenerator]) -> tuple[str, int, int]:
    """Controls for one norm of the model and a token, in three columns: which norm, by the setting `name`, the block
    and the position.
    """
    places = [place for place in settings.each[name].options if place in norm_places(run)]
    settings.among(name, places)
    where = columns[0].selectbox(page.label(name), places, format_func=lambda place: page.label(f"{name}_{place}"),
                                 **settings.attached(name))
    with columns[1]:
        layer = block_slider(page, run)
    with columns[2]:
        return where, layer, token_slider(page, run)


def norm_places(run: Run) -> set[str]:
    """Where the model has norms: before or after "attention" and "mlp" of each block, at the end ("final"), and on what
    enters the first block ("embedding").
    """
    config = run.model.config
    return ({"attention"} | ({"mlp"} if config.d_ff is not None else set())
            | ({"final"} if config.reads_normed else set()) | ({"embedding"} if config.embedding_norm else set()))


def norm_input(run: Run, where: str, layer: int) -> tuple[Tensor, Norm]:
    """What the norm "attention" or "mlp" of block `layer`, the "final" one or that of the "embedding" reads
    (N, d), and the norm.
    """
    block, weights, post = run.trace.blocks[layer], run.model.blocks[layer], not run.model.config.reads_normed
    if where == "embedding":
        trace = run.trace
        return (sum(added for added in (trace.embedding, trace.position, trace.token_type) if added is not None),
                run.model.embedding_norm)
    if where == "final":
        return run.trace.resid_final, run.model.final_norm
    if where == "attention":
        return (weights.kept(block.resid_pre) + block.attn_out if post else block.resid_pre), weights.attn_norm
    if post:
        return weights.kept(block.resid_mid) + block.mlp_out, weights.mlp_norm
    return (block.resid_pre if run.model.config.parallel_residual else block.resid_mid), weights.mlp_norm


# ---- one vector ------------------------------------------------------------------------------------------------------


def _vector(page: Lesson, run: Run, matrix: Tensor, norm: Norm, position: int) -> Reading:
    kind, x = run.model.config.norm, matrix[position].double()
    mean, std = (float(value) for value in normalisation.norm_statistics(x, kind, norm.epsilon))
    middle = (x - mean) / std
    after = norm(matrix[position], kind).double()
    rms = "_rms" if kind == "rmsnorm" else ""
    title = page.label(f"title_norm{rms}", token=code(run.tokens[position]), mean=readable(mean), std=readable(std),
                       before=readable(float(x.norm())), after=readable(float(after.norm())))
    st.markdown(f"**{title}**")
    with st.container(key=f"{PREFIX}vector", gap=None):
        for i, (name, values) in enumerate((("before", x), ("standard", middle), ("after", after))):
            chart = vector_figures.vector_bars(to_numpy(values),
                                               page.label(f"stage_{name}{rms}" if name != "before" else "stage_before"),
                                               page.label("axis_feature"), reader.theme(), i == 2, reader.scale(),
                                               chart_height(20 if reader.present() else 0) // 3 - 8 + 34 * (i == 2))
            show(chart, f"vector_{name}")
    lines = _norm_lines(page, norm, x, mean, std, after, bool(rms))
    table = pd.DataFrame({"feature": range(len(x)), "x": to_numpy(x), "standardised": to_numpy(middle),
                          "normed": to_numpy(after)})
    return Reading(lines, _scale_question(page, x, norm, kind),
                   [normalisation.norm_statistics, normalisation.normalise], {"layer_norm.csv": lambda: table},
                   f".st-key-{PREFIX}vector", title)


def _norm_lines(page: Lesson, norm: Norm, x: Tensor, mean: float, std: float, after: Tensor,
                rms: bool) -> list[tuple[str, str]]:
    """The norm's two statistics (of RMSNorm, which leaves the mean in, one), and its first two components."""
    statistics = (rf"\sigma = \sqrt{{\tfrac{{1}}{{d}} \sum_c x_c^2 + \varepsilon}} = {latex_number(std)}" if rms else
                  rf"\mu = \frac{{1}}{{d}} \sum_c x_c = {latex_number(mean)}, \qquad \sigma = \sqrt{{\tfrac{{1}}{{d}} "
                  rf"\sum_c (x_c - \mu)^2 + \varepsilon}} = {latex_number(std)}")
    lines = [(page.label("numbers_rms" if rms else "numbers_mean"), statistics)]
    for c in range(min(2, len(x))):
        less, shown = ("", "") if rms else (r" - \mu", f" - {bracketed(latex_number(mean))}")
        plus, added = (("", "") if norm.bias is None
                       else (rf" + \beta_{c + 1}", f" + {bracketed(latex_number(float(norm.bias[c])))}"))
        lines.append((page.label("numbers_component" if norm.bias is not None else "numbers_component_gain", c=c + 1),
                      rf"\alpha_{c + 1} \frac{{x_{c + 1}{less}}}{{\sigma}}{plus} = "
                      rf"{bracketed(latex_number(float(norm.weight[c])))} \cdot "
                      rf"\frac{{{latex_number(float(x[c]))}{shown}}}{{{latex_number(std)}}}{added} = "
                      rf"{latex_number(float(after[c]))}"))
    return lines


def _scale_question(page: Lesson, x: Tensor, norm: Norm, kind: str) -> Question:
    """The vector ten times as long: how long is what the norm gives, against before?"""
    plainly, tenfold = (normalisation.normalise(v, kind, norm.weight.double(),
                                                None if norm.bias is None else norm.bias.double(), norm.epsilon)
                        for v in (x, 10 * x))
    ratio = float(tenfold.norm() / plainly.norm())
    options = [page.label("times_ten"), page.label("times_root"), page.label("times_one"), page.label("times_tenth")]
    answer = int(np.argmin([abs(np.log(ratio / factor)) for factor in (10, 10 ** 0.5, 1, 0.1)]))
    return Question("layer_norm", page.label("question_layer_norm"), options, answer,
                    page.label("because_layer_norm" if norm.bias is not None else "because_rms_norm",
                               ratio=readable(ratio, 6)))


# ---- against BatchNorm -----------------------------------------------------------------------------------------------


def _against_batch(page: Lesson, run: Run, matrix: Tensor, norm: Norm, position: int) -> Reading:
    matrix = matrix.double()
    layer, batch = (stream_and_heads.standardise(matrix, over, norm.epsilon) for over in ("features", "tokens"))
    feature = min(read("feature"), matrix.shape[-1] - 1)
    moved = _moved_by_last(matrix, norm.epsilon, position)
    title = page.label("title_batch" if moved else "title_batch_short",
                       token=code(run.tokens[position]), layer=readable(moved[0]) if moved else "",
                       batch=readable(moved[1]) if moved else "", last=code(run.tokens[-1]))
    st.markdown(f"**{title}**")
    largest = max(float(layer.values.abs().max()), float(batch.values.abs().max()), 1e-6)
    pictures = [("raw", matrix, float(matrix.abs().max())), ("features", layer.values, largest),
                ("tokens", batch.values, largest)]
    for column, (name, values, limit) in zip(st.columns(3), pictures):
        with column:
            st.markdown(page.label(f"caption_{name}"))
            residual_grid(to_numpy(values), row_labels=run.tokens,
                          column_labels=[str(i) for i in range(matrix.shape[-1])], legend=page.label(f"legend_{name}"),
                          reading=page.label("reading_matrix"), twin=unmarked(title), theme=reader.theme(),
                          key=f"{PREFIX}matrix_{name}", signed=True, picked=(position, feature),
                          limits=(-limit, limit), least_column=1, least_row=1, numbered=True, row_band=name != "tokens",
                          column_band=name == "tokens", height=200, fit=screen(130),
                          present=reader.present(), on_pick=_pick_feature)
    lines = [(page.label("numbers_layer_stat", token=code(run.tokens[position])),
              rf"\mu = {latex_number(float(layer.mean[position, 0]))}, \qquad \sigma = "
              rf"{latex_number(float(layer.std[position, 0]))}"),
             (page.label("numbers_batch_stat", feature=feature),
              rf"\mu = {latex_number(float(batch.mean[0, feature]))}, \qquad \sigma = "
              rf"{latex_number(float(batch.std[0, feature]))}"),
             (page.label("numbers_same_cell", token=code(run.tokens[position]), feature=feature),
              rf"x = {latex_number(float(matrix[position, feature]))}, \quad \text{{LayerNorm: }} "
              rf"{latex_number(float(layer.values[position, feature]))}, \quad \text{{BatchNorm: }} "
              rf"{latex_number(float(batch.values[position, feature]))}")]
    table = pd.DataFrame({"position": range(len(matrix)), "token": run.tokens, "mean": to_numpy(layer.mean[:, 0]),
                          "std": to_numpy(layer.std[:, 0])})
    other = pd.DataFrame({"feature": range(matrix.shape[-1]), "mean": to_numpy(batch.mean[0]),
                          "std": to_numpy(batch.std[0])})
    return Reading(lines, _batch_question(page, run, matrix, norm), [stream_and_heads.standardise],
                   {"per_token.csv": lambda: table, "per_feature.csv": lambda: other},
                   f".st-key-{PREFIX}matrix_tokens", title)


def _pick_feature(row: int, column: int) -> None:
    keep(feature=column)
    reader.select(position=row)


def _moved_by_last(matrix: Tensor, epsilon: float, position: int) -> tuple[float, float] | None:
    """How far the token's normed vector moves, against its length, under LayerNorm and BatchNorm, when the last token
    is taken away; None where it is that token, or alone.
    """
    if position == len(matrix) - 1 or len(matrix) < 2:
        return None
    moved = []
    for over in ("features", "tokens"):
        with_it, without = (stream_and_heads.standardise(matrix, over, epsilon).values[position],
                            stream_and_heads.standardise(matrix[:-1], over, epsilon).values[position])
        moved.append(float((with_it - without).norm() / with_it.norm().clamp(min=1e-12)))
    return moved[0], moved[1]


def _batch_question(page: Lesson, run: Run, matrix: Tensor, norm: Norm) -> Question:
    """One token alone: what does BatchNorm leave of it?"""
    alone = {over: float(stream_and_heads.standardise(matrix[-1:], over, norm.epsilon).values.abs().max())
             for over in ("features", "tokens")}
    return Question("batch_norm", page.label("question_batch", token=code(run.tokens[-1])),
                    [page.label("batch_same"), page.label("batch_zero"), page.label("batch_large")],
                    1 if alone["tokens"] < 1e-6 else 0,
                    page.label("because_batch", layer=readable(alone["features"]), batch=readable(alone["tokens"])))


# ---- pre-norm against post-norm --------------------------------------------------------------------------------------


def stream_growth(placement: str, n_layers: int, seed: int) -> np.ndarray:
    """(L + 1,) mean length of the stream over 32 random tokens in a random model with the norm placed "pre" or
    "post", 64 wide.
    """
    config = ModelConfig(vocab_size=RANDOM_TOKENS, d_model=RANDOM_WIDTH, n_layers=n_layers, n_heads=4,
                         n_context=RANDOM_TOKENS, norm_placement=placement)
    model = Transformer(config).initialise(torch.Generator().manual_seed(seed)).eval()
    with torch.inference_mode():
        return to_numpy(stream_and_heads.stream_norms(model(torch.arange(RANDOM_TOKENS))).mean(-1))


def _placement(page: Lesson, run: Run) -> Reading:
    depth_column, seed_column, _ = st.columns([3, 2, 4], vertical_alignment="bottom")
    n_layers = depth_column.slider(page.label("random_depth"), 2, 24, **attached("random_depth"))
    seed = seed_column.slider(page.label("random_seed"), 0, 9, **attached("random_seed"))
    pre, post = (cache.result(("stream growth", placement, n_layers, seed),
                              lambda placement=placement: stream_growth(placement, n_layers, seed),
                              lambda made: made.nbytes)
                 for placement in ("pre", "post"))
    title = page.label("title_placement", pre_first=readable(pre[1]), pre_last=readable(pre[-1]),
                       post=readable(post[-1]), n=n_layers)
    st.markdown(f"**{title}**")
    chart = figures.growth_lines({"pre": pre, "post": post}, {"pre": page.label("pre"), "post": page.label("post")},
                                 {"pre": [1, 0], "post": [7, 4]}, {"pre": "residual", "post": "accent"},
                                 (page.label("axis_blocks"), page.label("axis_mean_length")), reader.theme(),
                                 scale=reader.scale(), height=chart_height(55 if reader.present() else 0))
    show(chart, "placement")
    st.caption(page.label("random_note", width=RANDOM_WIDTH, tokens=RANDOM_TOKENS, seed=seed))
    lines = [(page.label("numbers_pre"), rf"x' = x + \text{{sublayer}}(\text{{norm}}(x)) \qquad \lVert x \rVert: "
                                         rf"{latex_number(pre[1])} \rightarrow {latex_number(pre[-1])}"),
             (page.label("numbers_post"),
              rf"x' = \text{{norm}}(x + \text{{sublayer}}(x)) \qquad \lVert x \rVert = {latex_number(post[-1])}, \quad "
              rf"\sqrt{{d}} = {latex_number(RANDOM_WIDTH ** 0.5)}")]
    return Reading(lines, _growth_question(page, pre, post, n_layers), [stream_growth],
                   {"growth.csv": lambda: pd.DataFrame({"depth": range(n_layers + 1), "pre": pre, "post": post})},
                   f".st-key-{PREFIX}placement", title)


def _growth_question(page: Lesson, pre: np.ndarray, post: np.ndarray, n_layers: int) -> Question:
    """By what factor the stream grows from the first block to the last in the pre-norm model, and whether in the other.
    """
    factor, other = float(pre[-1] / pre[1]), float(post[-1] / post[1])
    answer = 0 if factor > 1.05 and abs(other - 1) < 0.05 else 1 if factor > 1.05 and other > 1.05 else 2
    return Question("placement", page.label("question_placement", n=n_layers),
                    [page.label("grows_pre"), page.label("grows_both"), page.label("grows_none")], answer,
                    page.label("because_placement", pre=readable(factor), post=readable(other)))
