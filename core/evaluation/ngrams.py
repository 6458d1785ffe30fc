"""The trigram model to compare a transformer's held-out loss with: interpolated Kneser-Ney, in numpy."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.training.loss import HeldOutLoss

ORDER = 3


@dataclass(frozen=True)
class NgramCounts:
    """The n-grams of a text (keys, sorted) with their counts, and the totals of their contexts of n − 1 tokens.

    A key is the n-gram read as a number in base |V|; its context's key is the key divided by |V|, rounded down.
    """

    keys: np.ndarray                # (G,) int64, sorted
    counts: np.ndarray              # (G,) float64
    contexts: np.ndarray            # (C,) int64, sorted
    totals: np.ndarray              # (C,) float64, sum of the counts of the context's n-grams
    followers: np.ndarray           # (C,) float64, number of different n-grams with it
    discount: float                 # D, taken off every count

    @classmethod
    def count(cls, keys: np.ndarray, counts: np.ndarray, vocab_size: int) -> NgramCounts:
        """Count from distinct sorted keys.

        D = (n_1 + 1) / (n_1 + 2 n_2 + 2), where n_c n-grams have count c. D is never 0, so no probability is 0.
        """
        once, twice = np.count_nonzero(counts == 1), np.count_nonzero(counts == 2)
        contexts, first, followers = np.unique(keys // vocab_size, return_index=True, return_counts=True)
        totals = np.add.reduceat(counts.astype(np.float64), first)
        return cls(keys, counts.astype(np.float64), contexts, totals, followers.astype(np.float64),
                   (once + 1) / (once + 2 * twice + 2))

    def probability(self, keys: np.ndarray, shorter: np.ndarray, vocab_size: int) -> np.ndarray:
        """(M,) max(count − D, 0) / total + D · followers / total · shorter, with the probabilities `shorter` (M,) of
        the shorter n-grams; `shorter` alone if the context never occurred.
        """
        count = _look_up(self.keys, self.counts, keys)
        total = _look_up(self.contexts, self.totals, keys // vocab_size)
        followers = _look_up(self.contexts, self.followers, keys // vocab_size)
        seen = np.maximum(total, 1)
        return np.where(total > 0,
                        (np.maximum(count - self.discount, 0) + self.discount * followers * shorter) / seen, shorter)


class TrigramModel:
    """p(token | the two before), interpolated Kneser-Ney: discounted trigram counts; then bigrams and unigrams, counted
    by the number of different contexts they follow; last the uniform distribution. Source: Kneser and Ney 1995; Chen
    and Goodman 1999, section 2.7.
    """

    def __init__(self, documents: Sequence[np.ndarray], vocab_size: int, end_of_text: int) -> None:
        if vocab_size ** ORDER > 2 ** 63 - 1:
            raise ValueError(f"Trigrams of {vocab_size} tokens do not fit 64 bits.")
        self.vocab_size, self.end_of_text = vocab_size, end_of_text
        grams = [self._trigrams(document) for document in documents]
        keys, counts = np.unique(np.concatenate(grams), return_counts=True)
        self.levels: list[NgramCounts] = []                 # trigrams, bigrams, unigrams
        for _ in range(ORDER):
            self.levels.append(NgramCounts.count(keys, counts, vocab_size))
            modulus = vocab_size ** (ORDER - len(self.levels))
            keys, counts = np.unique(keys % modulus, return_counts=True)    # number of different tokens before it

    def _trigrams(self, document: np.ndarray) -> np.ndarray:
        """Keys of the trigrams of the document, with two end-of-text tokens before it and one after, which is also a
        target.
        """
        end = [self.end_of_text]
        ids = np.concatenate([end, end, document, end]).astype(np.int64)
        return (ids[:-2] * self.vocab_size + ids[1:-1]) * self.vocab_size + ids[2:]

    def probabilities(self, document: np.ndarray) -> np.ndarray:
        """(n + 1,) the probability of each token of the document and of its closing end of text, given the two before.
        """
        keys = self._trigrams(document)
        p = np.full(len(keys), 1 / self.vocab_size)
        for n, level in zip(range(1, ORDER + 1), reversed(self.levels)):
            p = level.probability(keys % self.vocab_size ** n, p, self.vocab_size)
        return p

    def held_out_loss(self, documents: Sequence[np.ndarray], n_bytes: int) -> HeldOutLoss:
        nats = [-np.log(self.probabilities(document)) for document in documents]
        return HeldOutLoss(float(sum(n.sum() for n in nats)), sum(len(n) for n in nats), n_bytes)


def _look_up(keys: np.ndarray, values: np.ndarray, queries: np.ndarray) -> np.ndarray:
    """(M,) the value of each query, 0 if it is not among the sorted keys."""
    places = np.minimum(np.searchsorted(keys, queries), len(keys) - 1)
    return np.where(keys[places] == queries, values[places], 0.0)
