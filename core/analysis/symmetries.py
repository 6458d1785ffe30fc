"""Changes of a transformer's weights that leave its output unchanged, and what symmetric scores would do to a head.

All models here are float64 copies (`double_copy`). Every function that changes weights returns a new model and leaves
its argument unchanged.
"""
import copy
import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor, nn

from core.model import attention
from core.model.block import Block
from core.model.config import ModelConfig
from core.model.scores import capped
from core.model.trace import BlockTrace
from core.model.transformer import Transformer

WIDTH_AXES = {"E": (1,), "P": (1,), "T": (1,), "W_U": (1,), "W_Q": (1,), "W_K": (1,), "W_V": (1,), "W_O": (2,),
              "b_O": (0,), "W_gate": (0,), "W_1": (0,), "W_2": (1,), "b_2": (0,), "W_R": (0,), "W_shared": (0,),
              # the output of a head's transform is multiplied by the rows of E, as the stream is
              "weight": (0,), "bias": (0,), "W_C": (0,), "W_H": (0, 1), "b_H": (0,),
              "W_P": (0,), "W_E": (1,), "b_E": (0,)}
# if a model's rows of E have a width of their own, these have it as well
ENDS = ("embedding_norm.", "head_norm.")
EMBEDDING_AXES = {"E": (), "P": (), "T": (), "W_U": (), "W_H": (0,), "b_H": ()}


@dataclass(frozen=True)
class Split:
    """Scores less their mean, (N, N) each, as a symmetric plus an antisymmetric part. The two are orthogonal; `share`
    in [0, 1] is the symmetric part's share of the sum of squared entries.
    """

    centred: Tensor
    symmetric: Tensor
    antisymmetric: Tensor
    share: float


def split(scores: Tensor) -> Split:
    """(C + Cᵀ)/2 and (C − Cᵀ)/2 of C = scores (N, N) less their mean, to which the softmax is invariant.

    Scores that are all the same count as symmetric.

    >>> split(torch.tensor([[3.0, 4.0], [2.0, 3.0]])).share
    0.0
    """
    centred = scores - scores.mean()
    symmetric, antisymmetric = (centred + centred.T) / 2, (centred - centred.T) / 2
    total = float((centred**2).sum())
    return Split(centred, symmetric, antisymmetric, float((symmetric**2).sum()) / total if total else 1.0)


def double_copy(model: Transformer) -> Transformer:
    """A copy of the model in float64, on the CPU."""
    return copy.deepcopy(model).to("cpu", torch.float64)


def with_queries_as_keys(model: Transformer, layer: int, head: int) -> Transformer:
    """The float64 model in which one head computes its keys as its queries: W_K = W_Q, b_K = b_Q, and the queries' norm
    for the keys, in this head alone.
    """
    def change(block: Block) -> None:
        block.W_K[head] = block.W_Q[head]
        if block.config.sublayer.qk_norm_heads:
            block.k_norm.weight[head] = block.q_norm.weight[head]
        elif block.k_norm is not None:      # all heads share one gain for their keys: give each head its own
            gains = block.k_norm.weight.expand(len(block.W_K), 1, -1).clone()
            gains[head] = block.q_norm.weight
            block.k_norm.weight = nn.Parameter(gains, requires_grad=False)
        if block.b_K is not None:
            block.b_K[head] = block.b_Q[head]

    return _with_block(model, layer, change)


def with_change_of_basis(model: Transformer, layer: int, head: int, A: Tensor) -> Transformer:
    """The float64 model with W_Q A⁻¹ and W_K Aᵀ (biases too) in one head, for an invertible A (d_k, d_k): q·k
    stays q A⁻¹ A kᵀ.
    """
    A = A.double()
    inverse = torch.linalg.inv(A)

    def change(block: Block) -> None:
        for W, b, factor in ((block.W_Q, block.b_Q, inverse), (block.W_K, block.b_K, A.T)):
            W[head] = W[head] @ factor
            if b is not None:
                b[head] = b[head] @ factor

    return _with_block(model, layer, change)


