"""How one pass is set up: its masks, angles and biases, for the whole model and for each block, and the checks of its
inputs.
"""
from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor, nn

from core.model import attention, positional
from core.model.block import PassSettings
from core.model.intervention import NOTHING, Intervention

NEEDS_SOURCE = "This model translates: give it a source text as well."
NO_SOURCE = "This model has no encoder: give it one text only."


def settings(model: nn.Module, n: int, start: int, change: Intervention, dropout: float = 0.0,
             stack: nn.Module | None = None) -> PassSettings:
    """The settings of a pass over n new tokens that follow `start` cached ones; `stack` is the encoder, if it is an
    encoder-decoder's.
    """
    config, device, total = model.config, model.device, start + n
    positions, mask = change.positions or config.positions, change.mask or config.mask
    if change.allowed is None:
        allowed = attention.mask(mask, n, total, change.window or config.window, device=device)
    else:
        mask, allowed = "", torch.tensor(change.allowed, dtype=torch.bool, device=device)
        if allowed.shape != (n, n):
            raise ValueError(f"The mask given is {tuple(allowed.shape)}, but the prompt has {n} tokens: it must "
                             f"be ({n}, {n}).")
    return PassSettings(
        norm=change.norm or config.norm, activation=change.activation,
        scale_scores=config.scale_scores if change.scale_scores is None else change.scale_scores,
        score=change.score or config.score, score_seed=change.score_seed, residual=change.residual,
        allowed=allowed, mask=mask, dropout=dropout,
        angles=angles(model, config.rotary_base, n, start) if positions == "rotary" else None,
        bias=score_bias(model, positions, n, total, stack or model),
        relative=positional.relative_index(n, total, config.relative_max_distance, device=device)
                 if positions == "relative" and not config.relative_buckets else None)


def of_encoder(model: nn.Module, decoder: PassSettings, n: int) -> PassSettings:
    """The decoder's settings, for n source tokens that all see each other."""
    own = settings(model, n, 0, Intervention(mask="bidirectional"), stack=model.encoder)
    return replace(decoder, mask=own.mask, allowed=own.allowed, angles=own.angles, bias=own.bias,
                   relative=own.relative)


def of_blocks(model: nn.Module, settings: PassSettings, n: int, start: int,
              change: Intervention) -> tuple[PassSettings, ...]:
    """The settings of each block: those of the pass, with the block's own mask and angles where blocks differ and
    the intervention asks for no others. Blocks that are alike share theirs.
    """
    config = model.config
    own_masks = bool(config.block_masks) and change.mask is None and change.allowed is None
    own_bases = bool(config.block_rotary_bases) and change.positions is None

    def own(mask: str | None, base: float | None) -> PassSettings:
        changes = {}
        if mask is not None:
            changes |= dict(mask=mask, allowed=attention.mask(mask, n, start + n, change.window or config.window,
                                                              device=model.device))
        if base is not None:
            changes |= dict(angles=angles(model, base, n, start) if base else None)
        return replace(settings, **changes)

    kinds = [(config.mask_of(layer) if own_masks else None, config.rotary_base_of(layer) if own_bases else None)
             for layer in range(config.n_layers)]
    made = {kind: own(*kind) for kind in set(kinds)}
    return tuple(made[kind] for kind in kinds)


def angles(model: nn.Module, base: float, n: int, start: int) -> Tensor:
    """(n, rotary_width/2) the angles of positions start … start + n − 1; only rotary_base's are slowed."""
    slowed = base == model.config.rotary_base
    return positional.rotary_angles(n, model.config.rotary_width, base, start=start,
                                    scaling=model.config.rotary_scaling if slowed else (),
                                    factors=model.config.rotary_factors if slowed else ())


def score_bias(model: nn.Module, positions: str, n: int, total: int, stack: nn.Module) -> Tensor | None:
    """(h, n, total) what positions add to the scores of all blocks of a stack alike; None where they add nothing,
    or to each block something of its own.
    """
    config = model.config
    if positions == "alibi":
        bias = (positional.rounded_alibi_bias(n, total, config.n_heads, config.divisor) if config.rounded_alibi
                else positional.alibi_bias(n, total, config.n_heads))
        return bias.to(model.E.dtype).to(model.device)
    if positions == "relative" and config.relative_buckets:
        both_sides = config.kind == "encoder" or stack is not model
        return stack.r[:, positional.relative_buckets(n, total, config.relative_buckets,
                                                      config.relative_max_distance, both_sides=both_sides,
                                                      device=model.device)]
    return None


def added_positions(model: nn.Module, n: int, start: int, change: Intervention,
                    stack: nn.Module | None = None) -> Tensor | None:
    """(n, d) what is added to the embeddings of positions start … start + n − 1; None where the
    scheme adds nothing.
    """
    positions = change.positions or model.config.positions
    if positions == "learned":
        return (stack or model).P[start:start + n]
    if positions == "sinusoidal":
        waves = positional.sinusoidal(start + n, model.config.d_entering, halves=model.config.sinusoidal_halves)
        return waves[start:].to(model.E.dtype).to(model.device)
    return None


def check(model: nn.Module, token_ids: Tensor, intervention: Intervention, start: int = 0) -> None:
    """Plain messages for what would otherwise fail deep inside."""
    config, n = model.config, start + token_ids.shape[-1]
    if token_ids.shape[-1] == 0:
        raise ValueError("There is no token to read: give the model at least one.")
    if (config.positions == "learned" and (intervention.positions or "learned") == "learned"
            and n > config.n_context):
        raise ValueError(f"This model learned {config.n_context} positions, and the text has {n} "
                         f"tokens: shorten it.")
    if not torch.compiler.is_compiling() and not bool(((token_ids >= 0) & (token_ids < config.vocab_size)).all()):
        raise ValueError(f"A token id lies outside the vocabulary of {config.vocab_size} tokens.")
    edits = intervention.heads + intervention.sublayers
    for what, index, count in ([("layer", edit.layer, config.n_layers) for edit in edits]
                               + [("head", edit.head, config.n_heads) for edit in intervention.heads]):
        if not 0 <= index < count:
            raise ValueError(f"There is no {what} {index}: this model has {what}s 0 to {count - 1}.")
    if config.d_ff is None and any(edit.sublayer == "mlp" for edit in intervention.sublayers):
        raise ValueError("This model has no feed-forward part to change.")
    for patch in intervention.patches:
        if not (0 <= patch.layer <= config.n_layers and 0 <= patch.position < n
                and 0 <= patch.source_position < len(patch.source_ids)):
            raise ValueError("A patch names a layer or a position that is not there.")


def checked_source(model: nn.Module, source_ids: Tensor | None) -> Tensor:
    if model.encoder is None or source_ids is None:
        raise ValueError(NO_SOURCE if model.encoder is None else NEEDS_SOURCE)
    check(model, source_ids, NOTHING)
    return source_ids
