"""One block of a model, taken apart: what each of its parts made of every token's vector, in the order of its wiring,
and the same with another token's vector exchanged or with the norms at their other place.
"""
from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from core.model.block import Block
from core.model.config import ModelConfig
from core.model.trace import BlockTrace
from core.model.transformer import Transformer

PLACEMENTS = ("pre", "post")
# the rows of a block's two parts, of which a model has some, and those of the sums that they end in
ATTENTION, FEED_FORWARD = ("norm", "attention", "added"), ("norm2", "hidden", "mlp", "added2")


@dataclass(frozen=True)
class Row:
    """What one part gives for every token; `of` names the rows that it is computed of, the nearest last."""

    name: str
    of: tuple[str, ...]
    values: Tensor      # (N, d); of "hidden" (N, d_ff)


def can_be_shown(config: ModelConfig) -> bool:
    """Whether a block of this model has no more than an attention and a feed-forward part: a decoder behind an encoder
    has another attention between them.
    """
    return config.kind != "encoder-decoder"


def can_be_rewired(config: ModelConfig) -> bool:
    """Whether its norms can stand at the other one of PLACEMENTS: each part has one norm, before it or on its sum."""
    return config.norm_placement in PLACEMENTS and config.first_norm and not config.parallel_residual


def wiring(config: ModelConfig, layer: int) -> dict[str, tuple[str, ...]]:
    """The rows of a block in their order, from what enters it to what leaves it, each with the rows it is computed of.

    X enters; norm is what attention reads, attention what it writes, added what is added of that, where it differs;
    sum is a sum that a norm follows; O leaves attention's half; norm2, hidden, mlp, added2 and sum2 are the same of the
    feed-forward part, hidden its neurons; H leaves the block. A pre-norm block has X, norm, attention, O, norm2,
    hidden, mlp, H. A parallel one has no O: H is computed of X, attention and mlp.
    """
    absent = _absent(config, layer)
    first, second = (tuple(name for name in part if name not in absent) for part in (ATTENTION, FEED_FORWARD))
    if config.d_ff is None:
        return {"X": (), **_chain("X", first), **_summed(config, "X", first[-1], "sum", "H")}
    if config.parallel_residual:
        return {"X": (), **_chain("X", first), **_chain("norm" if config.shared_norm else "X", second),
                "H": ("X", first[-1], second[-1])}
    return {"X": (), **_chain("X", first), **_summed(config, "X", first[-1], "sum", "O"),
            **_chain("O", second), **_summed(config, "O", second[-1], "sum2", "H")}


def _absent(config: ModelConfig, layer: int) -> set[str]:
    """The rows of ATTENTION and FEED_FORWARD that this block does not have."""
    has = {"norm": config.reads_normed and (layer > 0 or config.first_norm),
           "norm2": config.reads_normed and not config.shared_norm, "hidden": not config.has_experts(layer),
           **dict.fromkeys(("added", "added2"), config.norms_output or config.residual_scale != 1)}
    return {name for name, holds in has.items() if not holds}


def _chain(start: str, names: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """Each of the rows computed of the one before it, the first of `start`."""
    return {name: (before,) for before, name in zip((start, *names), names)}


def _summed(config: ModelConfig, stream: str, added: str, total: str, end: str) -> dict[str, tuple[str, ...]]:
    """The sum of the stream and what is added to it: the row `end`, or where sums are normed `total` and its norm."""
    return {total: (stream, added), end: (total,)} if config.norms_sums else {end: (stream, added)}


def rows(model: Transformer, block: BlockTrace, layer: int,
         exchange: tuple[int, int] | None = None) -> tuple[Row, ...]:
    """The rows of a block's `wiring` with their numbers; for models that `can_be_shown`.

    exchange: the position at which the feed-forward part reads another token's vector, and that token's; with one
    position twice the block itself, by the very same operations.
    """
    weights, config = model.blocks[layer], model.config
    read = None
    if config.d_ff is not None:
        block, read = ((block, weights.read_by_feed_forward(block, config.norm)) if exchange is None
                       else exchanged(model, block, layer, *exchange))
    values = {"X": block.resid_pre, "norm": block.X, "attention": block.attn_out, "added": block.attn_added,
              "sum": weights.kept(block.resid_pre) + block.attn_added, "O": block.resid_mid,
              "norm2": read, "hidden": block.mlp_post, "mlp": block.mlp_out, "added2": block.mlp_added,
              "sum2": None if read is None else weights.kept(block.resid_mid) + block.mlp_added,
              "H": block.resid_post}
    return tuple(Row(name, of, values[name]) for name, of in wiring(config, layer).items())


def exchanged(model: Transformer, block: BlockTrace, layer: int, position: int,
              source: int) -> tuple[BlockTrace, Tensor]:
    """The block with O of `position` replaced by O of `source` before the feed-forward part reads it, and what that
    reads (N, d). In a parallel block, which has no O, it reads X so, and X and its sum stay.
    """
    weights, config = model.blocks[layer], model.config
    stream = "resid_pre" if config.parallel_residual else "resid_mid"
    vectors = getattr(block, stream).clone()
    vectors[..., position, :] = getattr(block, stream)[..., source, :]
    swapped = replace(block, **{stream: vectors})
    read = weights.read_by_feed_forward(swapped, config.norm)
    fed = _fed(weights, read)
    added = fed["mlp_out"] if weights.mlp_out_norm is None else weights.mlp_out_norm(fed["mlp_out"], config.norm)
    added = added if config.residual_scale == 1 else config.residual_scale * added
    total = weights.kept(swapped.resid_mid) + added
    after = weights.mlp_norm(total, config.norm) if config.norms_sums else total
    return replace(swapped, resid_pre=block.resid_pre, **fed, mlp_added=added, resid_post=after), read


def _fed(weights: Block, read: Tensor) -> dict[str, Tensor]:
    """What the feed-forward part makes of `read` (N, d). Experts read each token by itself: beside others a product's
    last bit depends on how many go to the same expert, and a token would seem to see them.
    """
    if weights.mixture is None:
        return weights.feed_forward(read)
    each = [weights.feed_forward(vector[None]) for vector in read]
    return {name: torch.cat([fed[name] for fed in each]) for name in each[0]}


def rewired(model: Transformer, placement: str) -> Transformer:
    """A model of the very same weights whose norms stand at `placement`, "pre" or "post"; for one that
    `can_be_rewired`. A final norm that the model does not have begins with gain 1. It was not trained like this: what
    it predicts makes no sense.
    """
    with torch.device("meta"):
        made = Transformer(replace(model.config, norm_placement=placement))
    weights = model.state_dict()
    for name, parameter in made.named_parameters():
        if name not in weights:
            weights[name] = torch.full(parameter.shape, float(name.endswith("weight")))
    made.load_state_dict(weights, strict=False, assign=True)
    return made.eval().requires_grad_(False)
