"""Why scores are divided by √d_k: an experiment with random queries and keys, and the same measures on the
heads of a model.

Entries of q and k are drawn from N(0, 1). A softmax over n keys is measured by its entropy, as a share of the
greatest, ln n, and by the size of its gradient: the Frobenius norm of the Jacobian ∂p_i/∂s_j = p_i (δ_ij − p_j), which
is diag(p) − p pᵀ.
"""
import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from core.model import attention
from core.model.config import ModelConfig
from core.model.trace import BlockTrace

D_KS = tuple(2**k for k in range(10))     # 1 … 512
DRAWS, CHUNK = 400, 50


@dataclass(frozen=True)
class Measured:
    """A mean over the draws for every d_k of D_KS, (10,) float64, and its standard error."""

    mean: np.ndarray
    error: np.ndarray


@dataclass(frozen=True)
class Experiment:
    """What DRAWS queries with n keys each gave for every d_k.

    `example` (10, n) is the first draw's q·k; index 0 of a pair is with ÷ √d_k, 1 without.
    """

    n: int
    variance: Measured
    entropy: tuple[Measured, Measured]
    gradient: tuple[Measured, Measured]
    example: np.ndarray

    def example_weights(self, at: int) -> tuple[np.ndarray, np.ndarray]:
        """(n,) softmax of the example's scores at D_KS[at], with and without the division."""
        return softmax(self.example[at] / math.sqrt(D_KS[at])), softmax(self.example[at])


def softmax(scores: np.ndarray) -> np.ndarray:
    """Over the last axis, of float64."""
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def entropy_share(p: np.ndarray) -> np.ndarray:
    """−Σ p ln p over the last axis, divided by ln n: 1 where all n are equal, 0 where one has everything. n
    is at least 2.

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

    One throw of the dice serves every d_k: the smaller use the first entries of the largest.
    """
    dice, chunks = np.random.default_rng([seed, n]), []
    starts = (0, *D_KS[:-1])
    for _ in range(DRAWS // CHUNK):
        q, k = dice.standard_normal((CHUNK, 1, D_KS[-1])), dice.standard_normal((CHUNK, n, D_KS[-1]))
        parts = [(q[..., start:end] * k[..., start:end]).sum(-1) for start, end in zip(starts, D_KS)]
        chunks.append(np.cumsum(np.stack(parts, axis=1), axis=1))
    return np.concatenate(chunks)


def experiment(seed: int, n: int) -> Experiment:
    """Variance of q·k, entropy and gradient of the softmax over n keys, for every d_k, with and without the division.
    """
    raw = products(seed, n)
    scaled = raw / np.sqrt(np.array(D_KS, dtype=np.float64))[:, None]
    weights = [softmax(scores) for scores in (scaled, raw)]
    return Experiment(n, _mean(((raw - raw.mean(axis=(0, 2), keepdims=True)) ** 2).mean(-1)),
                      tuple(_mean(entropy_share(p)) for p in weights),
                      tuple(_mean(gradient_size(p)) for p in weights), raw[0])


def _mean(per_draw: np.ndarray) -> Measured:
    """Of (DRAWS, 10): draws are independent, the keys of one query are not, so the error is taken over draws."""
    return Measured(per_draw.mean(0), per_draw.std(0, ddof=1) / math.sqrt(len(per_draw)))


# ---- a model's heads -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class HeadScaling:
    """One layer's heads on a prompt, (h,) float64 each: the variance of q·k over all pairs that the mask allows, and
    the mean entropy share of the weights of all queries that see two keys or more, with ÷ √d_k and without; NaN where
    no query does.
    """

    variance: np.ndarray
    entropy_scaled: np.ndarray
    entropy_unscaled: np.ndarray


def head_products(block: BlockTrace, config: ModelConfig) -> Tensor:
    """(h, N, N) float64 q·k of one block's heads, after any rotation; of a multiplicative score q W_S·k.

    An additive score has no product: ValueError.
    """
    if config.score == "additive":
        raise ValueError("An additive score is no product of query and key, and nothing is divided.")
    if config.score == "multiplicative":
        return block.scores.double() * (math.sqrt(config.d_k) if config.scale_scores else 1.0)
    return attention.dot_product_scores(block.Q_rotated.double(),
                                        attention.share_heads(block.K_rotated, config.n_heads).double(), scale=False)


def head_scaling(block: BlockTrace, config: ModelConfig) -> HeadScaling:
    """What the division does to the heads of one block.

    What positions add to the scores (ALiBi, relative biases) is added after it.
    """
    raw, root, allowed = head_products(block, config), math.sqrt(config.d_k), block.allowed
    added = (block.scores.double() - raw / (root if config.scale_scores else 1.0)
             if config.positions in ("alibi", "relative") else torch.zeros(()))

    def entropy_shares(scores: Tensor) -> np.ndarray:
        """(h,) the entropy of each query's weights over ln of the keys that it sees, averaged over the queries."""
        p, seen = attention.masked_softmax(scores + added, allowed), allowed.sum(-1)
        return (torch.special.entr(p).sum(-1) / seen.double().log())[:, seen > 1].mean(-1).numpy()

    variance = raw[:, allowed].var(-1, unbiased=False).numpy()
    return HeadScaling(variance, entropy_shares(raw / root), entropy_shares(raw))
