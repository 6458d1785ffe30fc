"""The feed-forward part: two maps with an activation between them, or three with a gate; N equal networks side by side.

A dense block is one such part of width d_ff; a block of experts has several (core.model.experts).
"""
from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from core.model.activation import GATE_CURVES, activate, gate_factor


def parameter(*shape: int, present: bool = True) -> nn.Parameter | None:
    """Zeros of this shape to be trained; None if the model has no such part, or one of no size."""
    return nn.Parameter(torch.zeros(shape)) if present and all(shape) else None


def add_feed_forward(part: nn.Module, d: int, width: int, activation: str, biased: bool) -> None:
    """Give `part` the weights of a feed-forward part of this width: W_1 (d, width), W_2 (width, d), and W_gate (d,
    width) if its activation is gated; and their biases.
    """
    gated = activation in GATE_CURVES
    part.W_gate = parameter(d, width, present=gated)
    part.b_gate = parameter(width, present=gated and biased)
    part.W_1, part.b_1 = parameter(d, width), parameter(width, present=biased)
    part.W_2, part.b_2 = parameter(width, d), parameter(d, present=biased)


def neurons(part: nn.Module, x: Tensor, own: str, activation: str | None = None) -> tuple[Tensor, Tensor]:
    """(pre, post): the neurons of `part` before and after the activation, (N, width) each, for x (N, d). Gated: pre = x
    W_gate, post = act(pre) · gate_factor(x W_1), with their biases.

    own: the model's activation; `activation`: another curve in its place; a gate stays a gate.
    """
    up, activation = F.linear(x, part.W_1.T, part.b_1), activation or own
    if part.W_gate is None:
        return up, activate(activation, up)
    pre = F.linear(x, part.W_gate.T, part.b_gate)
    return pre, activate(activation, pre) * gate_factor(own, up)


def written(part: nn.Module, post: Tensor) -> Tensor:
    """(N, d) the output of neurons (N, width) for the stream."""
    return F.linear(post, part.W_2.T, part.b_2)
