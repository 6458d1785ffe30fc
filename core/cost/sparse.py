"""Sparse attention: the pairs of tokens that a pattern keeps, the layers that information needs from one token to
another, and a window that skips the work outside it.
"""
import math

import torch
import torch.nn.functional as F
from torch import Tensor

PATTERNS = ("full", "causal", "window", "global", "random", "all")


def pattern_mask(pattern: str, n: int, window: int = 1, n_global: int = 1, n_random: int = 1, seed: int = 0) -> Tensor:
    """(n, n) bool: the keys (columns) that each query (row) sees. Every token sees itself.

    full: all. causal: itself and the tokens before. window: up to `window` tokens on either side. global: the window,
    and the first n_global tokens see all and are seen by all. random: n_random keys a query, drawn with the seed, and
    itself. all: window, global and random together, as in BigBird (Zaheer et al. 2020). ValueError for another pattern.

    >>> pattern_mask("window", 3, window=1).int().tolist()
    [[1, 1, 0], [1, 1, 1], [0, 1, 1]]
    """
    place = torch.arange(n)
    near, drawn, central = ((place[:, None] - place).abs() <= window, _drawn(n, n_random, seed),
                            (place[:, None] < n_global) | (place < n_global))
    masks = {"full": torch.ones(n, n, dtype=torch.bool), "causal": place[:, None] >= place, "window": near,
             "global": near | central, "random": drawn, "all": near | central | drawn}
    if pattern not in masks:
        raise ValueError(f"A pattern is one of {', '.join(PATTERNS)}, not {pattern!r}.")
    return masks[pattern]


def _drawn(n: int, n_random: int, seed: int) -> Tensor:
    """(n, n) bool: for each query itself and n_random other keys, or all if there are fewer."""
    chances = torch.rand(n, n, generator=torch.Generator().manual_seed(seed)).fill_diagonal_(2.0)
    return torch.zeros(n, n, dtype=torch.bool).scatter_(1, chances.topk(min(n_random + 1, n), dim=1).indices, True)


def layers_between(mask: Tensor) -> Tensor:
    """(n, n) int64: the number of layers after which query i (row) can depend on token j (column); 0: never.

    mask: (n, n) bool, True on its diagonal.

    >>> layers_between(pattern_mask("window", 4, window=1))[3].tolist()
    [3, 2, 1, 1]
    """
    reach, depth = mask, mask.long()
    for layers in range(2, len(mask) + 1):
        further = (mask.float() @ reach.float()) > 0
        if torch.equal(further, reach):
            break
        depth[further & ~reach] = layers
        reach = further
    return depth


def windowed_attention(Q: Tensor, K: Tensor, V: Tensor, window: int) -> Tensor:
    """(..., N, d_v) attention under a causal window from Q, K (..., N, d_k) and V (..., N, d_v): each query sees itself
    and the window − 1 tokens before it.

    The queries are cut into blocks as long as the window; a block meets its own keys and those of the block before:
    2 w keys a query instead of N, and no matrix of N × N. A test compares it with attention under the sliding window of
    `masks.mask`.
    """
    n, w = Q.shape[-2], window
    # (..., blocks, w, d)
    queries, keys, values = (F.pad(X, (0, 0, 0, -n % w)).unflatten(-2, (-1, w)) for X in (Q, K, V))
    # (..., blocks, 2w, d)
    keys, values = (torch.cat([F.pad(X, (0, 0, 0, 0, 1, 0))[..., :-1, :, :], X], dim=-2) for X in (keys, values))
    scores = queries @ keys.transpose(-1, -2) / math.sqrt(Q.shape[-1])
    # distance of a key before its query
    back = torch.arange(w, 2 * w)[:, None] - torch.arange(2 * w)
    allowed = ((back >= 0) & (back < w)).expand(keys.shape[-3], -1, -1).clone()
    # nothing precedes the first block
    allowed[0, :, :w] = False
    pattern = torch.softmax(scores.masked_fill(~allowed, float("-inf")), dim=-1)
    return (pattern @ values).flatten(-3, -2)[..., :n, :]
