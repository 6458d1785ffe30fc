"""The feed-forward part: its activation, the neurons that fire for the picked token, and the tokens that each promotes.
"""
import numpy as np
import pandas as pd
import streamlit as st
import torch

from core.analysis import contributions
from core.analysis.arrays import to_numpy
from core.analysis.norm_inputs import feed_forward_input
from core.app.lesson import Lesson, Options, Prediction, Question, Reading, Truth, cannot
from core.app.lesson.selection_controls import pick
from core.app.state import Run, reader
from core.base.markdown import code
from core.components.lib.token_view import token_view
from core.figures.numbers import bracketed, grouped, latex_number, latex_operand, readable
from core.model.activation import CURVES, GATE_CURVES, activate
from pages.residual_stream.shared import PREFIX, keep, look, read

N_NEURONS, N_NEURONS_PRESENT, N_TOKENS = 5, 1, 4
FED_FORWARD = ("W_gate", "b_gate", "W_1", "b_1", "W_2", "b_2")      # the weights of a block's parts
ATTENTION = ("W_Q", "b_Q", "W_K", "b_K", "W_V", "b_V", "W_O", "b_O", "W_S", "v_S", "r", "q_norm", "k_norm")
NONE = -1           # no neuron is picked
FIRES, FIRES_PRESENT = 62, 34         # px of the row of the prompt's tokens
DASHES = ["none", "6 4", "2 3", "9 3 2 3"]
SHOWN_CURVES = ("relu", "gelu", "swish")
INPUTS = np.linspace(-4, 4, 161)
# The feed-forward part at one token: the activation's curve, every neuron's input and output, and the tokens that some
# of them promote.
_picture = token_view("residual_neurons", __file__)


def predict(page: Lesson, run: Run) -> Prediction | None:
    """How many of the block's neurons fire at the picked token: none, few, many or most."""
    layer, position = layer_of(run), reader.selection().position
    if not run.own_ids or run.trace.blocks[layer].mlp_pre is None:
        return None
    pre, token = to_numpy(run.trace.blocks[layer].mlp_pre[position]), run.tokens[position]

    def truth(_: int) -> Truth:
        n, limits = int((pre > 0).sum()), (1, len(pre) / 4, 3 * len(pre) / 4)
        return Truth(sum(n >= limit for limit in limits), seen=0 if 2 * n < len(pre) else 1,
                     values={"firing": n, "share": readable(100 * n / len(pre), 2), "silent": len(pre) - n})

    return Prediction("mlp", Options([*page.labels("guess_mlp").values()]), truth,
                      {"token": token, "block": layer, "n": len(pre)})


def layer_of(run: Run) -> int:
    """The picked block; until one was picked the last but one, whose neurons are the easiest to read: they write words,
    and the last block mostly corrects them.
    """
    picked = reader.picked_layer()
    return max(0, run.model.config.n_layers - 2) if picked is None else reader.selection().layer


def draw(page: Lesson, run: Run) -> Reading:
    """Draw the instrument; return what it shows. A model without a feed-forward part gets a sentence instead."""
    layer, position = layer_of(run), reader.selection().position
    with st.container(horizontal=True, gap="small"):
        pick(page, run, "layer", "position", layer=layer)
    block = run.trace.blocks[layer]
    if block.mlp_post is None:
        config = run.model.config
        why = (page.label("no_mlp") if block.expert_weights is None
               else page.label("mlp_of_experts", block=layer, k=config.experts.n_active_experts,
                                n=config.experts.n_experts))
        return cannot(why, _curve_question(page))
    pre, post = to_numpy(block.mlp_pre[position]), to_numpy(block.mlp_post[position])
    strongest, picked = strongest_neurons(run, layer, position), read("neuron")
    picked = picked if picked < len(pre) else NONE
    neurons = [neuron for neuron in dict.fromkeys([picked, *strongest]) if neuron != NONE][:len(strongest)]
    values = dict(firing=int((pre > 0).sum()), n=len(pre), block=layer, neuron=strongest[0],
                value=readable(post[strongest[0]]))
    title, (names, curves) = "title_neurons_gated" if run.model.config.gated else "title_neurons", _curves(run)
    header = _header(page, run, layer, position, neurons) | {
        "title_line": page.label(title, token="{token}", **values), "picked": picked,
        "names": [page.label(f"curve_{name}") for name in names], "dashes": DASHES[:len(names)]}
    arrays = {"inputs": INPUTS, "curves": curves, "pre": pre, "post": post,
              "fires": to_numpy(block.mlp_post[:, neurons]).T.ravel()}
    _picture(header, key=f"{PREFIX}neurons", on_settings=lambda settings: keep(neuron=settings["neuron"]),
             arrays={name: values.astype(np.float32) for name, values in arrays.items()})
    data = pd.DataFrame({"neuron": range(len(pre)), "before": pre, "after": post})
    return Reading(_lines(page, run, layer, position, neurons[0]), _size_question(page, run, layer),
                   [activate, contributions.neuron_promotions], {"neurons.csv": lambda: data},
                   f".st-key-{PREFIX}neurons", page.label(title, token=code(run.tokens[position]), **values))


