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

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from core.model.feed_forward import add_feed_forward, neurons, parameter, written
from core.model.record import MOST, Record, check_rules

MOST_EXPERTS = 32_768       # of all blocks together: every expert is a Python object


@dataclass(frozen=True)
class Experts(Record):
    """Feed-forward parts of a block of experts; each token goes through n_active_experts of n_experts."""

    RANGES = dict.fromkeys(("n_experts", "n_active_experts", "d_expert", "d_shared_expert"), (0, MOST))

    n_experts: int = 0                    # 0: every block is dense, with one part of width d_ff
    n_active_experts: int = 0
    d_expert: int = 0                     # width of each of them; 0: d_ff
    # width of one more expert, which every token goes through, times its own sigmoid; 0: there is none (Qwen2-MoE)
    d_shared_expert: int = 0
    block_experts: tuple[bool, ...] = ()  # whether each block is of experts; (): all are, if n_experts is not 0
    experts_renormalised: bool = True     # the weights of a token's active experts add up to 1
    router_bias: bool = False             # b_R, a number an expert added to its router logit (gpt-oss)

    def __post_init__(self) -> None:
        super().__post_init__()
        n, active = self.n_experts, self.n_active_experts
        object.__setattr__(self, "block_experts", tuple(bool(of_experts) for of_experts in self.block_experts))
        check_rules(
            (active > n or (n > 0) != (active > 0),
             f"n_active_experts ({active}) is from 1 to n_experts ({n}), or 0 where there are no experts."),
            (n == 0 and bool(self.d_expert or self.d_shared_expert or self.block_experts or self.router_bias),
             "d_expert, d_shared_expert, block_experts and router_bias belong to n_experts."),
            (bool(self.block_experts) and not any(self.block_experts), "block_experts names no block of experts."))

    def in_block(self, layer: int) -> bool:
        """Whether one block is of experts."""
        return self.n_experts > 0 and (self.block_experts[layer] if self.block_experts else True)


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

    def __init__(self, d: int, width: int, activation: str, biased: bool) -> None:
        super().__init__()
        self.own = activation
        add_feed_forward(self, d, width, activation, biased)

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

    def __init__(self, d: int, experts: Experts, activation: str, biased: bool) -> None:
        super().__init__()
        n = experts.n_experts
        self.n_active, self.renormalised = experts.n_active_experts, experts.experts_renormalised
        self.W_R, self.b_R = parameter(d, n), parameter(n, present=experts.router_bias)
        self.experts = nn.ModuleList(Expert(d, experts.d_expert, activation, biased) for _ in range(n))
        self.shared = Expert(d, experts.d_shared_expert, activation, biased) if experts.d_shared_expert else None
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
