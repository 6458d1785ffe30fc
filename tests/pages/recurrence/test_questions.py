"""Before you look, on From recurrence to attention: each answer is right by a second computation, and the statement
that is called true is true of what the picture shows. And the recorded runs, which are real ones.
"""
from __future__ import annotations

import json
import math

import numpy as np
import pytest
import torch
from torch.func import jacrev

from core.app.compute import cache
from core.app.state.run import read
from core.base import prose
from core.figures.numbers import percent, readable
from core.learning import memory_tasks, recurrent_cells
from core.learning.memory_tasks import Recall, Rewriting
from pages.recurrence import recorded, unrolled
from tests.helpers.lessons import fine, open_at
from tests.helpers.messages import given
from tests.helpers.predictions import ask, commit, modes, question, statements
from tests.pages.recurrence.test_recurrence import last_state, torch_twin

WORDS = prose.load("recurrence")
KEPT = json.loads(recorded.FILE.read_text())


def told(at, name: str, guess) -> dict:
    return commit(at, "recurrence", name, guess)


def place(value: float, *limits: float) -> int:
    """The option in which a value lies, of those that the limits part."""
    return sum(value >= limit for limit in limits)


def is_asked(name: str, **query: str) -> bool:
    return "ask" in modes(ask("recurrence", name, **{f"recurrence_{key}": value for key, value in query.items()}))


# ---- unrolled --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("prompt, kind, both, source, step", [
    (None, "rnn", False, 1, 25), ("The bank of the river was green.", "gru", True, 5, 2),
    ("The bank of the river was green.", "lstm", False, 1, 4), ("The cat sat on the mat.", "rnn", False, 1, 4)])
def test_how_much_of_a_word_is_left(prompt: str | None, kind: str, both: bool, source: int, step: int):
    at = ask("recurrence", "unrolled", prompt=prompt, position=str(step), recurrence_cell=kind,
             recurrence_both=str(both).lower(), recurrence_from=str(source))
    run = read(cache.shared_model(at.session_state["model"], "cpu"), at.session_state["prompt"])
    step = min(step, len(run.tokens) - 1)
    asked = question(at)["question"]
    assert f"`{run.tokens[source]}`" in asked and f"{abs(step - source)} tokens later" in asked
    X = unrolled.inputs(run)
    silent = X.clone()
    silent[source] = 0
    layers = recurrent_cells.random_stack(kind, X.shape[1], 16, 1, 1 + both, torch.Generator().manual_seed(0))
    twin, columns = torch_twin(layers, X.shape[1]), slice(16, 32) if step < source else slice(0, 16)
    with torch.no_grad():
        apart = (twin(X[None])[0][0] - twin(silent[None])[0][0])[:, columns].norm(dim=-1)
    left = float(apart[step] / apart[source])
    found = told(at, "unrolled", 3)
    assert found["answer"] == place(left, 0.01, 0.8, 1.25) and len(found["guess"]["texts"]) == 4
    assert found["said"] in found["reason"]
    assert found["true"] == statements("recurrence", "unrolled")[0 if left < 0.8 else 2 if left > 1.25 else 1]
    sent = given(at, "recurrence_unrolled")
    assert sent["left_shares"][int(step < source)][step] == pytest.approx(left, rel=1e-6)


def test_nothing_is_asked_where_there_is_no_path():
    for query in ({"from": "2", "both": "false"}, {"from": "3"}):
        at = ask("recurrence", "unrolled", position="1", **{f"recurrence_{k}": v for k, v in query.items()})
        assert "ask" not in modes(at), query


# ---- gradient --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("norm, matrix, activation, k, option", [
    (1.0, "orthogonal", "tanh", 10, 1), (1.5, "orthogonal", "linear", 8, 3), (0.9, "gaussian", "tanh", 32, 0),
    (1.0, "orthogonal", "linear", 20, 2)])
def test_how_a_small_change_grows_or_shrinks(norm: float, matrix: str, activation: str, k: int, option: int):
    at = ask("recurrence", "gradient", recurrence_norm=str(norm), recurrence_matrix=matrix,
             recurrence_activation=activation, recurrence_distance=str(k))
    generator = torch.Generator().manual_seed(0)
    X = 0.5 * torch.randn(128, 32, generator=generator, dtype=torch.float64)[:64]
    cell = recurrent_cells.random_cell("rnn", 32, 32, generator, norm, matrix, activation=activation)
    start = recurrent_cells.unroll(cell, X).h[63 - k]
    factor = float(torch.linalg.svdvals(jacrev(lambda s: last_state(cell, X[64 - k:], s))(start))[0])
    found = told(at, "gradient", 0)
    assert found["answer"] == place(factor, 1e-3, 0.8, 1.25) == option
    assert readable(factor) in found["reason"] and readable(factor) in found["said"]
    is_reached = activation == "linear" and matrix == "orthogonal"
    assert found["true"] == statements("recurrence", "gradient")[int(is_reached)]
    assert (factor == pytest.approx(norm ** k)) == is_reached


