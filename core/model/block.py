"""One block of the transformer: its attention in two ways (everything kept, or fused), its feed-forward part, and its
wiring.

Symbols: N tokens, M source tokens (M = N if a text attends to itself), width d, h heads (h_kv of them with keys and
values of their own).
"""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from core.model import attention, positional
from core.model.config import ModelConfig
from core.model.experts import Mixture
from core.model.feed_forward import add_feed_forward, neurons, parameter, written
from core.model.intervention import NOTHING, HeadEdit, Intervention, SublayerEdit
from core.model.normalisation import deepnorm_constants
from core.model.norms import Norm, main_norm, output_norm, query_norm
from core.model.trace import BlockTrace, CrossTrace, Trace


@dataclass(frozen=True)
class PassSettings:
    """The settings of every block in one pass: the model's own choices, or the intervention's instead."""

    norm: str
    scale_scores: bool
    residual: bool
    allowed: Tensor                 # (N, M) bool
    mask: str = ""                  # the mask's name, if it has one
    angles: Tensor | None = None    # (N, rotary_width/2) rotary angles of the new tokens
    bias: Tensor | None = None      # (h, N, M) ALiBi, or the relative biases that all blocks share
    relative: Tensor | None = None  # (N, M) column of each block's relative bias
    dropout: float = 0.0
    score: str = "dot"
    score_seed: int = 0             # draws the weights of a score function that is not the model's own
    activation: str | None = None   # its curve replaces the model's own


class KVCache:
    """The keys and values of the tokens read so far, a pair (h_kv, M, d) for each block, or (B, h_kv, M, d) for B
    texts; `logits` reads and extends it.
    """

    def __init__(self) -> None:
        self.keys_and_values: dict[int, tuple[Tensor, Tensor]] = {}

    @property
    def n_tokens(self) -> int:
        return self.keys_and_values[0][0].shape[-2] if self.keys_and_values else 0

    @property
    def n_texts(self) -> int:
        return self.keys_and_values[0][0].shape[0] if self.keys_and_values else 0

    def extend(self, layer: int, K: Tensor, V: Tensor) -> tuple[Tensor, Tensor]:
        """All keys and values of this layer, the new ones last."""
        if layer in self.keys_and_values:
            old_K, old_V = self.keys_and_values[layer]
            K, V = torch.cat([old_K, K], dim=-2), torch.cat([old_V, V], dim=-2)
        self.keys_and_values[layer] = (K, V)
        return K, V

    def of(self, rows: Sequence[int]) -> KVCache:
        """A cache whose text i is text rows[i] of this cache, which stays as it is."""
        chosen = KVCache()
        chosen.keys_and_values = {layer: (K[rows], V[rows]) for layer, (K, V) in self.keys_and_values.items()}
        return chosen

    def repeated(self, n: int) -> KVCache:
        """A cache of n texts that all begin with the text of this cache, which stays as it is."""
        copies = KVCache()
        copies.keys_and_values = {layer: (K.expand(n, -1, -1, -1), V.expand(n, -1, -1, -1))
                                  for layer, (K, V) in self.keys_and_values.items()}
        return copies


def project(X: Tensor, W: Tensor, b: Tensor | None) -> Tensor:
    """(..., h, N, k) from X (..., N, d) and W (h, d, k): X W + b for every head, as one product."""
    n_heads, d, k = W.shape
    out = F.linear(X, W.transpose(0, 1).reshape(d, n_heads * k).T, None if b is None else b.flatten())
    return out.unflatten(-1, (n_heads, k)).transpose(-3, -2)


def lay_out(model: nn.Module) -> None:
    """Lay out in memory, as `project` needs them, the weights that it multiplies by: the same numbers, which it would
    otherwise copy in every pass.
    """
    for part in model.modules():
        if isinstance(part, Attention):
            for W in (part.W_Q, part.W_K, part.W_V):
                W.data = W.data.transpose(0, 1).contiguous().transpose(0, 1)


