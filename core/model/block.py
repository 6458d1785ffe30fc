"""One block of the transformer: its attention, its feed-forward part, and its wiring. The faster way through it is
core.model.fused.

Symbols: N tokens, M source tokens (M = N if a text attends to itself), width d, h heads (h_kv of them with keys and
values of their own).
"""
from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor, nn

from core.model import attention, positional
from core.model.config import ModelConfig
from core.model.edits import NO_EDITS, HeadEdits
from core.model.experts import Mixture
from core.model.feed_forward import add_feed_forward, neurons, parameter, written
from core.model.norms import Norm, deepnorm_constants, main_norm, norm_heads, output_norm, query_norm
from core.model.pass_settings import PassSettings
from core.model.passes import cross_settings
from core.model.scores import matched
from core.model.trace import BlockTrace, CrossTrace


class Attention(nn.Module):
    """One attention's weights, and the way through it with everything kept."""

    def __init__(self, config: ModelConfig, layer: int) -> None:
        super().__init__()
        self.config, self.layer = config, layer
        d, h, h_kv, d_k, d_v = config.d_model, config.n_heads, config.n_kv_heads, config.d_k, config.d_v
        self.W_Q, self.b_Q = parameter(h, d, d_k), parameter(h, d_k, present=config.attention_bias)
        self.W_K, self.b_K = parameter(h_kv, d, d_k), parameter(h_kv, d_k, present=config.attention_bias)
        self.W_V, self.b_V = parameter(h_kv, d, d_v), parameter(h_kv, d_v, present=config.attention_bias)
        self.W_O, self.b_O = parameter(h, d_v, d), parameter(d, present=config.writes_bias)
        self.q_norm, self.k_norm = query_norm(config, h), query_norm(config, h_kv)
        self.sinks = parameter(h, present=config.scores.attention_sinks)
        self.W_S = parameter(h, d_k, d_k, present=config.score == "multiplicative")
        self.v_S = parameter(h, d_k, present=config.score == "additive")

    def project_qkv(self, X: Tensor, source: Tensor,
                    angles: Tensor | None) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        """Q (h, N, d_k) of X, K (h_kv, M, d_k) and V (h_kv, M, d_v) of source, and Q and K as the scores take them:
        normed, if the model norms them, and turned by rotary positions.
        """
        Q = attention.project(X, self.W_Q, self.b_Q)
        K, V = attention.project(source, self.W_K, self.b_K), attention.project(source, self.W_V, self.b_V)
        q, k = (Q, K) if self.q_norm is None else (norm_heads(x, norm, self.config)
                                                   for x, norm in ((Q, self.q_norm), (K, self.k_norm)))
        if angles is not None:
            q, k = (positional.rotate(x, angles, self.config.rotary.rotary_gain) for x in (q, k))
        return Q, K, V, q, k

    def score_bias(self, settings: PassSettings) -> Tensor | None:
        """(h, N, M) what positions add to the scores: ALiBi, relative biases of this block or shared by all, or
        nothing.
        """
        return settings.bias if settings.relative is None else self.r[:, settings.relative]

    def write(self, head_out: Tensor) -> Tensor:
        """(..., N, d) attn_out from head_out (..., h, N, d_v): every head times its W_O, summed, plus b_O."""
        return F.linear(head_out.transpose(-3, -2).flatten(-2), self.W_O.flatten(0, 1).T, self.b_O)

    def attend_traced(self, X: Tensor, source: Tensor, settings: PassSettings, edits: HeadEdits) -> dict[str, Tensor]:
        """Attention with every step kept: the fields of BlockTrace from Q to attn_out.

        Queries from X (N, d), keys and values from source (M, d).
        """
        Q, K, V, Q_rotated, K_rotated = self.project_qkv(X, source, settings.angles)
        scores, bias = matched(self, Q_rotated, K_rotated, settings), self.score_bias(settings)
        scores = edits.on_scores(scores if bias is None else scores + bias, self.layer)
        pattern = edits.on_pattern(attention.masked_softmax(scores, settings.allowed, self.sinks), settings.allowed,
                                   self.layer)
        head_out = edits.on_head_out(pattern @ attention.share_heads(V, self.config.n_heads), self.layer)
        attn_out = edits.on_sublayer(self.write(head_out), self.layer, "attention")
        return dict(Q=Q, K=K, V=V, Q_rotated=Q_rotated, K_rotated=K_rotated, scores=scores, pattern=pattern,
                    head_out=head_out, attn_out=attn_out, allowed=settings.allowed)


class CrossAttention(Attention):
    """A decoder's attention to the encoder's final vectors, with its norm. Positions play no part in it."""

    def __init__(self, config: ModelConfig, layer: int) -> None:
        super().__init__(config, layer)
        self.norm, self.out_norm = main_norm(config), output_norm(config)


