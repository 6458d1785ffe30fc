"""From the LSTM to the GRU: the first stage is torch's LSTM and the last torch's GRU of the same weights, the stages
between are those of Greff et al. 2017 and of one gate, and what the page says of a unit holds on a calculator.
"""
from __future__ import annotations

import functools
import math
import re

import numpy as np
import pytest
import torch
from torch import nn

from core.app.compute import cache
from core.app.state.run import read
from core.base import prose
from core.learning import gate_merging, recurrent_cells
from core.learning.gate_merging import BLOCKS, STAGES
from core.learning.recurrent_cells import Cell
from pages.recurrence import gates, unrolled
from tests.helpers import lessons
from tests.helpers.javascript import evaluate
from tests.helpers.messages import formulas, given
from tests.helpers.predictions import ask, commit, question, statements
from tests.pages.recurrence.test_recurrence import noisy, random, torch_twin

WORDS = prose.load("recurrence")
PROMPT, STEP, UNIT = "The bank of the river was green.", 4, 3
LAYOUT = "pages/recurrence/gates_layout.js"
LSTM = ("i", "f", "g", "o")         # torch's order
open_at = functools.partial(lessons.open_at, "recurrence", recurrence_view="gates", prompt=PROMPT, position=str(STEP),
                            recurrence_unit=str(UNIT))


def lstm(d: int = 5, m: int = 4) -> Cell:
    """An LSTM's weights with biases that are not 0."""
    return noisy(recurrent_cells.random_cell("lstm", d, m, torch.Generator().manual_seed(0)), seed=7)


def as_gru(cell: Cell) -> Cell:
    """torch's GRU, r u n, of the blocks o f g."""
    order = [LSTM.index("o"), LSTM.index("f"), LSTM.index("g")]
    return Cell("gru", *(weights[order] for weights in (cell.W_x, cell.W_h, cell.b_x, cell.b_h)))


