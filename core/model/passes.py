"""How one pass is set up, as pure functions: which keys each token sees and what positions turn or add, for the whole
pass and for each block; and the checks of what a pass is given.

Symbols: n tokens that the pass reads, and `total` keys: those of earlier tokens, held by a cache, and their own.
"""
from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from core.model import masks, positional
from core.model.config import ModelConfig
from core.model.intervention import NOTHING, Intervention
from core.model.pass_settings import PassSettings


@dataclass(frozen=True, eq=False)
class Span:
    """The tokens that one stack reads in one pass, and that stack's weights for their positions."""

    config: ModelConfig
    E: Tensor                   # all else is made on its device and in its number format
    n: int                      # tokens read
    start: int = 0              # tokens before them, whose keys and values a cache holds
    P: Tensor | None = None     # (n_context, d) the stack's learned positions
    r: Tensor | None = None     # (h, relative_buckets) the relative biases that its blocks share
    encoder: bool = False       # whether the stack is an encoder-decoder's encoder

    @property
    def total(self) -> int:
        return self.start + self.n


def added_positions(span: Span, change: Intervention = NOTHING) -> Tensor | None:
    """(n, d) the addition to the embeddings at positions start … start + n − 1; None if the scheme adds nothing."""
    config = span.config
    positions = change.positions or config.positions
    if positions == "learned":
        return span.P[span.start:span.total]
    if positions == "sinusoidal":
        waves = positional.sinusoidal(span.total, config.d_entering, halves=config.embedding.sinusoidal_halves)
        return waves[span.start:].to(span.E.dtype).to(span.E.device)
    return None


def _angles(span: Span, base: float) -> Tensor:
    """(n, rotary_width/2) the angles of positions start … start + n − 1; only rotary_base's are slowed."""
    config, slowed = span.config, base == span.config.rotary.rotary_base
    return positional.rotary_angles(span.n, config.rotary_width, base, start=span.start,
                                    scaling=config.rotary.rotary_scaling if slowed else (),
                                    factors=config.rotary.rotary_factors if slowed else ())


def _score_bias(span: Span, positions: str) -> Tensor | None:
    """(h, n, total) the addition of positions to the scores, the same in all blocks of a stack; None if they add
    nothing, or something different in each block.
    """
    config, n, total = span.config, span.n, span.total
    shared = config.position_bias
    if positions == "alibi":
        bias = (positional.rounded_alibi_bias(n, total, config.n_heads, config.divisor) if shared.rounded_alibi
                else positional.alibi_bias(n, total, config.n_heads))
        return bias.to(span.E.dtype).to(span.E.device)
    if positions == "relative" and shared.relative_buckets:
        both_sides = config.kind == "encoder" or span.encoder
        return span.r[:, positional.relative_buckets(n, total, shared.relative_buckets, shared.relative_max_distance,
                                                     both_sides=both_sides, device=span.E.device)]
    return None


def _allowed(span: Span, mask: str, window: int | None) -> Tensor:
    """(n, total) bool where a query may look under this mask; its window is the model's own unless one is given."""
    return masks.mask(mask, span.n, span.total, window or span.config.scores.window, device=span.E.device)


def _mask(span: Span, change: Intervention) -> tuple[str, Tensor]:
    """The mask's name, "" for a mask given key by key; and (n, total) bool, where a query may look."""
    if change.allowed is None:
        mask = change.mask or span.config.mask
        return mask, _allowed(span, mask, change.window)
    allowed = torch.tensor(change.allowed, dtype=torch.bool, device=span.E.device)
    if allowed.shape != (span.n, span.n):
        raise ValueError(f"The mask given is {tuple(allowed.shape)}, but the prompt has {span.n} tokens: it must "
                         f"be ({span.n}, {span.n}).")
    return "", allowed


def settings(span: Span, change: Intervention = NOTHING, dropout: float = 0.0) -> PassSettings:
    """The settings of a pass: the model's own choices, or those of the change. Raises ValueError for a given mask that
    is not (n, n).
    """
    config, positions = span.config, change.positions or span.config.positions
    mask, allowed = _mask(span, change)
    return PassSettings(
        norm=change.norm or config.norm, activation=change.activation,
        scale_scores=config.scores.scale_scores if change.scale_scores is None else change.scale_scores,
        score=change.score or config.score, score_seed=change.score_seed, residual=change.residual,
        allowed=allowed, mask=mask, dropout=dropout,
        angles=_angles(span, config.rotary.rotary_base) if positions == "rotary" else None,
        bias=_score_bias(span, positions),
        relative=positional.relative_index(span.n, span.total, config.position_bias.relative_max_distance,
                                           device=span.E.device)
                 if positions == "relative" and not config.position_bias.relative_buckets else None)


