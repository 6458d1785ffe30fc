"""The feed-forward part: its curve, the neurons that fire for the picked token, and what each of them promotes."""
from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st
import torch

from core import contributions
from core.activation import CURVES, GATE_CURVES, activate
from core.figures import feed_forward as figures
from core.figures.numbers import bracketed, latex_number, latex_operand, readable
from core.ui import state
from core.ui.check import Question
from core.ui.lesson import Lesson
from core.ui.markdown import code
from core.ui.residual_stream.reading import PREFIX, block_slider, chart_height, show, to_numpy, token_slider
from core.ui.run import Run
from core.ui.views import Reading

N_NEURONS, N_TOKENS = 5, 4
ROW_HEIGHT = 26
SHOWN_CURVES = ("relu", "gelu", "swish")
INPUTS = np.linspace(-4, 4, 161)


def draw(page: Lesson, run: Run) -> Reading:
    """The instrument; returns what it shows. A model without a feed-forward part gets a sentence instead."""
    block_column, token_column = st.columns([2, 3])
    with block_column:
        layer = block_slider(page, run)
    with token_column:
        position = token_slider(page, run)
    block = run.trace.blocks[layer]
    if block.mlp_post is None:
        st.info(page.label("no_mlp"))
        return Reading([], _curve_question(page), [activate], {}, ".stAlert", page.label("no_mlp"))
    pre, post = to_numpy(block.mlp_pre[position]), to_numpy(block.mlp_post[position])
    strongest = strongest_neurons(run, layer, position)
    title = page.label("title_neurons_gated" if run.model.config.gated else "title_neurons", token=code(run.tokens[position]), firing=int((pre > 0).sum()), n=len(pre), block=layer, neuron=int(strongest[0]), value=readable(post[strongest[0]]))
    st.markdown(f"**{title}**")
    curve, bars = st.columns([2, 3])
    with curve:
        _curve(page, run, pre)
    with bars:
        chart = figures.neuron_bars(post, strongest, (page.label("axis_neuron"), page.label("axis_activation")), state.theme(), state.scale(), chart_height(_table_height(N_NEURONS) - 20 * state.present()))
        show(chart, "neurons")
        if run.has_head:
            _promoted(page, run, layer, position, strongest, post)
    data = pd.DataFrame({"neuron": range(len(pre)), "before": pre, "after": post})
    return Reading(_lines(page, run, layer, position, int(strongest[0])), _firing_question(page, run, pre, position), [activate, contributions.neuron_promotions],
                   {"neurons.csv": lambda: data}, f".st-key-{PREFIX}neurons", title)


def strongest_neurons(run: Run, layer: int, position: int) -> np.ndarray:
    """The neurons that write most at this token: largest |activation| times the length of their row of W_2."""
    written = run.trace.blocks[layer].mlp_post[position].abs() * run.model.blocks[layer].W_2.norm(dim=-1)
    return written.topk(min(N_NEURONS, len(written))).indices.cpu().numpy()


def _curve(page: Lesson, run: Run, pre: np.ndarray) -> None:
    own = run.model.config.activation
    names = [own, *(name for name in SHOWN_CURVES if CURVES[name] is not CURVES[own] and name != own)]
    curves = {name: to_numpy(activate(name, torch.from_numpy(INPUTS))) for name in names}
    chart = figures.activation_curves(curves, INPUTS, own, pre, {name: page.label(f"curve_{name}") for name in names}, (page.label("axis_input"), page.label("axis_output")),
                                      state.theme(), state.scale(), chart_height())
    show(chart, "curve")


def _promoted(page: Lesson, run: Run, layer: int, position: int, neurons: np.ndarray, post: np.ndarray) -> None:
    """A row for each of the strongest neurons: what it adds most to, and takes most from, as it fires here."""
    added = contributions.neuron_promotions(run.model, run.trace, layer, position, torch.from_numpy(neurons.copy()).to(run.model.device))
    visible = run.tokenizer.visible
    rows = [{page.label("column_neuron"): str(neuron), page.label("column_activation"): readable(post[neuron]),
             page.label("column_promotes"): [visible(int(i)) for i in row.topk(N_TOKENS).indices],
             page.label("column_suppresses"): [visible(int(i)) for i in (-row).topk(N_TOKENS).indices]} for neuron, row in zip(neurons, added)]
    columns = {page.label(name): st.column_config.ListColumn() for name in ("column_promotes", "column_suppresses")}
    st.dataframe(pd.DataFrame(rows), hide_index=True, width="stretch", row_height=ROW_HEIGHT, height=_table_height(len(rows)), column_config=columns, key=f"{PREFIX}promoted")


