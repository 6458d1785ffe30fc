"""The transformer, in the notes' algebra: row vectors, right multiplication, per-head W_Q W_K W_V W_O, tied E.

Symbols: N tokens, width d, h heads (h_kv of them with keys and values of their own), d_k, d_v, L blocks, |V| tokens in
the vocabulary.

    x      = E[token_ids] + P                                     (N, d)      a BERT adds a vector for its text and
                                                                              norms the sum; a Gemma has √d times E
    X      = norm(x)                                              (N, d)      pre-norm; a post-norm block normalises its
                                                                              sums instead, a sandwich its outputs too
    Q K V  = X W_Q + b_Q, X W_K + b_K, X W_V + b_V                (h, N, d_k), (h_kv, N, d_k), (h_kv, N, d_v)
    A      = softmax(Q Kᵀ / sqrt(d_k) + mask)                     (h, N, N)
    x      = x + Σ_heads (A V) W_O + b_O                          (N, d)
    x      = x + act(norm(x) W_1 + b_1) W_2 + b_2                 (N, d)      or a mixture of experts: see
                                                                              core.model.experts
    logits = norm(x) Eᵀ                                           (N, |V|)    a BERT's head transforms norm(x)
                                                                              first, and adds b_U

`forward` returns all of it as a Trace and stores nothing. `logits` takes the faster way (fused attention, a cache of
keys and values) for training and generation; a test holds the two equal. The mask, what positions turn or add, and the
checks of what a pass is given are core.model.passes.
"""
from __future__ import annotations

import functools
from collections.abc import Mapping

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from core.model import attention, passes
from core.model.activation import CURVES, activate
from core.model.block import NO_EDITS, Block, GivenOutputs, HeadEdits, KVCache, PassSettings, fused, traced
from core.model.config import ModelConfig
from core.model.feed_forward import parameter
from core.model.intervention import NOTHING, Intervention
from core.model.normalisation import deepnorm_constants
from core.model.norms import Norm
from core.model.trace import StackTrace, Trace


def position_parameters(config: ModelConfig) -> tuple[nn.Parameter | None, nn.Parameter | None]:
    """The positions that one stack learns for all its blocks: P (n_context, d), and r (h, relative_buckets); None if
    the scheme has no such weights.
    """
    return (parameter(config.n_context, config.d_entering, present=config.positions == "learned"),
            parameter(config.n_heads, config.relative_buckets, present=config.positions == "relative"))


