"""Low-rank adapters (LoRA; Hu et al. 2021): a weight W stays frozen, and a product A B of two thin matrices is trained
beside it.

    W' = W + A B        A (d, r), B (r, h · d_k)

B begins at zero, so the model at first computes the same as before; the learned change has at most rank r, and can be
added to W afterwards.
"""
import functools

import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize

from core.model.transformer import Transformer

ADAPTED = ("W_Q", "W_V")        # in every block, as in the paper


class LowRank(nn.Module):
    """A B, to be added to a weight (h, d, d_k) of all heads, which as one matrix is (d, h · d_k)."""

    def __init__(self, W: Tensor, rank: int, generator: torch.Generator) -> None:
        super().__init__()
        h, d, d_k = W.shape
        self.A = nn.Parameter(torch.randn(d, rank, generator=generator) * d ** -0.5)      # (d, r)
        self.B = nn.Parameter(torch.zeros(rank, h * d_k))                                  # (r, h · d_k)

    def forward(self, W: Tensor) -> Tensor:
        """(h, d, d_k) W + A B."""
        h, _, d_k = W.shape
        return W + (self.A @ self.B).unflatten(-1, (h, d_k)).transpose(0, 1)


def adapt(model: Transformer, rank: int, generator: torch.Generator) -> list[nn.Parameter]:
    """Freeze the model and add an adapter to W_Q and W_V of every block, in place; return all A and B, the only
    trainable weights.
    """
    model.requires_grad_(False)
    added: list[nn.Parameter] = []
    for block in model.blocks:
        for name in ADAPTED:
            adapter = LowRank(getattr(block, name), rank, generator)
            parametrize.register_parametrization(block, name, adapter)
            added += [adapter.A, adapter.B]
    return added


@torch.no_grad()
def merged(model: Transformer) -> Transformer:
    """A copy in eval mode and without gradients, with every adapter added into its weight."""
    copied = Transformer(model.config)
    for name, weight in copied.named_parameters():
        weight.copy_(functools.reduce(getattr, name.split("."), model))
    return copied.eval().requires_grad_(False)