def _table_height(n_rows: int) -> int:
    """The pixels of the table of neurons with all its rows: its head grows with the type, its rows do not."""
    return round(40 * state.scale()) + n_rows * ROW_HEIGHT


def _lines(page: Lesson, run: Run, layer: int, position: int, neuron: int) -> list[tuple[str, str]]:
    block, weights = run.trace.blocks[layer], run.model.blocks[layer]
    pre, post = float(block.mlp_pre[position, neuron]), float(block.mlp_post[position, neuron])
    row = weights.W_2[neuron]
    length = float(row.norm())
    components = ",\\ ".join(latex_number(post * float(row[c])) for c in range(min(3, len(row))))
    lines = [*_activation_lines(page, run, layer, position, neuron, pre, post),
             (page.label("numbers_written", neuron=neuron), rf"a \cdot W_2^{{({neuron})}} = ({components},\ \dots), \qquad \lVert a W_2^{{({neuron})}} \rVert = {bracketed(latex_number(abs(post)))} \cdot {latex_number(length)} = {latex_number(abs(post) * length)}")]
    return lines


def _activation_lines(page: Lesson, run: Run, layer: int, position: int, neuron: int, pre: float, post: float) -> list[tuple[str, str]]:
    """How one neuron's activation comes about: the curve of its input, in a gated model times a second input."""
    config, weights, token = run.model.config, run.model.blocks[layer], code(run.tokens[position])
    curve, plus = page.label(f"curve_{GATE_CURVES.get(config.activation, config.activation)}"), lambda b, symbol: "" if b is None else f" + {symbol}"
    if not config.gated:
        return [(page.label("numbers_neuron", neuron=neuron, token=token), rf"z = x W_1{plus(weights.b_1, 'b_1')} = {latex_number(pre)}, \qquad a = \text{{{curve}}}(z) = {latex_number(post)}")]
    gate, x = float(activate(config.activation, torch.tensor(pre, dtype=torch.float64))), read_by_feed_forward(run, layer)[position].double()
    up = float(x @ weights.W_1[:, neuron].double() + (0 if weights.b_1 is None else weights.b_1[neuron].double()))
    return [(page.label("numbers_gated", neuron=neuron, token=token),
             rf"z = x W_{{gate}}{plus(weights.b_gate, 'b_{gate}')} = {latex_number(pre)}, \qquad u = x W_1{plus(weights.b_1, 'b_1')} = {latex_number(up)}"),
            (page.label("numbers_gated_product", curve=curve), rf"a = \text{{{curve}}}(z) \cdot u = {bracketed(latex_operand(gate))} \cdot {bracketed(latex_operand(up))} = {latex_number(gate * up)}")]


def read_by_feed_forward(run: Run, layer: int) -> torch.Tensor:
    """(N, d) what the feed-forward part of a block reads: the stream after attention, or before it in a parallel block, through its norm where one stands before."""
    block, weights, config = run.trace.blocks[layer], run.model.blocks[layer], run.model.config
    stream = block.resid_pre if config.parallel_residual else block.resid_mid
    return weights.mlp_norm(stream, config.norm) if config.reads_normed else stream


def _firing_question(page: Lesson, run: Run, pre: np.ndarray, position: int) -> Question:
    """Which share of the neurons a ReLU in this place would let through."""
    share = float((pre > 0).mean())
    edges = (0.05, 0.2, 0.4, 0.6)
    options = [page.label("under", b="5 %"), *(page.label("between", a=f"{int(100 * a)} %", b=f"{int(100 * b)} %") for a, b in zip(edges, edges[1:])), page.label("over", a="60 %")]
    return Question("firing", page.label("question_firing", token=code(run.tokens[position])), options, int(np.searchsorted(edges, share, side="right")),
                    page.label("because_firing", count=int((pre > 0).sum()), n=len(pre), share=readable(100 * share)))


def _curve_question(page: Lesson) -> Question:
    """Asked of a model without a feed-forward part: ReLU(−2)."""
    value = float(activate("relu", torch.tensor(-2.0)))
    return Question("relu", page.label("question_relu"), ["−2", "0", "2"], [-2.0, 0.0, 2.0].index(value), page.label("because_relu"))
