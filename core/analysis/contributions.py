"""The contribution of each part of a model to the token that it predicts: the logit lens, and a logit as the sum of
what every part adds to it.

The stream is a sum, and the map from it to a logit is linear but for one thing: a norm divides by a σ that depends on
the whole sum. With σ frozen at its value in this pass everything is linear, subtracting the mean included: every part
has a share of its own, and the shares add up to the logit. The head of a BERT applies an activation to the last vector
before the unembedding: each of its units is frozen as the factor act(z)/z by which it multiplied its input in this
pass. Biases are parts of their own; there is no remainder. These are *direct* contributions: what an early head changes
in later blocks counts as theirs, and what an encoder does counts for the cross-attention that reads it. (Elhage et al.,
2021, "A Mathematical Framework for Transformer Circuits"; the lens: nostalgebraist, 2020.)
"""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from core.analysis.norm_inputs import feed_forward_input
from core.model.activation import activate
from core.model.block import Block
from core.model.config import ModelConfig
from core.model.normalisation import norm_statistics
from core.model.norms import Norm
from core.model.trace import BlockTrace, CrossTrace, Trace
from core.model.transformer import Transformer


@dataclass(frozen=True)
class Part:
    """One addend of the stream.

    kind: "embedding", "position", "token type", "head", "attention bias" (b_O), "mlp", "mlp bias" (b_2), in a block of
    experts, instead of "mlp", an "expert" for each expert that read the token, and "shared expert", in an
    encoder-decoder's decoder also "cross head" and "cross attention bias", and the β of each norm on the way:
    "attention norm bias", "cross attention norm bias" and "mlp norm bias" of a post-norm, DeepNorm or sandwich block,
    "embedding norm bias" of a model that norms its embeddings, "embedding map bias" (b_E) of a model that maps them,
    "final norm bias" of a pre-norm or sandwich model, "head bias" (b_H) and "head norm bias" of a head's transform, and
    "unembedding bias" (b_U), which is in the logits alone, not in the stream. layer, head, expert: None if the part has
    none.
    """

    kind: str
    layer: int | None = None
    head: int | None = None
    expert: int | None = None


@dataclass(frozen=True)
class Contributions:
    """One logit as a sum: `values` (n,) float64 has an entry for each of `parts`, in the order in which the
    model adds them.
    """

    parts: tuple[Part, ...]
    values: Tensor
    logit: float             # what the model itself computed, before a cap on its logits

    @property
    def total(self) -> float:
        return float(self.values.sum())


class _Addends:
    """The parts of one token's stream so far, (n, d) float64; each norm on the way maps them with its σ frozen."""

    def __init__(self, n_features: int, device: torch.device) -> None:
        self.parts: list[Part] = []
        self.vectors = torch.zeros(0, n_features, dtype=torch.float64, device=device)

    def add(self, part: Part, vector: Tensor | None) -> None:
        if vector is not None:
            self.add_all([part], vector[None])

    def add_all(self, parts: list[Part], vectors: Tensor) -> None:
        self.parts += parts
        self.vectors = torch.cat([self.vectors, vectors.double()])

    def through(self, norm: Norm, kind: str, x: Tensor, bias: Part) -> None:
        """Apply `norm`, which read x (d,), to every part; its β becomes a part of its own."""
        self.vectors = frozen_norm(norm, kind, x, self.vectors)
        self.add(bias, norm.bias)

    def mapped(self, weight: Tensor, shift: Tensor, bias: Part) -> None:
        """Multiply every part by `weight` (n, d); `shift` (d,) becomes a part of its own."""
        self.vectors = self.vectors @ weight.double()
        self.add(bias, shift)

    def join(self, written: _Addends, kept: float) -> None:
        """Multiply these parts by `kept` (α under DeepNorm, else 1), and append the parts that a sublayer wrote."""
        self.vectors = kept * self.vectors
        self.add_all(written.parts, written.vectors)


