"""The place of the norm: each block's gradient equals that of a transformer written out once more, the recorded runs
are real ones, and what the page says of them holds.
"""
from __future__ import annotations

import json
import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from core.learning import placement, variants
from core.learning.learner import Copying
from core.learning.placement import PLACEMENTS
from tests.helpers import lessons
from tests.helpers.lessons import fine
from tests.helpers.messages import formulas
from tests.helpers.predictions import ask, commit, statements

RUNS = json.loads(placement.FILE.read_text())["runs"]
BLIND = math.log(8)


def written_out(name: str, model, ids: torch.Tensor) -> torch.Tensor:
    """The logits of a model from its weights alone: GELU, learned positions, causal attention, the norms as named."""
    config, N = model.config, ids.shape[-1]
    alpha = (2 * config.n_layers) ** 0.25 if name == "deepnorm" else 1.0

    def norm(x: torch.Tensor, part) -> torch.Tensor:
        return x if name == "none" else F.layer_norm(x, x.shape[-1:], part.weight, part.bias, config.norm_epsilon)

    def joined(x: torch.Tensor, part, own, out_norm) -> torch.Tensor:
        if name in ("post", "deepnorm"):
            return norm(alpha * x + part(x), own)
        written = part(norm(x, own))
        return x + (norm(written, out_norm) if name == "sandwich" else written)

    def attention(X: torch.Tensor, block) -> torch.Tensor:
        Q, K, V = (torch.einsum("bnd,hdk->bhnk", X, W) + b[:, None] for W, b in
                   ((block.W_Q, block.b_Q), (block.W_K, block.b_K), (block.W_V, block.b_V)))
        scores = (Q @ K.mT / K.shape[-1] ** 0.5).masked_fill(~torch.ones(N, N, dtype=torch.bool).tril(), -math.inf)
        return torch.einsum("bhnv,hvd->bnd", scores.softmax(-1) @ V, block.W_O) + block.b_O

    x = model.E[ids] * config.embedding.embedding_scale + model.P[:N]
    for block in model.blocks:
        x = joined(x, lambda X, b=block: attention(X, b), block.attn_norm, getattr(block, "attn_out_norm", None))
        x = joined(x, lambda X, b=block: F.gelu(X @ b.W_1 + b.b_1) @ b.W_2 + b.b_2, block.mlp_norm,
                   getattr(block, "mlp_out_norm", None))
    return (norm(x, model.final_norm) if name in ("pre", "sandwich") else x) @ model.E.T


@pytest.mark.parametrize("name", PLACEMENTS)
@pytest.mark.parametrize("n_layers", [2, 5])
def test_the_gradient_of_each_block_is_that_of_a_transformer_written_out(name: str, n_layers: int):
    task = Copying()
    model = PLACEMENTS[name].build(task, 3, n_layers=n_layers)
    rows = task.rows(64, torch.Generator().manual_seed(4), held_out=False)
    loss = F.cross_entropy(written_out(name, model, rows.inputs).flatten(0, 1), rows.targets.flatten(),
                           ignore_index=-100)
    by_block = [math.sqrt(sum(float(g.square().sum()) for g in torch.autograd.grad(
        loss, [p for p in block.parameters()], retain_graph=True, allow_unused=True) if g is not None))
        for block in model.blocks]
    assert placement.first_gradients(name, n_layers, 3) == pytest.approx(by_block, rel=2e-3)


def test_all_begin_with_the_same_weights_but_for_what_their_placement_says():
    task = Copying()
    models = {name: dict(placement_.build(task, 0, n_layers=4).named_parameters())
              for name, placement_ in PLACEMENTS.items()}
    for leaf in ("W_Q", "W_1", "W_2"):
        sizes = {name: float(next(p for key, p in model.items() if key.endswith(leaf)).detach().std())
                 for name, model in models.items()}
        beta = (8 * 4) ** -0.25
        for name, size in sizes.items():
            assert size == pytest.approx(sizes["pre"] * (beta if name == "deepnorm" and leaf != "W_Q" else 1), rel=0.1)
    assert not [key for key in models["none"] if "norm" in key]


@pytest.mark.parametrize("run", [run for run in RUNS if run["n_layers"] == 2 and run["placement"] in ("pre", "none")],
                         ids=str)
def test_a_recorded_run_is_a_real_one(run: dict):
    trial = placement.trial(run["placement"], run["n_layers"], run["power"], run["warmup"])
    anew = [loss for _, loss in trial.run(10, 10)]
    assert anew == pytest.approx([loss for _, loss in run["history"][:2]], rel=0.02)


