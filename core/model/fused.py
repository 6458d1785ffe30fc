"""The faster way through a block, for training and generation: torch's fused attention, and a cache of keys and values.

Symbols as in core.model.block.
"""
from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from core.model import attention
from core.model.block import Attention, Block
from core.model.edits import NO_EDITS, HeadEdits
from core.model.kv_cache import KVCache
from core.model.pass_settings import PassSettings
from core.model.passes import cross_settings
from core.model.scores import matched


def lay_out(model: nn.Module) -> None:
    """Lay out in memory, as `project` needs them, the weights that it multiplies by: the same numbers, which it would
    otherwise copy in every pass.
    """
    for part in model.modules():
        if isinstance(part, Attention):
            for W in (part.W_Q, part.W_K, part.W_V):
                W.data = W.data.transpose(0, 1).contiguous().transpose(0, 1)


def attend(part: Attention, X: Tensor, source: Tensor, settings: PassSettings,
           cache: KVCache | None = None) -> dict[str, Tensor]:
    """attn_out alone, by torch's fused attention if the score allows it; keys and values of earlier tokens come
    from the cache.
    """
    _, _, V, Q, K = part.project_qkv(X, source, settings.angles)
    if cache is not None:
        K, V = cache.extend(part.layer, K, V)
    # for training in bfloat16: this one kernel is nearly twice as fast in float32 there
    with torch.autocast("cpu", enabled=False):
        head_out = (_fused_heads(part, Q, K, V, settings) if _can_fuse(part)
                    else _unfused_heads(part, Q, K, V, settings))
    return dict(attn_out=F.dropout(part.write(head_out), settings.dropout))


def _can_fuse(part: Attention) -> bool:
    """Whether torch's kernel knows these scores: products, neither capped nor beside a sink."""
    return part.v_S is None and part.sinks is None and not part.config.scores.score_cap


def _fused_heads(part: Attention, Q: Tensor, K: Tensor, V: Tensor, settings: PassSettings) -> Tensor:
    """(h, N, d_v) by torch's kernel; a mask is passed on only if the kernel cannot know it."""
    n_heads, n, bias = part.config.n_heads, Q.shape[-2], part.score_bias(settings)
    causal = settings.mask == "causal" and bias is None and n == K.shape[-2]
    # the last token alone may look at every other
    open_to_all = settings.mask == "bidirectional" or settings.mask == "causal" and n == 1
    mask = None if causal or (open_to_all and bias is None) else settings.allowed
    if bias is not None:
        mask = bias.to(Q.dtype).masked_fill(~settings.allowed, float("-inf"))
    return F.scaled_dot_product_attention(
        Q if part.W_S is None else Q @ part.W_S.to(Q.dtype),
        attention.share_heads(K, n_heads), attention.share_heads(V, n_heads), attn_mask=mask,
        is_causal=causal, dropout_p=settings.dropout,
        scale=1 / part.config.divisor if settings.scale_scores else 1.0)


def _unfused_heads(part: Attention, Q: Tensor, K: Tensor, V: Tensor, settings: PassSettings) -> Tensor:
    """(h, N, d_v) for scores that no fused kernel knows, at least in float32."""
    Q, K, V = (x.to(torch.promote_types(x.dtype, torch.float32)) for x in (Q, K, V))
    scores, bias = matched(part, Q, K, settings), part.score_bias(settings)
    weights = attention.masked_softmax(scores if bias is None else scores + bias, settings.allowed, part.sinks)
    return F.dropout(weights, settings.dropout) @ attention.share_heads(V, part.config.n_heads)


def fused(block: Block, x: Tensor, settings: PassSettings, cache: KVCache | None = None,
          memory: Tensor | None = None, edits: HeadEdits = NO_EDITS) -> Tensor:
    """(N, d) resid_post of one block over x (N, d) by the faster way; `cache` and `memory` as in `logits`. Only edits
    of whole sublayers are made.
    """
    def within(X: Tensor) -> dict[str, Tensor]:
        attn_out = attend(block, X, X, settings, cache)["attn_out"]
        return dict(attn_out=edits.on_sublayer(attn_out, block.layer, "attention"))

    def across(X: Tensor) -> dict[str, Tensor]:
        return attend(block.cross, X, memory, cross_settings(settings, memory.shape[-2]))

    return block(x, settings, within, edits, None if memory is None else across)["resid_post"]
