"""Normalisation as pure functions of the last axis."""
from __future__ import annotations

import torch
from torch import Tensor


def norm_statistics(x: Tensor, kind: str, epsilon: float) -> tuple[Tensor, Tensor]:
    """(..., 1), (..., 1): the shift μ and the scale σ that the norm takes out of x (..., d): its result is (x − μ) / σ times the gain, plus the bias.

    layernorm: the mean, and sqrt(variance + ε) with the variance over d (not d − 1). rmsnorm: 0, and sqrt(mean square + ε). none: 0 and 1.
    Sources: Ba et al. 2016; Zhang and Sennrich 2019.
    """
    if kind == "layernorm":
        mean = x.mean(dim=-1, keepdim=True)
        return mean, ((x - mean).square().mean(dim=-1, keepdim=True) + epsilon).sqrt()
    if kind == "rmsnorm":
        return torch.zeros_like(x[..., :1]), (x.square().mean(dim=-1, keepdim=True) + epsilon).sqrt()
    if kind == "none":
        return torch.zeros_like(x[..., :1]), torch.ones_like(x[..., :1])
    raise ValueError(f"A norm is layernorm, rmsnorm or none, not {kind!r}.")


def normalise(x: Tensor, kind: str, gain: Tensor, bias: Tensor | None, epsilon: float) -> Tensor:
    """(..., d) the norm of x (..., d), times gain (d,), plus bias (d,): the notes' α (x − μ) / σ + β."""
    mean, scale = norm_statistics(x, kind, epsilon)
    normed = (x - mean) / scale * gain
    return normed if bias is None else normed + bias
