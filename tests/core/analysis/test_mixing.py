"""Mixtures of two tokens: a straight line for what is linear, and what the feed-forward part makes of them."""
import math

import numpy as np
import pytest
import torch

from core.analysis.mixing import N_MIXTURES, Mixed, can_be_mixed, mixed
from core.model.config import ModelConfig
from tests.core.analysis.test_stream_and_heads import run


def gelu(x: np.ndarray) -> np.ndarray:
    return 0.5 * x * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))


@pytest.mark.parametrize("a, b", [(2, 5), (5, 1)])
def test_the_outputs_are_those_of_the_mixtures(a: int, b: int):
    model, trace = run()
    block, weights = trace.blocks[1], model.blocks[1]
    norm, x = weights.mlp_norm, block.resid_mid.numpy()
    z = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + norm.epsilon)
    z = z * norm.weight.detach().numpy() + norm.bias.detach().numpy()
    W_1, b_1, W_2, b_2 = (w.detach().numpy() for w in (weights.W_1, weights.b_1, weights.W_2, weights.b_2))
    found = mixed(block, weights, a, b)
    t = np.linspace(0, 1, N_MIXTURES)[:, None]
    own = gelu(((1 - t) * z[a] + t * z[b]) @ W_1 + b_1) @ W_2 + b_2
    assert np.allclose(found.outputs, own, atol=1e-5)
    line = own[0] + t * (own[-1] - own[0])
    away = np.linalg.norm(own - line, axis=1) / np.linalg.norm(own[-1] - own[0])
    assert np.allclose(found.away, away, atol=1e-5) and away[N_MIXTURES // 2] > 0.001


def test_the_plane_keeps_the_ends_and_the_farthest_point():
    model, trace = run()
    found = mixed(trace.blocks[0], model.blocks[0], 1, 4)
    plane = found.plane.numpy()
    assert np.allclose(plane[[0, -1]], [[0, 0], [1, 0]], atol=1e-9)
    across = found.outputs - found.outputs[0]
    lengths = across.norm(dim=-1).numpy() / found.length
    farthest = plane[:, 1].argmax()
    assert np.hypot(*plane[farthest]) == pytest.approx(lengths[farthest])
    assert (np.hypot(*plane.T) <= lengths + 1e-9).all()


def test_what_is_linear_stays_on_the_line():
    t = torch.linspace(0, 1, 7, dtype=torch.float64)
    ends = torch.randn(2, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    found = Mixed(t, (1 - t)[:, None] * ends[0] + t[:, None] * ends[1])
    assert float(found.away.max()) < 1e-12 and np.allclose(found.plane[:, 1], 0, atol=1e-12)


@pytest.mark.parametrize("placement", ["pre", "post", "sandwich", "output"])
def test_the_ends_are_what_the_part_makes_of_the_tokens_wherever_the_norms_stand(placement: str):
    model, trace = run(norm_placement=placement)
    assert can_be_mixed(model.config)
    block = trace.blocks[1]
    found = mixed(block, model.blocks[1], 2, 5)
    assert torch.allclose(found.outputs[[0, -1]], block.mlp_out[[2, 5]].double(), atol=1e-9)


@pytest.mark.parametrize("settings", [{"d_ff": None}, {"parallel_residual": True},
                                      {"n_experts": 4, "n_active_experts": 2}])
def test_blocks_without_such_a_part_are_not_mixed(settings: dict):
    config = ModelConfig.of(**{"vocab_size": 9, "d_model": 8, "n_layers": 1, "n_heads": 2, "n_context": 4} | settings)
    assert not can_be_mixed(config)