def frozen_norm(norm: Norm, kind: str, x: Tensor, vectors: Tensor) -> Tensor:
    """Apply the linear map that `norm` is at x (d,), with its σ frozen and without β, to vectors (..., d): α (v −
    mean(v)) / σ(x); no mean for RMSNorm.

    float64. It maps any addends of x onto the addends of norm(x) − β.
    """
    _, scale = norm_statistics(x.double(), kind, norm.epsilon)
    vectors = vectors.double()
    if kind == "layernorm":
        vectors = vectors - vectors.mean(-1, keepdim=True)
    return vectors / scale * norm.weight.double()


def final_parts(model: Transformer, trace: Trace, position: int) -> tuple[tuple[Part, ...], Tensor]:
    """Every part of h_final at `position`: the parts, and their vectors (n, d) float64, which add up to h_final.

    `trace` is a run of `model` on tokens (N,) without interventions on sublayers, norms or the residual path. Raises
    ValueError for another, since its parts would not add up to the stream.
    """
    addends = _Addends(trace.config.d_entering, trace.resid_final.device)
    entering = [("embedding", trace.embedding), ("position", trace.position), ("token type", trace.token_type)]
    for kind, added in entering:
        addends.add(Part(kind), None if added is None else added[position])
    if model.embedding_norm is not None:
        addends.through(model.embedding_norm, trace.config.norm,
                        sum(added[position] for _, added in entering if added is not None), Part("embedding norm bias"))
    if model.b_E is not None:
        addends.mapped(model.W_E, model.b_E, Part("embedding map bias"))
    for layer, (weights, block) in enumerate(zip(model.blocks, trace.blocks)):
        _add_block(addends, weights, block, layer, position, trace.config)
    if model.final_norm is not None:
        addends.through(model.final_norm, trace.config.norm, trace.resid_final[position], Part("final norm bias"))
    _check_sum(addends.vectors, trace.h_final[position])
    return tuple(addends.parts), addends.vectors


def _add_block(addends: _Addends, weights, block: BlockTrace, layer: int, position: int, config: ModelConfig) -> None:
    """Add the heads, the feed-forward part and the biases of one block.

    The norms of a sandwich block read what a sublayer wrote; those of a post-norm block read the whole stream so far.
    """
    for sublayer in sublayers(weights, block):
        written, bias = _Addends(config.d_model, addends.vectors.device), Part(f"{sublayer.name} norm bias", layer)
        if sublayer.name == "mlp":
            _add_feed_forward(written, weights, block, position, config.norm)
        else:
            crossed = sublayer.name == "cross attention"
            _add_heads(written, weights.cross if crossed else weights, block.cross if crossed else block, position,
                       Part(f"{sublayer.name} bias", layer), "cross head" if crossed else "head")
        if sublayer.out_norm is not None:
            written.through(sublayer.out_norm, config.norm, sublayer.written[position], bias)
        written.vectors = config.sublayer.residual_scale * written.vectors
        addends.join(written, weights.alpha)
        if sublayer.sum_norm is not None:
            addends.through(sublayer.sum_norm, config.norm, sublayer.summed[position], bias)


def _add_feed_forward(addends: _Addends, weights: Block, block: BlockTrace, position: int, norm: str) -> None:
    """Add what the feed-forward part of one block wrote: its neurons together, or each expert that read the token, as
    much of it as its weight lets through; and b_2, for experts weighted in the same way.
    """
    layer, mixture = weights.layer, weights.mixture
    if mixture is None:
        addends.add(Part("mlp", layer), block.mlp_post[position].double() @ weights.W_2.double())
        return addends.add(Part("mlp bias", layer), weights.b_2)
    read, shares = feed_forward_input(weights, block, norm)[position], block.expert_weights[position]
    added = [(Part("expert", layer, expert=expert), shares[expert], mixture.experts[expert])
             for expert in shares.nonzero().flatten().tolist()]
    if mixture.shared is not None:
        added.append((Part("shared expert", layer), mixture.share(read)[0], mixture.shared))
    for part, share, expert in added:
        addends.add(part, share.double() * (expert.neurons(read)[1].double() @ expert.W_2.double()))
    if weights.config.mlp_bias:
        addends.add(Part("mlp bias", layer), sum(share.double() * expert.b_2.double() for _, share, expert in added))


