"""Normalisation as pure functions of the last axis."""
from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from core.model.record import Record, check_rules


@dataclass(frozen=True)
class Sublayer(Record):
    """How a sublayer, attention or feed-forward, reads the stream through its norms and adds to it."""

    norm_bias: bool = True
    norm_gain: bool = True                # whether norms learn what they multiply by; else it is 1 (OLMo)
    # each query and key is divided by its root mean square, before any rotation (an RMSNorm over d_k)
    qk_norm: bool = False
    qk_norm_joint: bool = False           # with qk_norm: over the queries, or keys, of all heads together (OLMo 2)
    # with qk_norm: each head has its own LayerNorm, with a gain and no bias (StableLM 2 12B, Command R+)
    qk_norm_heads: bool = False
    first_norm: bool = True               # the first block's attention reads through a norm (ModernBERT: not)
    parallel_residual: bool = False       # attention and feed-forward both read resid_pre
    shared_norm: bool = False             # in a parallel residual, both read it through one and the same norm
    residual_scale: float = 1.0           # times what every sublayer adds to the stream (Granite)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_rules(
            (self.qk_norm_joint and not self.qk_norm, "qk_norm_joint belongs to qk_norm."),
            (self.qk_norm_heads and (not self.qk_norm or self.qk_norm_joint),
             "qk_norm_heads belongs to qk_norm, and stands in the place of qk_norm_joint."),
            (self.shared_norm and not self.parallel_residual, "shared_norm belongs to a parallel residual."))


def norm_statistics(x: Tensor, kind: str, epsilon: float) -> tuple[Tensor, Tensor]:
    """(..., 1), (..., 1): the shift μ and the scale σ that the norm takes out of x (..., d): its result is (x − μ) / σ
    times the gain, plus the bias.

    layernorm: the mean, and sqrt(variance + ε) with the variance over d (not d − 1). rmsnorm: 0, and
    sqrt(mean square + ε). none: 0 and 1.
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
    if kind == "layernorm":         # the same in one call: eight small ones took a tenth of a pass
        return F.layer_norm(x, gain.shape, gain, bias, epsilon)
    mean, scale = norm_statistics(x, kind, epsilon)
    normed = (x - mean) / scale * gain
    return normed if bias is None else normed + bias