def strongest_neurons(run: Run, layer: int, position: int) -> list[int]:
    """The neurons with the largest output vectors at this token: |activation| times the norm of their row of W_2."""
    sizes = run.trace.blocks[layer].mlp_post[position].abs() * run.model.blocks[layer].W_2.norm(dim=-1)
    return sizes.topk(min(N_NEURONS_PRESENT if reader.present() else N_NEURONS, len(sizes))).indices.tolist()


def _curves(run: Run) -> tuple[list[str], np.ndarray]:
    """The activations whose curves are drawn, the model's own first, and their values at INPUTS, concatenated."""
    base = run.model.config.activation
    names = [base, *(name for name in SHOWN_CURVES if CURVES[name] is not CURVES[base] and name != base)]
    return names, np.concatenate([to_numpy(activate(name, torch.from_numpy(INPUTS))) for name in names])


def _header(page: Lesson, run: Run, layer: int, position: int, neurons: list[int]) -> dict:
    """The picture's header besides curves and activations: the tokens that the `neurons` promote."""
    promoted = _promoted(run, layer, position, neurons) if run.has_head else [(None, None)] * len(neurons)
    return {"token": run.tokens[position], "tokens": run.tokens, "position": position,
            "gated": run.model.config.gated, "height": look(FIRES, FIRES_PRESENT)["height"],
            "rows": [{"neuron": neuron, "promotes": most, "suppresses": least}
                     for neuron, (most, least) in zip(neurons, promoted)], "scale": reader.scale(),
            "text": page.labels("neurons") | {"input": page.label("axis_input"), "output": page.label("axis_output")}}


def _promoted(run: Run, layer: int, position: int, neurons: list[int]) -> list[tuple[list[str], list[str]]]:
    """For each of these neurons, the tokens whose logits its activation here raises most and lowers most."""
    added = contributions.neuron_promotions(run.model, run.trace, layer, position,
                                            torch.tensor(neurons, device=run.model.device))
    visible = run.tokenizer.visible
    return [tuple([visible(int(i)) for i in part.topk(N_TOKENS).indices] for part in (row, -row)) for row in added]


def _lines(page: Lesson, run: Run, layer: int, position: int, neuron: int) -> list[tuple[str, str]]:
    block, row = run.trace.blocks[layer], run.model.blocks[layer].W_2[neuron]
    pre, post = float(block.mlp_pre[position, neuron]), float(block.mlp_post[position, neuron])
    components, length = ",\\ ".join(latex_number(post * value) for value in row[:3].tolist()), float(row.norm())
    return [*_activation_lines(page, run, layer, position, neuron, pre, post),
            (page.label("numbers_written", neuron=neuron),
             rf"a \cdot W_2^{{({neuron})}} = ({components},\ \dots), \qquad \lVert a W_2^{{({neuron})}} \rVert = "
             rf"{bracketed(latex_operand(abs(post)))} \cdot {latex_operand(length)} = "
             rf"{latex_number(abs(post) * length)}")]


def _activation_lines(page: Lesson, run: Run, layer: int, position: int, neuron: int, pre: float,
                      post: float) -> list[tuple[str, str]]:
    """The calculation of one neuron's activation: the curve at its input, in a gated model times a second input."""
    config, weights, token = run.model.config, run.model.blocks[layer], code(run.tokens[position])
    curve = page.label(f"curve_{GATE_CURVES.get(config.activation, config.activation)}")
    of_W_1 = "x W_1" + ("" if weights.b_1 is None else " + b_1")
    if not config.gated:
        return [(page.label("numbers_neuron", neuron=neuron, token=token),
                 rf"z = {of_W_1} = {latex_number(pre)}, \qquad a = \text{{{curve}}}(z) = {latex_number(post)}")]
    of_gate = "x W_{gate}" + ("" if weights.b_gate is None else " + b_{gate}")
    gate = float(activate(config.activation, torch.tensor(pre, dtype=torch.float64)))
    read = feed_forward_input(weights, run.trace.blocks[layer], config.norm)
    up = float(read[position].double() @ weights.W_1[:, neuron].double()
               + (0 if weights.b_1 is None else weights.b_1[neuron].double()))
    return [(page.label("numbers_gated", neuron=neuron, token=token),
             rf"z = {of_gate} = {latex_number(pre)}, \qquad z' = {of_W_1} = {latex_number(up)}"),
            (page.label("numbers_gated_product", curve=curve),
             rf"a = \text{{{curve}}}(z) \cdot z' = {bracketed(latex_operand(gate))} \cdot "
             rf"{bracketed(latex_operand(up))} = {latex_number(gate * up)}")]


def _size_question(page: Lesson, run: Run, layer: int) -> Question:
    """How many weights the block's attention has, against those of its feed-forward part."""
    weights = {name: p.numel() for name, p in run.model.blocks[layer].named_parameters()}
    fed, attended = (sum(n for name, n in weights.items() if name.split(".")[0] in names)
                     for names in (FED_FORWARD, ATTENTION))
    options = sorted({attended, fed, 2 * fed, max(1, attended // 4)})
    share = readable(100 * fed / (fed + attended), 3)
    return page.question("size", [grouped(n) for n in options], options.index(attended), block=layer,
                         fed=grouped(fed), attended=grouped(attended), share=share)


def _curve_question(page: Lesson) -> Question:
    """ReLU(−2), for a model without a feed-forward part."""
    return page.question("relu", ["−2", "0", "2"], 1)
