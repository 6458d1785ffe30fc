"""Trace and BlockTrace: every tensor that one forward pass made, named.

Axes are indexed from the right; N tokens, h heads, width d.

A tensor below has shape (..., its shape), where ... is () for token_ids (N,) and (B,) for token_ids (B, N).
"""
from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import torch
from torch import Tensor

from core.model.config import ModelConfig


class _Heads:
    """The common part of attention and cross-attention, beside their fields."""

    @property
    def head_contribution(self) -> Tensor:
        """(h, N, d) each head's addition to the stream: head_out W_O. Their sum plus b_O is attn_out."""
        return self.head_out @ self.W_O


@dataclass(frozen=True)
class CrossTrace(_Heads):
    """The cross-attention of a decoder block: N queries from the decoder's stream, M keys and values from the encoder's
    final vectors.
    """

    X: Tensor                # (N, d)        what the queries are made from (after the norm, in a pre-norm block)
    Q: Tensor                # (h, N, d_k)
    K: Tensor                # (h_kv, M, d_k)
    V: Tensor                # (h_kv, M, d_v)
    scores: Tensor           # (h, N, M)
    pattern: Tensor          # (h, N, M)     each row sums to 1 over the source
    head_out: Tensor         # (h, N, d_v)
    attn_out: Tensor         # (N, d)
    attn_added: Tensor       # (N, d)        what is added to the stream: attn_out, in a sandwich block its norm
    resid_post: Tensor       # (N, d)        the stream after the cross-attention, which the feed-forward part reads
    W_O: Tensor              # (h, d_v, d)   the model's own parameter, not a copy


@dataclass(frozen=True)
class BlockTrace(_Heads):
    """One block's inputs, steps and outputs."""

    resid_pre: Tensor        # (N, d)        the stream before the block
    X: Tensor                # (N, d)        what attention reads (after the norm, in a pre-norm or sandwich block)
    Q: Tensor                # (h, N, d_k)   X W_Q + b_Q, before any norm or rotation
    K: Tensor                # (h_kv, N, d_k)
    V: Tensor                # (h_kv, N, d_v)
    # (h, N, d_k) as the scores read it: normed, if the model norms its queries and keys, and turned, if
    # positions rotate; else Q itself
    Q_rotated: Tensor
    K_rotated: Tensor        # (h_kv, N, d_k)
    scores: Tensor           # (h, N, N)     q·k / sqrt(d_k), plus ALiBi or relative bias; before the mask
    allowed: Tensor          # (N, N) bool   which keys (columns) each query (row) may see
    pattern: Tensor          # (h, N, N)     softmax of the masked scores; each row sums to 1
    head_out: Tensor         # (h, N, d_v)   pattern V
    attn_out: Tensor         # (N, d)        the heads' contributions summed, plus b_O
    attn_added: Tensor       # (N, d)        what is added to the stream: attn_out, in a sandwich block its norm
    resid_mid: Tensor        # (N, d)        the stream after the (self-)attention
    # (N, d_ff) before the activation (the gate's argument, in a gated block); None without a feed-forward part, and in
    # a block of experts, where different neurons fire for each token
    mlp_pre: Tensor | None
    mlp_post: Tensor | None  # (N, d_ff)     after the activation (and times the up projection, in a gated block)
    mlp_out: Tensor | None   # (N, d)
    mlp_added: Tensor | None # (N, d)        what is added to the stream: mlp_out, in a sandwich block its norm
    resid_post: Tensor       # (N, d)        the stream after the block
    W_O: Tensor              # (h, d_v, d)   the model's own parameter, not a copy
    cross: CrossTrace | None = None        # of an encoder-decoder's decoder
    router_probs: Tensor | None = None     # (N, n_experts) each row sums to 1; None in a block without experts
    # (N, n_experts) what each expert's output is multiplied by; 0: the expert did not read the token
    expert_weights: Tensor | None = None


@dataclass(frozen=True)
class StackTrace:
    """One pass through a stack of blocks; by itself, the pass of an encoder-decoder's encoder, over M source tokens."""

    token_ids: Tensor                # (N,) int64, after any permutation
    embedding: Tensor                # (N, d)   rows of E, times the embedding scale
    position: Tensor | None          # (N, d)   what was added for the position; None if nothing is added
    blocks: tuple[BlockTrace, ...]
    resid_final: Tensor              # (N, d)   the stream after the last block
    # (N, d) after the final norm (resid_final itself in a post-norm or DeepNorm model); in an encoder, what every
    # decoder block's cross-attention reads
    h_final: Tensor

    @property
    def depths(self) -> list[Tensor]:
        """The stream (N, d) before each block, and after the last: L + 1 of them."""
        return [block.resid_pre for block in self.blocks] + [self.resid_final]


@dataclass(frozen=True)
class Trace(StackTrace):
    """One forward pass of a Transformer; in an encoder-decoder, of its decoder, with the encoder's pass beside it."""

    config: ModelConfig
    # (N, |V|) Transformer.unembedding times h_final (times h_head, if the model has one), plus b_U
    logits: Tensor
    # (n_classes,) from the classification head, which reads h_final of the first token, or its map by W_P
    class_logits: Tensor | None = None
    encoder: StackTrace | None = None          # of an encoder-decoder
    # (N, d) what was added for the text a token belongs to; None if nothing is added
    token_type: Tensor | None = None
    # (N, d) norm(act(h_final W_H + b_H)), which the unembedding of a model with a head's transform reads
    h_head: Tensor | None = None

    @property
    def probs(self) -> Tensor:
        """(N, |V|) the next-token distribution at every position: softmax of the logits."""
        return torch.softmax(self.logits, dim=-1)

    @property
    def n_tokens(self) -> int:
        return self.token_ids.shape[-1]

    def to(self, device: torch.device | str) -> Trace:
        """The same trace with every tensor on `device`; tensors that are there already are shared, not copied."""
        device = torch.device(device)
        return self if all(tensor.device == device for tensor in _tensors(self)) else _moved(self, device)

    @property
    def n_bytes(self) -> int:
        """Memory that this trace keeps alive, in bytes, weights not counted; a tensor with two names counts once."""
        storages = {t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() for t in _tensors(self)}
        return sum(storages.values())


RECORDS = (CrossTrace, BlockTrace, StackTrace, Trace)


def _moved(value, device: torch.device | str):
    """A record, or a tuple of records, with each of its tensors on `device`."""
    if isinstance(value, Tensor):
        return value.to(device)
    if isinstance(value, tuple):
        return tuple(_moved(entry, device) for entry in value)
    if isinstance(value, RECORDS):
        return dataclasses.replace(value, **{name: _moved(entry, device) for name, entry in vars(value).items()})
    return value


def _tensors(record: StackTrace) -> list[Tensor]:
    """Every tensor of a trace, except the weights that it names."""
    found, ahead = [], [record]
    while ahead:
        value = ahead.pop()
        if isinstance(value, Tensor):
            found.append(value)
        elif isinstance(value, tuple):
            ahead += value
        elif isinstance(value, RECORDS):
            ahead += [entry for name, entry in vars(value).items() if name != "W_O"]
    return found