def block_settings(span: Span, common: PassSettings, change: Intervention = NOTHING) -> tuple[PassSettings, ...]:
    """The settings of each block: `common`, those of the pass, with the block's own mask and angles if blocks differ
    and the change asks for no others. Blocks that are alike share theirs.
    """
    config = span.config
    own_masks = bool(config.scores.block_masks) and change.mask is None and change.allowed is None
    own_bases = bool(config.rotary.block_rotary_bases) and change.positions is None

    def own(mask: str | None, base: float | None) -> PassSettings:
        changes = {}
        if mask is not None:
            changes |= dict(mask=mask, allowed=_allowed(span, mask, change.window))
        if base is not None:
            changes |= dict(angles=_angles(span, base) if base else None)
        return replace(common, **changes)

    kinds = [(config.mask_of(layer) if own_masks else None, config.rotary.base_of(layer) if own_bases else None)
             for layer in range(config.n_layers)]
    made = {kind: own(*kind) for kind in set(kinds)}
    return tuple(made[kind] for kind in kinds)


def in_encoder(change: Intervention = NOTHING) -> Intervention:
    """The part of a change to an encoder-decoder that holds in its encoder: all but masks and positions. Its tokens all
    see each other.
    """
    return replace(change, mask="bidirectional", window=None, allowed=None, positions=None)


def cross_settings(settings: PassSettings, n_source: int) -> PassSettings:
    """The settings for cross-attention: every query sees all n_source source tokens, and positions add nothing."""
    allowed = masks.mask("bidirectional", settings.allowed.shape[-2], n_source, device=settings.allowed.device)
    return replace(settings, allowed=allowed, mask="bidirectional", angles=None, bias=None, relative=None)


# ---- plain messages for what would otherwise fail deep inside --------------------------------------------------------


def check_tokens(config: ModelConfig, token_ids: Tensor, start: int = 0, change: Intervention = NOTHING) -> None:
    """Raises ValueError for no tokens in token_ids (N,) or (B, N), for more than the model learned positions, with the
    `start` ones before them, and for an id outside the vocabulary, which a compiled pass does not look for.
    """
    n = start + token_ids.shape[-1]
    if token_ids.shape[-1] == 0:
        raise ValueError("There is no token to read: give the model at least one.")
    if (change.positions or config.positions) == "learned" and n > config.n_context:
        raise ValueError(f"This model learned {config.n_context} positions, and the text has {n} tokens: shorten it.")
    if not torch.compiler.is_compiling() and not bool(((token_ids >= 0) & (token_ids < config.vocab_size)).all()):
        raise ValueError(f"A token id lies outside the vocabulary of {config.vocab_size} tokens.")


def check_change(config: ModelConfig, change: Intervention, n: int) -> None:
    """Raises ValueError for a change, in a pass over n tokens, to a layer, a head, a neuron, a sublayer or a position
    that is not there, or for a permutation of another number of tokens.
    """
    if change.permutation is not None and len(change.permutation) != n:
        raise ValueError(f"The permutation is of {len(change.permutation)} tokens, but the prompt has {n}.")
    looks = change.weights + change.scores
    edits = change.heads + looks + change.neurons + change.sublayers
    for what, index, count in ([("layer", edit.layer, config.n_layers) for edit in edits]
                               + [("head", edit.head, config.n_heads) for edit in change.heads + looks]
                               + [("neuron", edit.neuron, config.d_ff or 0) for edit in change.neurons]
                               + [("position", at, n) for edit in looks for at in (edit.query, edit.key)]):
        if not 0 <= index < count:
            raise ValueError(f"There is no {what} {index}: this model has {what}s 0 to {count - 1}.")
    if any(config.experts.in_block(edit.layer) for edit in change.neurons):
        raise ValueError("This block has experts, whose neurons differ from token to token.")
    if config.d_ff is None and any(edit.sublayer == "mlp" for edit in change.sublayers):
        raise ValueError("This model has no feed-forward part to change.")
    for patch in change.patches:
        if not (0 <= patch.layer <= config.n_layers and 0 <= patch.position < n
                and 0 <= patch.source_position < len(patch.source_ids)):
            raise ValueError("A patch names a layer or a position that is not there.")


def check_source(config: ModelConfig, given: bool) -> None:
    """Raises ValueError unless a source is given to a model that translates, and to no other."""
    if given != (config.kind == "encoder-decoder"):
        raise ValueError("This model has no encoder: give it one text only." if given
                         else "This model translates: give it a source text as well.")
