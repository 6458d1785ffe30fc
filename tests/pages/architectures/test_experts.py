"""Experts: the routing that is drawn is the model's own, or that of a router that nobody trained; what is counted."""
from __future__ import annotations

import numpy as np
import pytest
import torch

from core.cost import counting
from core.figures.numbers import percent
from core.model.config import ModelConfig
from core.model.transformer import Transformer
from pages.architectures import experts, experts_charts
from tests.claims.passes import run as run_on
from tests.helpers.lessons import fine, open_at
from tests.helpers.messages import given
from tests.helpers.predictions import ask, commit, modes, statements


def numbers(array, *shape: int) -> np.ndarray:
    return np.asarray(array, dtype=np.float64).reshape(shape)


def test_the_grid_is_what_the_random_router_gives_of_the_blocks_own_input():
    at = open_at("architectures", architectures_view="experts", architectures_experts_n="6",
                 architectures_experts_k="3", architectures_experts_seed="4", layer="2", position="5")
    assert fine(at)
    sent = given(at, "residual_grid")
    run = run_on(at.session_state["prompt"])
    block, weights = run.trace.blocks[2], run.model.blocks[2]
    x = weights.mlp_norm(block.resid_mid, "layernorm").double()
    W_R = torch.randn((256, 6), generator=torch.Generator().manual_seed(4002), dtype=torch.float64) / 16
    probs = torch.softmax(x @ W_R, -1)
    np.testing.assert_allclose(numbers(sent["values"], len(x), 6), probs, atol=1e-6)
    marks = numbers(sent["marks"], len(x), 6)
    assert (marks.sum(1) == 3).all()
    for row, p in zip(marks, probs):
        assert set(np.flatnonzero(row)) == set(p.topk(3).indices.tolist())
    assert sent["picked"] == [5, int(probs[5].argmax())]


def test_a_model_of_experts_shows_its_own_router():
    config = ModelConfig.of(vocab_size=61, d_model=16, n_layers=2, n_heads=2, n_context=32, d_ff=24, n_experts=5,
                         n_active_experts=2, block_experts=(False, True))
    model = Transformer(config).initialise(torch.Generator().manual_seed(1)).eval().requires_grad_(False)
    trace = model(torch.arange(9))

    class Run:
        def __init__(self) -> None:
            self.model, self.trace = model, trace

    found = {}
    for layer in (0, 1):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(experts, "selection", lambda run, layer=layer: type("At", (), {"layer": layer}))
            found[layer] = experts.routing_of(Run())
    assert found[0] is None and found[1].trained and found[1].k == 2
    np.testing.assert_array_equal(found[1].weights, trace.blocks[1].expert_weights.double())
    assert found[1].shares.sum() == pytest.approx(1) and (found[1].chosen.sum(1) == 2).all()
    assert experts.counts(found[1]) == {"all": model.n_parameters, "active": model.n_parameters - 3 * 808}


def routing(chosen: list[list[int]]) -> experts.Routing:
    weights = np.array(chosen, dtype=float)
    config = ModelConfig.of(vocab_size=5, d_model=4, n_layers=1, n_heads=1, n_context=4, n_experts=weights.shape[1],
                         n_active_experts=int(weights[0].sum()))
    return experts.Routing(weights / weights.shape[1], weights, config, 0, True)


def test_shares_by_hand():
    found = routing([[1, 1, 0], [1, 0, 1], [1, 1, 0]])
    assert found.shares.tolist() == [3 / 6, 2 / 6, 1 / 6] and found.busiest == 0


def test_mixtral_is_counted_as_published():
    assert counting.n_parameters(experts.MIXTRAL) == 46_702_792_704
    assert counting.active_parameters(experts.MIXTRAL) == 12_879_925_248


def test_the_question_is_about_the_busiest_expert():
    told = commit(ask("architectures", "experts"), "architectures", "experts", 0)
    at = open_at("architectures", architectures_view="experts")
    sent = given(at, "residual_grid")
    marks = numbers(sent["marks"], -1, 8)
    reads, equal = marks.sum(0), marks.sum() / 8
    most = reads.max()
    assert told["answer"] == (3 if most == len(marks) else 2 if most >= 2 * equal else int(most > equal))
    assert told["said"] == percent(most / marks.sum()) and f"Expert {int(reads.argmax())} has" in told["reason"]
    assert told["true"] == statements("architectures", "experts")[int(reads.min() > 0)]


def test_every_expert_for_every_token_is_no_question():
    at = open_at("architectures", ask="true", architectures_view="experts", architectures_experts_n="4",
                 architectures_experts_k="4")
    assert fine(at) and "ask" not in modes(at)
    shares = numbers(given(at, "residual_grid")["marks"], -1, 4)
    assert (shares == 1).all()


def test_the_bars_name_each_share_and_each_count():
    drawn = experts_charts.shares(np.array([0.5, 0.25, 0.25]), (1 / 3, "equal share"), ("expert", "share"),
                                  theme="light", scale=1.0, height=200).to_dict()
    rows = [row for data in drawn["datasets"].values() for row in data]
    assert [row["shown"] for row in rows if "shown" in row] == ["50.0\u00a0%", "25.0\u00a0%", "25.0\u00a0%"]
    assert [row["kind"] for row in rows if "kind" in row] == ["most", "other", "other"]
    assert {row["name"] for row in rows if "name" in row} == {"equal share"}
    counted = experts_charts.counts([("all", 10, "10"), ("active", 4, "4")], "numbers", theme="dark", scale=1.6,
                                    height=90).to_dict()
    assert [(row["name"], row["value"]) for row in next(iter(counted["datasets"].values()))] == [("all", 10),
                                                                                                ("active", 4)]


def test_an_address_that_asks_for_more_experts_than_there_are_has_all_of_them():
    at = open_at("architectures", architectures_view="experts", architectures_experts_n="4",
                 architectures_experts_k="9")
    assert fine(at), [e.value for e in at.error]
    assert (numbers(given(at, "residual_grid")["marks"], -1, 4).sum(1) == 4).all()