# ---- what was recorded -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", ["32", "64", "128"])
def test_how_long_attention_takes_on_one_core(width: str):
    at = ask("recurrence", "serial", recurrence_width=width)
    times = KEPT["races"][width]
    assert f"{1e3 * times[-1]['rnn']:.3g} ms" in question(at)["question"] and times[-1]["n"] == 2048
    found = told(at, "serial", 0)
    assert found["answer"] == place(times[-1]["attention"] / times[-1]["rnn"], 0.2, 0.8, 1.25) == 3
    assert found["said"] == f"{1e3 * times[-1]['attention']:.3g} ms"
    slower = [time["attention"] > time["rnn"] for time in times]
    number = 2 if all(slower) else 0 if slower[-1] and not slower[0] else 1
    assert found["true"] == statements("recurrence", "serial")[number]


def test_one_core_makes_attention_slow_on_long_texts():
    """The text's claim on one core."""
    for times in KEPT["races"].values():
        assert times[-1]["attention"] > times[-1]["rnn"] and times[-1]["generation"] > times[-1]["attention"]


def ends_of(run: str) -> dict[str, float]:
    """The accuracy of each network at the longest delay or length, in the last record of a run."""
    return {name: values[-1] for name, values in KEPT["runs"][run][-1]["accuracy"].items()}


def test_how_often_the_plain_network_is_right():
    found, line = told(ask("recurrence", "copy"), "copy", 3), KEPT["runs"]["Recall 4 40 0"][-1]["accuracy"]["rnn"]
    assert found["answer"] == place(line[-1], 0.25, 0.5, 0.9) == 0 and found["said"] == percent(line[-1])
    assert found["true"] == statements("recurrence", "copy")[0] and max(line) < 0.2
    ends = ends_of("Recall 4 40 0")
    assert ends["attention"] > ends["gru"] > ends["lstm"] > ends["rnn"] + 0.4      # as the text says of the gates


@pytest.mark.parametrize("order, hidden, option", [("copy", "64", 1), ("reverse", "64", 2), ("copy", "16", 1)])
def test_how_many_letters_one_vector_holds(order: str, hidden: str, option: int):
    at = ask("recurrence", "bottleneck", recurrence_order=order, recurrence_hidden=hidden)
    assert WORDS.label(f"asked_{order}") in question(at)["question"]
    ends = ends_of(f"Rewriting {order} 12 {hidden} 0")
    found = told(at, "bottleneck", 3)
    assert found["answer"] == place(ends["bottleneck"], 0.25, 0.5, 0.9) == option
    assert f"{readable(12 * ends['bottleneck'])} of 12 are right" in found["reason"]
    gap = ends["attention"] - ends["bottleneck"]
    assert found["true"] == statements("recurrence", "bottleneck")[0 if gap > 0.05 else 2 if gap < -0.05 else 1]


def test_what_was_not_recorded_is_not_asked():
    assert not is_asked("copy", delay="16") and not is_asked("bottleneck", seed="3")


def test_recorded_runs_begin_as_a_run_here_does():
    task = Recall(4, 40)
    kept, here = recorded.recall_run(task, 0), memory_tasks.train_recall(task, 0)
    assert len(kept) == 26 and kept[-1].step == 500
    _same(kept[0], next(here))
    for order, hidden in (("copy", 64), ("reverse", 64), ("copy", 16)):
        kept = recorded.rewriting_run(Rewriting(order, 12), hidden, 0)
        first, second = (record for record, _ in zip(memory_tasks.train_rewriting(
            Rewriting(order, 12), hidden, 0, 600, 25), range(2)))
        assert len(kept) == 25 and kept[-1].step == 600
        _same(kept[0], first)
        assert kept[1].losses == pytest.approx(second.losses, rel=1e-2)
        assert np.allclose(kept[0].alignment, first.alignment, atol=1e-3)
    assert recorded.recall_run(Recall(4, 8), 0) == recorded.rewriting_run(Rewriting("copy", 4), 64, 0) == ()


def _same(kept, here) -> None:
    assert kept.step == here.step and all(map(math.isnan, kept.losses.values()))
    for name, values in here.accuracy.items():
        assert kept.accuracy[name] == pytest.approx(values, abs=0.01)


@pytest.mark.parametrize("view", ["serial", "copy", "bottleneck"])
def test_a_long_computation_opens_on_a_recorded_run_says_so_and_offers_to_run_it_here(view: str):
    at = open_at("recurrence", recurrence_view=view)
    assert fine(at) and any(m.value.startswith(f"**{WORDS.label('recorded')}") for m in at.markdown)
    assert at.button("recurrence_run").label == WORDS.label("time_it" if view == "serial" else "train_here")
