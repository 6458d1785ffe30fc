"""The transformer, in the notes' algebra: row vectors, right multiplication, per-head W_Q W_K W_V W_O, tied E.

Symbols: N tokens, width d, h heads (h_kv of them with keys and values of their own), d_k, d_v, L blocks, |V| tokens in the vocabulary.

    x      = E[token_ids] + P                                     (N, d)
    X      = norm(x)                                              (N, d)      pre-norm; a post-norm block normalises its sums instead
    Q K V  = X W_Q + b_Q, X W_K + b_K, X W_V + b_V                (h, N, d_k), (h_kv, N, d_k), (h_kv, N, d_v)
    A      = softmax(Q Kᵀ / sqrt(d_k) + mask)                     (h, N, N)
    x      = x + Σ_heads (A V) W_O + b_O                          (N, d)
    x      = x + act(norm(x) W_1 + b_1) W_2 + b_2                 (N, d)
    logits = norm(x) Eᵀ                                           (N, |V|)

`forward` returns all of it as a Trace and stores nothing. `logits` takes the faster road (fused attention, a cache of keys and values) for
training and generation; a test holds the two equal.
"""
from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from core import attention, positional
from core.activation import activate
from core.config import ModelConfig
from core.intervention import NOTHING, Intervention
from core.normalisation import normalise
from core.trace import BlockTrace, Trace


