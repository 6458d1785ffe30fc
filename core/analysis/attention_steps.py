"""The attention of one head for one query, step by step: every number from its vectors to its contribution to the
stream.

N keys, widths d, d_k, d_v. The vectors come from the model; every later step is computed again from them in float64, so
that each number follows from those before it. A test holds the weights and the output equal to the model's.
"""
from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor

from core.model import attention
from core.model.block import Block
from core.model.scores import capped
from core.model.trace import BlockTrace


@dataclass(frozen=True)
class Steps:
    """The steps in their order, all float64 on the CPU. `written` is None in the simple variant, which has no W_O."""

    q: Tensor              # (d_k,)    the query as it enters the scores: after rotary positions, times W_S
    K: Tensor              # (N, d_k)  the keys as they enter the scores
    V: Tensor              # (N, d_v)
    products: Tensor       # (N,)      q·k, or v·tanh(q + k) of an additive score
    scaled: Tensor         # (N,)      products over sqrt(d_k), or the model's divisor, if it divides; else the products
    bias: Tensor           # (N,)      the bias of ALiBi or relative positions; else 0
    allowed: Tensor        # (N,) bool
    written: Tensor | None = None      # (d,) what the head adds to the stream
    cap: float = 0.0                   # c of a model that caps its scores: c tanh(scaled / c)
    sink: float | None = None          # the score that the head's sink adds to the row, without a key

    @cached_property
    def scores(self) -> Tensor:
        """(N,) before the mask."""
        return capped(self.scaled, self.cap) + self.bias

    @cached_property
    def top(self) -> float:
        """m, the largest score that the mask allows, or the sink's if that is larger; subtracting it before the
        exponential changes no weight.
        """
        return max(float(self.scores[self.allowed].max()), -math.inf if self.sink is None else self.sink)

    @cached_property
    def exponentials(self) -> Tensor:
        """(N,) e^(s − m); exactly 0 where the mask sets −∞."""
        return torch.where(self.allowed, (self.scores - self.top).exp(), 0.0)

    @cached_property
    def sunk(self) -> float:
        """e^(s − m) of the sink; 0 without one."""
        return 0.0 if self.sink is None else math.exp(self.sink - self.top)

    @cached_property
    def weights(self) -> Tensor:
        """(N,) α, which sum to 1, or to less beside a sink."""
        return self.exponentials / (self.exponentials.sum() + self.sunk)

    @cached_property
    def output(self) -> Tensor:
        """(d_v,) Σ_j α_j v_j."""
        return self.weights @ self.V

    def with_score(self, key: int, score: float) -> Steps:
        """The same look with one score set to another number, by a bias that makes up the difference."""
        bias = self.bias.clone()
        bias[key] += score - float(self.scores[key])
        return replace(self, bias=bias)


def head_steps(block: BlockTrace, weights: Block, head: int, query: int) -> Steps:
    """The steps of one head for the query at position `query`, from a block's trace and the weights of the same block.

    The model's own score function, scaling, rotation, biases and mask apply. Raises IndexError for a head or a query
    that does not exist.
    """
    config = weights.config
    shared = head // (config.n_heads // config.n_kv_heads)
    q, K, V = map(_exact, (block.Q_rotated[head, query], block.K_rotated[shared], block.V[shared]))
    if weights.W_S is not None:
        q = q @ _exact(weights.W_S[head])
    products = torch.tanh(q + K) @ _exact(weights.v_S[head]) if weights.v_S is not None else K @ q
    scaled = products / config.divisor if is_scaled(weights) else products
    added = (_exact(block.scores[head, query]) - capped(scaled, config.scores.score_cap)
             if config.positions in ("alibi", "relative") else torch.zeros_like(scaled))
    steps = Steps(q, K, V, products, scaled, added, block.allowed[query].cpu(), cap=config.scores.score_cap,
                  sink=None if weights.sinks is None else float(weights.sinks[head]))
    return replace(steps, written=steps.output @ _exact(weights.W_O[head]))


def _exact(values: Tensor) -> Tensor:
    """The values in float64, on the CPU."""
    return values.detach().double().cpu()


def is_scaled(weights: Block) -> bool:
    """Whether the block divides its scores, by sqrt(d_k) or its own divisor; an additive score function never does."""
    return weights.config.scores.scale_scores and weights.v_S is None


def simple_steps(X: Tensor, query: int, allowed: Tensor, divided: bool = False) -> Steps:
    """Attention without weights on the vectors X (N, d): the score is x_i·x_j, or x_i·x_j/√d if `divided`, and the
    output is Σ_j α_ij x_j. allowed (N,) bool.

    >>> steps = simple_steps(torch.tensor([[1.0, 0.0], [0.0, 2.0]]), 1, torch.tensor([True, True]))
    >>> steps.products.tolist(), [round(w, 4) for w in steps.weights.tolist()]
    ([0.0, 4.0], [0.018, 0.982])
    """
    X = _exact(X)
    products = X @ X[query]
    scaled = products / math.sqrt(X.shape[-1]) if divided else products
    return Steps(X[query], X, X, products, scaled, torch.zeros_like(products), allowed.cpu())


def tempered_weights(scores: Tensor, temperature: float) -> Tensor:
    """(N,) softmax(s / τ): uniform as τ → ∞, all weight on the largest score as τ → 0, the model's weights at τ = 1.

    scores: (N,), −∞ where masked. Raises ValueError for τ ≤ 0.
    """
    if temperature <= 0:
        raise ValueError(f"A temperature is above 0, not {temperature}.")
    return attention.masked_softmax(scores[None] / temperature, torch.isfinite(scores)[None])[0]
