"""Positions: sinusoidal, rotary, ALiBi and relative, as pure functions.

Positions count from 0; i is a query's position, j a key's.

Angles and slopes are computed in float64 on the CPU, since Apple's GPUs have no float64; a model rounds them to its own
number format and moves them to its device.
"""
from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from core.model.record import MOST, Record, check_rules

Device = torch.device | str | None


@dataclass(frozen=True)
class Rotary(Record):
    """How rotary positions turn queries and keys."""

    RANGES = {"d_rotary": (0, MOST)}

    rotary_base: float = 10_000.0
    d_rotary: int = 0           # how many of the first dimensions of a query and key are turned; 0: all d_k
    # how the angular frequencies are slowed, for longer texts: see rotary_frequencies; (): not
    rotary_scaling: tuple[float, ...] = ()
    # each pair's angular frequency is divided by these, instead of rotary_scaling (YaRN, LongRoPE); (): not
    rotary_factors: tuple[float, ...] = ()
    rotary_gain: float = 1.0    # times the turned part of every query and key (YaRN, LongRoPE)
    # the base of each block if they differ: rotary_base, or another, which is not slowed; 0: the block turns
    # nothing, and has no positions; (): all have rotary_base
    block_rotary_bases: tuple[float, ...] = ()

    def base_of(self, layer: int) -> float:
        """The base of one block; 0: the block turns nothing."""
        return self.block_rotary_bases[layer] if self.block_rotary_bases else self.rotary_base

    def check(self, turns: bool, d_k: int) -> None:
        """Raise ValueError for what cannot be with heads of this width; `turns`: the positions are rotary."""
        scaling, width = self.rotary_scaling, self.d_rotary or d_k
        check_rules(
            (self.rotary_base <= 0, f"rotary_base must be above 0, not {self.rotary_base}."),
            (turns and width % 2 > 0, f"Rotary positions turn pairs of dimensions, so d_k, or d_rotary where that is "
                                      f"less, must be even, not {width}."),
            (self.d_rotary > d_k, f"d_rotary ({self.d_rotary}) cannot be more than d_k ({d_k})."),
            (len(scaling) not in (0, 1, 4) or min(scaling, default=1) <= 0,
             f"rotary_scaling is empty, one number above 0, or four, not {scaling!r}."),
            (len(self.rotary_factors) not in (0, width // 2) or min(self.rotary_factors, default=1) <= 0,
             f"rotary_factors is empty or has a number above 0 for each of {width // 2} pairs, not "
             f"{len(self.rotary_factors)} numbers."),
            (bool(scaling and self.rotary_factors), "rotary_factors stand in the place of rotary_scaling: give one."),
            (min(self.block_rotary_bases, default=0) < 0, "A base of block_rotary_bases is above 0, or 0 for none."),
            (self.rotary_gain <= 0, "rotary_gain is above 0."))


@dataclass(frozen=True)
class PositionBias(Record):
    """How positions add to the scores: ALiBi's lines, or learned relative biases."""

    RANGES = {"relative_max_distance": (1, MOST), "relative_buckets": (0, MOST)}

    # ALiBi's lines m j are rounded to bfloat16, and divided as q·k is (Falcon)
    rounded_alibi: bool = False
    relative_max_distance: int = 128      # relative biases are shared by all longer distances
    # relative biases are shared by distances of one bucket, and by all blocks (T5); 0: every distance and
    # block has its own
    relative_buckets: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_rules(
            (self.relative_buckets % 4 > 0,
             f"relative_buckets must be a multiple of 4 (both directions, near and far) or 0, not "
             f"{self.relative_buckets}."),
            (self.relative_buckets > 0 and self.relative_max_distance <= self.relative_buckets // 2,
             f"relative_max_distance ({self.relative_max_distance}) must be above half of relative_buckets "
             f"({self.relative_buckets}): nearer distances have a bucket each."))


def frequencies(d: int, base: float = 10_000.0) -> Tensor:
    """(ceil(d/2),) float64: angular frequency of each pair of dimensions, in radians a position: ω_j = base^(−2j/d).

    The wavelength of pair j is 2π / ω_j positions. Source: Vaswani et al. 2017, section 3.5.
    """
    if d < 1:
        raise ValueError(f"The width must be at least 1, not {d}.")
    if base <= 0:
        raise ValueError(f"The base must be above 0, not {base}.")
    return torch.as_tensor(base, dtype=torch.float64) ** (-torch.arange(0, d, 2, dtype=torch.float64) / d)


def sinusoidal(n: int, d: int, base: float = 10_000.0, *, halves: bool = False) -> Tensor:
    """(n, d) sinusoidal positions: sin(i ω_j) in column 2j, cos(i ω_j) in column 2j + 1. An odd d ends on a sine.
    halves: the same columns with all sines first, then all cosines.

    float64, in which large positions keep their angle: round the result, not the angle.
    >>> sinusoidal(2, 2)[1].tolist()
    [0.8414709848078965, 0.5403023058681398]
    """
    angles = torch.arange(n, dtype=torch.float64)[:, None] * frequencies(d, base)
    if halves:
        return torch.cat([angles.sin(), angles.cos()], dim=-1)[:, :d]
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)[:, :d]


