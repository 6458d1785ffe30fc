"""One block of a model, taken apart: what each of its parts made of every token's vector, in the order of its wiring;
the same with one token's vector exchanged for another's, or with the norms at their other place.
"""
from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from core.analysis.norm_inputs import feed_forward_input
from core.model import masks
from core.model.block import Block
from core.model.config import ModelConfig
from core.model.edits import NO_EDITS
from core.model.norms import Norm
from core.model.pass_settings import PassSettings
from core.model.trace import BlockTrace, CrossTrace
from core.model.transformer import Transformer

PLACEMENTS = ("pre", "post")


@dataclass(frozen=True)
class Part:
    """One part of a block: its name, its rows up to its addition to the stream (a model has some of them), the sum that
    a norm follows, and the row of the stream after it.
    """

    name: str
    rows: tuple[str, ...]
    sum: str
    end: str


ATTENTION = Part("attention", ("norm", "attention", "added"), "sum", "O")
CROSS = Part("cross", ("cross_norm", "cross", "cross_added"), "cross_sum", "C")
FEED_FORWARD = Part("mlp", ("norm2", "hidden", "mlp", "added2"), "sum2", "H")


@dataclass(frozen=True)
class Row:
    """The values of one row for every token; `of` names the rows that it is computed from, the nearest last."""

    name: str
    of: tuple[str, ...]
    values: Tensor      # (N, d); of "hidden" (N, d_ff)


@dataclass(frozen=True)
class Exchange:
    """An exchange before one part: at `position`, that part and all later ones read the vector of the token at
    `source`. With source = position the block stays as it is, by the very same operations.
    """

    before: str         # "cross" or "mlp"
    position: int
    source: int


def parts(config: ModelConfig) -> tuple[Part, ...]:
    """The parts of a model's blocks in their order; the decoder behind an encoder also has cross-attention."""
    has = {CROSS: config.kind == "encoder-decoder", FEED_FORWARD: config.d_ff is not None}
    return tuple(part for part in (ATTENTION, CROSS, FEED_FORWARD) if has.get(part, True))


def can_be_rewired(config: ModelConfig) -> bool:
    """Whether its norms can stand at the other of PLACEMENTS: each part has one norm, before it or on its sum, and
    there is one stack; an encoder before it would give another memory.
    """
    return (config.norm_placement in PLACEMENTS and config.sublayer.first_norm and not config.sublayer.parallel_residual
            and config.kind != "encoder-decoder")


def wiring(config: ModelConfig, layer: int) -> dict[str, tuple[str, ...]]:
    """The rows of a block in their order, from what enters it to what leaves it, each with the rows it is computed
    from.

    X enters; norm is what attention reads, attention what it writes, added what is then added to the stream, if it
    differs; sum is a sum that a norm follows; O is the stream after it. cross_norm, cross, cross_added, cross_sum and C
    are the same for cross-attention, which also reads the encoder's final vectors, the memory; norm2, hidden, mlp,
    added2 and sum2 for the feed-forward part, hidden its neurons. H leaves the block, after whichever part is its last.
    A pre-norm block has X, norm, attention, O, norm2, hidden, mlp, H. A parallel one has no O: H is computed from X,
    attention and mlp.
    """
    absent, found = _absent(config, layer), {"X": ()}
    stream, added = "X", []
    for part in parts(config):
        names = [name for name in part.rows if name not in absent]
        found |= _chain("norm" if config.sublayer.shared_norm and part == FEED_FORWARD else stream, names)
        added.append(names[-1])
        if config.sublayer.parallel_residual and part == ATTENTION:
            continue
        end = "H" if part == parts(config)[-1] else part.end
        found |= {part.sum: (stream, *added), end: (part.sum,)} if config.norms_sums else {end: (stream, *added)}
        stream, added = end, []
    return found


def _absent(config: ModelConfig, layer: int) -> set[str]:
    """The rows of parts that this block does not have."""
    has = {"norm": config.reads_normed and (layer > 0 or config.sublayer.first_norm), "cross_norm": config.reads_normed,
           "norm2": config.reads_normed and not config.sublayer.shared_norm,
            "hidden": not config.experts.in_block(layer),
           **dict.fromkeys(("added", "cross_added", "added2"),
                            config.norms_output or config.sublayer.residual_scale != 1)}
    return {name for name, holds in has.items() if not holds}


def _chain(start: str, names: list[str]) -> dict[str, tuple[str, ...]]:
    """Each row, computed from the row before it, the first from `start`."""
    return {name: (before,) for before, name in zip((start, *names), names)}


def rows(model: Transformer, block: BlockTrace, layer: int, exchange: Exchange | None = None,
         memory: Tensor | None = None) -> tuple[Row, ...]:
    """The rows of a block's `wiring` with their numbers. memory (M, d): the final vectors of an encoder-decoder's
    encoder, which an exchange needs.
    """
    weights, config = model.blocks[layer], model.config
    read = None
    if exchange is not None:
        block, read = exchanged(model, block, layer, exchange, memory)
    elif config.d_ff is not None:
        read = feed_forward_input(weights, block, config.norm)
    values = _values(weights, block, read)
    return tuple(Row(name, of, values[name]) for name, of in wiring(config, layer).items())


