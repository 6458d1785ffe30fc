"""Muon with AdamW beside it: what a step does to a map, and that a run goes on after a stop."""
import itertools

import pytest
import torch
from torch import nn

from core.model.config import ModelConfig
from core.model.transformer import Transformer
from core.training.muon import MatrixSteps, Muon, as_matrix, from_matrix
from core.training.recipes import TrainingConfig
from core.training.run import TrainingRun, make_optimizer
from tests.core.training.test_run import losses

MODEL = ModelConfig(vocab_size=12, d_model=16, n_layers=2, n_heads=2, n_context=8)
CONFIG = TrainingConfig(steps=12, batch_size=4, learning_rate=1e-2, warmup_steps=2, optimizer="muon")


@pytest.mark.parametrize("name, shape, matrix", [("W_Q", (2, 16, 8), (16, 16)), ("W_O", (2, 8, 16), (16, 16)),
                                                 ("W_K", (3, 16, 4), (16, 12)), ("W_1", (16, 64), (16, 64))])
def test_heads_become_one_matrix_and_heads_again(name, shape, matrix):
    p = torch.randn(shape)
    assert as_matrix(f"blocks.0.{name}", p).shape == matrix
    assert torch.equal(from_matrix(f"blocks.0.{name}", as_matrix(f"blocks.0.{name}", p), p.shape), p)


def test_the_matrix_of_all_heads_is_the_map_that_they_are():
    X, W_Q, W_O = torch.randn(5, 16), torch.randn(2, 16, 8), torch.randn(2, 8, 16)
    queries = X @ as_matrix("W_Q", W_Q)
    assert torch.allclose(queries.view(5, 2, 8).transpose(0, 1), X @ W_Q, atol=1e-5)
    heads = torch.randn(2, 5, 8)
    assert torch.allclose(heads.transpose(0, 1).flatten(1) @ as_matrix("W_O", W_O), (heads @ W_O).sum(0), atol=1e-4)


def test_a_step_changes_all_directions_alike():
    """The step for a gradient with one large and many small singular values has nearly equal ones, and the size that
    AdamW's would have: 0.2 of the learning rate per number.
    """
    p = nn.Parameter(torch.zeros(2, 16, 8))
    torch.manual_seed(0)
    directions = torch.linalg.qr(torch.randn(16, 16))[0]
    gradient = directions @ torch.diag(torch.logspace(0, -2, 16)) @ torch.linalg.qr(torch.randn(16, 16))[0]
    p.grad = from_matrix("W_Q", gradient, p.shape).clone()
    Muon([("W_Q", p)], [nn.Parameter(torch.zeros(1))], 0.01, 0.0, (0.9, 0.98)).step()
    values = torch.linalg.svdvals(as_matrix("W_Q", p.detach())) / (0.2 * 0.01 * 4)
    assert values.min() > 0.4 and values.max() < 1.4


@pytest.mark.parametrize("shape", [(16, 40), (40, 16), (16, 16)])
def test_three_steps_are_those_of_torch(shape):
    """torch.optim.Muon orthogonalises in bfloat16, which has three digits."""
    torch.manual_seed(0)
    start, gradients = torch.randn(shape), torch.randn(3, *shape)
    ours, theirs = nn.Parameter(start.clone()), nn.Parameter(start.clone())
    optimizers = (MatrixSteps([("W_1", ours)], 0.01, 0.2),
                  torch.optim.Muon([theirs], 0.01, 0.2, adjust_lr_fn="match_rms_adamw"))
    for gradient in gradients:
        for p, optimizer in zip((ours, theirs), optimizers):
            p.grad = gradient.clone()
            optimizer.step()
    moved = float((theirs.detach() - start).norm())
    assert float((ours - theirs).detach().norm()) < 0.02 * moved and moved > 0.1


def test_maps_are_for_muon_and_all_else_for_adamw():
    model = Transformer(MODEL).initialise(torch.Generator().manual_seed(0))
    optimizer = make_optimizer(model, CONFIG)
    muon, adamw = optimizer.param_groups
    assert {name.rsplit(".", 1)[-1] for name in muon["names"]} == {"W_Q", "W_K", "W_V", "W_O", "W_1", "W_2"}
    assert (muon["weight_decay"], adamw["weight_decay"]) == (CONFIG.weight_decay, 0)
    assert len(muon["params"]) + len(adamw["params"]) == len(list(model.parameters()))


def test_the_loss_falls_faster_than_with_adamw_alone():
    muon, adamw = (losses(TrainingRun.start(MODEL, TrainingConfig(**(vars(CONFIG) | dict(steps=60, optimizer=name)))))
                   for name in ("muon", "adamw"))
    assert muon[0] == adamw[0] and sum(muon[-10:]) < sum(adamw[-10:])


@pytest.mark.parametrize("killed_after", [1, 7])
def test_a_killed_run_goes_on_as_if_nothing_had_happened(tmp_path, killed_after):
    whole, killed = TrainingRun.start(MODEL, CONFIG), TrainingRun.start(MODEL, CONFIG)
    curve, before = losses(whole), losses(killed, killed_after)
    killed.save(tmp_path / "run.pt")
    resumed = TrainingRun.load(tmp_path / "run.pt")
    assert before + losses(resumed) == curve
    assert all(itertools.starmap(torch.equal, zip(resumed.model.parameters(), whole.model.parameters())))


def test_a_model_that_begins_with_zero_outputs_adds_nothing_to_the_stream():
    run = TrainingRun.start(MODEL, TrainingConfig(zero_outputs=True))
    trace = run.model(torch.tensor([0, 3, 4]))
    assert torch.equal(trace.blocks[-1].resid_post, trace.blocks[0].resid_pre)
    assert run.model.blocks[0].W_1.detach().abs().sum() > 0
