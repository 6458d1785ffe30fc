"""A mixture of experts: many feed-forward parts instead of one; a router picks a few of them for each token.

Symbols: n experts, k of them active; for the block's input x (N, d),

    p   = softmax(x W_R + b_R)                        (N, n)    the router's probabilities
    g   = p of each token's k largest, else 0         (N, n)    the weights; divided by their sum, where
                                                                 experts_renormalised
    out = Σ_e g_e FFN_e(x) + σ(x W_shared) FFN_s(x)   (N, d)    the last addend with a shared expert alone

The softmax of a token's k largest logits is p of those k divided by their sum: one field says both. (Shazeer et al.
2017; Jiang et al. 2024, Mixtral; Yang et al. 2024 and 2025, Qwen2 and Qwen3; OpenAI 2025, gpt-oss.)
"""
from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from core.model.config import ModelConfig
from core.model.feed_forward import add_feed_forward, neurons, parameter, written


def route(logits: Tensor, n_active: int, renormalised: bool) -> tuple[Tensor, Tensor]:
    """The router's probabilities and the weights, (N, n) each, from its logits (N, n); a weight is 0 for an expert that
    the token does not go to.

    >>> probs, weights = route(torch.tensor([[1.0, 2.0, 5.0]]).log(), 2, renormalised=True)
    >>> probs.mul(8).round().div(8).tolist(), weights.mul(7).round().tolist()
    ([[0.125, 0.25, 0.625]], [[0.0, 2.0, 5.0]])
    """
    probs = torch.softmax(logits, dim=-1)
    largest, chosen = probs.topk(n_active, dim=-1)
    if renormalised:
        largest = largest / largest.sum(dim=-1, keepdim=True)
    return probs, torch.zeros_like(probs).scatter(-1, chosen, largest)


class Expert(nn.Module):
    """One feed-forward part among several, with its own width."""

    def __init__(self, config: ModelConfig, width: int) -> None:
        super().__init__()
        self.own = config.activation
        add_feed_forward(self, config, width)

    def neurons(self, x: Tensor, activation: str | None = None) -> tuple[Tensor, Tensor]:
        """Its neurons before and after the activation, (N, width) each, for x (N, d)."""
        return neurons(self, x, self.own, activation)

    def forward(self, x: Tensor, activation: str | None = None) -> Tensor:
        """(N, d) from x (N, d)."""
        return written(self, self.neurons(x, activation)[1])


class Mixture(nn.Module):
    """The experts of one block and their router: W_R (d, n) and b_R (n,), `experts`, and, if the model has a shared
    expert, `shared` and its gate W_shared (d, 1).
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        d, n = config.d_model, config.n_experts
        self.n_active, self.renormalised = config.n_active_experts, config.experts_renormalised
        self.W_R, self.b_R = parameter(d, n), parameter(n, present=config.router_bias)
        self.experts = nn.ModuleList(Expert(config, config.d_expert) for _ in range(n))
        self.shared = Expert(config, config.d_shared_expert) if config.d_shared_expert else None
        self.W_shared = parameter(d, 1, present=self.shared is not None)

    def share(self, x: Tensor) -> Tensor:
        """(N, 1) how much of the shared expert's output is added, in (0, 1), for x (N, d)."""
        return torch.sigmoid(x @ self.W_shared)

    def forward(self, x: Tensor, activation: str | None = None) -> tuple[Tensor, Tensor, Tensor]:
        """The router's probabilities and the weights (N, n), and the output (N, d), for x (N, d). Each expert computes
        only for the tokens that go to it.
        """
        probs, weights = route(F.linear(x, self.W_R.T, self.b_R), self.n_active, self.renormalised)
        tokens, by_token = x.flatten(0, -2), weights.flatten(0, -2)
        out = torch.zeros_like(tokens)
        for index in by_token.any(dim=0).nonzero().flatten().tolist():
            rows = by_token[:, index].nonzero().flatten()
            out = out.index_add(0, rows, by_token[rows, index, None] * self.experts[index](tokens[rows], activation))
        out = out.view_as(x)
        return probs, weights, out if self.shared is None else out + self.share(x) * self.shared(x, activation)