class Attention(nn.Module):
    """One attention's weights, and the two ways through it: with everything kept, or fused."""

    def __init__(self, config: ModelConfig, layer: int) -> None:
        super().__init__()
        self.config, self.layer = config, layer
        d, h, h_kv, d_k, d_v = config.d_model, config.n_heads, config.n_kv_heads, config.d_k, config.d_v
        self.W_Q, self.b_Q = parameter(h, d, d_k), parameter(h, d_k, present=config.attention_bias)
        self.W_K, self.b_K = parameter(h_kv, d, d_k), parameter(h_kv, d_k, present=config.attention_bias)
        self.W_V, self.b_V = parameter(h_kv, d, d_v), parameter(h_kv, d_v, present=config.attention_bias)
        self.W_O, self.b_O = parameter(h, d_v, d), parameter(d, present=config.writes_bias)
        self.q_norm, self.k_norm = query_norm(config, h), query_norm(config, h_kv)
        self.sinks = parameter(h, present=config.attention_sinks)
        self.W_S = parameter(h, d_k, d_k, present=config.score == "multiplicative")
        self.v_S = parameter(h, d_k, present=config.score == "additive")

    def project_qkv(self, X: Tensor, source: Tensor,
                    angles: Tensor | None) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        """Q (h, N, d_k) of X, K (h_kv, M, d_k) and V (h_kv, M, d_v) of source, and Q and K as the scores take them:
        normed, if the model norms them, and turned by rotary positions.
        """
        Q = project(X, self.W_Q, self.b_Q)
        K, V = project(source, self.W_K, self.b_K), project(source, self.W_V, self.b_V)
        q, k = (Q, K) if self.q_norm is None else (self.normed(Q, self.q_norm), self.normed(K, self.k_norm))
        if angles is not None:
            q, k = (positional.rotate(x, angles, self.config.rotary_gain) for x in (q, k))
        return Q, K, V, q, k

    def normed(self, x: Tensor, norm: Norm) -> Tensor:
        """Queries or keys (..., h, N, d_k), each normed by itself or together with those of its token's other heads."""
        if self.config.qk_norm_heads:
            return norm(x)
        if not self.config.qk_norm_joint:
            return norm(x, "rmsnorm")
        together = x.transpose(-3, -2)
        return norm(together.flatten(-2), "rmsnorm").unflatten(-1, together.shape[-2:]).transpose(-3, -2)

    def scores(self, Q: Tensor, K: Tensor, settings: PassSettings) -> Tensor:
        """(h, N, M) how well each query matches each key, by the pass's score function: the model's own, or another
        with random weights; capped, if the model caps its scores.
        """
        return attention.capped(self._matched(Q, K, settings), self.config.score_cap)

    def _matched(self, Q: Tensor, K: Tensor, settings: PassSettings) -> Tensor:
        config, score = self.config, settings.score
        K = attention.share_heads(K, config.n_heads)
        if score == "dot":
            return attention.dot_product_scores(Q, K, scale=settings.scale_scores, divisor=config.divisor)
        if score == "cosine":
            return attention.cosine_scores(Q, K)
        weights = self.W_S if score == "multiplicative" else self.v_S
        if score != config.score:
            weights = attention.random_score_weights(score, config.n_heads, config.d_k, settings.score_seed,
                                                     self.layer).to(Q)
        if score == "multiplicative":
            return attention.multiplicative_scores(Q, K, weights, scale=settings.scale_scores, divisor=config.divisor)
        return attention.additive_scores(Q, K, weights)

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
        scores, bias = self.scores(Q_rotated, K_rotated, settings), self.score_bias(settings)
        if bias is not None:
            scores = scores + bias
        pattern = edits.on_pattern(attention.masked_softmax(scores, settings.allowed, self.sinks), settings.allowed,
                                   self.layer)
        head_out = edits.on_head_out(pattern @ attention.share_heads(V, self.config.n_heads), self.layer)
        attn_out = edits.on_sublayer(self.write(head_out), self.layer, "attention")
        return dict(Q=Q, K=K, V=V, Q_rotated=Q_rotated, K_rotated=K_rotated, scores=scores, pattern=pattern,
                    head_out=head_out, attn_out=attn_out, allowed=settings.allowed)

    def attend_fused(self, X: Tensor, source: Tensor, settings: PassSettings,
                     cache: KVCache | None = None) -> dict[str, Tensor]:
        """attn_out alone, by torch's fused attention if the score allows it; keys and values of earlier tokens come
        from the cache.
        """
        _, _, V, Q, K = self.project_qkv(X, source, settings.angles)
        if cache is not None:
            K, V = cache.extend(self.layer, K, V)
        # for training in bfloat16: this one kernel is nearly twice as fast in float32 there
        with torch.autocast("cpu", enabled=False):
            head_out = (self._fused_heads(Q, K, V, settings) if self._can_fuse
                        else self._unfused_heads(Q, K, V, settings))
        return dict(attn_out=F.dropout(self.write(head_out), settings.dropout))

    @property
    def _can_fuse(self) -> bool:
        """Whether torch's kernel knows these scores: products, neither capped nor beside a sink."""
        return self.v_S is None and self.sinks is None and not self.config.score_cap

    def _fused_heads(self, Q: Tensor, K: Tensor, V: Tensor, settings: PassSettings) -> Tensor:
        """(h, N, d_v) by torch's kernel; a mask is passed on only if the kernel cannot know it."""
        n_heads, n, bias = self.config.n_heads, Q.shape[-2], self.score_bias(settings)
        causal = settings.mask == "causal" and bias is None and n == K.shape[-2]
        # the last token alone may look at every other
        open_to_all = settings.mask == "bidirectional" or settings.mask == "causal" and n == 1
        mask = None if causal or (open_to_all and bias is None) else settings.allowed
        if bias is not None:
            mask = bias.to(Q.dtype).masked_fill(~settings.allowed, float("-inf"))
        return F.scaled_dot_product_attention(
            Q if self.W_S is None else Q @ self.W_S.to(Q.dtype),
            attention.share_heads(K, n_heads), attention.share_heads(V, n_heads), attn_mask=mask,
            is_causal=causal, dropout_p=settings.dropout,
            scale=1 / self.config.divisor if settings.scale_scores else 1.0)

    def _unfused_heads(self, Q: Tensor, K: Tensor, V: Tensor, settings: PassSettings) -> Tensor:
        """(h, N, d_v) for scores that no fused kernel knows, at least in float32."""
        Q, K, V = (x.to(torch.promote_types(x.dtype, torch.float32)) for x in (Q, K, V))
        scores, bias = self.scores(Q, K, settings), self.score_bias(settings)
        weights = attention.masked_softmax(scores if bias is None else scores + bias, settings.allowed, self.sinks)
        return F.dropout(weights, settings.dropout) @ attention.share_heads(V, self.config.n_heads)


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
        self.attn_norm = None if layer == 0 and not config.first_norm else main_norm(config)
        self.attn_out_norm = output_norm(config)
        self.r = parameter(config.n_heads, 2 * config.relative_max_distance + 1,
                           present=config.positions == "relative" and not config.relative_buckets)
        self.cross = CrossAttention(config, layer) if crossed else None
        self.mixture = Mixture(config) if config.has_experts(layer) else None
        if config.d_ff is not None:
            self.mlp_norm = self.attn_norm if config.shared_norm else main_norm(config)
            self.mlp_out_norm = output_norm(config)
        if config.d_ff is not None and self.mixture is None:
            add_feed_forward(self, config, config.d_ff)

    def feed_forward(self, x: Tensor, activation: str | None = None) -> dict[str, Tensor]:
        """BlockTrace's fields of the feed-forward part, with neurons or experts, for its input x (N, d)."""
        if self.mixture is not None:
            probs, weights, out = self.mixture(x, activation)
            return dict(router_probs=probs, expert_weights=weights, mlp_out=out)
        pre, post = neurons(self, x, self.config.activation, activation)
        return dict(mlp_pre=pre, mlp_post=post, mlp_out=written(self, post))

    def read_by_feed_forward(self, block: BlockTrace, norm: str) -> Tensor:
        """(N, d) the input of the feed-forward part in a traced pass under this kind of norm."""
        stream = block.resid_mid if block.cross is None else block.cross.resid_post
        stream = block.resid_pre if self.config.parallel_residual else stream
        return self.mlp_norm(stream, norm) if self.config.reads_normed else stream

    def kept(self, stream: Tensor) -> Tensor:
        """The stream as it enters a residual sum: α times itself under DeepNorm, else itself."""
        return stream if self.alpha == 1 else self.alpha * stream

    def forward(self, x: Tensor, settings: PassSettings, attend, edits: HeadEdits,
                attend_across=None) -> dict[str, Tensor | dict | None]:
        """The block's wiring: x (N, d) is resid_pre, `attend` and `attend_across` take one of the two ways; return the
        tensors of all parts, by BlockTrace's names.
        """
        before, after, share = self.config.reads_normed, self.config.norms_sums, self.config.residual_scale

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
            read = x if self.config.parallel_residual else stream
            fed = self.feed_forward(self.mlp_norm(read, settings.norm) if before else read, settings.activation)
            out = edits.on_sublayer(F.dropout(fed["mlp_out"], settings.dropout), self.layer, "mlp")
            mlp_added, stream = add(stream, out, self.mlp_norm, self.mlp_out_norm)
            parts |= fed | dict(mlp_out=out, mlp_added=mlp_added)
        return parts | dict(resid_post=stream)