def _add_heads(addends: _Addends, weights, trace: BlockTrace | CrossTrace, position: int, bias: Part,
               kind: str) -> None:
    heads = trace.head_out[:, position, None, :].double() @ trace.W_O.double()                # (h, 1, d)
    addends.add_all([Part(kind, bias.layer, head) for head in range(len(heads))], heads[:, 0])
    addends.add(bias, weights.b_O)


@dataclass(frozen=True)
class Sublayer:
    """One sublayer of a block as it joins the stream: what it wrote, the sum with the stream, and the norm on each of
    the two (None: there is none).
    """

    name: str                # "attention", "cross attention" or "mlp"
    written: Tensor          # (N, d)
    summed: Tensor           # (N, d) the stream, α times under DeepNorm, plus what was added
    out_norm: Norm | None    # sandwich, output: on what it wrote
    sum_norm: Norm | None    # post-norm, DeepNorm: on the sum


def sublayers(weights, block: BlockTrace) -> Iterator[Sublayer]:
    """The sublayers of a block in their order; `weights` is its core.model.block.Block."""
    after = weights.config.norms_sums
    yield Sublayer("attention", block.attn_out, weights.kept(block.resid_pre) + block.attn_added, weights.attn_out_norm,
                   weights.attn_norm if after else None)
    stream = block.resid_mid
    if block.cross is not None:
        cross = weights.cross
        yield Sublayer("cross attention", block.cross.attn_out, weights.kept(stream) + block.cross.attn_added,
                       cross.out_norm, cross.norm if after else None)
        stream = block.cross.resid_post
    if block.mlp_out is not None:
        yield Sublayer("mlp", block.mlp_out, weights.kept(stream) + block.mlp_added, weights.mlp_out_norm,
                       weights.mlp_norm if after else None)


def _check_sum(vectors: Tensor, h_final: Tensor) -> None:
    error = torch.linalg.vector_norm(vectors.sum(0) - h_final) / torch.linalg.vector_norm(h_final)
    if error > 1e-3:
        raise ValueError("The parts do not add up to this run's stream: take a run without interventions on sublayers, "
                         "norms or the path.")


def through_head(model: Transformer, trace: Trace, position: int, vectors: Tensor) -> Tensor:
    """Apply the head's transform as a linear map to vectors (..., d), float64: W_H, then each unit's factor act(z)/z
    and the norm with its σ, both frozen at their values at `position`, without biases; W_H alone if the transform is
    nothing else. A model without such a transform returns the vectors unchanged.
    """
    return vectors if model.W_H is None else _apply_units(model, trace, position, vectors.double() @ model.W_H.double())


def _apply_units(model: Transformer, trace: Trace, position: int, addends: Tensor) -> Tensor:
    """Map addends (..., d) of the inputs z of the head's units to addends of h_head: times each unit's factor act(z)/z,
    then through the frozen norm.
    """
    if model.head_norm is None:
        return addends
    z = trace.h_final[position].double() @ model.W_H.double()
    z = z if model.b_H is None else z + model.b_H.double()
    activated = activate(model.config.activation, z)
    # a unit whose input is 0 contributes nothing, whatever its factor
    factors = torch.where(z == 0, 0.0, activated / z)
    return frozen_norm(model.head_norm, trace.config.norm, activated, addends * factors)


def logit_contributions(model: Transformer, trace: Trace, position: int, token_id: int) -> Contributions:
    """The addends of the logit of `token_id` as the token after `position` (in an encoder: at `position`): each part of
    h_final, through the head's transform if the model has one, times the token's row of the unembedding.

    The values add up to trace.logits[position, token_id], or to what enters a cap on the logits: within 1e-5 of its
    size in float32 and 1e-10 in float64, measured against the sum of their magnitudes where parts cancel.
    """
    parts, vectors = final_parts(model, trace, position)
    vectors = through_head(model, trace, position, vectors)
    if model.head_norm is not None:
        biases = {"head bias": None if model.b_H is None else _apply_units(model, trace, position, model.b_H.double()),
                  "head norm bias": model.head_norm.bias}
        added = {Part(kind): bias.double() for kind, bias in biases.items() if bias is not None}
        parts, vectors = (*parts, *added), torch.cat([vectors, *(bias[None] for bias in added.values())])
    values = vectors @ model.unembedding[token_id].double()
    if model.b_U is not None:
        parts, values = (*parts, Part("unembedding bias")), torch.cat([values, model.b_U[token_id].double()[None]])
    h = trace.h_final if trace.h_head is None else trace.h_head
    logit = trace.logits if not model.config.head.logit_cap else model.uncapped_logits(h)
    return Contributions(parts, values, float(logit[position, token_id]))


