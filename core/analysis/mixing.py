"""The feed-forward part's output for every mixture of two tokens' vectors: an average of two vectors lies on the line
between them, and a linear map keeps it on a line; the feed-forward part leaves the line.
"""
from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from core.model.block import Block
from core.model.config import ModelConfig
from core.model.trace import BlockTrace

N_MIXTURES = 41


@dataclass(frozen=True)
class Mixed:
    """Mixtures (1 − t) z_a + t z_b of what the feed-forward part reads of two tokens, float64."""

    shares: Tensor      # (T,) t from 0 to 1
    outputs: Tensor     # (T, d) what the feed-forward part makes of each mixture

    @property
    def averages(self) -> Tensor:
        """(T, d) the same mixture of its two outputs, (1 − t) FFN(z_a) + t FFN(z_b)."""
        t = self.shares[:, None]
        return (1 - t) * self.outputs[0] + t * self.outputs[-1]

    @property
    def length(self) -> float:
        """‖FFN(z_b) − FFN(z_a)‖."""
        return float((self.outputs[-1] - self.outputs[0]).norm())

    @property
    def away(self) -> Tensor:
        """(T,) the distance of each output from the average, as a share of the length."""
        return (self.outputs - self.averages).norm(dim=-1) / self.length

    @property
    def plane(self) -> Tensor:
        """(T, 2) the outputs on the plane of the two ends and of the output farthest from their line: along the line
        (0 at one end, 1 at the other) and away from it, both as shares of the length.
        """
        along = (self.outputs[-1] - self.outputs[0]) / self.length
        steps = self.outputs - self.outputs[0]
        across = steps - (steps @ along)[:, None] * along
        farthest = across[int(across.norm(dim=-1).argmax())]
        aside = farthest / farthest.norm().clamp_min(1e-300)
        return torch.stack([steps @ along, across @ aside], 1) / self.length


def can_be_mixed(config: ModelConfig) -> bool:
    """Whether the blocks of a model have a feed-forward part that reads the sum of stream and attention."""
    return (config.d_ff is not None and not config.experts.n_experts and not config.sublayer.parallel_residual
            and config.kind != "encoder-decoder")


def mixed(block: BlockTrace, weights: Block, a: int, b: int) -> Mixed:
    """N_MIXTURES mixtures of the tokens at positions a and b, from a alone to b alone; the outputs are taken before any
    norm that follows. For models that `can_be_mixed`, and for tokens that differ there.
    """
    config = weights.config
    read = weights.mlp_norm(block.resid_mid, config.norm) if config.reads_normed else block.resid_mid
    z = read.detach().double()
    t = torch.linspace(0, 1, N_MIXTURES, dtype=torch.float64, device=z.device)
    with torch.inference_mode():
        mixtures = (1 - t)[:, None] * z[a] + t[:, None] * z[b]
        outputs = weights.feed_forward(mixtures.to(block.resid_mid.dtype))["mlp_out"]
    return Mixed(t.cpu(), outputs.double().cpu())
