"""The encoder of an encoder-decoder."""
from __future__ import annotations

from torch import Tensor, nn

from core.model import passes
from core.model.block import Block, traced
from core.model.config import ModelConfig
from core.model.edits import NO_EDITS
from core.model.feed_forward import parameter
from core.model.intervention import Intervention
from core.model.norms import Norm
from core.model.trace import StackTrace


def position_parameters(config: ModelConfig) -> tuple[nn.Parameter | None, nn.Parameter | None]:
    """The positions that one stack learns for all its blocks: P (n_context, d), and r (h, relative_buckets); None if
    the scheme has no such weights.
    """
    return (parameter(config.n_context, config.d_entering, present=config.positions == "learned"),
            parameter(config.n_heads, config.position_bias.relative_buckets, present=config.positions == "relative"))


class Encoder(nn.Module):
    """The encoder of an encoder-decoder: a stack whose every token sees every other. It reads the decoder's E."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.P, self.r = position_parameters(config)
        self.embedding_norm = Norm(config) if config.embedding.embedding_norm else None
        self.blocks = nn.ModuleList(Block(config, layer) for layer in range(config.n_encoder_layers))
        self.final_norm = None if config.norms_sums else Norm(config)


def encode_traced(model: nn.Module, source_ids: Tensor, intervention: Intervention) -> StackTrace:
    """The encoder's pass over source_ids (M,) or (B, M) with everything kept."""
    passes.check_tokens(model.config, source_ids)
    span, embedding = model._span(source_ids.shape[-1], stack=model.encoder), model.embed(source_ids)
    settings, position = passes.settings(span, passes.in_encoder(intervention)), passes.added_positions(span)
    x, blocks = model._entering(embedding, position, None, settings, model.encoder), []
    for block in model.encoder.blocks:
        blocks.append(traced(block, x, settings, NO_EDITS))
        x = blocks[-1].resid_post
    return StackTrace(source_ids, embedding, position, tuple(blocks), x, model._final(x, settings, model.encoder))