def carry_to_final(model: Transformer, trace: Trace, position: int, layer: int, vectors: Tensor) -> Tensor:
    """Carry vectors (..., d), written at `position` by the feed-forward part of block `layer`, to h_final on the direct
    path, float64.

    Every norm they pass is frozen at its value in this pass: in a sandwich block the norm on what the sublayer wrote,
    in a post-norm or DeepNorm block the sublayer's norm and all later ones, and the final norm of a model that has one.
    """
    norm = trace.config.norm
    *_, mlp = sublayers(model.blocks[layer], trace.blocks[layer])
    if mlp.out_norm is not None:
        vectors = frozen_norm(mlp.out_norm, norm, mlp.written[position], vectors)
    vectors = trace.config.sublayer.residual_scale * vectors
    if mlp.sum_norm is not None:
        vectors = frozen_norm(mlp.sum_norm, norm, mlp.summed[position], vectors)
    for weights, block in zip(model.blocks[layer + 1:], trace.blocks[layer + 1:]):
        for sublayer in sublayers(weights, block):
            if sublayer.sum_norm is not None:
                vectors = frozen_norm(sublayer.sum_norm, norm, sublayer.summed[position], weights.alpha * vectors)
    return (vectors if model.final_norm is None
            else frozen_norm(model.final_norm, norm, trace.resid_final[position], vectors))


def neuron_promotions(model: Transformer, trace: Trace, layer: int, position: int, neurons: Tensor) -> Tensor:
    """(n, |V|) float64: what each of `neurons` (n,) int64 adds to every logit, firing as it does at `position` of block
    `layer`, which has no experts.

    A neuron writes its activation times its row of W_2 into the stream; on the direct path that vector passes the
    frozen norms and the head's transform, if there is one, and is multiplied by the unembedding. Over all d_ff neurons
    the sum is the contribution of the part "mlp".
    """
    written = (trace.blocks[layer].mlp_post[position, neurons].double()[:, None]
               * model.blocks[layer].W_2[neurons].double())
    return (through_head(model, trace, position, carry_to_final(model, trace, position, layer, written))
            @ model.unembedding.T.double())


def logit_lens(model: Transformer, resid: Tensor) -> Tensor:
    """The logits (..., |V|) that the stream `resid` (..., d) would give if the model stopped here: final norm, head's
    transform if any, then unembedding.

    At resid_final these are the model's logits. Between blocks of a post-norm or DeepNorm model the stream is normed
    already, and only unembedded.
    """
    return model.logits_of(resid if model.final_norm is None else model.final_norm(resid, model.config.norm))


@dataclass(frozen=True)
class LensReading:
    """The best guess of the logit lens at every depth and position; row 0 is the stream that enters block 0, row L the
    model's own prediction.
    """

    token_ids: Tensor      # (L + 1, N) int64, the most probable next token
    probs: Tensor          # (L + 1, N), its probability


def read_lens(model: Transformer, trace: Trace) -> LensReading:
    """The lens over a whole run, one depth at a time, to bound memory."""
    best = [torch.softmax(logit_lens(model, resid), dim=-1).max(-1) for resid in trace.depths]
    return LensReading(torch.stack([token_ids for _, token_ids in best]), torch.stack([probs for probs, _ in best]))


def follow_token(model: Transformer, trace: Trace, position: int, token_id: int) -> tuple[Tensor, Tensor]:
    """The lens's reading of one token after `position` at every depth: its probability (L + 1,) and the number of
    tokens that are more probable (L + 1,), int64.
    """
    logits = logit_lens(model, torch.stack([resid[position] for resid in trace.depths]))
    return torch.softmax(logits, dim=-1)[:, token_id], (logits > logits[:, token_id, None]).sum(-1)
