"""How well queries match keys in other ways than the dot product, and what is done with scores besides."""
from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from core.model.attention import dot_product_scores, share_heads
from core.model.masks import MASKS
from core.model.pass_settings import PassSettings
from core.model.record import MOST, Record, check_choice, check_rules


@dataclass(frozen=True)
class Scores(Record):
    """How scores are scaled, capped and masked, and whether attention's output has a bias."""

    RANGES = {"window": (1, MOST)}

    scale_scores: bool = True             # divide q·k, or q W_S·k
    score_divisor: float = 0.0            # by this; 0: by sqrt(d_k)
    score_cap: float = 0.0                # c: a score s becomes c tanh(s / c) before any bias and the mask; 0: it stays
    # every head has a number that takes part of its softmax's weight, which no token gets: a pattern's row sums to less
    # than 1 (gpt-oss)
    attention_sinks: bool = False
    # keys a query sees under a sliding window, itself included; under a window on both sides as many to each side
    window: int = 64
    block_masks: tuple[str, ...] = ()     # the mask of each block if they differ; (): all have the model's `mask`
    output_bias: bool = True              # b_O, if attention_bias has biases at all
    output_bias_alone: bool = False       # b_O without attention_bias (GPT-Neo)

    def __post_init__(self) -> None:
        super().__post_init__()
        for kind in self.block_masks:
            check_choice("Each of block_masks", kind, MASKS)
        check_rules((min(self.score_divisor, self.score_cap) < 0, "score_divisor and score_cap are at least 0."))


def capped(x: Tensor, cap: float) -> Tensor:
    """c tanh(x / c), which stays within ±c and is about x for small x; x itself for a cap of 0.

    Source: Gemma Team 2024 (Gemma 2), after Bello et al. 2016.
    >>> capped(torch.tensor([0.1, 1000.0]), 50.0).tolist()
    [0.09999987483024597, 50.0]
    """
    return cap * torch.tanh(x / cap) if cap else x


def multiplicative_scores(Q: Tensor, K: Tensor, W_S: Tensor, *, scale: bool = True, divisor: float = 0.0) -> Tensor:
    """(..., h, N, M) q W_S·k: a learned W_S (h, d_k, d_k) between query and key, divided by sqrt(d_k), or by another
    `divisor`, if `scale`.

    Source: Luong et al. 2015.
    """
    return dot_product_scores(Q @ W_S, K, scale=scale, divisor=divisor)


def additive_scores(Q: Tensor, K: Tensor, v: Tensor) -> Tensor:
    """(..., h, N, M) v·tanh(q + k), v (h, d_k): a network of one hidden layer, whose two maps are W_Q and W_K.

    Source: Bahdanau et al. 2015.
    """
    return torch.einsum("...hnmk,hk->...hnm", torch.tanh(Q.unsqueeze(-2) + K.unsqueeze(-3)), v)


def cosine_scores(Q: Tensor, K: Tensor) -> Tensor:
    """(..., h, N, M) the cosine of the angle between query and key, q·k / (‖q‖ ‖k‖), 0 for a vector of zeros. It is
    between −1 and 1 at every width, so no key's exponential is more than e² times another's.

    >>> cosine_scores(torch.tensor([[3.0, 0.0]]), torch.tensor([[5.0, 0.0], [0.0, 2.0], [-1.0, 0.0]])).tolist()
    [[1.0, 0.0, -1.0]]
    """
    return F.normalize(Q, dim=-1) @ F.normalize(K, dim=-1).transpose(-1, -2)


def random_score_weights(score: str, n_heads: int, d_k: int, seed: int, layer: int) -> Tensor | None:
    """Random weights that a score function needs besides q and k, for a model that has never learned them: W_S (h, d_k,
    d_k) with variance 1/d_k, so that q W_S is as long as q, or v (h, d_k) with variance 1; None for the dot product.
    Each layer has its own draw, from `seed` and `layer` alone.
    """
    if score == "dot":
        return None
    generator = torch.Generator().manual_seed(1000 * seed + layer)
    shape, deviation = ((n_heads, d_k, d_k), d_k ** -0.5) if score == "multiplicative" else ((n_heads, d_k), 1.0)
    return torch.randn(shape, generator=generator) * deviation


def matched(part: nn.Module, Q: Tensor, K: Tensor, settings: PassSettings) -> Tensor:
    """(h, N, M) how well each query matches each key in one attention, by the pass's score function: the model's own,
    or another with random weights; capped, if the model caps its scores.
    """
    config, score = part.config, settings.score
    if config.n_kv_heads != config.n_heads:
        K = share_heads(K, config.n_heads)
    if score == "dot":
        scores = dot_product_scores(Q, K, scale=settings.scale_scores, divisor=config.divisor)
    elif score == "cosine":
        scores = cosine_scores(Q, K)
    else:
        scores = _learned(part, Q, K, settings)
    return capped(scores, config.scores.score_cap)


def _learned(part: nn.Module, Q: Tensor, K: Tensor, settings: PassSettings) -> Tensor:
    config, score = part.config, settings.score
    weights = part.W_S if score == "multiplicative" else part.v_S
    if score != config.score:
        weights = random_score_weights(score, config.n_heads, config.d_k, settings.score_seed, part.layer).to(Q)
    if score == "multiplicative":
        return multiplicative_scores(Q, K, weights, scale=settings.scale_scores, divisor=config.divisor)
    return additive_scores(Q, K, weights)