class Block(Attention):
    """Attention and feed-forward around one stretch of the residual stream; in an encoder-decoder's decoder,
    cross-attention between them.
    """

    def __init__(self, config: ModelConfig, layer: int, crossed: bool = False) -> None:
        super().__init__(config, layer)
        self.alpha, _ = deepnorm_constants(config, encoder=config.kind == "encoder-decoder" and not crossed)
        self.attn_norm = None if layer == 0 and not config.sublayer.first_norm else main_norm(config)
        self.attn_out_norm = output_norm(config)
        self.r = parameter(config.n_heads, 2 * config.position_bias.relative_max_distance + 1,
                           present=config.positions == "relative" and not config.position_bias.relative_buckets)
        self.cross = CrossAttention(config, layer) if crossed else None
        self.mixture = (Mixture(config.d_model, config.experts, config.activation, config.mlp_bias)
                        if config.experts.in_block(layer) else None)
        if config.d_ff is not None:
            self.mlp_norm = self.attn_norm if config.sublayer.shared_norm else main_norm(config)
            self.mlp_out_norm = output_norm(config)
        if config.d_ff is not None and self.mixture is None:
            add_feed_forward(self, config.d_model, config.d_ff, config.activation, config.mlp_bias)

    def feed_forward(self, x: Tensor, activation: str | None = None) -> dict[str, Tensor]:
        """BlockTrace's fields of the feed-forward part, with neurons or experts, for its input x (N, d)."""
        if self.mixture is not None:
            probs, weights, out = self.mixture(x, activation)
            return dict(router_probs=probs, expert_weights=weights, mlp_out=out)
        pre, post = neurons(self, x, self.config.activation, activation)
        return dict(mlp_pre=pre, mlp_post=post, mlp_out=written(self, post))

    def kept(self, stream: Tensor) -> Tensor:
        """The stream as it enters a residual sum: α times itself under DeepNorm, else itself."""
        return stream if self.alpha == 1 else self.alpha * stream

    def forward(self, x: Tensor, settings: PassSettings, attend, edits: HeadEdits,
                attend_across=None) -> dict[str, Tensor | dict | None]:
        """The block's wiring, from x (N, d), its resid_pre, to the tensors of all parts by BlockTrace's names; `attend`
        and `attend_across` take one of the two ways."""
        before, after, share = self.config.reads_normed, self.config.norms_sums, self.config.sublayer.residual_scale

        def add(stream: Tensor, written: Tensor, norm: Norm | None, out_norm: Norm | None) -> tuple[Tensor, Tensor]:
            """The addition to the stream, and the stream after it."""
            added = written if out_norm is None else out_norm(written, settings.norm)
            added = added if share == 1 else share * added
            total = self.kept(stream) + added if settings.residual else added
            return added, norm(total, settings.norm) if after else total

        X = self.attn_norm(x, settings.norm) if before and self.attn_norm is not None else x
        parts = attend(X)
        attn_added, stream = add(x, parts["attn_out"], self.attn_norm, self.attn_out_norm)
        parts |= dict(resid_pre=x, X=X, attn_added=attn_added, resid_mid=stream, mlp_pre=None, mlp_post=None,
                      mlp_out=None, mlp_added=None, cross=None)
        if attend_across is not None:
            X = self.cross.norm(stream, settings.norm) if before else stream
            crossed = attend_across(X)
            attn_added, stream = add(stream, crossed["attn_out"], self.cross.norm, self.cross.out_norm)
            parts["cross"] = dict(crossed, X=X, attn_added=attn_added, resid_post=stream)
        if self.config.d_ff is not None:
            read = x if self.config.sublayer.parallel_residual else stream
            read = self.mlp_norm(read, settings.norm) if before else read
            fed = edits.on_feed_forward(self.feed_forward(read, settings.activation), self)
            out = F.dropout(fed["mlp_out"], settings.dropout)
            mlp_added, stream = add(stream, out, self.mlp_norm, self.mlp_out_norm)
            parts |= fed | dict(mlp_out=out, mlp_added=mlp_added)
        return parts | dict(resid_post=stream)


def traced(block: Block, x: Tensor, settings: PassSettings, edits: HeadEdits,
           memory: Tensor | None = None) -> BlockTrace:
    """One block's pass over x (N, d) with everything kept; `memory` (M, d) is the input of its cross-attention."""
    def across(X: Tensor) -> dict[str, Tensor]:
        steps = block.cross.attend_traced(X, memory, cross_settings(settings, memory.shape[-2]), NO_EDITS)
        return {name: steps[name] for name in ("Q", "K", "V", "scores", "pattern", "head_out", "attn_out")}

    parts = block(x, settings, lambda X: block.attend_traced(X, X, settings, edits), edits,
                  None if memory is None else across)
    if memory is not None:
        parts["cross"] = CrossTrace(W_O=block.cross.W_O, **parts["cross"])
    return BlockTrace(W_O=block.W_O, **parts)
