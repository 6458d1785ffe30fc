"""Activations: their curves and slopes, the gated ones as a surface, and the distribution of the live model's inputs on
its own curve.
"""
import math
from bisect import bisect
from collections.abc import Mapping

import numpy as np
import pandas as pd
import streamlit as st
import torch
from torch import Tensor

from core.analysis import stream_and_heads
from core.analysis.arrays import to_numpy
from core.app.lesson import Lesson, Options, Prediction, Question, Reading, Truth
from core.app.state import Run, reader
from core.base.markdown import code, escaped
from core.components.lib.token_view import token_view
from core.figures.numbers import bracketed, grouped, latex_number, latex_operand, percent, readable
from core.model import activation
from core.model.intervention import NOTHING, Intervention
from pages.architectures.shared import PREFIX, SHARED_CSS, histogram, keep, pick, probabilities, read

SHOWN = ("relu", "gelu", "gelu_tanh", "swish")
ALL = (*SHOWN, "swiglu", "geglu")
EDGES, BINS = (-5.0, 5.0), 50
PICKS = "x", "beta", "second", "gate"       # settings that are picked in the picture
NEARLY_NOTHING = 0.05           # outputs of this size or less count as nothing
LIMITS = (0.45, 0.55, 0.9)      # shares of the inputs between the options of the question
# Curves and slopes of activations at the picked x, a gate as a surface, and the live model's inputs on its own curve.
_picture = token_view("architecture_curves", __file__, SHARED_CSS)


