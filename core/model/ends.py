"""Both ends of a transformer: how tokens enter its stream, and how its final vectors are read, as logits of words and
as classes of a whole text.
"""
from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from core.model import passes
from core.model.activation import CURVES, activate
from core.model.pass_settings import PassSettings
from core.model.scores import capped


class Ends:
    """The part of a Transformer before its first block and after its last, with the weights that Transformer names."""

    def embed(self, token_ids: Tensor) -> Tensor:
        """(N, d) the tokens' input to the stream: their rows of E, times embedding_scale, and through W_E if that maps
        only them.
        """
        rows = self.E[token_ids]
        rows = rows if self.config.embedding.embedding_scale == 1 else self.config.embedding.embedding_scale * rows
        return F.linear(rows, self.W_E.T) if self.config.embedding.plain_maps else rows

    def _added_types(self, token_ids: Tensor, token_types: Tensor | None) -> Tensor | None:
        """(N, d) the vector of the text that each token belongs to; None if the model tells no texts apart."""
        if self.T is None and token_types is not None:
            raise ValueError("This model tells no texts apart: give it no token types.")
        return None if self.T is None else self.T[torch.zeros_like(token_ids) if token_types is None else token_types]

    def _entering(self, embedding: Tensor, position: Tensor | None, token_type: Tensor | None,
                  settings: PassSettings, stack: nn.Module | None = None) -> Tensor:
        """(N, d) the stream that the first block reads: the sum of each token's vectors, normed if the model norms it.
        """
        x = embedding if position is None else embedding + position
        x = x if token_type is None else x + token_type
        norm = (stack or self).embedding_norm
        x = x if norm is None else norm(x, settings.norm)
        return x if self.W_E is None or self.config.embedding.plain_maps else F.linear(x, self.W_E.T, self.b_E)

    def _final(self, x: Tensor, settings: PassSettings, stack: nn.Module | None = None) -> Tensor:
        """(N, d) the stream after the last block of a stack through its final norm; x itself if there is none."""
        norm = (stack or self).final_norm
        return x if norm is None else norm(x, settings.norm)

    @property
    def unembedding(self) -> Tensor:
        """(|V|, d) the rows that are multiplied with h_final (with h_head, if the model has one) for the logits: E
        itself if tied, times the logit scale. Rows narrower than h_final, of a model without logits that mean anything,
        are mapped into the stream.
        """
        weight = self.E if self.W_U is None else self.W_U
        if self.W_E is not None and self.W_H is None:
            weight = weight @ self.W_E
        return weight if self.config.head.logit_scale == 1 else self.config.head.logit_scale * weight

    def logits_of(self, h_final: Tensor) -> Tensor:
        """(..., |V|) the logits that final vectors (..., d) give: the head's transform, if there is one, the
        unembedding, and b_U.
        """
        h_head = self._transformed(h_final, self.config.norm)
        return self._unembedded(h_final if h_head is None else h_head)

    def _transformed(self, h_final: Tensor, norm: str) -> Tensor | None:
        """(N, d) the head's transform of h_final; None in a model without one."""
        if self.W_H is None:
            return None
        z = F.linear(h_final, self.W_H.T, self.b_H)
        return self.head_norm(activate(self.config.activation, z), norm) if self.config.head_curves else z

    def uncapped_logits(self, h: Tensor) -> Tensor:
        """(..., |V|) the logits of vectors (..., d), h_head or else h_final, before any cap."""
        logits = h @ self.unembedding.T
        return logits if self.b_U is None else logits + self.b_U

    def _unembedded(self, h: Tensor) -> Tensor:
        return capped(self.uncapped_logits(h), self.config.head.logit_cap)

    def _classify(self, h_final: Tensor) -> Tensor | None:
        """(n_classes,) from the first of vectors (N, d), or their mean; None in a model without a classification
        head.
        """
        if self.W_C is None:
            return None
        h = h_final[..., 0, :] if self.config.head.class_pooling == "first" else h_final.mean(-2)
        if self.config.head.class_transform == "head":
            h = self._transformed(h, self.config.norm)
        elif self.W_P is not None:
            h = CURVES[self.config.head.class_transform](h @ self.W_P + self.b_P)
        return h @ self.W_C + self.b_C

    def _span(self, n: int, start: int = 0, stack: nn.Module | None = None) -> passes.Span:
        """The n tokens that follow `start` others, as read by the decoder, or by the encoder if that is the stack."""
        return passes.Span(self.config, self.E, n, start, (stack or self).P, (stack or self).r, stack is not None)
