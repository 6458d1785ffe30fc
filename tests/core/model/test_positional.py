"""Positions: hand-worked numbers, identities, and the property that each scheme is for."""
import math

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from transformers.models.t5.modeling_t5 import T5Attention

from core.model import positional
from core.model.config import ModelConfig
from core.model.transformer import Transformer


def test_sinusoids_follow_the_formula_of_the_notes():
    n, d, base = 50, 10, 10_000.0
    P = positional.sinusoidal(n, d, base)
    for i in (0, 1, 7, 49):
        for j in range(d // 2):
            angle = i / base ** (2 * j / d)
            assert P[i, 2 * j].item() == pytest.approx(math.sin(angle), abs=1e-12)
            assert P[i, 2 * j + 1].item() == pytest.approx(math.cos(angle), abs=1e-12)


def test_sinusoids_keep_the_angle_of_far_positions_in_float32():
    far = positional.sinusoidal(100_001, 2)[100_000].float()
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
    assert (positional.alibi_slopes(3).tolist()
            == [2.0 ** -4, 2.0 ** -8, 2.0 ** -2]), "the power of two below, then every other slope of the one above"
    bias = positional.alibi_bias(3, 3, 8)
    assert bias[0].tolist() == [[0, -0.5, -1.0], [-0.5, 0, -0.5], [-1.0, -0.5, 0]]
    assert positional.alibi_bias(1, 3, 8)[1].tolist() == [[-0.5, -0.25, 0.0]]


def test_rounded_alibi_divides_and_rounds_every_number_of_the_line():
    """The first of 4 heads has m = 1/4, which bfloat16 has exactly; the first of 32 has 2^(−1/4) = 0.8409, which comes
    out as 0.83984375 = 215/256. 301 is rounded to 300, and 215/256 · 300 = 251.95 to 252.
    """
    assert positional.rounded_alibi_bias(1, 3, 4, 2.0)[0].tolist() == [[-0.25, -0.125, 0.0]]
    assert torch.equal(positional.rounded_alibi_bias(5, 9, 4, 4.0), positional.alibi_bias(5, 9, 4) / 4)
    last = positional.rounded_alibi_bias(1, 302, 32, 8.0)[0, 0]
    assert (last[0], last[300], last[301]) == (-252 / 8, 0, 0)
    assert last[1] == -(252 - 0.83984375) / 8


def test_relative_index_clips_long_distances():
    assert positional.relative_index(3, 3, 1).tolist() == [[1, 0, 0], [2, 1, 0], [2, 2, 1]]


class NoFloat64OnTheDevice(TorchDispatchMode):
    """Stands in for a GPU without float64: the meta device, on which nothing of that precision may come up."""

    def __torch_dispatch__(self, operation, types, arguments=(), keywords=None):
        out = operation(*arguments, **(keywords or {}))
        assert not (isinstance(out, torch.Tensor) and out.device.type == "meta"
                    and out.dtype == torch.float64), operation
        return out


@pytest.mark.parametrize("positions", ["sinusoidal", "rotary", "alibi", "relative", "learned"])
def test_devices_without_float64_can_have_every_scheme(positions: str):
    with torch.device("meta"):
        model = Transformer(ModelConfig(vocab_size=9, d_model=8, n_layers=1, n_heads=2, n_context=4,
                                        positions=positions))
    with NoFloat64OnTheDevice():
        logits = model.logits_of_embeddings(torch.zeros(3, 8, device="meta"))
    assert logits.device.type == "meta" and logits.dtype == torch.float32


def test_buckets_of_distances_by_hand_and_as_t5_has_them():
    """8 buckets over both sides: 0 and 1 alone, 2 to 3 and all beyond; the same again for keys after the query.

    4 on one side: likewise.
    """
    assert positional.relative_buckets(1, 5, 4, 8, both_sides=False).tolist() == [[3, 2, 2, 1, 0]]
    assert positional.relative_buckets(4, 4, 8, 8, both_sides=True)[0].tolist() == [0, 5, 6, 6]
    for both_sides, n_buckets, farthest in ((True, 32, 128), (False, 32, 128), (True, 8, 12), (False, 8, 20)):
        distance = positional.distances(300, 300)
        expected = T5Attention._relative_position_bucket(-distance, bidirectional=both_sides, num_buckets=n_buckets,
                                                         max_distance=farthest)
        found = positional.relative_buckets(300, 300, n_buckets, farthest, both_sides=both_sides)
        assert (torch.equal(found, expected)
                and torch.equal(positional.relative_buckets(7, 300, n_buckets, farthest, both_sides=both_sides),
                                expected[-7:]))


def test_frequencies_that_are_slowed_by_hand():
    """Over 100 positions, ω = 1 and 0.1 turn 15.9 and 1.59 times, 0.01 and 0.001 less than once; between 1 and 4 turns
    the share of ω grows evenly.
    """
    plain, slowed = positional.frequencies(8), positional.rotary_frequencies(8, scaling=(8.0, 1.0, 4.0, 100.0))
    share = (10 / (2 * math.pi) - 1) / 3
    assert slowed.tolist() == pytest.approx([1.0, share * 0.1 + (1 - share) * 0.0125, 0.01 / 8, 0.001 / 8], rel=1e-12)
    assert (torch.equal(positional.rotary_frequencies(8), plain)
            and torch.allclose(positional.rotary_frequencies(8, scaling=(4.0,)), plain / 4))
    assert torch.equal(positional.rotary_angles(3, 8, start=5, scaling=(4.0,)),
                       positional.rotary_angles(3, 8, start=5) / 4)


def test_a_part_of_a_vector_is_turned_and_the_rest_left():
    x = torch.randn(2, 5, 10, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    turned, angles = positional.rotate(x, positional.rotary_angles(5, 4)), positional.rotary_angles(5, 4)
    assert (torch.equal(turned[..., 4:], x[..., 4:])
            and torch.equal(turned[..., :4], positional.rotate(x[..., :4], angles)))
    assert torch.equal(turned[:, 0], x[:, 0]) and (turned.norm(dim=-1) - x.norm(dim=-1)).abs().max() < 1e-12