def by_hand(cell: Cell, stage: str, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The carried and the shown states (N, m) of the two stages between, in numpy, unit by unit."""
    W_x, W_h, b = cell.W_x.numpy(), cell.W_h.numpy(), (cell.b_x + cell.b_h).numpy()
    sigmoid = lambda value: 1 / (1 + np.exp(-value))        # noqa: E731
    c = h = np.zeros(cell.n_hidden)
    carried, shown = [], []
    for x in X:
        _, f, g, o = (x @ W_x[k] + h @ W_h[k] + b[k] for k in range(4))
        c = sigmoid(f) * c + (1 - sigmoid(f)) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c) if stage == "coupled" else c
        carried.append(c)
        shown.append(h)
    return np.array(carried), np.array(shown)


def test_the_first_stage_is_torchs_lstm_and_the_last_torchs_gru():
    cell, X = lstm(), random(7, 5, seed=3)
    with torch.no_grad():
        for stage, twin in (("lstm", torch_twin([[cell]], 5)), ("gru", torch_twin([[as_gru(cell)]], 5))):
            found = gate_merging.unroll(cell, stage, X)
            assert torch.allclose(found.h, twin(X[None])[0][0], rtol=0, atol=1e-12), stage
            last = twin(X[None])[1]
            carried = last[1] if stage == "lstm" else last
            assert torch.allclose(found.new[-1], carried[0, 0], rtol=0, atol=1e-12), stage


@pytest.mark.parametrize("stage", ["coupled", "one_state"])
def test_the_stages_between_are_what_their_equations_say(stage):
    cell, X = lstm(), random(7, 5, seed=3)
    found, (carried, shown) = gate_merging.unroll(cell, stage, X), by_hand(cell, stage, X.numpy())
    assert np.allclose(found.new, carried, atol=1e-12) and np.allclose(found.h, shown, atol=1e-12)
    assert torch.equal(found.f + found.i, torch.ones_like(found.f))


def test_at_the_first_token_the_update_gate_is_the_forget_gate():
    """Before any state is there, the same weights read the same input."""
    first = {stage: gate_merging.unroll(lstm(), stage, random(1, 5)) for stage in STAGES}
    assert all(torch.equal(steps.f, first["lstm"].f) for steps in first.values())
    assert not torch.allclose(first["lstm"].i, first["gru"].i)


@pytest.mark.parametrize("stage, module", [("lstm", nn.LSTM), ("gru", nn.GRU)])
def test_the_weights_are_as_many_as_torchs(stage, module):
    cell = lstm(9, 6)
    assert gate_merging.n_weights(cell, stage) == sum(each.numel() for each in module(9, 6).parameters())
    assert [len(BLOCKS[each]) for each in STAGES] == [4, 3, 2, 3]


# ---- the page --------------------------------------------------------------------------------------------------------


def weights_of_the_page(at, seed: int = 0) -> tuple[Cell, torch.Tensor]:
    """The LSTM that Unrolled shows with this seed, and what it reads (N, d)."""
    run = read(cache.shared_model(at.session_state["model"], "cpu"), at.session_state["prompt"])
    X = unrolled.inputs(run)
    return recurrent_cells.random_cell("lstm", X.shape[1], 16, torch.Generator().manual_seed(seed)), X


def test_the_picture_has_torchs_states_of_both_cells():
    at = open_at()
    cell, X = weights_of_the_page(at)
    left, right = given(at, "recurrence_gates")["cells"]
    with torch.no_grad():
        h, (_, c) = torch_twin([[cell]], X.shape[1])(X[None, :STEP + 1])
        merged = torch_twin([[as_gru(cell)]], X.shape[1])(X[None])[0][0]
    assert left["values"]["new"] == pytest.approx(float(c[0, 0, UNIT]), abs=1e-9)
    assert left["values"]["h"] == pytest.approx(float(h[0, STEP, UNIT]), abs=1e-9)
    assert right["values"]["new"] == pytest.approx(float(merged[STEP, UNIT]), abs=1e-9)
    assert right["values"]["old"] == pytest.approx(float(merged[STEP - 1, UNIT]), abs=1e-9)
    d = X.shape[1]
    for cell_drawn, blocks in ((left, 4), (right, 3)):
        assert f"{blocks * (16 * d + 16 * 16 + 32):,}" in cell_drawn["counted"] and len(cell_drawn["blocks"]) == blocks


@pytest.mark.parametrize("stage", STAGES[1:])
@pytest.mark.parametrize("part", gates.PARTS)
def test_the_formulas_of_every_part_hold_on_a_calculator(stage, part):
    at = open_at(recurrence_merged=stage, recurrence_part=part)
    functions = {"tanh": math.tanh, "sigma": lambda v: 1 / (1 + math.exp(-v))}
    written = formulas(at)
    assert len(written) == 4, "the part in both cells, and both counts"
    for latex in written[:2]:
        *_, middle, result = latex.split(" = ")
        plain = (re.sub(r"\\(tanh|sigma)", r"\1", middle.replace(r"\left", "").replace(r"\right", ""))
                 .replace(r" \cdot 10^{", "*10**(").replace("}", ")").replace(r"\cdot", "*"))
        assert eval(plain, {"__builtins__": {}}, functions) == pytest.approx(float(result), abs=6e-5), latex
    place = {"state": "new", "shown": "h"}.get(part, part)
    left, right = given(at, "recurrence_gates")["cells"]
    assert float(written[0].split(" = ")[-1]) == pytest.approx(left["values"][place], abs=6e-5)
    if (stage, part) != ("one_state", "o"):        # nothing is left there
        assert float(written[1].split(" = ")[-1]) == pytest.approx(right["values"][place], abs=6e-5)


@pytest.mark.parametrize("stage, blocks, gates_said", [("coupled", 3, "u, g, o"), ("one_state", 2, "u, g"),
                                                       ("gru", 3, "u, g, r")])
def test_how_many_blocks_are_left(stage, blocks, gates_said):
    at = ask("recurrence", "gates", recurrence_merged=stage)
    assert WORDS.label(f"gates_how_{stage}") in question(at)["question"]
    found = commit(at, "recurrence", "gates", 3)
    assert found["answer"] == blocks - 1 and found["true"] == statements("recurrence", "gates")[4 - blocks]
    assert gates_said in found["reason"]


@pytest.mark.parametrize("f", [0.1, 0.73, 0.99])
def test_where_c_ends_is_where_many_steps_lead(f):
    page = type("Page", (), {"question": lambda self, name, options, answer, **values: (options, answer, values),
                             "label": lambda self, name: name})()
    options, answer, values = gates._question(page, f)
    kept, c = float(values["kept"]), 0.0
    for _ in range(2000):
        c = kept * c + kept
    assert float(options[answer]) == pytest.approx(c, rel=5e-3) and len(set(options)) == 4


# ---- the drawing -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("width", [24, 33, 48])
def test_every_part_stands_within_the_drawing_and_beside_the_others(stage, width):
    cell = {"names": gates.names_of(stage), "blocks": list(BLOCKS[stage]), "values": dict.fromkeys(gates.VALUES, 0.5)}
    drawn = evaluate(LAYOUT, "({ ...m.arrangement(width, cell), parts: m.partsOf(cell) })", cell=cell, width=width)
    boxes = [drawn["boxes"][part["place"]] for part in drawn["parts"]]
    for k, box in enumerate(boxes):
        assert box["x"] - box["width"] / 2 >= 0 and box["x"] + box["width"] / 2 <= width
        for other in boxes[:k]:
            assert (abs(box["x"] - other["x"]) >= (box["width"] + other["width"]) / 2
                    or abs(box["y"] - other["y"]) >= (box["height"] + other["height"]) / 2)
    solid = [part["place"] for part in drawn["parts"] if part["kind"] == "gate" and not part["derived"]]
    assert sorted(solid) == sorted(BLOCKS[stage])
    assert len([line for line in drawn["lines"] if line["kind"] == "read"]) == 1 + len(BLOCKS[stage])


def test_the_numbers_beside_the_lines_are_the_products():
    cell = {"names": gates.names_of("lstm"), "values": {"f": 0.5, "i": 0.25, "g": -0.8, "old": 0.6, "new": 0.1}}
    found = evaluate(LAYOUT, "m.productsOf(cell)", cell=cell)
    assert found == pytest.approx({"kept": 0.3, "let": -0.2, "squashed": math.tanh(0.1)})
