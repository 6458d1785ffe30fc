"""The inputs of a model's norms."""
from torch import Tensor

from core.model.block import Block
from core.model.config import ModelConfig
from core.model.norms import Norm
from core.model.trace import BlockTrace, Trace
from core.model.transformer import Transformer


def norm_places(config: ModelConfig) -> set[str]:
    """The places of the model's norms: "attention" and "mlp" (before or after each sublayer), "final" (after the last
    block), "embedding" (before the first block).
    """
    return {"attention"} | {place for place, stands in (("mlp", config.d_ff is not None),
                                                        ("final", not config.norms_sums),
                                                        ("embedding", config.embedding.embedding_norm)) if stands}


def norm_input(model: Transformer, trace: Trace, where: str, layer: int) -> tuple[Tensor, Norm]:
    """The input (N, d) of a norm of the model, and the norm itself. where: "attention" or "mlp" in block `layer`,
    "final" or "embedding".
    """
    block, weights, config = trace.blocks[layer], model.blocks[layer], model.config
    if where == "embedding":
        added = (part for part in (trace.embedding, trace.position, trace.token_type) if part is not None)
        return sum(added), model.embedding_norm
    if where == "final":
        return trace.resid_final, model.final_norm
    stream, written, norm, out_norm = (
        (block.resid_pre, block.attn_out, weights.attn_norm, weights.attn_out_norm) if where == "attention" else
        (block.resid_mid, block.mlp_out, weights.mlp_norm, weights.mlp_out_norm))
    if norm is None and out_norm is None:       # the first block reads what the embeddings' norm made (ModernBERT)
        return norm_input(model, trace, "embedding", layer)
    if norm is None:                # only what the sublayer wrote is normed
        return written, out_norm
    if config.norms_sums:
        return weights.kept(stream) + written, norm
    return (block.resid_pre if config.sublayer.parallel_residual else stream), norm


def feed_forward_input(weights: Block, block: BlockTrace, norm: str) -> Tensor:
    """(N, d) the input of a block's feed-forward part in a traced pass under this kind of norm."""
    stream = block.resid_mid if block.cross is None else block.cross.resid_post
    stream = block.resid_pre if weights.config.sublayer.parallel_residual else stream
    return weights.mlp_norm(stream, norm) if weights.config.reads_normed else stream