class HeadEdits:
    """The intervention's edits, with the mean activations that they put in; without edits every method
    returns its argument.
    """

    def __init__(self, intervention: Intervention, reference: Trace | None) -> None:
        self.intervention, self.reference = intervention, reference

    def on_pattern(self, pattern: Tensor, allowed: Tensor, layer: int) -> Tensor:
        for edit in self._on_heads(layer, uniform=True):
            pattern = pattern.clone()
            pattern[..., edit.head, :, :] = attention.uniform_pattern(allowed, pattern.dtype)
        return pattern

    def on_head_out(self, head_out: Tensor, layer: int) -> Tensor:
        for edit in self._on_heads(layer, uniform=False):
            head_out = head_out.clone()
            head_out[..., edit.head, :, :] = self._apply(head_out[..., edit.head, :, :], edit,
                                                         lambda block, head=edit.head: block.head_out[head])
        return head_out

    def on_sublayer(self, out: Tensor, layer: int, sublayer: str) -> Tensor:
        for edit in self.intervention.sublayers:
            if (edit.layer, edit.sublayer) == (layer, sublayer):
                out = self._apply(out, edit,
                                  lambda block: block.attn_out if sublayer == "attention" else block.mlp_out)
        return out

    def _on_heads(self, layer: int, uniform: bool) -> list[HeadEdit]:
        return [edit for edit in self.intervention.heads
                if edit.layer == layer and (edit.action == "uniform") == uniform]

    def _apply(self, x: Tensor, edit: HeadEdit | SublayerEdit, output_of: Callable[[BlockTrace], Tensor]) -> Tensor:
        """x (..., N, k) set to zero, scaled, or set at every position to its mean in the reference run; `output_of`
        finds it in a block.
        """
        if edit.action == "mean":
            return output_of(self.reference.blocks[edit.layer]).mean(dim=-2).expand_as(x)
        return x * (0.0 if edit.action == "zero" else edit.factor)


