"""One block of a model, taken apart: what each of its parts made of every token's vector, in the order of its wiring,
and the same with another token's vector exchanged or with the norms at their other place.
"""
from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from core.model.config import ModelConfig
from core.model.trace import BlockTrace
from core.model.transformer import Transformer

PLACEMENTS = ("pre", "post")


@dataclass(frozen=True)
class Row:
    """What one part gives for every token. name: "X" (what enters the block), "norm", "attention", "sum" (a sum that a
    norm follows), "O" (what leaves the attention's half), "hidden", "mlp", "H" (what leaves the block).
    """

    name: str
    values: Tensor      # (N, d); of "hidden" (N, d_ff)


def obstacle(config: ModelConfig) -> str:
    """What keeps a block from being shown as two parts, one after the other, each with one sum and one norm before or
    after it: "crossed", "experts", "one_part", "parallel", or the placement of norms that is another; "" for nothing.
    """
    has = {"crossed": config.kind == "encoder-decoder", "experts": config.n_experts > 0,
           "one_part": config.d_ff is None, "parallel": config.parallel_residual,
           config.norm_placement: config.norm_placement not in PLACEMENTS}
    return next((name for name, holds in has.items() if holds), "")


def can_be_shown(config: ModelConfig) -> bool:
    """Whether nothing keeps a block of this model from being shown."""
    return not obstacle(config)


def rows(model: Transformer, block: BlockTrace, layer: int) -> tuple[Row, ...]:
    """The eight rows of a block, from what enters to what leaves.

    Pre-norm: X, norm, attention, O = X + attention, norm, hidden, mlp, H = O + mlp. Post-norm: X, attention, sum,
    O = norm(sum), hidden, mlp, sum, H = norm(sum). For models that `can_be_shown`.
    """
    if model.config.norm_placement == "pre":
        read = model.blocks[layer].mlp_norm(block.resid_mid, model.config.norm)
        return (Row("X", block.resid_pre), Row("norm", block.X), Row("attention", block.attn_out),
                Row("O", block.resid_mid), Row("norm", read), Row("hidden", block.mlp_post),
                Row("mlp", block.mlp_out), Row("H", block.resid_post))
    return (Row("X", block.resid_pre), Row("attention", block.attn_out), Row("sum", block.resid_pre + block.attn_out),
            Row("O", block.resid_mid), Row("hidden", block.mlp_post), Row("mlp", block.mlp_out),
            Row("sum", block.resid_mid + block.mlp_out), Row("H", block.resid_post))


def exchanged(model: Transformer, block: BlockTrace, layer: int, position: int, source: int) -> BlockTrace:
    """The block with O of `position` replaced by O of `source` before the feed-forward part reads it; with position =
    source the block itself, by the very same operations. For models that `can_be_shown`.
    """
    weights, norm, before = model.blocks[layer], model.config.norm, model.config.reads_normed
    middle = block.resid_mid.clone()
    middle[..., position, :] = block.resid_mid[..., source, :]
    fed = weights.feed_forward(weights.mlp_norm(middle, norm) if before else middle)
    total = middle + fed["mlp_out"]
    return replace(block, resid_mid=middle, **fed, mlp_added=fed["mlp_out"],
                   resid_post=total if before else weights.mlp_norm(total, norm))


def rewired(model: Transformer, placement: str) -> Transformer:
    """A model of the very same weights whose norms stand at `placement`, "pre" or "post". A final norm that the model
    does not have begins with gain 1. It was not trained like this: what it predicts makes no sense.
    """
    with torch.device("meta"):
        made = Transformer(replace(model.config, norm_placement=placement))
    weights = model.state_dict()
    for name, parameter in made.named_parameters():
        if name not in weights:
            weights[name] = torch.full(parameter.shape, float(name.endswith("weight")))
    made.load_state_dict(weights, strict=False, assign=True)
    return made.eval().requires_grad_(False)
