"""Masks: which keys each query may look at. N queries (rows), M keys (columns)."""
import torch
from torch import Tensor

from core.model.attention import causal_mask
from core.model.positional import Device, distances

MASKS = ("causal", "bidirectional", "sliding-window", "bidirectional-window")


def mask(kind: str, n_queries: int, n_keys: int, window: int = 0, *, device: Device = None) -> Tensor:
    """(n_queries, n_keys) bool: the mask that MASKS names; the last query stands at the last key's position.

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
