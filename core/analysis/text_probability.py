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
    """The same one by one, as they come.

    Rows of different lengths go through the model side by side, filled at their ends, which a causal model does not
    see. What neighbours begin with alike is read once for them: rows in the order of a dictionary cost least.
    """
    if not all(rows):
        raise ValueError("Every row needs at least the token that it begins with.")
    longest = max(map(len, rows), default=1)
    step = max(1, BATCH_TOKENS // longest)
    for start in range(0, len(rows), step):
        yield from _of_batch(model, [tuple(row) for row in rows[start:start + step]])


@torch.inference_mode()
def _of_batch(model: Transformer, rows: Sequence[tuple[int, ...]]) -> list[np.ndarray]:
    """`token_log_probs` of rows whose common beginning is read once."""
    n_alike = max(1, len(os.path.commonprefix(rows)))
    alike, cache, filling = rows[0][:n_alike], KVCache(), model.config.end_of_text or 0
    first = _log_probs(model, model.final_vectors(torch.tensor([alike[:-1]], device=model.device), cache=cache)[0],
                       alike[1:]) if n_alike > 1 else np.zeros(0)
    own = [row[n_alike:] for row in rows]
    longest = max(map(len, own))
    if longest == 0:
        return [first.copy() for _ in rows]
    cache.keys_and_values = {layer: (K.expand(len(rows), -1, -1, -1), V.expand(len(rows), -1, -1, -1))
                             for layer, (K, V) in cache.keys_and_values.items()}
    inputs = torch.tensor([[alike[-1], *ids[:-1], *[filling] * (longest - max(1, len(ids)))] for ids in own],
                          device=model.device)
    vectors = model.final_vectors(inputs, cache=cache)
    read = torch.cat([vectors[i, :len(ids)] for i, ids in enumerate(own)])
    found = np.split(_log_probs(model, read, [token_id for ids in own for token_id in ids]),
                     np.cumsum([len(ids) for ids in own])[:-1])
    return [np.concatenate([first, part]) for part in found]


def _log_probs(model: Transformer, vectors: torch.Tensor, token_ids: Sequence[int]) -> np.ndarray:
    """(M,) ln p of token i after the final vector i of vectors (M, d), nats, float64."""
    found, ids = [], torch.tensor(token_ids, dtype=torch.int64)
    for part, own in zip(vectors.split(UNEMBEDDED), ids.split(UNEMBEDDED)):
        logits = model.logits_of(part).cpu().double()
        found.append(logits.gather(-1, own[:, None])[:, 0] - logits.logsumexp(-1))
    return torch.cat(found).numpy() if found else np.zeros(0)


@torch.inference_mode()
def next_log_probs(model: Transformer, rows: Sequence[Sequence[int]]) -> np.ndarray:
    """(M, |V|) ln p of every token of the vocabulary as the next one after each row, in nats, float64.

    Raises ValueError as `token_log_probs` does.
    """
    found = [np.zeros((0, model.config.vocab_size))]
    for batch, inputs in _batches(model, rows):
        last = model.final_vectors(inputs)[torch.arange(len(batch)), [len(row) - 1 for row in batch]]
        found.append(model.logits_of(last).cpu().double().log_softmax(-1).numpy())
    return np.concatenate(found)


@torch.inference_mode()
def continuation_log_probs(model: Transformer, contexts: Sequence[Sequence[int]],
                           continuations: Sequence[Sequence[Sequence[int]]]) -> list[list[float]]:
    """ln p, in nats, of each continuation of each context, as token ids that fit together into the model's context: the
    sum over the continuation's tokens.

    Those of one token share one pass over their context. Raises ValueError for an empty context or continuation.
    """
    if not all(map(len, (own for every in continuations for own in every))):
        raise ValueError("Every continuation needs at least one token.")
    first = next_log_probs(model, contexts)
    long = [(i, k) for i, every in enumerate(continuations) for k, own in enumerate(every) if len(own) > 1]
    totals, places = {}, iter(long)
    for batch, inputs in _batches(model, [(*contexts[i], *continuations[i][k]) for i, k in long]):
        for row, vectors, (i, k) in zip(batch, model.final_vectors(inputs), places):
            ids = continuations[i][k]
            scores = model.logits_of(vectors[len(row) - len(ids) - 1:len(row) - 1]).cpu().double().log_softmax(-1)
            totals[i, k] = float(scores.gather(-1, torch.tensor(ids)[:, None]).sum())
    return [[totals.get((i, k), float(first[i, own[0]])) for k, own in enumerate(every)]
            for i, every in enumerate(continuations)]


def _batches(model: Transformer,
             rows: Sequence[Sequence[int]]) -> Iterator[tuple[Sequence[Sequence[int]], torch.Tensor]]:
    """The rows in parts, each with its token ids (B, longest) filled at their ends."""
    if not all(rows):
        raise ValueError("Every row needs at least the token that it begins with.")
    filling, longest = model.config.end_of_text or 0, max(map(len, rows), default=1)
    step = max(1, BATCH_TOKENS // longest)
    for batch in (rows[start:start + step] for start in range(0, len(rows), step)):
        yield batch, torch.tensor([[*row, *[filling] * (longest - len(row))] for row in batch], device=model.device)


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
