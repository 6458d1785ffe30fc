"""The keys and values of the tokens read so far."""
from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor


class KVCache:
    """The keys and values of the tokens read so far, a pair (h_kv, M, d) for each block, or (B, h_kv, M, d) for B
    texts; `logits` reads and extends it.
    """

    def __init__(self) -> None:
        self.keys_and_values: dict[int, tuple[Tensor, Tensor]] = {}

    @property
    def n_tokens(self) -> int:
        return self.keys_and_values[0][0].shape[-2] if self.keys_and_values else 0

    @property
    def n_texts(self) -> int:
        return self.keys_and_values[0][0].shape[0] if self.keys_and_values else 0

    def extend(self, layer: int, K: Tensor, V: Tensor) -> tuple[Tensor, Tensor]:
        """All keys and values of this layer, the new ones last."""
        if layer in self.keys_and_values:
            old_K, old_V = self.keys_and_values[layer]
            K, V = torch.cat([old_K, K], dim=-2), torch.cat([old_V, V], dim=-2)
        self.keys_and_values[layer] = (K, V)
        return K, V

    def of(self, rows: Sequence[int]) -> KVCache:
        """A cache whose text i is text rows[i] of this cache, which stays as it is."""
        chosen = KVCache()
        chosen.keys_and_values = {layer: (K[rows], V[rows]) for layer, (K, V) in self.keys_and_values.items()}
        return chosen

    def repeated(self, n: int) -> KVCache:
        """A cache of n texts that all begin with the text of this cache, which stays as it is."""
        copies = KVCache()
        copies.keys_and_values = {layer: (K.expand(n, -1, -1, -1), V.expand(n, -1, -1, -1))
                                  for layer, (K, V) in self.keys_and_values.items()}
        return copies
