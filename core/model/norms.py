"""The norms of a block: of the stream, of what a sublayer writes, and of queries and keys."""
from __future__ import annotations

from dataclasses import replace

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from core.model.config import ModelConfig
from core.model.normalisation import normalise


class Norm(nn.Module):
    """Gain α (`weight`, which is 1 if norms learn none) and bias β of one norm over d_model, or another `width`; the
    pass decides which norm it is.
    """

    def __init__(self, config: ModelConfig, width: int | tuple[int, int] = 0) -> None:
        super().__init__()
        self.epsilon, width = config.norm_epsilon, width or config.d_model
        if config.norm_gain:
            self.weight = nn.Parameter(torch.ones(width))
        else:       # no parameter, and not loaded: made on the CPU where a model is made without its numbers
            self.register_buffer("weight", torch.ones(width, device="cpu"), persistent=False)
        self.bias = nn.Parameter(torch.zeros(width)) if config.norm_bias else None

    def forward(self, x: Tensor, kind: str) -> Tensor:
        return normalise(x, kind, self.weight, self.bias, self.epsilon)


class NormPerHead(Norm):
    """A separate LayerNorm for each head's queries, or keys: a gain (h, d_k), a row for each head, and no bias."""

    def __init__(self, config: ModelConfig, n_heads: int) -> None:
        super().__init__(replace(config, norm_bias=False), (n_heads, config.d_k))

    def forward(self, x: Tensor) -> Tensor:
        """Queries or keys x (..., h, N, d_k), each normed over its own d_k components, times its head's gain."""
        return F.layer_norm(x, x.shape[-1:], eps=self.epsilon) * self.weight.unsqueeze(-2)


def query_norm(config: ModelConfig, n_heads: int) -> Norm | None:
    """The norm of the queries, or keys, of n_heads heads; None if the model has none."""
    if not config.qk_norm:
        return None
    if config.qk_norm_heads:
        return NormPerHead(config, n_heads)
    return Norm(config, n_heads * config.d_k if config.qk_norm_joint else config.d_k)


def output_norm(config: ModelConfig) -> Norm | None:
    """The norm on a sublayer's output before it is added, of a sandwich (Ding et al. 2021, CogView) or the only one
    (OLMo 2); None if the model has no such norm.
    """
    return Norm(config) if config.norms_output else None


def main_norm(config: ModelConfig) -> Norm | None:
    """The norm through which a sublayer reads the stream, or the norm of the sum with its addition; None if only its
    output is normed.
    """
    return None if config.norm_placement == "output" else Norm(config)