def rotary_frequencies(d: int, base: float = 10_000.0, scaling: tuple[float, ...] = (),
                       factors: tuple[float, ...] = ()) -> Tensor:
    """(d/2,) float64 ω_j of each pair that rotary positions turn, slowed by `scaling` so that a model reads longer
    texts than it was first trained on, or each divided by its own number of `factors`.

    (): as in `frequencies`. (f,): all divided by f (Chen et al. 2023, position interpolation). (f, low, high, n),
    Llama 3's: pairs that turn more than `high` times within the first n positions keep their ω, those that turn less
    than `low` times have ω / f, and between the two the share of ω grows in proportion to the turns. Source: Dubey et
    al. 2024 and their code.
    >>> rotary_frequencies(4, scaling=(2.0,)).tolist()
    [0.5, 0.005]
    """
    omega = frequencies(d, base)
    if factors:
        return omega / torch.tensor(factors, dtype=torch.float64)
    if len(scaling) == 4:
        factor, low, high, n = scaling
        turns = omega * n / (2 * math.pi)
        kept = ((turns - low) / (high - low)).clamp(0, 1)
        return kept * omega + (1 - kept) * omega / factor
    return omega / scaling[0] if scaling else omega


def block_frequencies(rotary: Rotary, d_k: int, layer: int) -> Tensor:
    """(d_rotary/2,), or (d_k/2,), float64 ω_j of one block of a model with rotary positions: from its own base, slowed
    if that is the model's. Raises ValueError for a block that turns nothing.
    """
    base = rotary.base_of(layer)
    slowed = base == rotary.rotary_base
    return rotary_frequencies(rotary.d_rotary or d_k, base, rotary.rotary_scaling if slowed else (),
                              rotary.rotary_factors if slowed else ())


def rotary_angles(n: int, d: int, base: float = 10_000.0, *, start: int = 0, scaling: tuple[float, ...] = (),
                  factors: tuple[float, ...] = ()) -> Tensor:
    """(n, d/2) angle in radians, float64, by which pair j of the first d dimensions of a query or key at positions
    start … start + n − 1 is turned: i ω_j. Source: Su et al. 2021.
    """
    return torch.arange(start, start + n, dtype=torch.float64)[:, None] * rotary_frequencies(d, base, scaling, factors)


def rotate(x: Tensor, angles: Tensor, gain: float = 1.0) -> Tensor:
    """(..., n, d_k) with each pair (x_j, x_{j + d/2}) of its first d dimensions turned by angles (n, d/2) and
    multiplied by `gain`; the d_k − d others are left as they are.

    The pair's two members stand half of d apart, as Llama, GPT-NeoX and transformers have them; any fixed pairing
    gives the same scores up to a relabelling of the columns of W_Q and W_K. Lengths are kept (but for the gain), and
    q_i · k_j then depends on i − j alone.
    """
    cos, sin = ((gain * turn).to(x.dtype).to(x.device) for turn in (angles.cos(), angles.sin()))
    d = 2 * angles.shape[-1]
    first, second = x[..., :d].chunk(2, dim=-1)
    return torch.cat([first * cos - second * sin, first * sin + second * cos, x[..., d:]], dim=-1)


