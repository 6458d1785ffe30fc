"""The probability of a whole sequence by the chain rule, p(x_1 … x_L) = Π p(x_i | x_1 … x_{i−1}), in logarithms;
perplexity and surprisal.
"""
import itertools
import math
import os
from collections.abc import Iterator, Sequence

import numpy as np
import torch

from core.model.kv_cache import KVCache
from core.model.transformer import Transformer

BATCH_TOKENS = 512      # tokens of one batch
# positions whose logits are in memory at once: with a large vocabulary they take more than all else
UNEMBEDDED = 128


def token_log_probs(model: Transformer, rows: Sequence[Sequence[int]]) -> list[np.ndarray]:
    """For each row of n token ids, ln p(x_i | x_0 … x_{i−1}) of all but the first, (n − 1,) float64, in nats: the first
    token is the context (end of text).

    Raises ValueError for an empty row, and as the model does for a row that is longer than its context.
    """
    return list(each_token_log_probs(model, rows))


def each_token_log_probs(model: Transformer, rows: Sequence[Sequence[int]]) -> Iterator[np.ndarray]:
    """`token_log_probs` as an iterator over the rows.

    Rows of different lengths share a batch. A prefix that all rows of a batch share is computed once, so rows in
    alphabetical order cost least.
    """
    for batch in _batches(rows):
        yield from _batch_log_probs(model, [tuple(row) for row in batch])


@torch.inference_mode()
def _batch_log_probs(model: Transformer, rows: Sequence[tuple[int, ...]]) -> list[np.ndarray]:
    """`token_log_probs` of one batch; the common prefix of its rows is computed once."""
    n_common = max(1, len(os.path.commonprefix(rows)))
    common, cache = rows[0][:n_common], KVCache()
    first = np.zeros(0)
    if n_common > 1:
        vectors = model.final_vectors(torch.tensor([common[:-1]], device=model.device), cache)[0]
        first = _log_probs(model, vectors, common[1:])
    suffixes = [row[n_common:] for row in rows]
    if not any(suffixes):
        return [first.copy() for _ in rows]
    inputs = _padded(model, [(common[-1], *ids[:-1]) for ids in suffixes])
    vectors = model.final_vectors(inputs, cache.repeated(len(rows)))
    read = torch.cat([vectors[i, :len(ids)] for i, ids in enumerate(suffixes)])
    log_probs = _log_probs(model, read, [token_id for ids in suffixes for token_id in ids])
    return [np.concatenate([first, part])
            for part in np.split(log_probs, np.cumsum([len(ids) for ids in suffixes])[:-1])]


def _log_probs(model: Transformer, vectors: torch.Tensor, token_ids: Sequence[int]) -> np.ndarray:
    """(M,) float64: ln p in nats of token_ids[i] as predicted from vectors[i]; vectors (M, d) are final vectors."""
    log_probs, ids = [torch.zeros(0, dtype=torch.float64)], torch.tensor(token_ids, dtype=torch.int64)
    for part, next_ids in zip(vectors.split(UNEMBEDDED), ids.split(UNEMBEDDED)):
        logits = model.logits_of(part).cpu().double()
        log_probs.append(logits.gather(-1, next_ids[:, None])[:, 0] - logits.logsumexp(-1))
    return torch.cat(log_probs).numpy()


@torch.inference_mode()
def next_log_probs(model: Transformer, rows: Sequence[Sequence[int]]) -> np.ndarray:
    """(M, |V|) float64: ln p in nats of every token of the vocabulary as the next token after each row.

    A prefix that all rows of a batch share is computed once, so rows in alphabetical order cost least. Raises
    ValueError as `token_log_probs` does.
    """
    log_probs = [np.zeros((0, model.config.vocab_size))]
    for batch in _batches(rows):
        log_probs.append(model.logits_of(_last_vectors(model, batch)).cpu().double().log_softmax(-1).numpy())
    return np.concatenate(log_probs)


def _last_vectors(model: Transformer, rows: Sequence[Sequence[int]]) -> torch.Tensor:
    """(B, d) the final vector of each row's last token; a prefix of all rows, but for that token, is computed once."""
    rows = [tuple(row) for row in rows]
    ends = [len(row) - 1 for row in rows]
    n_common = min(len(os.path.commonprefix(rows)), *ends) if len(rows) > 1 else 0
    cache = None
    if n_common:
        common = KVCache()
        model.final_vectors(torch.tensor([rows[0][:n_common]], device=model.device), common)
        cache = common.repeated(len(rows))
    vectors = model.final_vectors(_padded(model, [row[n_common:] for row in rows]), cache)
    return vectors[torch.arange(len(rows)), torch.tensor(ends) - n_common]


