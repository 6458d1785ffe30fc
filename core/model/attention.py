"""Attention as pure functions: masks, scores, softmax, weighted sum. h heads, N queries (rows), M keys (columns)."""
from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from core.model.positional import Device, distances


def causal_mask(n_queries: int, n_keys: int, *, device: Device = None) -> Tensor:
    """(n_queries, n_keys) bool, True where a query may look: at itself and at what came before."""
    return distances(n_queries, n_keys, device=device) >= 0


def project(X: Tensor, W: Tensor, b: Tensor | None) -> Tensor:
    """(..., h, N, k) from X (..., N, d) and W (h, d, k): X W + b for every head, as one product."""
    n_heads, d, k = W.shape
    out = F.linear(X, W.transpose(0, 1).reshape(d, n_heads * k).T, None if b is None else b.flatten())
    return out.unflatten(-1, (n_heads, k)).transpose(-3, -2)


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


def masked_softmax(scores: Tensor, allowed: Tensor, sinks: Tensor | None = None) -> Tensor:
    """(..., N, M) weights that sum to 1 over the allowed keys of each row and are exactly 0 elsewhere.

    `allowed` (N, M) bool; a query that may look nowhere is an error of the mask and raises ValueError. sinks (h,): a
    score for each head of scores (..., h, N, M), which takes part in every row's sum and gets no column, so that the
    row sums to less than 1 (OpenAI 2025, gpt-oss).
    """
    if not bool(allowed.any(dim=-1).all()):
        raise ValueError("The mask leaves a token without any token to look at; allow each one at least itself.")
    # added: one pass over the scores, where filling copies them first and takes three times as long
    masked = scores + torch.zeros_like(allowed, dtype=scores.dtype).masked_fill_(~allowed, float("-inf"))
    if sinks is None:
        return torch.softmax(masked, dim=-1)
    column = sinks[:, None, None].to(scores.dtype).expand(*scores.shape[:-1], 1)
    return torch.softmax(torch.cat([masked, column], dim=-1), dim=-1)[..., :-1]


def uniform_pattern(allowed: Tensor, dtype: torch.dtype) -> Tensor:
    """(N, M) equal weight on every allowed key: what attention does when no key matches better than another."""
    return allowed.to(dtype) / allowed.sum(dim=-1, keepdim=True).to(dtype)