def test_every_placement_has_a_recorded_run_at_every_depth():
    assert {(run["placement"], run["n_layers"], run["warmup"]) for run in RUNS} == {
        (name, depth, warmup) for name in PLACEMENTS for depth in placement.DEPTHS for warmup in placement.WARMUPS}


def ends(n_layers: int, warmup: int = 0) -> dict[str, float]:
    """The last loss of the recorded runs, by placement; infinity where it is not finite."""
    return {run["placement"]: math.inf if run["history"][-1][1] is None else run["history"][-1][1]
            for run in RUNS if (run["n_layers"], run["warmup"]) == (n_layers, warmup)}


def test_the_recorded_runs_say_what_the_text_says():
    few, many, warmed = ends(2), ends(6), ends(6, 60)
    assert min(few, key=few.get) == "none" and few["post"] < 0.1 * BLIND
    assert many["none"] > BLIND and max(many["pre"], many["sandwich"]) < 0.1 * BLIND
    assert 0.5 * BLIND < many["post"] < BLIND and warmed["post"] < many["post"]
    even = placement.first_gradients("deepnorm", 12, 0)[1:]
    assert max(even) < 1.3 * min(even) and many["deepnorm"] > many["post"]


def test_without_norms_lengths_multiply_and_with_them_they_do_not():
    """With twice the blocks the gradient grows by a power without norms, and hardly with pre-norm, as the text says."""
    first = {(name, depth): placement.first_gradients(name, depth, 0)[0] for name in ("pre", "none")
             for depth in (2, 12, 24)}
    assert first["none", 24] > 20 * first["none", 12] and first["none", 12] > 5 * first["none", 2]
    assert max(first["pre", depth] for depth in (2, 12, 24)) < 5 * min(first["pre", depth] for depth in (2, 12, 24))


def opened(**query: str):
    at = lessons.open_at("residual_stream", residual_stream_view="placement", **query)
    assert fine(at), [e.value for e in (*at.exception, *at.error)]
    return at


@pytest.mark.parametrize("query", [{}, {"residual_stream_random_depth": "3", "residual_stream_random_seed": "2"},
                                   {"residual_stream_random_depth": "24", "residual_stream_placement_warmup": "60"}])
def test_the_page_says_what_was_measured(query: dict):
    at = opened(**query)
    depth, seed = int(query.get("residual_stream_random_depth", 6)), int(query.get("residual_stream_random_seed", 0))
    slopes = placement.first_gradients("none", depth, seed)
    title = next(m.value for m in at.markdown if "without norms" in m.value)
    assert f"{depth} blocks" in title and f"{slopes[0]:.3g}" in title.replace(",", "") or slopes[0] > 999
    nearest = min(placement.DEPTHS, key=lambda d: abs(d - depth))
    run = next(run for run in RUNS if run["placement"] == "pre" and run["n_layers"] == nearest
               and run["warmup"] == int(query.get("residual_stream_placement_warmup", 0)))
    assert f"{nearest} blocks the loss is" in title and f"pre-norm {run['history'][-1][1]:.3g}" in title
    assert len(at.get("vega_lite_chart")) == 3 and len(formulas(at)) >= 5


def test_the_question_tells_what_the_recorded_runs_did():
    at = ask("residual_stream", "placement")
    shown = commit(at, "residual_stream", "placement", 0)
    recorded = ends(6)
    learned = [name for name in ("pre", "post") if recorded[name] < BLIND / 2]
    assert shown["answer"] == {("pre",): 0, ("post",): 1, ("pre", "post"): 2, (): 3}[tuple(learned)]
    first = {name: placement.first_gradients(name, 6, 0)[0] for name in PLACEMENTS}
    assert shown["true"] == statements("residual_stream", "placement")[0 if max(first, key=first.get) == "none" else 1]


def test_five_trainings_side_by_side_go_on_where_they_stopped():
    comparison = placement.Comparison(2, -2.5, 0, 1)
    steps = comparison.learn()
    assert [next(steps), next(steps)] == [0, 10]
    steps.close()                                           # the reader stops
    assert next(comparison.learn()) == 20 and comparison.begun
    alone = placement.trial("pre", 2, -2.5, 0, 1)
    assert [loss for _, loss in alone.run(20, 10)] == [loss for _, loss in comparison.trials["pre"].history]


def test_a_shared_block_counts_once_and_a_model_without_norms_still_runs():
    task = Copying()
    shared, own = (variants.Variant(shared=shared).build(task, 0, n_layers=4) for shared in (True, False))
    assert sum(p.numel() for p in shared.blocks.parameters()) * 4 == sum(p.numel() for p in own.blocks.parameters())
    assert np.isfinite(placement.first_gradients("none", 24, 0)).all()