def relabelled(model: Transformer, order: Tensor) -> Transformer:
    """The float64 model with the d dimensions of its stream permuted in every weight that reads or writes the stream:
    new dimension c is old dimension order[c], order (d,) int64.

    Computed (sinusoidal) positions keep their order, so the output of such a model changes.
    """
    permuted = copy.deepcopy(model)
    with torch.no_grad():
        narrow = model.config.embedding.embedding_width > 0
        axes = WIDTH_AXES | (EMBEDDING_AXES if narrow else {})
        axes |= {"P": (1,)} if model.config.embedding.plain_maps else {}
        for name, values in permuted.named_parameters():
            for axis in axes.get(name.rsplit(".", 1)[-1], ()):
                # these norms act on the d_k dimensions of a head, or on another width than the stream's
                if not (name.endswith(("q_norm.weight", "k_norm.weight")) or narrow and name.startswith(ENDS)):
                    values.copy_(values.index_select(axis, order))
    return permuted


def score_matrix(weights: Block, head: int) -> Tensor:
    """M = W_Q W_Kᵀ of one head, (d, d) float64: x M yᵀ is the product of the query of x and the key of y, before they
    are normed or turned. If the model has biases, M is (d + 1, d + 1), for x with a 1 appended. Its rank is at most
    d_k.
    """
    shared = head // (weights.config.n_heads // weights.config.n_kv_heads)
    sides = [(weights.W_Q[head], weights.b_Q, head), (weights.W_K[shared], weights.b_K, shared)]
    left, right = (torch.cat([W, torch.zeros_like(W[:1]) if b is None else b[at][None]]).detach().double().cpu()
                   for W, b, at in sides)
    return left @ right.T


def change_of_basis(seed: int, width: int, stretch: float) -> Tensor:
    """An invertible A (width, width), float64: two random rotations (or reflections) around singular values from
    1/stretch to stretch, evenly spaced in their logarithm.
    """
    dice = np.random.default_rng(seed)
    rotations = [np.linalg.qr(dice.standard_normal((width, width)))[0] for _ in range(2)]
    values = np.geomspace(1 / stretch, stretch, width) if width > 1 else np.array([stretch])
    return torch.from_numpy(rotations[0] @ np.diag(values) @ rotations[1].T)


def log10_factorial(n: int) -> float:
    """log10 n!, by the logarithm of Γ.

    >>> round(10 ** log10_factorial(5))
    120
    """
    return math.lgamma(n + 1) / math.log(10)


def scientific_factorial(n: int) -> tuple[float, int]:
    """n! in scientific notation, (mantissa in [1, 10), power of ten), to some ten digits; n! has power + 1 digits.

    >>> mantissa, power = scientific_factorial(10)
    >>> round(mantissa, 6), power
    (3.6288, 6)
    """
    power = math.floor(log10_factorial(n) + 1e-12)
    return 10 ** (log10_factorial(n) - power), power


def _with_block(model: Transformer, layer: int, change: Callable[[Block], None]) -> Transformer:
    """The float64 model with one changed block; all other weights are shared with `model`.

    Heads that share keys and values (grouped-query attention) first get keys and values of their own.
    """
    changed, blocks = copy.copy(model), list(model.blocks)
    block = blocks[layer] = copy.deepcopy(blocks[layer])
    changed._modules = dict(model._modules)        # the copy's own list of parts: the model's stays as it is
    changed.blocks = nn.ModuleList(blocks)
    with torch.no_grad():
        if block.config.n_kv_heads != block.config.n_heads:
            repeats = block.config.n_heads // block.config.n_kv_heads
            for name in ("W_K", "W_V", "b_K", "b_V"):
                if getattr(block, name) is not None:
                    setattr(block, name,
                            nn.Parameter(getattr(block, name).repeat_interleave(repeats, 0), requires_grad=False))
            norms = block.config.sublayer
            if norms.qk_norm_joint or norms.qk_norm_heads:        # a gain for every head
                # the joint mean square over repeated heads is that over the heads
                gain = block.k_norm.weight
                repeated = gain.view(-1, block.config.d_k).repeat_interleave(repeats, 0).view(-1, *gain.shape[1:])
                block.k_norm.weight = nn.Parameter(repeated, requires_grad=False)
            block.config = replace(block.config, n_kv_heads=block.config.n_heads)
        change(block)
    return changed


def scores_alone(block: BlockTrace, config: ModelConfig, head: int) -> Tensor:
    """(N, N) the scores of one head, divided by √d_k if the model divides, without the biases of positions (ALiBi,
    relative).
    """
    if config.score != "dot":
        return block.scores[head]
    keys = attention.share_heads(block.K_rotated, config.n_heads)
    scores = attention.dot_product_scores(block.Q_rotated[head], keys[head], scale=config.scores.scale_scores,
                                          divisor=config.divisor)
    return capped(scores, config.scores.score_cap)
