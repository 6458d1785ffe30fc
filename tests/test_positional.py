"""Positions: hand-worked numbers, identities, and the property that each scheme is for."""
import math

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from core import positional


def test_sinusoids_follow_the_formula_of_the_notes():
    n, d, base = 50, 10, 10_000.0
    P = positional.sinusoidal(n, d, base)
    for i in (0, 1, 7, 49):
        for j in range(d // 2):
            angle = i / base ** (2 * j / d)
            assert P[i, 2 * j].item() == pytest.approx(math.sin(angle), abs=1e-12)
            assert P[i, 2 * j + 1].item() == pytest.approx(math.cos(angle), abs=1e-12)


def test_sinusoids_keep_the_angle_of_far_positions_in_float32():
    far = positional.sinusoidal(100_001, 2, dtype=torch.float32)[100_000]
    assert far.tolist() == pytest.approx([math.sin(100_000), math.cos(100_000)], abs=1e-7)


def test_dot_product_of_sinusoids_depends_on_the_distance_alone():
    P, omega = positional.sinusoidal(40, 16), positional.frequencies(16)
    products = P @ P.T
    for i, j in ((0, 5), (13, 18), (34, 39)):
        assert products[i, j].item() == pytest.approx(torch.cos(5 * omega).sum().item(), abs=1e-12)


def test_odd_width_ends_on_a_sine_and_bad_arguments_are_refused():
    assert positional.sinusoidal(3, 5).shape == (3, 5)
    assert positional.sinusoidal(2, 3)[1, 2].item() == pytest.approx(math.sin(10_000 ** (-2 / 3)), abs=1e-15)
    for d, base in ((0, 10.0), (4, 0.0)):
        with pytest.raises(ValueError):
            positional.sinusoidal(3, d, base)


def test_rotation_keeps_lengths_and_scores_depend_on_distance_alone():
    generator = torch.Generator().manual_seed(0)
    q, k = torch.randn(2, 8, generator=generator, dtype=torch.float64)
    angles = positional.rotary_angles(30, 8)
    Q, K = positional.rotate(q.expand(30, 8), angles), positional.rotate(k.expand(30, 8), angles)
    assert torch.allclose(Q.norm(dim=-1), q.norm(), atol=1e-12)
    scores = Q @ K.T
    for i, j in ((4, 0), (17, 13), (29, 25)):
        assert scores[i, j].item() == pytest.approx(scores[10, 6].item(), abs=1e-12)
    assert (scores[10, 6] - scores[10, 7]).abs() > 1e-6


def test_rotation_of_one_pair_by_hand():
    x = torch.tensor([[3.0, 1.0]], dtype=torch.float64)
    turned = positional.rotate(x, torch.tensor([[math.pi / 2]], dtype=torch.float64))
    assert turned[0].tolist() == pytest.approx([-1.0, 3.0], abs=1e-15)
    assert torch.equal(positional.rotary_angles(3, 4, start=5), positional.rotary_angles(8, 4)[5:])


def test_alibi_slopes_and_bias():
    assert positional.alibi_slopes(8).tolist() == [2.0 ** -(i + 1) for i in range(8)]
    assert positional.alibi_slopes(3).tolist() == [2.0 ** -4, 2.0 ** -8, 2.0 ** -2], "the power of two below, then every other slope of the one above"
    bias = positional.alibi_bias(3, 3, 8)
    assert bias[0].tolist() == [[0, -0.5, -1.0], [-0.5, 0, -0.5], [-1.0, -0.5, 0]]
    assert positional.alibi_bias(1, 3, 8)[1].tolist() == [[-0.5, -0.25, 0.0]]


def test_relative_index_clips_long_distances():
    assert positional.relative_index(3, 3, 1).tolist() == [[1, 0, 0], [2, 1, 0], [2, 2, 1]]


class NoFloat64OnTheDevice(TorchDispatchMode):
    """Stands in for a GPU without float64: the meta device, on which nothing of that precision may come up."""

    def __torch_dispatch__(self, operation, types, arguments=(), keywords=None):
        out = operation(*arguments, **(keywords or {}))
        assert not (isinstance(out, torch.Tensor) and out.device.type == "meta" and out.dtype == torch.float64), operation
        return out


def test_devices_without_float64_can_have_every_scheme():
    with NoFloat64OnTheDevice():
        x = torch.zeros(3, 4, device="meta")
        made = [positional.sinusoidal(3, 4, dtype=torch.float32, device="meta"), positional.alibi_bias(3, 3, 2, device="meta"),
                positional.rotate(x, positional.rotary_angles(3, 4))]
    assert all(t.device.type == "meta" and t.dtype == torch.float32 for t in made)
