"""From recurrence to attention: the cells are torch's, gradients are finite differences, the formulas hold, the tasks
are learned as the lesson says.
"""
from __future__ import annotations

import functools
import math
import re

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest
from torch import nn
from torch.func import jacrev
from torch.utils.flop_counter import FlopCounterMode

from core.app.compute import cache, queue
from core.app.state.run import read
from core.base import prose
from core.cost import sequence_work
from core.figures.numbers import readable
from core.learning import memory_tasks, recurrent_cells
from core.learning.memory_tasks import Recall, Rewriting
from core.learning.recurrent_cells import GATES, MATRICES
from pages.recurrence import copy, gradient, serial, unrolled
from pages.recurrence.shared import SETTINGS
from tests.helpers import lessons
from tests.helpers.lessons import fine
from tests.helpers.messages import formulas, unpacked
from tests.helpers.prompts import PROMPTS

pytestmark = pytest.mark.long

VIEWS = ("unrolled", "gates", "gradient", "serial", "copy", "bottleneck")
WORDS = prose.load("recurrence")
TORCH = {"rnn": nn.RNN, "lstm": nn.LSTM, "gru": nn.GRU}


def random(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


# ---- cells -----------------------------------------------------------------------------------------------------------


def noisy(cell: recurrent_cells.Cell, seed: int) -> recurrent_cells.Cell:
    """The cell with biases that are not 0, so that a bias in the wrong place is seen."""
    return recurrent_cells.Cell(cell.kind, cell.W_x, cell.W_h, random(*cell.b_x.shape, seed=seed),
                                random(*cell.b_h.shape, seed=seed + 1))


def torch_twin(layers: list[list[recurrent_cells.Cell]], d: int) -> nn.Module:
    """torch's own network with the same weights."""
    kind, m = layers[0][0].kind, layers[0][0].n_hidden
    twin = TORCH[kind](d, m, num_layers=len(layers), bidirectional=len(layers[0]) == 2, batch_first=True,
                       dtype=torch.float64)
    with torch.no_grad():
        for layer, cells in enumerate(layers):
            for cell, suffix in zip(cells, ("", "_reverse")):
                for name, weights in (("weight_ih", cell.W_x), ("weight_hh", cell.W_h)):
                    getattr(twin, f"{name}_l{layer}{suffix}").copy_(torch.cat([gate.T for gate in weights]))
                for name, bias in (("bias_ih", cell.b_x), ("bias_hh", cell.b_h)):
                    getattr(twin, f"{name}_l{layer}{suffix}").copy_(bias.reshape(-1))
    return twin


@pytest.mark.parametrize("kind", GATES)
@pytest.mark.parametrize("n_layers, n_directions", [(1, 1), (2, 1), (3, 2)])
def test_the_cells_written_out_are_those_of_torch(kind, n_layers, n_directions):
    d, m, X = 5, 4, random(7, 5, seed=3)
    layers = recurrent_cells.random_stack(kind, d, m, n_layers, n_directions, torch.Generator().manual_seed(0))
    layers = [[noisy(cell, 10 * i + j) for j, cell in enumerate(cells)] for i, cells in enumerate(layers)]
    ours = torch.cat([steps.h for steps in recurrent_cells.stack(layers, X)[-1]], dim=-1)
    assert torch.allclose(ours, torch_twin(layers, d)(X[None])[0][0], rtol=0, atol=1e-12)


def test_a_tanh_step_by_hand():
    one = torch.ones(1, 1, 1, dtype=torch.float64)
    steps = recurrent_cells.unroll(recurrent_cells.Cell("rnn", 2 * one, 0.5 * one, 0 * one[0], 0 * one[0]),
                                   torch.tensor([[1.0], [0.0]], dtype=torch.float64))
    assert (steps.h[0, 0] == pytest.approx(math.tanh(2))
            and steps.h[1, 0] == pytest.approx(math.tanh(0.5 * math.tanh(2))))


# ---- gradients -------------------------------------------------------------------------------------------------------


def cell_of(kind: str, norm: float = 1.2, m: int = 6, **more) -> recurrent_cells.Cell:
    return recurrent_cells.random_cell(kind, m, m, torch.Generator().manual_seed(5), norm, keep_bias=1.0, **more)


def last_state(cell: recurrent_cells.Cell, X: torch.Tensor, state: torch.Tensor) -> torch.Tensor:
    """h_T from a given state and the inputs after it."""
    for x in X:
        state = recurrent_cells.step(cell, x, state).state
    return state[:cell.n_hidden]


@pytest.mark.parametrize("kind", GATES)
def test_gradients_are_those_of_the_whole_chain_and_finite_differences(kind):
    cell, X = cell_of(kind), random(9, 6)
    norms, states = recurrent_cells.gradient_norms(cell, X), recurrent_cells.unroll(cell, X).state
    for distance in (0, 1, 4, 8):
        at = len(X) - distance
        state = states[at - 1]
        whole = jacrev(lambda s: last_state(cell, X[at:], s))(state)
        step = 1e-6
        columns = [(last_state(cell, X[at:], state + step * unit) - last_state(cell, X[at:], state - step * unit))
                   / (2 * step) for unit in torch.eye(len(state), dtype=torch.float64)]
        assert torch.allclose(whole, torch.stack(columns, dim=1), atol=1e-8)
        assert norms[distance] == pytest.approx(float(torch.linalg.svdvals(whole)[0]), rel=1e-10)


def torch_gate_path(cell: recurrent_cells.Cell, X: torch.Tensor, k: int) -> float:
    """The largest singular value of ∂h_T/∂c_{T−k} by autograd, with torch's own states, if every gate and new content
    is held as it was in the pass.
    """
    twin = torch_twin([[cell]], X.shape[1])
    with torch.no_grad():
        h = torch.cat([torch.zeros(1, cell.n_hidden, dtype=X.dtype), twin(X[None])[0][0]])
        sums = X @ twin.weight_ih_l0.T + h[:-1] @ twin.weight_hh_l0.T + twin.bias_ih_l0 + twin.bias_hh_l0
    i, f, g, o = sums.chunk(4, dim=-1)
    c, states = torch.zeros(cell.n_hidden, dtype=X.dtype), []
    for t in range(len(X)):
        c = f[t].sigmoid() * c + i[t].sigmoid() * g[t].tanh()
        states.append(c)
    assert torch.allclose(o[-1].sigmoid() * c.tanh(), h[-1])

    def onward(c: torch.Tensor) -> torch.Tensor:
        for t in range(len(X) - k, len(X)):
            c = f[t].sigmoid() * c + i[t].sigmoid() * g[t].tanh()
        return o[-1].sigmoid() * c.tanh()

    return float(torch.linalg.svdvals(jacrev(onward)(states[len(X) - 1 - k]))[0])


@pytest.mark.parametrize("norm, matrix, bias", [(0.9, "gaussian", 6.0), (1.5, "orthogonal", 2.0),
                                                (1.0, "orthogonal", 0.0), (2.0, "gaussian", -2.0)])
def test_the_gate_path_is_what_is_left_if_the_gates_do_not_answer(norm, matrix, bias):
    generator = torch.Generator().manual_seed(0)
    X = 0.5 * torch.randn(128, 32, generator=generator, dtype=torch.float64)[:64]
    cell = [recurrent_cells.random_cell(kind, 32, 32, generator, norm, matrix, bias) for kind in ("rnn", "lstm")][1]
    found = gradient.gradients(norm, matrix, "tanh", bias, 64, 0)
    for k in (0, 1, 20, 60):
        assert found["gates"][k] == pytest.approx(torch_gate_path(cell, X, k), rel=1e-9), k
    assert (np.diff(found["gates"]) <= 0).all(), "every factor is at most 1"


def test_nearly_open_gates_pass_a_change_on_almost_unchanged_and_the_matrices_add_the_rest():
    found = gradient.gradients(0.9, "orthogonal", "tanh", 6.0, 64, 0)
    assert found["gates"][60] > 0.75 * found["gates"][0] and found["rnn"][60] == pytest.approx(2e-9, rel=0.25)
    assert found["lstm"][60] > 1 > found["gates"][60]
    half = gradient.gradients(0.9, "orthogonal", "tanh", 0.0, 64, 0)
    assert half["gates"][60] < 1e-8


@pytest.mark.parametrize("matrix", MATRICES)
@pytest.mark.parametrize("norm", [0.5, 1.0, 2.0])
def test_the_bound_bounds_and_is_reached_by_a_linear_network_alone(matrix, norm):
    for activation in recurrent_cells.ACTIVATIONS:
        cell, X = cell_of("rnn", norm, matrix=matrix, activation=activation), 0.3 * random(20, 6)
        norms, bound = recurrent_cells.gradient_norms(cell, X), recurrent_cells.gradient_bound(cell, X)
        assert torch.linalg.matrix_norm(cell.W_h[0], 2) == pytest.approx(norm)
        assert bool((norms <= bound * (1 + 1e-9)).all())
        if activation == "linear":
            assert torch.allclose(bound, norm ** torch.arange(21, dtype=torch.float64))
        assert torch.allclose(norms, bound) == (activation == "linear" and matrix == "orthogonal")


def test_a_norm_above_one_does_not_force_the_gradient_to_explode():
    found = gradient.gradients(1.5, "orthogonal", "tanh", 2.0, 64, 0)
    assert found["bound"][60] > 1e9 and found["rnn"][60] < 10
    assert gradient.gradients(0.9, "gaussian", "tanh", 4.0, 64, 0)["rnn"][32] < 1e-8


def test_attentions_gradient_is_a_finite_difference_and_does_not_fall_with_distance():
    head, X, step = recurrent_cells.random_head(6, torch.Generator().manual_seed(2)), random(5, 6), 1e-6
    norms = recurrent_cells.attention_gradient_norms(head, X)
    for distance in range(5):
        at, columns = len(X) - 1 - distance, []
        for unit in torch.eye(6, dtype=torch.float64):
            change = torch.zeros_like(X)
            change[at] = step * unit
            columns.append((recurrent_cells.attend_last(head, X + change)
                            - recurrent_cells.attend_last(head, X - change)) / (2 * step))
        assert norms[distance] == pytest.approx(float(torch.linalg.svdvals(torch.stack(columns, dim=1))[0]), rel=1e-6)
    line = gradient.gradients(1.0, "orthogonal", "tanh", 2.0, 64, 0)["attention"]
    assert 0.5 < line[1:32].mean() / line[32:].mean() < 2


# ---- what a pass costs -----------------------------------------------------------------------------------------------


def test_writing_token_by_token_makes_what_the_parallel_pass_makes():
    maps, X = random(3, 8, 8), random(1, 11, 8, seed=1)
    assert torch.allclose(recurrent_cells._at_once(maps, X), recurrent_cells._one_by_one(maps, X))


def test_the_work_is_what_torch_counts():
    n, d = 12, 8
    maps, X, W_x, W_h = random(3, d, d), random(1, n, d), random(d, d), random(d, d)
    with FlopCounterMode(display=False) as counted:
        Q, K, V = (X @ W for W in maps)
        torch.softmax(Q @ K.transpose(-1, -2), dim=-1) @ V
    assert counted.get_total_flops() == sequence_work.attention(n, d)
    with FlopCounterMode(display=False) as counted:
        h = torch.zeros(1, d, dtype=torch.float64)
        for x in X[0]:
            h = torch.tanh(x[None] @ W_x + h @ W_h)
    assert counted.get_total_flops() == sequence_work.recurrent(n, d)


def test_the_race_times_every_length():
    assert [timing.n for timing in recurrent_cells.race((4, 8), d=8, repeats=1)] == [4, 8]


# ---- tasks -----------------------------------------------------------------------------------------------------------


def test_a_sequence_to_recall_by_hand():
    task = Recall(n_remembered=2, most_delay=3)
    inputs, targets = task.batch(5, 3, torch.Generator().manual_seed(0))
    assert inputs.shape == (5, task.n_context) and torch.equal(inputs[:, :2], targets)
    assert ((inputs[:, 2:5] == task.blank).all() and inputs[0, 5:].tolist() == [task.blank + 1, task.blank + 2]
            and task.vocab_size == 11)


@pytest.mark.parametrize("task", [Recall(), Recall(1, 8), Recall(6, 80)])
def test_the_readers_are_of_one_size(task):
    sizes = {name: memory_tasks.n_parameters(model) for name, model in memory_tasks.readers(task, 0).items()}
    assert all(abs(size / sizes["attention"] - 1) < 0.05 for size in sizes.values())


def test_attention_recalls_and_the_tanh_network_does_not():
    """The smallest training that shows it: twenty blanks at most, sixty steps."""
    task, names = Recall(3, 20), ("rnn", "attention")
    records = list(memory_tasks.train_recall(task, seed=0, n_steps=60, every=30, names=names))
    last = records[-1]
    assert [record.step for record in records] == [0, 30, 60]
    assert all(abs(accuracy - memory_tasks.CHANCE) < 0.08 for name in names for accuracy in records[0].accuracy[name])
    assert min(last.accuracy["attention"]) >= 0.99 and last.losses["attention"] < 0.5
    assert np.mean(last.accuracy["rnn"][4:]) < 0.3 and last.losses["rnn"] > 0.8 * memory_tasks.CHANCE_LOSS
    again = next(memory_tasks.train_recall(task, seed=0, names=names))
    assert (again.accuracy, again.answers) == (records[0].accuracy, records[0].answers)


def test_two_trainings_with_one_seed_are_one():
    runs = [list(memory_tasks.train_recall(Recall(2, 8), seed=4, n_steps=2, every=1)) for _ in range(2)]
    for one, other in zip(*runs):
        assert (one.accuracy, one.answers, one.inputs) == (other.accuracy, other.answers, other.inputs)
        assert one.step == 0 or one.losses == other.losses


def test_the_bottleneck_loses_what_attention_keeps():
    last = list(memory_tasks.train_rewriting(Rewriting("copy", 8), n_hidden=32, seed=0, n_steps=160, every=160))[-1]
    assert last.accuracy["attention"][-1] > last.accuracy["bottleneck"][-1] + 0.2
    assert last.accuracy["bottleneck"][1] > 0.9 > last.accuracy["bottleneck"][-1]
    assert all(sum(row) == pytest.approx(1, abs=1e-5) for row in last.alignment)


@pytest.mark.parametrize("name", memory_tasks.WRITERS)
def test_what_is_written_alone_is_what_the_same_text_read_back_would_give(name):
    model = memory_tasks.writers(8, 0)[name]
    source, _ = Rewriting().batch(3, 6, torch.Generator().manual_seed(1))
    alone, weights = model.write(source)
    assert torch.equal(model.logits(source, alone).argmax(-1), alone)
    assert (weights is None) == (name == "bottleneck")


# ---- the page --------------------------------------------------------------------------------------------------------


open_at = functools.partial(lessons.open_at, "recurrence")


@pytest.mark.parametrize("prompt", PROMPTS.values(), ids=PROMPTS.keys())
def test_the_unrolled_network_bears_every_prompt(prompt):
    at = open_at(recurrence_cell="lstm", recurrence_layers="3", recurrence_both="true",
                 **({} if prompt is None else {"prompt": prompt}))
    assert fine(at)
    sent = unpacked(next(c.proto.bytes for c in at.get("bidi_component")
                         if c.proto.component_name == "recurrence_unrolled"))
    run = read(cache.shared_model(cache.model_names()[0], "cpu"), at.session_state["prompt"])
    states = np.stack([np.stack([steps.h.numpy() for steps in directions])
                       for directions in unrolled.network(run, "lstm", 3, True, 0)])
    assert sent["tokens"] == run.tokens and np.allclose(sent["states"], states.reshape(-1), atol=1e-6)
    c, kept = sent["cells"].reshape(states.shape), sent["kept"].reshape(states.shape[:3])
    assert kept.min() > 0 and kept.max() < 1 and (np.abs(states) <= np.abs(np.tanh(c)) + 1e-6).all(), "h = o tanh c"


@pytest.mark.parametrize("view", VIEWS)
def test_every_view_bears_absurd_addresses(view):
    names = [name for name in SETTINGS.each if name != "view"]
    for values in (("-7", "<b>x</b>"), ("1e99", "nan")):
        at = open_at(recurrence_view=view, position="99999",
                     **{f"recurrence_{name}": values[i % 2] for i, name in enumerate(names)})
        assert fine(at), (view, values)


@pytest.mark.parametrize("query", [dict(cell="rnn"), dict(cell="lstm", unit="3"),
                                   dict(cell="gru", both="true", backward="true", layers="2", layer="1", unit="5")],
                         ids=str)
def test_the_cells_formulas_hold_on_a_calculator(query):
    at = open_at(prompt="The bank of the river", position="2",
                 **{f"recurrence_{name}": value for name, value in query.items()})
    functions = {"tanh": math.tanh, "sigma": lambda v: 1 / (1 + math.exp(-v))}
    written = formulas(at)
    assert len(written) == {"rnn": 2, "lstm": 7, "gru": 5}[query["cell"]], "the cell, and its output"
    for latex in written:
        *_, middle, result = latex.split(" = ")
        plain = (re.sub(r"\\(tanh|sigma)", r"\1", middle.replace(r"\left", "").replace(r"\right", ""))
                 .replace(r" \cdot 10^{", "*10**(").replace("}", ")").replace(r"\cdot", "*"))
        assert eval(plain, {"__builtins__": {}}, functions) == pytest.approx(float(result), abs=6e-5), latex


def test_the_formulas_are_those_of_torchs_cell_at_the_picked_step():
    run = read(cache.shared_model(cache.model_names()[0], "cpu"), "The bank of the river")
    at = open_at(prompt="The bank of the river", position="3", recurrence_cell="gru", recurrence_unit="4")
    assert (float(formulas(at)[-2].split(" = ")[-1])
            == pytest.approx(float(unrolled.network(run, "gru", 1, False, 0)[0][0].h[3, 4]), abs=5e-5))


@pytest.mark.parametrize("kind, both", [("rnn", False), ("gru", True)])
def test_the_outputs_are_those_of_torchs_network_and_the_formula_says_one(kind, both):
    at = open_at(prompt="The bank of the river", position="3", recurrence_cell=kind, recurrence_layers="2",
                 recurrence_both=str(both).lower(), recurrence_unit="2", recurrence_backward=str(both).lower())
    run = read(cache.shared_model(cache.model_names()[0], "cpu"), "The bank of the river")
    X = unrolled.inputs(run)
    layers = recurrent_cells.random_stack(kind, X.shape[1], 16, 2, 1 + both, torch.Generator().manual_seed(0))
    with torch.no_grad():
        y = torch_twin(layers, X.shape[1])(X[None])[0][0] @ unrolled.output_weights(1 + both, 0)
    sent = unpacked(next(c.proto.bytes for c in at.get("bidi_component")
                         if c.proto.component_name == "recurrence_unrolled"))
    assert np.allclose(sent["outputs"].reshape(y.shape), y, atol=1e-5) and not len(sent["cells"])
    assert float(formulas(at)[-1].split(" = ")[-1]) == pytest.approx(float(y[3, 0]), abs=5e-5)


def test_an_lstms_lane_is_torchs_c():
    at = open_at(prompt="The bank of the river", recurrence_cell="lstm")
    run = read(cache.shared_model(cache.model_names()[0], "cpu"), "The bank of the river")
    X = unrolled.inputs(run)
    twin = torch_twin(recurrent_cells.random_stack("lstm", X.shape[1], 16, 1, 1, torch.Generator().manual_seed(0)),
                      X.shape[1])
    sent = unpacked(next(c.proto.bytes for c in at.get("bidi_component")
                         if c.proto.component_name == "recurrence_unrolled"))
    with torch.no_grad():
        c = torch.stack([twin(X[None, :t + 1])[1][1][0, 0] for t in range(len(X))])
    assert np.allclose(sent["cells"].reshape(c.shape), c, atol=1e-6)


def test_the_gradients_formulas_hold():
    at = open_at(recurrence_view="gradient", recurrence_norm="1.3", recurrence_distance="7")
    found = gradient.gradients(1.3, "orthogonal", "tanh", 2.0, 64, 0)
    product, bound, rate, bias, gates, lstm, attention = formulas(at)
    assert all(r"\prod_{s=T-6}^{T}" in line for line in (product, bound)), "seven factors, those of the last steps"
    assert float(product.split(" = ")[-1]) == pytest.approx(found["rnn"][7], abs=5e-5)
    norm, power, slopes = re.search(r"= ([\d.]+)\^\{(\d+)\} \\cdot ([\d.]+) =", bound).groups()
    assert float(norm) ** int(power) * float(slopes) == pytest.approx(float(bound.split(" = ")[-1]), rel=1e-5)
    assert float(rate.split("^")[0]) ** (1 / 7) == pytest.approx(float(rate.split(" = ")[-1]), abs=6e-5)
    assert float(bias.split(" = ")[-1]) == pytest.approx((1 / (1 + math.exp(-2))) ** 7, abs=5e-5)
    assert r"\prod_{s=T-6}^{T} f_{s,i}" in gates
    for written, name in ((gates, "gates"), (lstm, "lstm")):
        assert float(written.split(" = ")[-1]) == pytest.approx(found[name][7], abs=5e-5), name
    assert float(attention.split(" = ")[-1]) == pytest.approx(found["attention"][7], abs=5e-5)
    told = {name: readable(found[name][7]) for name in ("rnn", "bound", "gates", "lstm")}
    assert f"**{WORDS.label('gradient_title', norm='1.3', distance=7, **told)}**" in [m.value for m in at.markdown]


def asked(at: AppTest, key: str):
    """The options of a question, and the one that the explanation calls right after a wrong or right commitment."""
    radio = at.radio(f"recurrence_{key}_given")
    radio.set_value(0).run()
    at.button(f"recurrence_{key}_commit").click().run()
    return radio.options, "\n".join(m.value for m in at.markdown)


@pytest.mark.parametrize("matrix, other", [("orthogonal", "gaussian"), ("gaussian", "orthogonal")])
def test_the_norm_to_choose_is_found_by_a_whole_chain_of_another_matrix(matrix, other):
    at = open_at(recurrence_view="gradient", recurrence_matrix=matrix)
    options, said = asked(at, "norm")
    factors = []
    for norm in map(float, options):
        generator = torch.Generator().manual_seed(0)
        X = 0.5 * torch.randn(128, 32, generator=generator, dtype=torch.float64)[:60]
        cell = recurrent_cells.random_cell("rnn", 32, 32, generator, norm, other)
        start = torch.zeros(32, dtype=torch.float64)
        factors.append(float(torch.linalg.svdvals(jacrev(lambda s: last_state(cell, X, s))(start))[0]))
    best = min(zip(options, factors), key=lambda pair: abs(math.log(pair[1])))[0]
    assert f": {best} keeps it nearest to 1" in said


def test_the_copy_question_is_about_chance():
    options, said = asked(open_at(recurrence_view="copy"), "copy")
    assert options[2] == f"{math.log(16):.3g} nats" and "6.25\xa0%" in said and "2.77 nats" in said


def test_an_eighth_is_left_of_the_work_within_eight_pieces():
    options, said = asked(open_at(recurrence_view="serial"), "pieces")
    assert 8 * 256 ** 2 / 2048 ** 2 == 1 / 8 and options[1] == "one eighth" and "an eighth in all" in said


def test_the_cell_that_leaves_most_is_found_by_torchs_own_networks():
    at = open_at(prompt="The bank of the river", recurrence_from="1", position="5")
    run, left = read(cache.shared_model(cache.model_names()[0], "cpu"), "The bank of the river"), {}
    X = unrolled.inputs(run)
    silent = X.clone()
    silent[1] = 0
    for kind in GATES:
        layers = recurrent_cells.random_stack(kind, X.shape[1], 16, 1, 1, torch.Generator().manual_seed(0))
        twin = torch_twin(layers, X.shape[1])
        with torch.no_grad():
            apart = (twin(X[None])[0][0] - twin(silent[None])[0][0]).norm(dim=-1)
        left[kind] = float(apart[5] / apart[1])
    lessons.answer(at, "keeps", list(left).index(max(left, key=left.get)))
    said = "\n".join(m.value for m in at.markdown)
    for kind, share in left.items():
        shown = f"{100 * share:.1f}" if share >= 1e-4 else "less than 0.01"
        assert f"{WORDS.label(f'network_{kind}')}: {shown}" in said, (kind, share)


def test_the_room_of_the_one_vector_is_counted_in_bits():
    options, said = asked(open_at(recurrence_view="bottleneck"), "room")
    assert options == ["12", "64", "682", "2048"] and 8 ** 682 <= 2 ** (64 * 32) < 8 ** 683 and "682 letters" in said


def test_every_experiment_leads_where_it_says():
    for experiment in WORDS.experiments:
        at = open_at()
        at.button(f"do_recurrence_{experiment.id}").click().run()
        assert fine(at)
        for key, value in experiment.settings.items():
            if key.startswith("recurrence_"):
                assert at.session_state[key] == value, (experiment.id, key)
    run = read(cache.shared_model(cache.model_names()[0], "cpu"),
               next(e for e in WORDS.experiments if e.id == "both").settings["prompt"])
    assert "bank" in run.tokens[2] and "river" in run.tokens[5]


def test_a_training_belongs_to_its_reader_and_can_be_stopped(monkeypatch):
    monkeypatch.setattr(copy, "N_STEPS", 6)
    monkeypatch.setattr(copy, "EVERY", 3)
    query = dict(recurrence_view="copy", recurrence_remembered="2", recurrence_delay="8")
    one, other = open_at(**query), open_at(**query)
    one.button("recurrence_run").click().run()
    job = next(iter(one.session_state["recurrence_jobs"].values()))
    job.wait(60)
    one.run()
    assert fine(one) and len(job.records) == 3 and "After 6 steps" in "\n".join(m.value for m in one.markdown)
    other.run()
    assert (not other.session_state["recurrence_jobs"]
            and "After 6 steps" not in "\n".join(m.value for m in other.markdown))
    with pytest.MonkeyPatch.context() as full:
        full.setattr(queue, "start", lambda make, watched: None)
        other.button("recurrence_run").click().run()
    assert (prose.load("app").label("worker_full", n=queue.MOST_AT_ONCE, waiting=queue.MOST_WAITING)
            in [w.value for w in other.warning])


def test_the_tables_hold_what_the_pictures_show():
    found = gradient.gradients(1.0, "orthogonal", "tanh", 2.0, 32, 0)
    table = gradient._table(found)
    assert len(table) == 33 and np.allclose(table["rnn"], found["rnn"]) and table["attention"].isna().sum() == 1
    task, records = Recall(1, 8), list(memory_tasks.train_recall(Recall(1, 8), n_steps=2, every=1, names=("rnn",)))
    accuracy, loss = copy.accuracy_table(task.delays(), records, "delay"), copy.loss_table(records)
    assert (len(accuracy) == 3 * len(task.delays()) and accuracy["accuracy"].iloc[-1] == records[-1].accuracy["rnn"][-1]
            and loss["loss"].tolist() == [r.losses["rnn"] for r in records[1:]])
    assert len(copy.accuracy_table(task.delays(), [], "delay")) == len(copy.loss_table([])) == 0
    times = serial._table([recurrent_cells.Timing(64, 1e-3, 2e-3, 3e-3)], 64)
    assert (times.loc[times["tokens"] == 64, "generation_ms"].item() == 3 and times["rnn_ms"].notna().sum() == 1
            and "rnn_ms" not in serial._table([], 64))


def test_no_time_is_shown_as_this_machines_before_it_was_taken():
    at = open_at(recurrence_view="serial")
    title = next(m.value for m in at.markdown if " ms" in m.value)
    assert title.startswith(f"**{WORDS.label('recorded')}")