def _values(weights: Block, block: BlockTrace, read: Tensor | None) -> dict[str, Tensor | None]:
    """Every row that a block of any wiring may have, with its numbers; read (N, d): what its feed-forward part reads.
    """
    cross, stream = block.cross, block.resid_mid
    values = {"X": block.resid_pre, "norm": block.X, "attention": block.attn_out, "added": block.attn_added,
              "sum": weights.kept(block.resid_pre) + block.attn_added, "O": stream, "norm2": read,
              "hidden": block.mlp_post, "mlp": block.mlp_out, "added2": block.mlp_added, "H": block.resid_post}
    if cross is not None:
        values |= {"cross_norm": cross.X, "cross": cross.attn_out, "cross_added": cross.attn_added,
                   "cross_sum": weights.kept(stream) + cross.attn_added, "C": cross.resid_post}
        stream = cross.resid_post
    return values if read is None else values | {"sum2": weights.kept(stream) + block.mlp_added}


def exchanged(model: Transformer, block: BlockTrace, layer: int, exchange: Exchange,
              memory: Tensor | None = None) -> tuple[BlockTrace, Tensor | None]:
    """The block from the exchange on, and the input (N, d) of its feed-forward part, if it has one. The vector is
    exchanged in the stream before the part; in a parallel block, in the X that the part reads, while X itself and its
    sum stay.
    """
    weights, config = model.blocks[layer], model.config
    if block.cross is not None:
        block = _crossed(weights, _swapped(block.resid_mid, exchange, "cross"), block, memory)
    if config.d_ff is None:
        return block, None
    if config.sublayer.parallel_residual:
        changed = replace(block, resid_pre=_swapped(block.resid_pre, exchange, "mlp"))
    elif block.cross is not None:
        stream = _swapped(block.cross.resid_post, exchange, "mlp")
        changed = replace(block, cross=replace(block.cross, resid_post=stream))
    else:
        changed = replace(block, resid_mid=_swapped(block.resid_mid, exchange, "mlp"))
    read = feed_forward_input(weights, changed, config.norm)
    fed = _fed(weights, read)
    stream = changed.resid_mid if changed.cross is None else changed.cross.resid_post
    added, after = _summed(weights, stream, fed["mlp_out"], weights.mlp_norm, weights.mlp_out_norm)
    return replace(changed, resid_pre=block.resid_pre, **fed, mlp_added=added, resid_post=after), read


def _swapped(stream: Tensor, exchange: Exchange, before: str) -> Tensor:
    """The stream (N, d) that a part reads: with the other token's vector, if it is exchanged before that part."""
    if exchange.before != before:
        return stream
    vectors = stream.clone()
    vectors[..., exchange.position, :] = stream[..., exchange.source, :]
    return vectors


def _crossed(weights: Block, stream: Tensor, block: BlockTrace, memory: Tensor) -> BlockTrace:
    """The block with `stream` (N, d) as O and the output of cross-attention for it; it ends there if it has no other
    part.
    """
    config, cross = weights.config, weights.cross
    X = cross.norm(stream, config.norm) if config.reads_normed else stream
    every = masks.mask("bidirectional", stream.shape[-2], memory.shape[-2], device=memory.device)
    settings = PassSettings(norm=config.norm, scale_scores=config.scores.scale_scores, residual=True, allowed=every,
                            mask="bidirectional", score=config.score)
    steps = cross.attend_traced(X, memory, settings, NO_EDITS)
    added, after = _summed(weights, stream, steps["attn_out"], cross.norm, cross.out_norm)
    kept = {name: step for name, step in steps.items() if name in vars(block.cross)}
    return replace(block, resid_mid=stream, resid_post=after,
                   cross=CrossTrace(**kept, X=X, attn_added=added, resid_post=after, W_O=cross.W_O))


def _summed(weights: Block, stream: Tensor, written: Tensor, norm: Norm | None,
            out_norm: Norm | None) -> tuple[Tensor, Tensor]:
    """The addition to the stream from a part's output (N, d), and the stream after it."""
    config = weights.config
    added = written if out_norm is None else out_norm(written, config.norm)
    added = added if config.sublayer.residual_scale == 1 else config.sublayer.residual_scale * added
    total = weights.kept(stream) + added
    return added, norm(total, config.norm) if config.norms_sums else total


def _fed(weights: Block, read: Tensor) -> dict[str, Tensor]:
    """The feed-forward part's fields for `read` (N, d). Experts read each token by itself: in a batch, a product's last
    bit depends on how many tokens go to the same expert, and a token would seem to see the others.
    """
    if weights.mixture is None:
        return weights.feed_forward(read)
    each = [weights.feed_forward(vector[None]) for vector in read]
    return {name: torch.cat([fed[name] for fed in each]) for name in each[0]}


@dataclass(frozen=True)
class WithReLU:
    """One token's neurons with ReLU for the activation's curve: the number that are 0, and the share of the length of
    the feed-forward part's output by which it differs. A gate stays a gate.
    """

    zeros: int
    share: float


def with_relu(weights: Block, read: Tensor) -> WithReLU:
    """ReLU in a block of neurons, for the vector (d,) that its feed-forward part reads."""
    own, other = (weights.feed_forward(read[None], activation) for activation in (None, "relu"))
    apart = (other["mlp_out"] - own["mlp_out"]).norm() / own["mlp_out"].norm()
    return WithReLU(int((other["mlp_post"] == 0).sum()), float(apart))


def rewired(model: Transformer, placement: str) -> Transformer:
    """A model of the very same weights whose norms stand at `placement`, "pre" or "post"; for a model that
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