class Norm(nn.Module):
    """Gain α (`weight`) and bias β of one norm; which norm it is, is the pass's to say."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.epsilon = config.norm_epsilon
        self.weight = nn.Parameter(torch.ones(config.d_model))
        self.bias = nn.Parameter(torch.zeros(config.d_model)) if config.norm_bias else None

    def forward(self, x: Tensor, kind: str) -> Tensor:
        return normalise(x, kind, self.weight, self.bias, self.epsilon)


@dataclass(frozen=True)
class PassSettings:
    """What holds for every block of one pass: the model's own choices, or the intervention's instead."""

    norm: str
    scale_scores: bool
    residual: bool
    allowed: Tensor                 # (N, M) bool
    angles: Tensor | None           # (N, d_k/2) rotary angles of the new tokens
    bias: Tensor | None             # (h, N, M) ALiBi
    relative: Tensor | None         # (N, M) column of each block's relative bias
    dropout: float = 0.0


class KVCache:
    """The keys and values of the tokens read so far, a pair (h_kv, M, d) a block; `logits` reads and extends it."""

    def __init__(self) -> None:
        self.keys_and_values: dict[int, tuple[Tensor, Tensor]] = {}

    @property
    def n_tokens(self) -> int:
        return self.keys_and_values[0][0].shape[-2] if self.keys_and_values else 0

    def extend(self, layer: int, K: Tensor, V: Tensor) -> tuple[Tensor, Tensor]:
        """All keys and values of this layer, the new ones last."""
        if layer in self.keys_and_values:
            old_K, old_V = self.keys_and_values[layer]
            K, V = torch.cat([old_K, K], dim=-2), torch.cat([old_V, V], dim=-2)
        self.keys_and_values[layer] = (K, V)
        return K, V


def project(X: Tensor, W: Tensor, b: Tensor | None) -> Tensor:
    """(..., h, N, k) from X (..., N, d) and W (h, d, k): X W + b for every head, as one product."""
    n_heads, d, k = W.shape
    out = (X @ W.transpose(0, 1).reshape(d, n_heads * k)).unflatten(-1, (n_heads, k)).transpose(-3, -2)
    return out if b is None else out + b[:, None]


class Block(nn.Module):
    """Attention and feed-forward around one stretch of the residual stream."""

    def __init__(self, config: ModelConfig, layer: int) -> None:
        super().__init__()
        self.config, self.layer = config, layer
        d, h, h_kv, d_k, d_v, d_ff = config.d_model, config.n_heads, config.n_kv_heads, config.d_k, config.d_v, config.d_ff

        def parameter(*shape: int, present: bool = True) -> nn.Parameter | None:
            return nn.Parameter(torch.zeros(shape)) if present else None

        self.attn_norm = Norm(config)
        self.W_Q, self.b_Q = parameter(h, d, d_k), parameter(h, d_k, present=config.attention_bias)
        self.W_K, self.b_K = parameter(h_kv, d, d_k), parameter(h_kv, d_k, present=config.attention_bias)
        self.W_V, self.b_V = parameter(h_kv, d, d_v), parameter(h_kv, d_v, present=config.attention_bias)
        self.W_O, self.b_O = parameter(h, d_v, d), parameter(d, present=config.attention_bias)
        self.r = parameter(h, 2 * config.relative_max_distance + 1, present=config.positions == "relative")
        if d_ff is not None:
            self.mlp_norm = Norm(config)
            self.W_gate, self.b_gate = parameter(d, d_ff, present=config.gated), parameter(d_ff, present=config.gated and config.mlp_bias)
            self.W_1, self.b_1 = parameter(d, d_ff), parameter(d_ff, present=config.mlp_bias)
            self.W_2, self.b_2 = parameter(d_ff, d), parameter(d, present=config.mlp_bias)

    def project_qkv(self, X: Tensor, angles: Tensor | None) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        """Q (h, N, d_k), K (h_kv, N, d_k), V (h_kv, N, d_v), and Q and K as turned by rotary positions."""
        Q, K, V = project(X, self.W_Q, self.b_Q), project(X, self.W_K, self.b_K), project(X, self.W_V, self.b_V)
        if angles is None:
            return Q, K, V, Q, K
        return Q, K, V, positional.rotate(Q, angles), positional.rotate(K, angles)

    def score_bias(self, settings: PassSettings) -> Tensor | None:
        """(h, N, M) what positions add to the scores of this block: ALiBi, the block's relative biases, or nothing."""
        return settings.bias if settings.relative is None else self.r[:, settings.relative]

    def write(self, head_out: Tensor) -> Tensor:
        """(..., N, d) attn_out from head_out (..., h, N, d_v): every head times its W_O, summed, plus b_O."""
        out = head_out.transpose(-3, -2).flatten(-2) @ self.W_O.flatten(0, 1)
        return out if self.b_O is None else out + self.b_O

    def feed_forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """mlp_pre (N, d_ff), mlp_post (N, d_ff), mlp_out (N, d) from x (N, d), N equal two-layer networks side by side."""
        up = F.linear(x, self.W_1.T, self.b_1)
        if self.W_gate is None:
            pre, post = up, activate(self.config.activation, up)
        else:
            pre = F.linear(x, self.W_gate.T, self.b_gate)
            post = activate(self.config.activation, pre) * up
        return pre, post, F.linear(post, self.W_2.T, self.b_2)

    def attend_traced(self, X: Tensor, settings: PassSettings, edits: "HeadEdits") -> dict[str, Tensor]:
        """Attention with every step kept: the fields of BlockTrace from Q to attn_out."""
        Q, K, V, Q_rotated, K_rotated = self.project_qkv(X, settings.angles)
        n_heads = self.config.n_heads
        scores = attention.dot_product_scores(Q_rotated, attention.share_heads(K_rotated, n_heads), scale=settings.scale_scores)
        bias = self.score_bias(settings)
        if bias is not None:
            scores = scores + bias
        pattern = edits.on_pattern(attention.masked_softmax(scores, settings.allowed), settings.allowed, self.layer)
        head_out = edits.on_head_out(pattern @ attention.share_heads(V, n_heads), self.layer)
        attn_out = edits.on_sublayer(self.write(head_out), self.layer, "attention")
        return dict(Q=Q, K=K, V=V, Q_rotated=Q_rotated, K_rotated=K_rotated, scores=scores, pattern=pattern, head_out=head_out,
                    attn_out=attn_out, allowed=settings.allowed)

    def attend_fused(self, X: Tensor, settings: PassSettings, cache: KVCache | None) -> dict[str, Tensor]:
        """attn_out alone, by torch's fused attention; keys and values of earlier tokens come from the cache."""
        _, _, V, Q, K = self.project_qkv(X, settings.angles)
        if cache is not None:
            K, V = cache.extend(self.layer, K, V)
        n_heads, bias = self.config.n_heads, self.score_bias(settings)
        causal = self.config.mask == "causal" and bias is None and Q.shape[-2] == K.shape[-2]
        mask = None if causal else settings.allowed if bias is None else bias.to(Q.dtype).masked_fill(~settings.allowed, float("-inf"))
        with torch.autocast("cpu", enabled=False):    # for training in bfloat16: this one kernel is nearly twice as fast in float32 there
            head_out = F.scaled_dot_product_attention(
                Q, attention.share_heads(K, n_heads), attention.share_heads(V, n_heads), attn_mask=mask, is_causal=causal,
                dropout_p=settings.dropout, scale=None if settings.scale_scores else 1.0)
        return dict(attn_out=F.dropout(self.write(head_out), settings.dropout))

    def forward(self, x: Tensor, settings: PassSettings, attend, edits: "HeadEdits") -> dict[str, Tensor | None]:
        """The block's wiring: x (N, d) is resid_pre, `attend` one of the two roads above; returns what both made, by BlockTrace's names."""
        before = self.config.norm_placement == "pre"

        def add(stream: Tensor, written: Tensor, norm: Norm) -> Tensor:
            total = stream + written if settings.residual else written
            return total if before else norm(total, settings.norm)

        X = self.attn_norm(x, settings.norm) if before else x
        parts = attend(X)
        parallel = self.config.parallel_residual
        resid_mid = add(x, parts["attn_out"], self.attn_norm)
        parts |= dict(resid_pre=x, X=X, resid_mid=resid_mid, mlp_pre=None, mlp_post=None, mlp_out=None, resid_post=resid_mid)
        if self.config.d_ff is not None:
            read = x if parallel else resid_mid
            pre, post, out = self.feed_forward(self.mlp_norm(read, settings.norm) if before else read)
            out = edits.on_sublayer(F.dropout(out, settings.dropout), self.layer, "mlp")
            parts |= dict(mlp_pre=pre, mlp_post=post, mlp_out=out, resid_post=add(resid_mid, out, self.mlp_norm))
        return parts


