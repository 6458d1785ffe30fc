"""The trigram model that a transformer's held-out loss is set beside: interpolated Kneser-Ney, in numpy."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.training.loss import HeldOutLoss

ORDER = 3


@dataclass(frozen=True)
class NgramCounts:
    """For contexts of n − 1 tokens: which n-grams were seen (keys, sorted), how often, and what the discount leaves
    to shorter ones.

    A key is the n-gram read as a number in base |V|; its context's key is the key divided by |V|, rounded down.
    """

    keys: np.ndarray                # (G,) int64, sorted
    counts: np.ndarray              # (G,) float64
    contexts: np.ndarray            # (C,) int64, sorted
    totals: np.ndarray              # (C,) float64, sum of the counts of the context's n-grams
    followers: np.ndarray           # (C,) float64, number of different ones
    discount: float                 # D, taken off every count

    @classmethod
    def count(cls, keys: np.ndarray, counts: np.ndarray, vocab_size: int) -> NgramCounts:
        """From distinct sorted keys.

        D = (n_1 + 1) / (n_1 + 2 n_2 + 2), n_c n-grams being counted c times: never 0, so that nothing is impossible.
        """
        once, twice = np.count_nonzero(counts == 1), np.count_nonzero(counts == 2)
        contexts, first, followers = np.unique(keys // vocab_size, return_index=True, return_counts=True)
        totals = np.add.reduceat(counts.astype(np.float64), first)
        return cls(keys, counts.astype(np.float64), contexts, totals, followers.astype(np.float64),
                   (once + 1) / (once + 2 * twice + 2))

    def probability(self, keys: np.ndarray, shorter: np.ndarray, vocab_size: int) -> np.ndarray:
        """(M,) max(count − D, 0) / total + D · followers / total · shorter; `shorter` (M,) alone where the context
        was never seen.
        """
        count = _look_up(self.keys, self.counts, keys)
        total = _look_up(self.contexts, self.totals, keys // vocab_size)
        followers = _look_up(self.contexts, self.followers, keys // vocab_size)
        seen = np.maximum(total, 1)
        return np.where(total > 0,
                        (np.maximum(count - self.discount, 0) + self.discount * followers * shorter) / seen, shorter)


class TrigramModel:
    """p(token | the two before), interpolated Kneser-Ney: discounted trigram counts; then bigrams and unigrams counted
    by how many different contexts they follow; at last the uniform distribution. Source: Kneser and Ney 1995; Chen and
    Goodman 1999, section 2.7.
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
            keys, counts = np.unique(keys % modulus, return_counts=True)    # how many different tokens stood before it

    def _trigrams(self, document: np.ndarray) -> np.ndarray:
        """Keys of the document's trigrams; it begins after two end-of-text tokens and closes with one, which counts."""
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


def _look_up(keys: np.ndarray, values: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """(M,) the value of each wanted key, 0 where it is not among the sorted keys."""
    places = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[places] == wanted, values[places], 0.0)
