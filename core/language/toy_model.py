"""A language model of five words, small enough to be read: p of each word after each word, in one table."""
import math
from collections import Counter
from collections.abc import Sequence

import numpy as np

WORDS = ("ate", "ball", "cheese", "mouse", "the")
START = len(WORDS)          # the row for the beginning, before the first word
LENGTH = 5                  # words of a drawn sentence, as many as the lecture's have
# (6, 5): a row for each word before, and the last for the beginning. Chosen so that the lecture's three sentences have
# the probabilities 0.02, 0.01 and 0.0001.
TABLE = np.array([[0.01, 0.06, 0.10, 0.03, 0.80],
                  [0.30, 0.10, 0.10, 0.10, 0.40],
                  [0.25, 0.15, 0.10, 0.15, 0.35],
                  [0.50, 0.20, 0.12, 0.10, 0.08],
                  [0.05, 0.20, 0.25, 0.40, 0.10],
                  [0.05, 0.10, 0.15, 0.20, 0.50]])


def ids_of(sentence: str) -> list[int]:
    """The places of a sentence's words among WORDS; other words are left out.

    >>> ids_of("The mouse ate a cheese")
    [4, 3, 0, 2]
    """
    return [WORDS.index(word) for word in sentence.lower().split() if word in WORDS]


def factors(table: np.ndarray, ids: Sequence[int]) -> list[float]:
    """p of each word given the word before it: the chain rule of a model that sees one word."""
    return [float(table[before, word]) for before, word in zip((START, *ids), ids)]


def with_entry(table: np.ndarray, before: int, word: int, p: float) -> np.ndarray:
    """The table with one entry set to p, and the rest of its row shared as before."""
    changed = table.copy()
    changed[before] *= (1 - p) / (1 - table[before, word])
    changed[before, word] = p
    return changed


def drawn(table: np.ndarray, xi: np.ndarray) -> list[list[int]]:
    """Sentences of LENGTH words, drawn word by word: each number of xi (n LENGTH,) in [0, 1) picks the word in whose
    interval it falls, given the word before.

    >>> drawn(TABLE, np.array([0.99, 0.5, 0.2, 0.9, 0.3]))
    [[4, 3, 0, 4, 2]]
    """
    intervals = table.cumsum(1)
    sentences = []
    for numbers in xi.reshape(-1, LENGTH):
        ids = [START]
        for number in numbers:
            ids.append(min(int(np.searchsorted(intervals[ids[-1]], number, "right")), len(WORDS) - 1))
        sentences.append(ids[1:])
    return sentences


def log_likelihood(table: np.ndarray, text: Sequence[Sequence[int]]) -> float:
    """ln of the product of the probabilities of all sentences of a text, in nats."""
    return sum(math.log(p) for ids in text for p in factors(table, ids))


def cross_entropy(table: np.ndarray, text: Sequence[Sequence[int]]) -> float:
    """The mean of −ln p over the words of a text, in nats, which training makes small."""
    return -log_likelihood(table, text) / sum(map(len, text))


def frequency(text: Sequence[Sequence[int]], before: int, word: int) -> tuple[int, int]:
    """How often `word` follows `before` in a text, and how often any word does: their quotient is the p of maximum
    likelihood.
    """
    pairs = Counter(pair for ids in text for pair in zip((START, *ids), ids))
    return pairs[before, word], sum(n for (first, _), n in pairs.items() if first == before)
