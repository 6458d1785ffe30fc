"""Why scores are divided by √d_k: an experiment with random queries and keys, and the same measures on the
heads of a model.

The entries of q and k are drawn from N(0, 1). A softmax over n keys is measured by its entropy, as a share of the
maximum ln n, and by the size of its gradient: the Frobenius norm of the Jacobian ∂p_i/∂s_j = p_i (δ_ij − p_j), which
is diag(p) − p pᵀ.
"""
import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from core.model import attention
from core.model.config import ModelConfig
from core.model.scores import capped
from core.model.trace import BlockTrace, Trace

D_KS = tuple(2**k for k in range(10))     # 1 … 512
DRAWS, CHUNK = 400, 50


@dataclass(frozen=True)
class Estimate:
    """The mean over the draws and its standard error for every d_k of D_KS, (10,) float64 each."""

    mean: np.ndarray
    error: np.ndarray


@dataclass(frozen=True)
class Experiment:
    """The estimates from DRAWS queries with n keys each, for every d_k.

    Item 0 of a pair is with the division by √d_k, item 1 without. `example` (10, n) holds q·k of the first draw.
    """

    n: int
    variance: Estimate
    entropy: tuple[Estimate, Estimate]
    gradient: tuple[Estimate, Estimate]
    example: np.ndarray

    def example_weights(self, at: int) -> tuple[np.ndarray, np.ndarray]:
        """(n,) softmax of the example's scores at D_KS[at], with and without the division."""
        return softmax(self.example[at] / math.sqrt(D_KS[at])), softmax(self.example[at])


def softmax(scores: np.ndarray) -> np.ndarray:
    """The softmax over the last axis of scores (..., n), float64."""
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def entropy_share(p: np.ndarray) -> np.ndarray:
    """−Σ p ln p over the last axis, divided by ln n: 1 for a uniform distribution, 0 for one with a single nonzero
    probability. n is at least 2.

    >>> float(entropy_share(np.full(4, 0.25))), float(entropy_share(np.array([1.0, 0.0])))
    (1.0, 0.0)
    """
    logs = np.log(np.where(p > 0, p, 1.0))
    return np.abs(-(p * logs).sum(-1)) / math.log(p.shape[-1])


def gradient_size(p: np.ndarray) -> np.ndarray:
    """‖diag(p) − p pᵀ‖_F over the last axis: sqrt(Σp² − 2Σp³ + (Σp²)²).

    >>> float(gradient_size(np.array([0.5, 0.5]))), float(gradient_size(np.array([1.0, 0.0])))
    (0.5, 0.0)
    """
    squares, cubes = (p**2).sum(-1), (p**3).sum(-1)
    return np.sqrt(np.maximum(squares - 2 * cubes + squares**2, 0.0))


def products(seed: int, n: int) -> np.ndarray:
    """(DRAWS, 10, n) q·k of DRAWS queries with n keys each, by d_k.

    Every d_k uses the same random vectors: the smaller ones their first d_k entries.
    """
    dice, chunks = np.random.default_rng([seed, n]), []
    starts = (0, *D_KS[:-1])
    for _ in range(DRAWS // CHUNK):
        q, k = dice.standard_normal((CHUNK, 1, D_KS[-1])), dice.standard_normal((CHUNK, n, D_KS[-1]))
        parts = [(q[..., start:end] * k[..., start:end]).sum(-1) for start, end in zip(starts, D_KS)]
        chunks.append(np.cumsum(np.stack(parts, axis=1), axis=1))
    return np.concatenate(chunks)


def experiment(seed: int, n: int) -> Experiment:
    """The variance of q·k, and the entropy and gradient of the softmax over n keys with and without the division, for
    every d_k.
    """
    raw = products(seed, n)
    scaled = raw / np.sqrt(np.array(D_KS, dtype=np.float64))[:, None]
    weights = [softmax(scores) for scores in (scaled, raw)]
    return Experiment(n, _mean(((raw - raw.mean(axis=(0, 2), keepdims=True)) ** 2).mean(-1)),
                      tuple(_mean(entropy_share(p)) for p in weights),
                      tuple(_mean(gradient_size(p)) for p in weights), raw[0])


def _mean(per_draw: np.ndarray) -> Estimate:
    """The mean of (DRAWS, 10) over the draws. Draws are independent, the keys of one query are not, so the standard
    error is taken over draws.
    """
    return Estimate(per_draw.mean(0), per_draw.std(0, ddof=1) / math.sqrt(len(per_draw)))


# ---- a model's heads -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class HeadScaling:
    """The heads of one layer on a prompt, (h,) float64 each: the variance of q·k over all pairs that the mask allows,
    and the mean entropy share of the weights, with and without the division and divided by √d, the root of the
    model's width, over the queries that see at least two keys; NaN if no query does.
    """

    variance: np.ndarray
    entropy_scaled: np.ndarray
    entropy_unscaled: np.ndarray
    entropy_by_width: np.ndarray


def head_products(block: BlockTrace, config: ModelConfig) -> Tensor:
    """(h, N, N) float64: q·k of the heads of one block after any rotation, or q W_S·k of a multiplicative score.

    Raises ValueError for an additive score, which has no product.
    """
    if config.score == "additive":
        raise ValueError("An additive score is no product of query and key, and nothing is divided.")
    if config.score == "multiplicative":
        return block.scores.double() * (config.divisor if config.scores.scale_scores else 1.0)
    return attention.dot_product_scores(block.Q_rotated.double(),
                                        attention.share_heads(block.K_rotated, config.n_heads).double(), scale=False)


def head_scaling(block: BlockTrace, config: ModelConfig) -> HeadScaling:
    """The effect of the division on the heads of one block. Biases of positions (ALiBi, relative) are added after it.
    """
    raw, root, allowed = head_products(block, config), config.divisor, block.allowed
    scaled = raw / (root if config.scores.scale_scores else 1.0)
    added = (block.scores.double() - capped(scaled, config.scores.score_cap)
             if config.positions in ("alibi", "relative") else torch.zeros(()))

    def entropy(scores: Tensor) -> np.ndarray:
        weights = attention.masked_softmax(capped(scores, config.scores.score_cap) + added, allowed)
        return pattern_entropy(weights, allowed).numpy()

    variance = raw[:, allowed].var(-1, unbiased=False).numpy()
    return HeadScaling(variance, *map(entropy, (raw / root, raw, raw / math.sqrt(config.d_model))))


def pattern_entropy(pattern: Tensor, allowed: Tensor) -> Tensor:
    """(h,) float64: the entropy of each query's weights divided by ln(keys that it sees), averaged over the queries
    that see at least two; NaN if none does. pattern (h, N, N), allowed (N, N) bool.

    >>> pattern_entropy(torch.tensor([[[1.0, 0.0], [0.5, 0.5]]]), torch.ones(2, 2, dtype=torch.bool)).tolist()
    [0.5]
    """
    seen = allowed.sum(-1)
    return (torch.special.entr(pattern.double()).sum(-1) / seen.double().log())[:, seen > 1].mean(-1)


def mean_entropy(trace: Trace) -> float:
    """The mean of `pattern_entropy` over all heads of all blocks: 1 where all weights are even."""
    return float(torch.stack([pattern_entropy(block.pattern, block.allowed) for block in trace.blocks]).mean())