NO_EDITS = HeadEdits(NOTHING, None)


class GivenOutputs(HeadEdits):
    """Replace the sublayers' own outputs by given ones, (layer, "attention" or "mlp") -> (..., N, d).

    They are vectors, which no Intervention can hold.
    """

    def __init__(self, outputs: Mapping[tuple[int, str], Tensor]) -> None:
        super().__init__(NOTHING, None)
        self.outputs = outputs

    def on_sublayer(self, out: Tensor, layer: int, sublayer: str) -> Tensor:
        return self.outputs.get((layer, sublayer), out)


def cross_settings(settings: PassSettings, n_source: int) -> PassSettings:
    """The settings for cross-attention: every query sees all n_source source tokens, and positions add nothing."""
    allowed = attention.mask("bidirectional", settings.allowed.shape[-2], n_source, device=settings.allowed.device)
    return replace(settings, allowed=allowed, mask="bidirectional", angles=None, bias=None, relative=None)


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


def fused(block: Block, x: Tensor, settings: PassSettings, cache: KVCache | None = None,
          memory: Tensor | None = None, edits: HeadEdits = NO_EDITS) -> Tensor:
    """(N, d) resid_post of one block over x (N, d) by the faster way; `cache` and `memory` as in `logits`. Only edits
    of whole sublayers are made.
    """
    def attend(X: Tensor) -> dict[str, Tensor]:
        attn_out = block.attend_fused(X, X, settings, cache)["attn_out"]
        return dict(attn_out=edits.on_sublayer(attn_out, block.layer, "attention"))

    def across(X: Tensor) -> dict[str, Tensor]:
        return block.cross.attend_fused(X, memory, cross_settings(settings, memory.shape[-2]))

    return block(x, settings, attend, edits, None if memory is None else across)["resid_post"]
