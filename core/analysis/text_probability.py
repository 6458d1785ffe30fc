"""The probability of a whole sequence by the chain rule, p(x_1 … x_L) = Π p(x_i | x_1 … x_{i−1}), in logarithms, and
what is read off it.
"""
import itertools
import math
import os
from collections.abc import Iterator, Sequence

import numpy as np
import torch

from core.model.block import KVCache
from core.model.transformer import Transformer

BATCH_TOKENS = 512      # that go through the model side by side
# positions whose logits are in memory at once: of a large vocabulary they take more than all else
UNEMBEDDED = 128


def token_log_probs(model: Transformer, rows: Sequence[Sequence[int]]) -> list[np.ndarray]:
    """For each row of token ids, ln p(x_i | x_0 … x_{i−1}) of all but the first, in nats, float64: the first is the
    context (end of text).

    Raises ValueError for an empty row, and as the model does for a row that is longer than its context.
    """
    return list(each_token_log_probs(model, rows))


def each_token_log_probs(model: Transformer, rows: Sequence[Sequence[int]]) -> Iterator[np.ndarray]:
    """`token_log_probs`, one row after the other, as they come.

    Rows of different lengths go through the model side by side. A beginning that all rows of a batch share is read once
    for them, so rows in alphabetical order cost least.
    """
    for batch in _batches(rows):
        yield from _of_batch(model, [tuple(row) for row in batch])


@torch.inference_mode()
def _of_batch(model: Transformer, rows: Sequence[tuple[int, ...]]) -> list[np.ndarray]:
    """`token_log_probs` of rows whose common beginning is read once."""
    n_common = max(1, len(os.path.commonprefix(rows)))
    common, cache = rows[0][:n_common], KVCache()
    first = np.zeros(0)
    if n_common > 1:
        vectors = model.final_vectors(torch.tensor([common[:-1]], device=model.device), cache)[0]
        first = _log_probs(model, vectors, common[1:])
    rests = [row[n_common:] for row in rows]
    if not any(rests):
        return [first.copy() for _ in rows]
    inputs = _filled(model, [(common[-1], *ids[:-1]) for ids in rests])
    vectors = model.final_vectors(inputs, cache.repeated(len(rows)))
    read = torch.cat([vectors[i, :len(ids)] for i, ids in enumerate(rests)])
    log_probs = _log_probs(model, read, [token_id for ids in rests for token_id in ids])
    return [np.concatenate([first, part])
            for part in np.split(log_probs, np.cumsum([len(ids) for ids in rests])[:-1])]


def _log_probs(model: Transformer, vectors: torch.Tensor, token_ids: Sequence[int]) -> np.ndarray:
    """(M,) ln p of token i after the final vector i of vectors (M, d), nats, float64."""
    log_probs, ids = [torch.zeros(0, dtype=torch.float64)], torch.tensor(token_ids, dtype=torch.int64)
    for part, next_ids in zip(vectors.split(UNEMBEDDED), ids.split(UNEMBEDDED)):
        logits = model.logits_of(part).cpu().double()
        log_probs.append(logits.gather(-1, next_ids[:, None])[:, 0] - logits.logsumexp(-1))
    return torch.cat(log_probs).numpy()


@torch.inference_mode()
def next_log_probs(model: Transformer, rows: Sequence[Sequence[int]]) -> np.ndarray:
    """(M, |V|) ln p of every token of the vocabulary as the next one after each row, in nats, float64.

    Raises ValueError as `token_log_probs` does.
    """
    log_probs = [np.zeros((0, model.config.vocab_size))]
    for batch in _batches(rows):
        ends = [len(row) - 1 for row in batch]
        last = model.final_vectors(_filled(model, batch))[torch.arange(len(batch)), ends]
        log_probs.append(model.logits_of(last).cpu().double().log_softmax(-1).numpy())
    return np.concatenate(log_probs)


@torch.inference_mode()
def continuation_log_probs(model: Transformer, contexts: Sequence[Sequence[int]],
                           continuations: Sequence[Sequence[Sequence[int]]]) -> list[list[float]]:
    """ln p, in nats, of each continuation of each context: the sum over the continuation's tokens. Context and
    continuation are token ids and must fit into the model's context together.

    Continuations of one token share one pass over their context. Raises ValueError for an empty context or
    continuation.
    """
    if not all(ids for each in continuations for ids in each):
        raise ValueError("Every continuation needs at least one token.")
    first = next_log_probs(model, contexts)
    totals = {(i, k): float(first[i, ids[0]]) for i, each in enumerate(continuations) for k, ids in enumerate(each)}
    longer = [(i, k) for i, k in totals if len(continuations[i][k]) > 1]
    places = iter(longer)
    for batch in _batches([(*contexts[i], *continuations[i][k]) for i, k in longer]):
        for row, vectors, (i, k) in zip(batch, model.final_vectors(_filled(model, batch)), places):
            ids = continuations[i][k]
            totals[i, k] = float(_log_probs(model, vectors[len(row) - len(ids) - 1:len(row) - 1], ids).sum())
    return [[totals[i, k] for k in range(len(each))] for i, each in enumerate(continuations)]


def _batches(rows: Sequence[Sequence[int]]) -> Iterator[Sequence[Sequence[int]]]:
    """The rows in parts of at most BATCH_TOKENS tokens, were each as long as the longest."""
    if not all(rows):
        raise ValueError("Every row needs at least the token that it begins with.")
    step = max(1, BATCH_TOKENS // max(map(len, rows), default=1))
    for start in range(0, len(rows), step):
        yield rows[start:start + step]


def _filled(model: Transformer, rows: Sequence[Sequence[int]]) -> torch.Tensor:
    """(B, longest) int64 on the model's device: the rows, filled at their ends, which a causal model does not see."""
    filling, longest = model.config.end_of_text or 0, max(map(len, rows))
    return torch.tensor([[*row, *[filling] * (longest - len(row))] for row in rows], device=model.device)


def perplexity(log_probs: np.ndarray) -> float:
    """exp(−mean ln p): of how many equally probable tokens each choice was as uncertain, on average; NaN
    without tokens.

    >>> perplexity(np.log([0.5, 0.125]))
    4.0
    """
    return math.exp(-float(np.mean(log_probs))) if len(log_probs) else math.nan


def bits(log_probs: np.ndarray) -> np.ndarray:
    """Surprisal, −log2 p, of probabilities given as ln p.

    >>> bits(np.log([0.5, 0.125])).round(9)
    array([1., 3.])
    """
    return -np.asarray(log_probs, dtype=np.float64) / math.log(2) + 0.0


def orders(words: Sequence[str]) -> list[tuple[str, ...]]:
    """Every different order of the words, the one given first: n! of them, fewer where a word comes twice.

    >>> orders(["the", "cat", "the"])
    [('the', 'cat', 'the'), ('the', 'the', 'cat'), ('cat', 'the', 'the')]
    """
    return list(dict.fromkeys(itertools.permutations(words)))