class Encoder(nn.Module):
    """The encoder of an encoder-decoder: a stack whose every token sees every other. It reads the decoder's E."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.P, self.r = position_parameters(config)
        self.embedding_norm = Norm(config) if config.embedding_norm else None
        self.blocks = nn.ModuleList(Block(config, layer) for layer in range(config.n_encoder_layers))
        self.final_norm = None if config.norms_sums else Norm(config)


class Transformer(nn.Module):
    """A decoder-only, encoder-only or encoder-decoder transformer.

    Parameters: E (|V|, d); P (n_context, d) with learned positions, r (h, relative_buckets) with relative ones that all
    blocks share; T (n_token_types, d) and embedding_norm if the config has them; W_E (e, d) and b_E (d,) if rows of E,
    P and T have another width e, which is then also the width of W_H's outputs and of W_U (with plain_maps of E alone,
    and without b_E); blocks[l]; final_norm if no sums are normed; W_H (d, d), b_H and head_norm of a head's transform
    (with plain_maps W_H alone); W_U (|V|, d) if untied; b_U (|V|,); W_C (d, n_classes) and b_C with a classification
    head, and W_P (d, d), b_P if it has a transform. An encoder-decoder's `encoder` has a P or r, an embedding_norm,
    blocks and a final_norm of its own; E is shared. A new model's weights are zero: call `initialise`, or load a
    checkpoint. One model serves many threads at once: no call but `initialise` writes to it.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        crossed, d, e = config.kind == "encoder-decoder", config.d_model, config.d_embedding
        self.E = parameter(config.vocab_size, e)
        self.P, self.r = position_parameters(config)
        self.T = parameter(config.n_token_types, e)
        self.embedding_norm = Norm(config, e) if config.embedding_norm else None
        self.W_E = parameter(e, d, present=config.embedding_width > 0)
        self.b_E = parameter(d, present=config.embedding_width > 0 and not config.plain_maps)
        self.blocks = nn.ModuleList(Block(config, layer, crossed) for layer in range(config.n_layers))
        self.final_norm = None if config.norms_sums else Norm(config)
        self.W_H = parameter(d, e, present=config.head_transform)
        self.b_H = parameter(e, present=config.head_transform and config.head_bias)
        self.head_norm = Norm(config, e) if config.head_curves else None
        self.W_U = parameter(config.vocab_size, e, present=not config.tied_embeddings)
        self.b_U = parameter(config.vocab_size, present=config.unembedding_bias)
        self.W_P, self.b_P = (parameter(*shape, present=config.classifies_alone) for shape in ((d, d), (d,)))
        self.W_C, self.b_C = parameter(d, config.n_classes), parameter(config.n_classes)
        self.encoder = Encoder(config) if crossed else None

    @property
    def unembedding(self) -> Tensor:
        """(|V|, d) the rows that are multiplied with h_final (with h_head, if the model has one) for the logits: E
        itself if tied, times the logit scale. Rows narrower than h_final, of a model without logits that mean anything,
        are mapped into the stream.
        """
        weight = self.E if self.W_U is None else self.W_U
        if self.W_E is not None and self.W_H is None:
            weight = weight @ self.W_E
        return weight if self.config.logit_scale == 1 else self.config.logit_scale * weight

    @property
    def device(self) -> torch.device:
        return self.E.device

    @functools.cached_property
    def n_parameters(self) -> int:
        """Counted once: pages ask for it before every pass, and a model keeps the weights that it was made with."""
        return sum(p.numel() for p in self.parameters())

    @torch.no_grad()
    def initialise(self, generator: torch.Generator) -> Transformer:
        """Random weights: maps with variance 1/fan-in, those that write to the stream divided by sqrt(2L), embeddings
        and positions with standard deviation 0.02.

        The embeddings of an encoder-decoder have 1/sqrt(d), so a length of about 1: a word is then not lost in what the
        encoder's first attention mixes into it, and cross-attention learns to find it where it stands. With DeepNorm,
        W_V, W_O and the feed-forward maps are multiplied by its β instead of divided.
        """
        config = self.config
        for name, p in self.named_parameters():
            leaf = name.rsplit(".", 1)[-1]
            if leaf == "E" and self.encoder is not None:
                p.normal_(0.0, config.d_model ** -0.5, generator=generator)
            elif leaf in ("E", "P", "T", "W_U", "r", "v_S"):
                p.normal_(0.0, 0.02, generator=generator)
            elif leaf.startswith("W_"):
                fan_in, factor = p.shape[0] * p.shape[1] if leaf == "W_O" else p.shape[-2], 1.0
                if config.norm_placement == "deepnorm" and leaf in ("W_V", "W_O", "W_1", "W_gate", "W_2"):
                    _, factor = deepnorm_constants(config, encoder=name.startswith("encoder."))
                elif config.norm_placement != "deepnorm" and leaf in ("W_O", "W_2"):
                    factor = (2 * config.n_layers) ** -0.5
                p.normal_(0.0, fan_in ** -0.5 * factor, generator=generator)
        return self

    def forward(self, token_ids: Tensor, intervention: Intervention = NOTHING, source_ids: Tensor | None = None,
                token_types: Tensor | None = None) -> Trace:
        """Everything that one pass over token_ids (N,) or (B, N), int64, computes; an encoder-decoder reads source_ids
        (M,) or (B, M) first.

        token_types, shaped like token_ids, gives the text that each token belongs to, from 0; all are 0 if it is not
        given.

        An intervention edits the decoder; the choice of norm, activation, scaling, score function and residual path
        also holds for the encoder. Raises ValueError for no tokens, an id outside the vocabulary, more tokens than
        learned positions, an edit of a head or layer that is not there, or source tokens for a model that needs none,
        or none for a model that needs them.
        """
        passes.check_tokens(self.config, token_ids, change=intervention)
        passes.check_change(self.config, intervention, token_ids.shape[-1])
        passes.check_source(self.config, source_ids is not None)
        if (order := intervention.permutation) is not None:
            token_ids = token_ids[..., list(order)]
            token_types = None if token_types is None else token_types[..., list(order)]
        span = self._span(token_ids.shape[-1])
        settings = passes.settings(span, intervention)
        of_blocks = passes.block_settings(span, settings, intervention)
        encoder = None if source_ids is None else self._encode_traced(source_ids, intervention)
        # the plain run on the reference text, whose means replace outputs
        reference = (self(torch.tensor(intervention.reference_ids, device=self.device))
                     if intervention.needs_reference else None)
        edits = HeadEdits(intervention, reference)
        embedding, token_type = self.embed(token_ids), self._added_types(token_ids, token_types)
        position = passes.added_positions(span, intervention)
        x = self._entering(embedding, position, token_type, settings)
        patches, blocks = self._patch_vectors(intervention, source_ids), []
        for layer, block in enumerate(self.blocks):
            x = self._patched(x, layer, patches)
            blocks.append(traced(block, x, of_blocks[layer], edits, None if encoder is None else encoder.h_final))
            x = blocks[-1].resid_post
        x = self._patched(x, self.config.n_layers, patches)
        h_final = self._final(x, settings)
        h_head = self._transformed(h_final, settings.norm)
        return Trace(token_ids, embedding, position, tuple(blocks), x, h_final, self.config,
                     self._unembedded(h_final if h_head is None else h_head), self._classify(h_final),
                     encoder, token_type, h_head)

    def logits(self, token_ids: Tensor, cache: KVCache | None = None, dropout: float = 0.0, last_only: bool = False,
               memory: Tensor | None = None) -> Tensor:
        """(N, |V|) only the logits, by the faster way; (1, |V|) of the last token with `last_only`.

        With a cache, token_ids are the tokens that follow those already in it, and the cache is extended in place. An
        encoder-decoder needs `memory`, the result of `encode` for the source.
        """
        return self.logits_of(self.final_vectors(token_ids, cache, dropout, last_only, memory))

    def logits_of(self, h_final: Tensor) -> Tensor:
        """(..., |V|) the logits that final vectors (..., d) give: the head's transform, if there is one, the
        unembedding, and b_U.
        """
        h_head = self._transformed(h_final, self.config.norm)
        return self._unembedded(h_final if h_head is None else h_head)

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

    def _encode_traced(self, source_ids: Tensor, intervention: Intervention) -> StackTrace:
        """The encoder's pass over source_ids (M,) or (B, M) with everything kept."""
        passes.check_tokens(self.config, source_ids)
        span, embedding = self._span(source_ids.shape[-1], stack=self.encoder), self.embed(source_ids)
        settings, position = passes.settings(span, passes.in_encoder(intervention)), passes.added_positions(span)
        x, blocks = self._entering(embedding, position, None, settings, self.encoder), []
        for block in self.encoder.blocks:
            blocks.append(traced(block, x, settings, NO_EDITS))
            x = blocks[-1].resid_post
        return StackTrace(source_ids, embedding, position, tuple(blocks), x, self._final(x, settings, self.encoder))

    def _span(self, n: int, start: int = 0, stack: Encoder | None = None) -> passes.Span:
        """The n tokens that follow `start` others, as read by the decoder, or by the encoder if that is the stack."""
        return passes.Span(self.config, self.E, n, start, (stack or self).P, (stack or self).r, stack is not None)

    def _classify(self, h_final: Tensor) -> Tensor | None:
        """(n_classes,) from the first of vectors (N, d), or their mean; None in a model without a classification
        head.
        """
        if self.W_C is None:
            return None
        h = h_final[..., 0, :] if self.config.class_pooling == "first" else h_final.mean(-2)
        if self.config.class_transform == "head":
            h = self._transformed(h, self.config.norm)
        elif self.W_P is not None:
            h = CURVES[self.config.class_transform](h @ self.W_P + self.b_P)
        return h @ self.W_C + self.b_C

    def embed(self, token_ids: Tensor) -> Tensor:
        """(N, d) the tokens' input to the stream: their rows of E, times embedding_scale, and through W_E if that maps
        only them.
        """
        rows = self.E[token_ids]
        rows = rows if self.config.embedding_scale == 1 else self.config.embedding_scale * rows
        return F.linear(rows, self.W_E.T) if self.config.plain_maps else rows

    def _added_types(self, token_ids: Tensor, token_types: Tensor | None) -> Tensor | None:
        """(N, d) the vector of the text that each token belongs to; None if the model tells no texts apart."""
        if self.T is None and token_types is not None:
            raise ValueError("This model tells no texts apart: give it no token types.")
        return None if self.T is None else self.T[torch.zeros_like(token_ids) if token_types is None else token_types]

    def _entering(self, embedding: Tensor, position: Tensor | None, token_type: Tensor | None,
                  settings: PassSettings, stack: Transformer | Encoder | None = None) -> Tensor:
        """(N, d) the stream that the first block reads: the sum of each token's vectors, normed if the model norms it.
        """
        x = embedding if position is None else embedding + position
        x = x if token_type is None else x + token_type
        norm = (stack or self).embedding_norm
        x = x if norm is None else norm(x, settings.norm)
        return x if self.W_E is None or self.config.plain_maps else F.linear(x, self.W_E.T, self.b_E)

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
        return attention.capped(self.uncapped_logits(h), self.config.logit_cap)

    def _final(self, x: Tensor, settings: PassSettings, stack: Transformer | Encoder | None = None) -> Tensor:
        """(N, d) the stream after the last block of a stack through its final norm; x itself if there is none."""
        norm = (stack or self).final_norm
        return x if norm is None else norm(x, settings.norm)

    def _patch_vectors(self, intervention: Intervention,
                       source_ids: Tensor | None) -> dict[int, list[tuple[int, Tensor]]]:
        """layer -> [(position, the stream vector (d,) of the source run)], one source run for each source text; in an
        encoder-decoder all runs read the same source_ids.
        """
        runs = {ids: self(torch.tensor(ids, device=self.device), source_ids=source_ids)
                for ids in {patch.source_ids for patch in intervention.patches}}
        vectors: dict[int, list[tuple[int, Tensor]]] = {}
        for patch in intervention.patches:
            source = runs[patch.source_ids]
            stream = source.resid_final if patch.layer == self.config.n_layers else source.blocks[patch.layer].resid_pre
            vectors.setdefault(patch.layer, []).append((patch.position, stream[patch.source_position]))
        return vectors

    @staticmethod
    def _patched(x: Tensor, layer: int, patches: dict[int, list[tuple[int, Tensor]]]) -> Tensor:
        if layer in patches:
            x = x.clone()
            for position, vector in patches[layer]:
                x[..., position, :] = vector
        return x
