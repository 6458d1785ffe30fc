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

import torch
from torch import Tensor, nn

from core.model import initialisation, passes
from core.model.block import Block, traced
from core.model.config import ModelConfig
from core.model.edits import head_edits, patch_vectors, patched
from core.model.encoder import Encoder, encode_traced, position_parameters
from core.model.faster import FasterPasses
from core.model.feed_forward import parameter
from core.model.intervention import NOTHING, Intervention
from core.model.norms import Norm
from core.model.trace import Trace


class Transformer(FasterPasses, nn.Module):
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
        self.T = parameter(config.embedding.n_token_types, e)
        self.embedding_norm = Norm(config, e) if config.embedding.embedding_norm else None
        self.W_E = parameter(e, d, present=config.embedding.embedding_width > 0)
        self.b_E = parameter(d, present=config.embedding.embedding_width > 0 and not config.embedding.plain_maps)
        self.blocks = nn.ModuleList(Block(config, layer, crossed) for layer in range(config.n_layers))
        self.final_norm = None if config.norms_sums else Norm(config)
        self.W_H = parameter(d, e, present=config.head.head_transform)
        self.b_H = parameter(e, present=config.head.head_transform and config.head.head_bias)
        self.head_norm = Norm(config, e) if config.head_curves else None
        self.W_U = parameter(config.vocab_size, e, present=not config.tied_embeddings)
        self.b_U = parameter(config.vocab_size, present=config.head.unembedding_bias)
        self.W_P, self.b_P = (parameter(*shape, present=config.head.classifies_alone) for shape in ((d, d), (d,)))
        self.W_C, self.b_C = parameter(d, config.head.n_classes), parameter(config.head.n_classes)
        self.encoder = Encoder(config) if crossed else None

    @property
    def device(self) -> torch.device:
        return self.E.device

    @functools.cached_property
    def n_parameters(self) -> int:
        """Counted once: pages ask for it before every pass, and a model keeps the weights that it was made with."""
        return sum(p.numel() for p in self.parameters())

    def initialise(self, generator: torch.Generator) -> Transformer:
        """Draw random weights, as core.model.initialisation says."""
        initialisation.initialise(self, generator)
        return self

    def forward(self, token_ids: Tensor, intervention: Intervention = NOTHING, source_ids: Tensor | None = None,
                token_types: Tensor | None = None) -> Trace:
        """Everything that one pass over token_ids (N,) or (B, N), int64, computes; an encoder-decoder reads source_ids
        (M,) or (B, M) first.

        token_types, shaped like token_ids, gives the text that each token belongs to, from 0; 0 if it is not given.
        An intervention edits the decoder; the choice of norm, activation, scaling, score function and residual path
        also holds for the encoder. Raises ValueError for what core.model.passes does not allow.
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
        encoder = None if source_ids is None else encode_traced(self, source_ids, intervention)
        edits = head_edits(self, intervention)
        embedding, token_type = self.embed(token_ids), self._added_types(token_ids, token_types)
        position = passes.added_positions(span, intervention)
        x = self._entering(embedding, position, token_type, settings)
        patches, blocks = patch_vectors(self, intervention, source_ids), []
        for layer, block in enumerate(self.blocks):
            x = patched(x, layer, patches) if patches else x
            blocks.append(traced(block, x, of_blocks[layer], edits, None if encoder is None else encoder.h_final))
            x = blocks[-1].resid_post
        x = patched(x, self.config.n_layers, patches) if patches else x
        h_final = self._final(x, settings)
        h_head = self._transformed(h_final, settings.norm)
        return Trace(token_ids, embedding, position, tuple(blocks), x, h_final, self.config,
                     self._unembedded(h_final if h_head is None else h_head), self._classify(h_final),
                     encoder, token_type, h_head)