class HeadEdits:
    """The intervention's edits, with the mean activations that they put in; without edits every method returns its argument."""

    def __init__(self, intervention: Intervention, reference: Trace | None) -> None:
        self.intervention, self.reference = intervention, reference

    def on_pattern(self, pattern: Tensor, allowed: Tensor, layer: int) -> Tensor:
        edits = [e for e in self.intervention.heads if e.layer == layer and e.action == "uniform"]
        if edits:
            pattern = pattern.clone()
            for edit in edits:
                pattern[..., edit.head, :, :] = attention.uniform_pattern(allowed, pattern.dtype)
        return pattern

    def on_head_out(self, head_out: Tensor, layer: int) -> Tensor:
        edits = [e for e in self.intervention.heads if e.layer == layer and e.action != "uniform"]
        if edits:
            head_out = head_out.clone()
            for edit in edits:
                mean = self.reference.blocks[layer].head_out[edit.head].mean(dim=-2) if edit.action == "mean" else None
                head_out[..., edit.head, :, :] = self._apply(head_out[..., edit.head, :, :], edit, mean)
        return head_out

    def on_sublayer(self, out: Tensor, layer: int, sublayer: str) -> Tensor:
        for edit in self.intervention.sublayers:
            if edit.layer == layer and edit.sublayer == sublayer:
                mean = None
                if edit.action == "mean":
                    block = self.reference.blocks[layer]
                    mean = (block.attn_out if sublayer == "attention" else block.mlp_out).mean(dim=-2)
                out = self._apply(out, edit, mean)
        return out

    @staticmethod
    def _apply(x: Tensor, edit, mean: Tensor | None) -> Tensor:
        """x (..., N, k) set to zero, to `mean` (k,) at every position, or scaled."""
        if edit.action == "mean":
            return mean.expand_as(x)
        return x * (0.0 if edit.action == "zero" else edit.factor)


NO_EDITS = HeadEdits(NOTHING, None)