def predict(page: Lesson, run: Run) -> Prediction | None:
    """How many of the numbers that reach a block's neurons are below 0."""
    config, layer = run.model.config, reader.selection().layer
    if run.trace.blocks[layer].mlp_pre is None:
        return None

    def truth(_: int) -> Truth:
        inputs = to_numpy(run.trace.blocks[layer].mlp_pre)
        shares, counts = facts(config.activation, inputs), histogram(inputs, EDGES, BINS)
        below = shares["below"]
        return Truth(bisect(LIMITS, below), said=percent(below), seen=int(np.argmax(counts) >= BINS // 2),
                     values={"below": percent(below), "nothing": percent(shares["nothing"]), "edge": NEARLY_NOTHING})

    return Prediction("activations", Options([page.label(f"below_{i}") for i in range(len(LIMITS) + 1)]), truth,
                      {"layer": layer, "k": grouped(config.d_ff), "n": len(run.tokens)}, layer)


def draw(page: Lesson, run: Run) -> Reading:
    """Draw the instrument and return what it shows."""
    layer = 0 if run.model.config.d_ff is None else _block(page, run)
    block = run.trace.blocks[layer]
    if block.mlp_pre is None:
        why = "activations_no_part" if block.expert_weights is None else "activations_of_experts"
        st.info(page.label(why, model=escaped(run.title), block=layer))
    inputs = None if block.mlp_pre is None else to_numpy(block.mlp_pre)
    _picture(message(page, run, layer, inputs), key=f"{PREFIX}activations_instrument", on_settings=_settled)
    return _reading(page, run, layer, inputs)


def _block(page: Lesson, run: Run) -> int:
    """Draw the select box of the layer that all lessons share; return the layer."""
    key = f"{PREFIX}pick_layer"
    st.session_state[key] = reader.selection().layer
    return pick(page, "block", run.model.config.n_layers, key=key,
                on_change=lambda: reader.select(layer=st.session_state[key]))


def _settled(settings: dict) -> None:
    keep(**{f"activations_{name}": settings[name] for name in PICKS})


def plain(name: str) -> str:
    """The name of the ungated activation whose curve this one uses.

    >>> plain("swiglu"), plain("gelu")
    ('swish', 'gelu')
    """
    return activation.GATE_CURVES.get(name, name)


def curve(name: str, x: Tensor, beta: float) -> Tensor:
    """The curve of an activation at x; beta is Swish's."""
    return activation.swish(x, beta) if plain(name) == "swish" else activation.activate(plain(name), x)


def value_at(name: str, x: float, beta: float = 1.0) -> float:
    """The curve at x, in float64."""
    return float(curve(name, torch.tensor(x, dtype=torch.float64), beta))


def slope_at(name: str, x: float, beta: float = 1.0) -> float:
    """The curve's derivative at x, in float64."""
    return float(activation.slope(name, torch.tensor(x, dtype=torch.float64), beta))


# ---- the live model --------------------------------------------------------------------------------------------------


def facts(name: str, inputs: np.ndarray) -> Mapping[str, float]:
    """Shares, in [0, 1], of a layer's inputs (N, d_ff): "below" 0, with an output of nearly "nothing", and of "silent"
    neurons, whose inputs are never above 0.
    """
    outputs = activation.activate(name, torch.from_numpy(inputs)).numpy()
    return {"below": float((inputs < 0).mean()), "nothing": float((np.abs(outputs) <= NEARLY_NOTHING).mean()),
            "silent": float((inputs <= 0).all(axis=0).mean())}


def swaps(run: Run, position: int) -> list[tuple[str, float, int, float]]:
    """The effect of another activation in every block on the next token after `position`: name, KL(model ‖ changed
    model) in nats, the most probable token and its probability.
    """
    before, base = run.trace.logits[position], run.model.config.activation
    rows = []
    for name in (base, *(name for name in SHOWN if name != plain(base))):
        after = run.trace_with(NOTHING if name == base else Intervention(activation=name)).logits[position]
        p = probabilities(after)
        rows.append((name, stream_and_heads.effect(before, after).kl, int(p.argmax()), float(p.max())))
    return rows


def message(page: Lesson, run: Run, layer: int, inputs: np.ndarray | None) -> dict:
    """The header of the component, as activations.js describes it."""
    base = run.model.config.activation
    header = page.header("activations") | {
        "names": {name: page.label(f"activations_name_{name}") for name in SHOWN}, "own": None, "histogram": None,
        "swaps": [], "facts": [], "swap_title": "", "settings": {name: read(f"activations_{name}") for name in PICKS}}
    if inputs is None:
        return header
    position = reader.selection().position
    shares = {name: percent(share) for name, share in facts(base, inputs).items()}
    notes = [page.label("activations_facts", layer=layer, n=len(inputs), k=inputs.shape[1], edge=NEARLY_NOTHING,
                        **shares),
             page.label("activations_swap_note", own=page.label(f"activations_short_{base}"))]
    if beyond := int((np.abs(inputs) > EDGES[1]).sum()):
        notes.insert(1, page.label("activations_beyond", n=beyond, edge=readable(EDGES[1])))
    rows = [{"name": page.label(f"activations_short_{name}"), "own": name == base,
             "kl": "0" if name == base else readable(kl), "top": run.tokenizer.visible(top), "p": percent(p)}
            for name, kl, top, p in swaps(run, position)]
    return header | {"own": plain(base), "histogram": histogram(inputs, EDGES, BINS), "facts": notes, "swaps": rows,
                     "swap_title": page.label("activations_swap_title", token=run.tokens[position])}


# ---- in numbers, the question, the data ------------------------------------------------------------------------------


def _reading(page: Lesson, run: Run, layer: int, inputs: np.ndarray | None) -> Reading:
    x, beta = read("activations_x"), read("activations_beta")
    title = page.label("activations_twin", x=readable(x),
                       values="; ".join(f"{page.label(f'activations_short_{name}')} "
                                        f"{readable(value_at(name, x, beta), 4)}" for name in SHOWN), beta=f"{beta:g}")
    data = {"curves.csv": lambda: curve_table(beta)}
    if inputs is not None:
        data["inputs.csv"] = lambda: pd.DataFrame({"low": np.linspace(*EDGES, BINS, endpoint=False),
                                                   "count": histogram(inputs, EDGES, BINS)})
    return Reading(_lines(page, x, beta), _question(page, run) if inputs is not None else None,
                   [activation.activate, activation.swish, activation.slope], data, ".plot.value",
                   title, _who_uses(page))


def curve_table(beta: float) -> pd.DataFrame:
    """All curves and slopes from −5 to 5 in steps of 0.05."""
    x = torch.linspace(*EDGES, 201, dtype=torch.float64)
    columns = {"x": x.numpy()}
    for name in SHOWN:
        columns[name] = curve(name, x, beta).numpy()
        columns[f"{name}_slope"] = activation.slope(name, x, beta).numpy()
    return pd.DataFrame(columns)


def _lines(page: Lesson, x: float, beta: float) -> list[tuple[str, str]]:
    b, gate = read("activations_second"), read("activations_gate")
    put, around = latex_operand, bracketed(latex_operand(x))
    phi, density = (1 + math.erf(x / math.sqrt(2))) / 2, math.exp(-x * x / 2) / math.sqrt(2 * math.pi)
    sigma = 1 / (1 + math.exp(-beta * x))
    g = value_at(gate, x, beta)
    return [(page.label("activations_numbers_relu"),
             rf"\text{{ReLU}}(x) = \max(0, x) = {latex_number(value_at('relu', x))}"),
            (page.label("activations_numbers_gelu"),
             rf"\text{{GELU}}(x) = \tfrac{{x}}{{2}}\Big[1 + \text{{erf}}\tfrac{{x}}{{\sqrt 2}}\Big] = x\,\Phi(x) = "
             rf"{around} \cdot {put(phi)} = {latex_number(value_at('gelu', x))}, \qquad \Phi(x) + x\,\varphi(x) = "
             rf"{put(phi)} + {around} \cdot {put(density)} = {latex_number(slope_at('gelu', x))}"),
            (page.label("activations_numbers_swish", beta=f"{beta:g}"),
             rf"\text{{Swish}}_\beta(x) = x\,\sigma(\beta x) = {around} \cdot {put(sigma)} = "
             rf"{latex_number(value_at('swish', x, beta))}, \qquad \sigma + \beta x\,\sigma\,(1 - \sigma) = "
             rf"{latex_number(slope_at('swish', x, beta))}"),
            (page.label("activations_numbers_gate"),
             rf"\text{{{page.label(f'activations_{gate}')}}}(x_1, x_2) = g(x_1) \cdot x_2 = {bracketed(put(g))} \cdot "
             rf"{bracketed(put(b))} = {latex_number(g * b)}")]


def _who_uses(page: Lesson) -> pd.DataFrame:
    """Every activation, its formula, and models that use it."""
    rows = [(page.label(f"activations_short_{name}"), page.label(f"activations_plain_{name}"),
             page.label(f"activations_used_{name}")) for name in ALL]
    return page.table(rows, "activation", "formula", "used")


def unchanged(run: Run, name: str) -> tuple[int, int]:
    """The number of the prompt's tokens after which the most probable next token stays the same with another activation
    in every block, and the number of all tokens.
    """
    before, after = (trace.logits.argmax(-1) for trace in (run.trace, run.trace_with(Intervention(activation=name))))
    return int((before == after).sum()), len(before)


def _question(page: Lesson, run: Run) -> Question:
    """After how many tokens the most probable next token stays the same with ReLU in place of the model's activation
    (GELU in place of ReLU).
    """
    base = run.model.config.activation
    name = "gelu" if base == "relu" else "relu"
    same, n = unchanged(run, name)
    base, new = (code(page.label(f"activations_short_{curve}")) for curve in (base, name))
    return page.question("activations", [page.label(f"activations_option_{which}") for which in ("all", "most", "few")],
                         0 if same == n else 1 if 2 * same > n else 2, own=base, other=new, same=same, n=n)