def alibi_slopes(n_heads: int) -> Tensor:
    """(h,) the slope m of each head's penalty, float64: 2^(−8/h), 2^(−16/h), … for h a power of two.

    Otherwise the slopes of the power of two below, then every other one of the power above. Source: Press et al. 2022
    and their code.
    >>> alibi_slopes(4).tolist()
    [0.25, 0.0625, 0.015625, 0.00390625]
    """
    def powers(n: int) -> list[float]:
        return [2.0 ** (-8.0 * (i + 1) / n) for i in range(n)]

    below = 1 << (n_heads.bit_length() - 1)
    return torch.tensor(powers(below) + powers(2 * below)[0::2][: n_heads - below], dtype=torch.float64)


def distances(n_queries: int, n_keys: int, *, device: Device = None) -> Tensor:
    """(n_queries, n_keys) i − j, where the last query stands at the last key's position (a KV cache holds
    the keys before).
    """
    start = n_keys - n_queries
    return torch.arange(start, n_keys, device=device)[:, None] - torch.arange(n_keys, device=device)


def alibi_bias(n_queries: int, n_keys: int, n_heads: int) -> Tensor:
    """(h, n_queries, n_keys) what ALiBi adds to the scores, float64: −m |i − j|.

    Under a causal mask this is the notes' −m (i − j).
    """
    return -alibi_slopes(n_heads)[:, None, None] * distances(n_queries, n_keys).abs()


def rounded_alibi_bias(n_queries: int, n_keys: int, n_heads: int, divisor: float) -> Tensor:
    """(h, n_queries, n_keys) what Falcon's ALiBi adds to the scores, float64: −|m i − m j| / divisor, where m, the
    position and their product are each rounded to bfloat16, of 8 significant bits.

    Far along a text, neighbours share a number: from position 256 on, not every position has its own. Falcon was
    trained with these numbers; exact ones would differ: with 32 heads, m j by up to 4.6 within 1,000 positions.
    """
    line = alibi_slopes(n_heads).bfloat16()[:, None] * torch.arange(n_keys).bfloat16()
    line = line.double() / divisor
    return -(line[:, n_keys - n_queries:, None] - line[:, None, :]).abs()


def relative_index(n_queries: int, n_keys: int, max_distance: int, *, device: Device = None) -> Tensor:
    """(n_queries, n_keys) int64 column of the table r (h, 2 max_distance + 1) for each i − j, longer distances sharing
    the last one. Source: Shaw et al. 2018.
    """
    return distances(n_queries, n_keys, device=device).clamp(-max_distance, max_distance) + max_distance


def relative_buckets(n_queries: int, n_keys: int, n_buckets: int, max_distance: int, *, both_sides: bool,
                     device: Device = None) -> Tensor:
    """(n_queries, n_keys) int64 column of the table r (h, n_buckets) for each i − j: near distances have a bucket each,
    farther ones share one with their neighbours in log distance, and all from max_distance on share the last.

    With `both_sides`, the first half of the buckets is for keys before the query and itself, the second for keys after
    it; otherwise all keys after it share the query's own bucket. Source: Raffel et al. 2020 (T5) and their code, whose
    float32 logarithm decides on which side a distance falls.
    >>> relative_buckets(1, 8, 8, 16, both_sides=False).tolist()
    [[5, 5, 4, 4, 3, 2, 1, 0]]
    """
    distance, first = distances(n_queries, n_keys, device=device), 0
    if both_sides:
        n_buckets //= 2
        first, distance = (distance < 0) * n_buckets, distance.abs()
    distance, exact = distance.clamp(min=0), n_buckets // 2
    far = exact + (torch.log(distance.clamp(min=1).float() / exact) / math.log(max_distance / exact)
                   * (n_buckets - exact)).long()
    return first + torch.where(distance < exact, distance, far.clamp(max=n_buckets - 1))