class Transformer(nn.Module):
    """A decoder-only or encoder-only transformer.

    Parameters: E (|V|, d); P (n_context, d) with learned positions; blocks[l]; final_norm in a pre-norm model; W_U (|V|, d) if untied.
    A new model's weights are zero: call `initialise`, or load a checkpoint. One model serves many threads at once: no call but
    `initialise` writes to it.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        self.E = nn.Parameter(torch.zeros(config.vocab_size, config.d_model))
        self.P = nn.Parameter(torch.zeros(config.n_context, config.d_model)) if config.positions == "learned" else None
        self.blocks = nn.ModuleList(Block(config, layer) for layer in range(config.n_layers))
        self.final_norm = Norm(config) if config.norm_placement == "pre" else None
        self.W_U = None if config.tied_embeddings else nn.Parameter(torch.zeros(config.vocab_size, config.d_model))

    @property
    def unembedding(self) -> Tensor:
        """(|V|, d) whose rows are multiplied with h_final for the logits: E itself where tied."""
        return self.E if self.W_U is None else self.W_U

    @property
    def device(self) -> torch.device:
        return self.E.device

    @property
    def n_parameters(self) -> int:
        return sum(p.numel() for p in self.parameters())

    @torch.no_grad()
    def initialise(self, generator: torch.Generator) -> "Transformer":
        """Random weights: maps with variance 1/fan-in, those that write to the stream divided by sqrt(2L), E and P with standard deviation 0.02."""
        writes = ("W_O", "W_2")
        for name, p in self.named_parameters():
            short = name.rsplit(".", 1)[-1]
            if short in ("E", "P", "W_U", "r"):
                p.normal_(0.0, 0.02, generator=generator)
            elif short.startswith("W_"):
                fan_in = p.shape[0] * p.shape[1] if short == "W_O" else p.shape[-2]
                p.normal_(0.0, fan_in ** -0.5 / ((2 * self.config.n_layers) ** 0.5 if short in writes else 1.0), generator=generator)
        return self

    def forward(self, token_ids: Tensor, intervention: Intervention = NOTHING) -> Trace:
        """Everything that one pass over token_ids (N,) or (B, N), int64, computes.

        Raises ValueError for no tokens, an id outside the vocabulary, more tokens than learned positions, or an edit of a head or layer that is not there.
        """
        if intervention.permutation is not None:
            token_ids = token_ids[..., self._checked_permutation(intervention.permutation, token_ids.shape[-1])]
        self._check(token_ids, intervention)
        settings = self._settings(token_ids.shape[-1], 0, intervention)
        edits = HeadEdits(intervention, self._reference(intervention)) if intervention.heads or intervention.sublayers else NO_EDITS
        embedding = self.E[token_ids]
        position = self._added_positions(token_ids.shape[-1], 0, intervention)
        x = embedding if position is None else embedding + position
        patches, blocks = self._patch_vectors(intervention), []
        for layer, block in enumerate(self.blocks):
            x = self._patched(x, layer, patches)
            parts = block(x, settings, lambda X, block=block: block.attend_traced(X, settings, edits), edits)
            blocks.append(BlockTrace(W_O=block.W_O, **parts))
            x = blocks[-1].resid_post
        x = self._patched(x, self.config.n_layers, patches)
        h_final = self._final(x, settings)
        return Trace(self.config, token_ids, embedding, position, tuple(blocks), x, h_final, h_final @ self.unembedding.T)

    def logits(self, token_ids: Tensor, cache: KVCache | None = None, dropout: float = 0.0, last_only: bool = False) -> Tensor:
        """(N, |V|) the logits alone, by the faster road; (1, |V|) of the last token with `last_only`.

        With a cache, token_ids are the tokens that follow those already in it, and the cache is extended in place.
        """
        start = cache.n_tokens if cache is not None else 0
        self._check(token_ids, NOTHING, start)
        settings = self._settings(token_ids.shape[-1], start, NOTHING, dropout)
        position = self._added_positions(token_ids.shape[-1], start, NOTHING)
        x = self.E[token_ids] if position is None else self.E[token_ids] + position
        x = F.dropout(x, dropout)
        for block in self.blocks:
            x = block(x, settings, lambda X, block=block: block.attend_fused(X, settings, cache), NO_EDITS)["resid_post"]
        return self._final(x[..., -1:, :] if last_only else x, settings) @ self.unembedding.T

    def _settings(self, n: int, start: int, change: Intervention, dropout: float = 0.0) -> PassSettings:
        """The settings of a pass over n new tokens that follow `start` cached ones."""
        config, device, total = self.config, self.device, start + n
        positions = change.positions or config.positions
        if change.allowed is not None:
            allowed = torch.tensor(change.allowed, dtype=torch.bool, device=device)
            if allowed.shape != (n, n):
                raise ValueError(f"The mask given is {tuple(allowed.shape)}, but the prompt has {n} tokens: it must be ({n}, {n}).")
        else:
            allowed = attention.mask(change.mask or config.mask, n, total, change.window or config.window, device=device)
        return PassSettings(
            norm=change.norm or config.norm,
            scale_scores=config.scale_scores if change.scale_scores is None else change.scale_scores,
            residual=change.residual, allowed=allowed, dropout=dropout,
            angles=positional.rotary_angles(n, config.d_k, config.rotary_base, start=start) if positions == "rotary" else None,
            bias=positional.alibi_bias(n, total, config.n_heads, dtype=self.E.dtype, device=device) if positions == "alibi" else None,
            relative=positional.relative_index(n, total, config.relative_max_distance, device=device) if positions == "relative" else None)

    def _added_positions(self, n: int, start: int, change: Intervention) -> Tensor | None:
        """(n, d) what is added to the embeddings of positions start … start + n − 1; None where the scheme adds nothing."""
        positions = change.positions or self.config.positions
        if positions == "learned":
            return self.P[start:start + n]
        if positions == "sinusoidal":
            return positional.sinusoidal(start + n, self.config.d_model, dtype=self.E.dtype, device=self.device)[start:]
        return None

    def _final(self, x: Tensor, settings: PassSettings) -> Tensor:
        return x if self.final_norm is None else self.final_norm(x, settings.norm)

    def _reference(self, intervention: Intervention) -> Trace | None:
        """The plain run on the reference text, whose means replace outputs; None where no edit asks for it."""
        if not any(e.action == "mean" for e in intervention.heads + intervention.sublayers):
            return None
        return self(torch.tensor(intervention.reference_ids, device=self.device))

    def _patch_vectors(self, intervention: Intervention) -> dict[int, list[tuple[int, Tensor]]]:
        """layer -> [(position, the stream vector (d,) of the source run)], one source run for each source text."""
        runs: dict[tuple[int, ...], Trace] = {}
        vectors: dict[int, list[tuple[int, Tensor]]] = {}
        for patch in intervention.patches:
            if patch.source_ids not in runs:
                runs[patch.source_ids] = self(torch.tensor(patch.source_ids, device=self.device))
            source = runs[patch.source_ids]
            stream = source.resid_final if patch.layer == self.config.n_layers else source.blocks[patch.layer].resid_pre
            vectors.setdefault(patch.layer, []).append((patch.position, stream[patch.source_position]))
        return vectors

    @staticmethod
    def _patched(x: Tensor, layer: int, patches: dict[int, list[tuple[int, Tensor]]]) -> Tensor:
        if layer in patches:
            x = x.clone()
            for position, vector in patches[layer]:
                x[..., position, :] = vector
        return x

    @staticmethod
    def _checked_permutation(permutation: tuple[int, ...], n: int) -> list[int]:
        if len(permutation) != n:
            raise ValueError(f"The permutation is of {len(permutation)} tokens, but the prompt has {n}.")
        return list(permutation)

    def _check(self, token_ids: Tensor, intervention: Intervention, start: int = 0) -> None:
        """Plain messages for what would otherwise fail deep inside."""
        config, n = self.config, start + token_ids.shape[-1]
        if token_ids.shape[-1] == 0:
            raise ValueError("There is no token to read: give the model at least one.")
        if config.positions == "learned" and (intervention.positions or "learned") == "learned" and n > config.n_context:
            raise ValueError(f"This model learned {config.n_context} positions, and the text has {n} tokens: shorten it.")
        if not torch.compiler.is_compiling() and not bool(((token_ids >= 0) & (token_ids < config.vocab_size)).all()):
            raise ValueError(f"A token id lies outside the vocabulary of {config.vocab_size} tokens.")
        for edit in (*intervention.heads, *intervention.sublayers):
            if not 0 <= edit.layer < config.n_layers:
                raise ValueError(f"There is no layer {edit.layer}: this model has layers 0 to {config.n_layers - 1}.")
        for edit in intervention.heads:
            if not 0 <= edit.head < config.n_heads:
                raise ValueError(f"There is no head {edit.head}: this model has heads 0 to {config.n_heads - 1}.")
        for edit in intervention.sublayers:
            if edit.sublayer == "mlp" and config.d_ff is None:
                raise ValueError("This model has no feed-forward part to change.")
        for patch in intervention.patches:
            if not (0 <= patch.layer <= config.n_layers and 0 <= patch.position < n and 0 <= patch.source_position < len(patch.source_ids)):
                raise ValueError("A patch names a layer or a position that is not there.")