@torch.inference_mode()
def continuation_log_probs(model: Transformer, contexts: Sequence[Sequence[int]],
                           continuations: Sequence[Sequence[Sequence[int]]]) -> list[list[float]]:
    """ln p, in nats, of each continuation of each context: the sum over the continuation's tokens. Context and
    continuation are token ids and must fit into the model's context together.

    The model reads contexts of one length together, and each once: every continuation starts from the keys and values
    of its context. Raises ValueError for an empty context or continuation.
    """
    if not all(ids for each in continuations for ids in each):
        raise ValueError("Every continuation needs at least one token.")
    totals: dict[int, list[float]] = {}
    by_length = sorted(range(len(contexts)), key=lambda i: len(contexts[i]))
    for _, group in itertools.groupby(by_length, key=lambda i: len(contexts[i])):
        places = list(group)
        for batch in _batches([contexts[i] for i in places]):
            here, places = places[:len(batch)], places[len(batch):]
            totals |= zip(here, _continued(model, batch, [continuations[i] for i in here]))
    return [totals[i] for i in range(len(contexts))]


def _continued(model: Transformer, contexts: Sequence[Sequence[int]],
               continuations: Sequence[Sequence[Sequence[int]]]) -> list[list[float]]:
    """`continuation_log_probs` of contexts of one length. A continuation's first token is read from its context's last
    vector, its further tokens from a second pass, shared by all continuations that have any.
    """
    cache = KVCache()
    last = model.final_vectors(torch.tensor(contexts, device=model.device), cache)[:, -1]
    rows = [row for row, each in enumerate(continuations) for _ in each]
    flat = [ids for each in continuations for ids in each]
    vectors = list(last[rows, None])            # of each continuation (its number of tokens, d)
    if longer := [k for k, ids in enumerate(flat) if len(ids) > 1]:
        further = model.final_vectors(_padded(model, [flat[k][:-1] for k in longer]),
                                      cache.of([rows[k] for k in longer]))
        for k, after in zip(longer, further):
            vectors[k] = torch.cat([vectors[k], after[:len(flat[k]) - 1]])
    log_probs = _log_probs(model, torch.cat(vectors), [token_id for ids in flat for token_id in ids])
    sums = iter([float(part.sum()) for part in np.split(log_probs, np.cumsum([*map(len, flat)])[:-1])])
    return [[next(sums) for _ in each] for each in continuations]


def _batches(rows: Sequence[Sequence[int]]) -> Iterator[Sequence[Sequence[int]]]:
    """The rows in batches of at most BATCH_TOKENS tokens after padding to the longest of all rows."""
    if not all(rows):
        raise ValueError("Every row needs at least the token that it begins with.")
    step = max(1, BATCH_TOKENS // max(map(len, rows), default=1))
    for start in range(0, len(rows), step):
        yield rows[start:start + step]


def _padded(model: Transformer, rows: Sequence[Sequence[int]]) -> torch.Tensor:
    """(B, longest) int64 on the model's device: the rows, padded at their ends, which a causal model does not see."""
    padding, longest = model.config.end_of_text or 0, max(map(len, rows))
    return torch.tensor([[*row, *[padding] * (longest - len(row))] for row in rows], device=model.device)


def perplexity(log_probs: np.ndarray) -> float:
    """exp(−mean ln p) of log_probs in nats: the mean uncertainty as a number of equally probable tokens; NaN without
    tokens.

    >>> perplexity(np.log([0.5, 0.125]))
    4.0
    """
    return math.exp(-float(np.mean(log_probs))) if len(log_probs) else math.nan


def bits(log_probs: np.ndarray) -> np.ndarray:
    """The surprisal −log2 p, in bits, of probabilities given as ln p.

    >>> bits(np.log([0.5, 0.125])).round(9)
    array([1., 3.])
    """
    return -np.asarray(log_probs, dtype=np.float64) / math.log(2) + 0.0


def orders(words: Sequence[str]) -> list[tuple[str, ...]]:
    """Every different order of the words, the given one first: n! orders, fewer if a word occurs twice.

    >>> orders(["the", "cat", "the"])
    [('the', 'cat', 'the'), ('the', 'the', 'cat'), ('cat', 'the', 'the')]
    """
    return list(dict.fromkeys(itertools.permutations(words)))
