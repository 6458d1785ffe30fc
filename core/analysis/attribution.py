"""Input attribution: how much each token of the input counts for one next token, by four definitions that need not
agree.

A score f maps embeddings to one number: here ln p of a target token, in nats. x (N, d) are the embeddings of the
tokens, without positions.

    gradient × input      x_i · ∂f/∂x_i                                        the linear part of f at x
    integrated gradients  (x_i − x'_i) · ∫₀¹ ∂f/∂x_i (x' + α (x − x')) dα      Sundararajan et al. 2017; the parts add
                                                                               up to f(x) − f(x')
    removed               f(all tokens) − f(all but token i)                   two forward passes; the later tokens move
                                                                               up
    replaced              f(all tokens) − f(token i replaced by another)       two forward passes; every token keeps its
                                                                               position
"""
from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

from core.analysis.text_probability import next_log_probs
from core.cost.counting import trace_bytes
from core.model.config import ModelConfig
from core.model.transformer import Transformer

Score = Callable[[Tensor], Tensor]      # (B, N, d) -> (B,)
BATCH_BYTES = 400_000_000               # the most that one batch of gradients takes, unless a single point takes more


def log_prob_score(model: Transformer, target: int) -> Score:
    """The score f: ln p, in nats, of the token `target` as the next token."""
    return lambda embedding: model.logits_of_embeddings(embedding).log_softmax(-1)[..., target]


def gradient(score: Score, x: Tensor) -> Tensor:
    """(B, N, d) the exact gradient of the score of each x (B, N, d) with respect to its embeddings."""
    with torch.enable_grad():
        x = x.detach().clone().requires_grad_(True)
        return torch.autograd.grad(score(x).sum(), x)[0]


def gradient_times_input(score: Score, x: Tensor) -> np.ndarray:
    """(N,) x_i · ∂f/∂x_i of x (N, d), in the unit of f."""
    return _dots(x, gradient(score, x[None])[0])


def points_at_once(config: ModelConfig, n_tokens: int) -> int:
    """How many points of a path one batch of gradients may hold."""
    return max(1, int(BATCH_BYTES / _point_bytes(config, n_tokens)))


def memory(config: ModelConfig, n_tokens: int) -> int:
    """Bytes that integrated_gradients takes at most for this many tokens, in batches of points_at_once."""
    return points_at_once(config, n_tokens) * _point_bytes(config, n_tokens)


def _point_bytes(config: ModelConfig, n_tokens: int) -> int:
    """Bytes of the gradient at one point of a path: forward and backward each keep about a trace."""
    return 2 * trace_bytes(config, n_tokens)


def integrated_gradients(score: Score, x: Tensor, baseline: Tensor, n_steps: int, at_once: int = 64) -> np.ndarray:
    """(N,) each token's part of f(x) − f(baseline), both (N, d): x − baseline times the gradient averaged over the
    straight path from the baseline to x, `at_once` points in a batch.

    The integral is a Gauss-Legendre sum of n_steps gradients; the difference between the sum of the parts and f(x) −
    f(baseline) is its error. That is large from a baseline of zeros in a model without position embeddings: there the
    output of the first norm jumps from length 0 to 1.
    """
    nodes, weights = np.polynomial.legendre.leggauss(n_steps)
    alphas, weights = (torch.tensor(values, dtype=x.dtype, device=x.device)
                       for values in ((nodes + 1) / 2, weights / 2))
    mean = torch.zeros_like(x)
    for start in range(0, n_steps, at_once):
        part = slice(start, start + at_once)
        points = baseline + alphas[part, None, None] * (x - baseline)
        mean = mean + (weights[part, None, None] * gradient(score, points)).sum(0)
    return _dots(x - baseline, mean)


def _dots(a: Tensor, b: Tensor) -> np.ndarray:
    return (a.double() * b.double()).sum(-1).cpu().numpy()


def removed(model: Transformer, token_ids: Sequence[int], target: int) -> np.ndarray:
    """(N,) the fall of ln p of the target, in nats, when token i is left out; below 0 if it rises, NaN if no token
    would be left.
    """
    ids = list(token_ids)
    if len(ids) == 1:
        return np.array([np.nan])
    return _falls(model, ids, [ids[:i] + ids[i + 1:] for i in range(len(ids))], target)


def replaced(model: Transformer, token_ids: Sequence[int], target: int, by: int) -> np.ndarray:
    """(N,) the fall of ln p of the target, in nats, when token i is replaced by the token `by`; 0 where it is `by`."""
    ids = list(token_ids)
    return _falls(model, ids, [ids[:i] + [by] + ids[i + 1:] for i in range(len(ids))], target)


def _falls(model: Transformer, ids: list[int], changed: list[list[int]], target: int) -> np.ndarray:
    log_probs = next_log_probs(model, [ids, *changed])[:, target]
    falls = log_probs[0] - log_probs[1:]
    # for the same text exactly 0, free of rounding
    return np.where([row == ids for row in changed], 0.0, falls)


def random_twin(model: Transformer, seed: int) -> Transformer:
    """A model of the same architecture with untrained weights, drawn by this seed, on the same device."""
    twin = Transformer(model.config).initialise(torch.Generator().manual_seed(seed))
    return twin.to(model.device).eval().requires_grad_(False)


def ranks(values: np.ndarray) -> np.ndarray:
    """Ranks from 1 for the least value; equal values share their mean rank.

    >>> ranks(np.array([0.1, 5.0, 0.1, 2.0])).tolist()
    [1.5, 4.0, 1.5, 3.0]
    """
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return (last - (counts - 1) / 2)[place]


def rank_correlation(a: np.ndarray, b: np.ndarray) -> float:
    """Spearman's ρ in [−1, 1]: the correlation of the ranks. NaN for fewer than three values, or if all values of a or
    of b are equal.

    >>> round(rank_correlation(np.array([1.0, 2.0, 3.0, 4.0]), np.array([1.0, 3.0, 2.0, 9.0])), 9)
    0.8
    """
    if len(a) < 3 or not (np.isfinite(a).all() and np.isfinite(b).all()):
        return float("nan")
    x, y = (values - values.mean() for values in (ranks(a), ranks(b)))
    size = float(np.sqrt((x @ x) * (y @ y)))
    return float(x @ y) / size if size else float("nan")
