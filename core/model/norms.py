"""The norms of a block: of the stream, of what a sublayer writes, and of queries and keys."""
from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from core.model.config import ModelConfig
from core.model.normalisation import normalise


def deepnorm_constants(config: ModelConfig, encoder: bool = False) -> tuple[float, float]:
    """α, by which a stack multiplies its stream in every residual sum, and β, by which its W_V, W_O and feed-forward
    maps begin smaller; (1, 1) without DeepNorm.

    One stack of L blocks: α = (2L)^(1/4), β = (8L)^(−1/4). An encoder of N blocks before a decoder of M: α = 0.81
    (N⁴ M)^(1/16), β = 0.87 (N⁴ M)^(−1/16) in the encoder; α = (3M)^(1/4), β = (12M)^(−1/4) in the decoder. `encoder`
    asks for an encoder-decoder's encoder.
    Source: Wang et al. 2022, "DeepNet: Scaling Transformers to 1,000 Layers".

    >>> sizes = dict(vocab_size=2, d_model=2, n_layers=8, n_heads=1, n_context=2)
    >>> deepnorm_constants(ModelConfig(**sizes, norm_placement="deepnorm"))[0]
    2.0
    """
    if config.norm_placement != "deepnorm":
        return 1.0, 1.0
    depth, source_depth = config.n_layers, config.n_encoder_layers
    if config.kind != "encoder-decoder":
        return (2 * depth) ** 0.25, (8 * depth) ** -0.25
    if encoder:
        return 0.81 * (source_depth ** 4 * depth) ** (1 / 16), 0.87 * (source_depth ** 4 * depth) ** (-1 / 16)
    return (3 * depth) ** 0.25, (12 * depth) ** -0.25


class Norm(nn.Module):
    """Gain α (`weight`, which is 1 if norms learn none) and bias β of one norm over d_model, or another `width`; the
    pass decides which norm it is.
    """

    def __init__(self, config: ModelConfig, width: int | tuple[int, int] = 0) -> None:
        super().__init__()
        self.epsilon, width = config.norm_epsilon, width or config.d_model
        if config.sublayer.norm_gain:
            self.weight = nn.Parameter(torch.ones(width))
        else:       # no parameter, and not loaded: made on the CPU where a model is made without its numbers
            self.register_buffer("weight", torch.ones(width, device="cpu"), persistent=False)
        self.bias = nn.Parameter(torch.zeros(width)) if config.sublayer.norm_bias else None

    def forward(self, x: Tensor, kind: str) -> Tensor:
        return normalise(x, kind, self.weight, self.bias, self.epsilon)


class NormPerHead(Norm):
    """A separate LayerNorm for each head's queries, or keys: a gain (h, d_k), a row for each head, and no bias."""

    def __init__(self, config: ModelConfig, n_heads: int) -> None:
        super().__init__(config.changed(norm_bias=False), (n_heads, config.d_k))

    def forward(self, x: Tensor) -> Tensor:
        """Queries or keys x (..., h, N, d_k), each normed over its own d_k components, times its head's gain."""
        return F.layer_norm(x, x.shape[-1:], eps=self.epsilon) * self.weight.unsqueeze(-2)


def query_norm(config: ModelConfig, n_heads: int) -> Norm | None:
    """The norm of the queries, or keys, of n_heads heads; None if the model has none."""
    if not config.sublayer.qk_norm:
        return None
    if config.sublayer.qk_norm_heads:
        return NormPerHead(config, n_heads)
    return Norm(config, n_heads * config.d_k if config.sublayer.qk_norm_joint else config.d_k)


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


def norm_heads(x: Tensor, norm: Norm, config: ModelConfig) -> Tensor:
    """Queries or keys (..., h, N, d_k), each normed by itself or together with those of its token's other heads."""
    if config.sublayer.qk_norm_heads:
        return norm(x)
    if not config.sublayer.qk_norm_joint:
        return norm(x, "rmsnorm")
    together = x.transpose(-3, -2)
    return norm(together.flatten(-2), "rmsnorm").unflatten(-1, together.shape[-2:]).transpose(-3, -2)
