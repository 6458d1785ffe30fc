"""A transformer's faster passes, which keep nothing but their result: for training, for generation, and for vectors
that replace some of a pass.
"""
from __future__ import annotations

from collections.abc import Mapping

import torch
import torch.nn.functional as F
from torch import Tensor

from core.model import passes
from core.model.edits import NO_EDITS, GivenOutputs
from core.model.ends import Ends
from core.model.fused import fused
from core.model.kv_cache import KVCache


class FasterPasses(Ends):
    """The part of a Transformer that computes logits and final vectors alone; a test holds them equal to a Trace's."""

    def logits(self, token_ids: Tensor, cache: KVCache | None = None, dropout: float = 0.0, last_only: bool = False,
               memory: Tensor | None = None) -> Tensor:
        """(N, |V|) only the logits, by the faster way; (1, |V|) of the last token with `last_only`.

        With a cache, token_ids are the tokens that follow those already in it, and the cache is extended in place. An
        encoder-decoder needs `memory`, the result of `encode` for the source.
        """
        return self.logits_of(self.final_vectors(token_ids, cache, dropout, last_only, memory))

    def logits_without_attention(self, x: Tensor) -> Tensor:
        """(B, |V|) the logits after stream vectors x (B, d) that enter the first block, if attention wrote
        nothing anywhere.

        Each token then passes alone, so the vectors may be those of any tokens: the same as a pass in which every
        attn_out is set to zero, at the cost of B tokens.
        """
        settings = passes.settings(self._span(1))  # no block's mask or positions matter to a token alone
        for block in self.blocks:
            x = block(x, settings, lambda X: dict(attn_out=torch.zeros_like(X)), NO_EDITS)["resid_post"]
        return self.logits_of(self._final(x, settings))

    def logits_from(self, x: Tensor, layer: int, given: Mapping[tuple[int, str], Tensor] | None = None) -> Tensor:
        """(B, |V|) the last token's logits if stream vectors x (B, N, d) enter block number `layer` of a decoder; after
        the last block if that is n_layers.

        given: (block, "attention" or "mlp") -> (B, N, d) what that part writes instead of its own output.
        """
        span = self._span(x.shape[-2])
        settings, edits = passes.settings(span), GivenOutputs(given or {})
        for block, own in list(zip(self.blocks, passes.block_settings(span, settings)))[layer:]:
            x = fused(block, x, own, edits=edits)
        return self.logits_of(self._final(x[..., -1, :], settings))

    def final_vectors(self, token_ids: Tensor, cache: KVCache | None = None, dropout: float = 0.0,
                      last_only: bool = False, memory: Tensor | None = None) -> Tensor:
        """(N, d) h_final, from which `logits_of` makes the logits, by the faster way: for the logits of only a few
        positions. All arguments are those of `logits`.
        """
        passes.check_tokens(self.config, token_ids, cache.n_tokens if cache is not None else 0)
        return self._final_vectors_of(self.embed(token_ids), cache, dropout, last_only, memory)

    def class_logits(self, token_ids: Tensor, dropout: float = 0.0) -> Tensor:
        """(n_classes,) from the classification head, by the faster way. Raises ValueError for a model without one."""
        if self.W_C is None:
            raise ValueError("This model has no classification head.")
        return self._classify(self.final_vectors(token_ids, dropout=dropout))

    def encode(self, source_ids: Tensor, dropout: float = 0.0) -> Tensor:
        """(M, d) the final vectors of an encoder-decoder's encoder, by the faster way."""
        passes.check_source(self.config, source_ids is not None)
        passes.check_tokens(self.config, source_ids)
        span = self._span(source_ids.shape[-1], stack=self.encoder)
        settings, position = passes.settings(span, passes.in_encoder(), dropout), passes.added_positions(span)
        x = F.dropout(self._entering(self.embed(source_ids), position, None, settings, self.encoder), dropout)
        for block in self.encoder.blocks:
            x = fused(block, x, settings)
        return self._final(x, settings, self.encoder)

    def logits_of_embeddings(self, embedding: Tensor) -> Tensor:
        """(|V|,) the last token's logits if `embedding` (N, d) or (B, N, d) replaces the tokens' own (Trace.embedding);
        they can be differentiated with respect to it.
        """
        return self.logits_of(self._final_vectors_of(embedding, last_only=True)[..., 0, :])

    def _final_vectors_of(self, embedding: Tensor, cache: KVCache | None = None, dropout: float = 0.0,
                          last_only: bool = False, memory: Tensor | None = None) -> Tensor:
        passes.check_source(self.config, memory is not None)
        span = self._span(embedding.shape[-2], cache.n_tokens if cache is not None else 0)
        settings, token_type = passes.settings(span, dropout=dropout), None if self.T is None else self.T[0]
        x = F.dropout(self._entering(embedding, passes.added_positions(span), token_type, settings), dropout)
        for block, own in zip(self.blocks, passes.block_settings(span, settings)):
            x = fused(block, x, own, cache, memory)
        return self._final(x[..., -1:, :] if last_only else x, settings)
