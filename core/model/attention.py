"""Attention as pure functions: masks, scores, softmax, weighted sum. h heads, N queries (rows), M keys (columns)."""
import math

import torch
import torch.nn.functional as F
from torch import Tensor

from core.model.positional import Device, distances


def causal_mask(n_queries: int, n_keys: int, *, device: Device = None) -> Tensor:
    """(n_queries, n_keys) bool, True where a query may look: at itself and at what came before."""
    return distances(n_queries, n_keys, device=device) >= 0


def mask(kind: str, n_queries: int, n_keys: int, window: int = 0, *, device: Device = None) -> Tensor:
    """(n_queries, n_keys) bool: the mask that config.MASKS names; the last query stands at the last key's position.

    Under a sliding window a query sees only the last `window` keys, its own included; under a window on both sides, as
    many to each side.
    """
    if kind == "bidirectional-window":
        return distances(n_queries, n_keys, device=device).abs() < window
    if kind == "bidirectional":
        return torch.ones(n_queries, n_keys, dtype=torch.bool, device=device)
    causal = causal_mask(n_queries, n_keys, device=device)
    return causal & (distances(n_queries, n_keys, device=device) < window) if kind == "sliding-window" else causal


def prefix_mask(n: int, prefix: int, *, device: Device = None) -> Tensor:
    """(n, n) bool: causal, but the first `prefix` tokens all see each other (Raffel et al. 2020, figure 3).

    >>> prefix_mask(3, 2).int().tolist()
    [[1, 1, 0], [1, 1, 0], [1, 1, 1]]
    """
    return causal_mask(n, n, device=device) | (torch.arange(n, device=device) < prefix)


def share_heads(x: Tensor, n_heads: int) -> Tensor:
    """(..., h, M, d_k) from (..., h_kv, M, d_k): each key/value head stands for h / h_kv query heads in a row
    (Ainslie et al. 2023).
    """
    n_kv_heads = x.shape[-3]
    return x if n_kv_heads == n_heads else x.repeat_interleave(n_heads // n_kv_heads, dim=-3)


def dot_product_scores(Q: Tensor, K: Tensor, *, scale: bool = True, divisor: float = 0.0) -> Tensor:
    """(..., h, N, M) how well each query (..., h, N, d_k) matches each key (..., h, M, d_k): q·k, divided by
    sqrt(d_k), or by another `divisor`, if `scale`.

    With entries of mean 0 and variance 1, q·k has variance d_k; dividing brings it back to 1. Source:
    Vaswani et al. 2017.
    """
    scores = Q @ K.transpose(-1, -2)
    return scores / (divisor or math.sqrt(Q.shape[-1])) if scale else scores


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


def masked_softmax(scores: Tensor, allowed: Tensor, sinks: Tensor | None = None) -> Tensor:
    """(..., N, M) weights that sum to 1 over the allowed keys of each row and are exactly 0 elsewhere.

    `allowed` (N, M) bool; a query that may look nowhere is an error of the mask and raises ValueError. sinks (h,): a
    score for each head of scores (..., h, N, M), which takes part in every row's sum and gets no column, so that the
    row sums to less than 1 (OpenAI 2025, gpt-oss).
    """
    if not bool(allowed.any(dim=-1).all()):
        raise ValueError("The mask leaves a token without any token to look at; allow each one at least itself.")
    masked = scores.masked_fill(~allowed, float("-inf"))
    if sinks is None:
        return torch.softmax(masked, dim=-1)
    column = sinks[:, None, None].to(scores.dtype).expand(*scores.shape[:-1], 1)
    return torch.softmax(torch.cat([masked, column], dim=-1), dim=-1)[..., :-1]


def uniform_pattern(allowed: Tensor, dtype: torch.dtype) -> Tensor:
    """(N, M) equal weight on every allowed key: what attention does when no key matches better than another."""
    return allowed.to(dtype) / allowed.sum(dim=-1, keepdim=True).to(dtype)
