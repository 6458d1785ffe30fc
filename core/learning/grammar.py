"""A made-up grammar with an exactly known entropy: an automaton that emits a word and moves to its next state.

In every state each word leads to exactly one next state, so a reader of the text from its start knows the state, and
the entropy of the state's probabilities is the floor of every loss. The loss of models that see less of the text is
also computed.
"""
import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from core.files import ASSETS, read_json

FILE = ASSETS / "teaching" / "grammar.json"


def entropy(p: np.ndarray) -> float:
    """−Σ p ln p in nats, with 0 ln 0 = 0.

    >>> round(entropy(np.array([0.5, 0.5, 0.0])), 4)
    0.6931
    """
    positive = p[p > 0]
    return float(-(positive * np.log(positive)).sum())


def pair_levels(pairs: np.ndarray) -> dict[str, float]:
    """The loss in nats per word of a model that knows only the word frequencies ("unigram"), and of one that sees the
    word before ("bigram"), from the weights of all pairs, (words before, words).
    """
    total, before = pairs.sum(), pairs.sum(axis=1)
    bigram = sum(weight / total * entropy(row / weight) for weight, row in zip(before, pairs) if weight > 0)
    return {"unigram": entropy(pairs.sum(axis=0) / total), "bigram": float(bigram)}


@dataclass(frozen=True)
class Grammar:
    """states: name -> its words, each as (word, probability, next state).

    Raises ValueError for invalid probabilities, a repeated word in one state, or an unknown next state.
    """

    start: str
    states: Mapping[str, tuple[tuple[str, float, str], ...]]

    def __post_init__(self) -> None:
        for name, words in self.states.items():
            if abs(sum(p for _, p, _ in words) - 1) > 1e-9 or any(p <= 0 for _, p, _ in words):
                raise ValueError(f"The probabilities of the state {name!r} are not above 0 with a sum of 1.")
            if len({word for word, _, _ in words}) < len(words) or any(to not in self.states for _, _, to in words):
                raise ValueError(f"In the state {name!r} a word stands twice, or leads to a state that is not there.")

    @functools.cached_property
    def words(self) -> tuple[str, ...]:
        return tuple(sorted({word for words in self.states.values() for word, _, _ in words}))

    @functools.cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(self.states)

    @functools.cached_property
    def emission(self) -> np.ndarray:
        """(states, words) the probability of each word."""
        return self._table(0.0, lambda p, to: p)

    @functools.cached_property
    def next(self) -> np.ndarray:
        """(states, words) the index of the next state; −1 for a word that the state cannot emit."""
        return self._table(-1, lambda p, to: self.names.index(to))

    def _table(self, empty: float, entry: Callable[[float, str], float]) -> np.ndarray:
        table = np.full((len(self.names), len(self.words)), empty)
        for row, words in zip(table, self.states.values()):
            for word, p, to in words:
                row[self.words.index(word)] = entry(p, to)
        return table

    def write(self, n_texts: int, n_words: int, uniform: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Texts from the start state as word indices (n_texts, n_words), and the true probability of each word.
        uniform: (n_texts, n_words) random numbers in [0, 1).
        """
        state, cumulative = np.full(n_texts, self.names.index(self.start)), self.emission.cumsum(axis=1)
        words, p = np.empty((n_texts, n_words), dtype=np.int64), np.empty((n_texts, n_words))
        for t in range(n_words):
            chosen = np.minimum((cumulative[state] <= uniform[:, t, None]).sum(axis=1), len(self.words) - 1)
            # if ξ exceeds a rounded sum
            chosen = np.where(self.next[state, chosen] < 0, self.emission[state].argmax(axis=1), chosen)
            words[:, t], p[:, t] = chosen, self.emission[state, chosen]
            state = self.next[state, chosen]
        return words, p

    def levels(self, n_words: int) -> dict[str, float]:
        """The exact loss in nats per word on texts of n_words words from the start: of a model that knows only the word
        frequencies ("unigram"), sees the word before ("bigram"), or has read the whole text ("floor").
        """
        # p(last word, state); the last row: no word yet
        before = np.zeros((len(self.words) + 1, len(self.names)))
        before[-1, self.names.index(self.start)] = 1
        pairs, floor = np.zeros((len(self.words) + 1, len(self.words))), 0.0
        entropies = np.array([entropy(row) for row in self.emission])
        states, words = np.nonzero(self.emission)
        for _ in range(n_words):
            state = before.sum(axis=0)
            floor += float(state @ entropies)
            pairs += before @ self.emission
            before = np.zeros_like(before)
            np.add.at(before, (words, self.next[states, words]), state[states] * self.emission[states, words])
        return pair_levels(pairs) | {"floor": floor / n_words}


@functools.lru_cache(maxsize=1)
def made_up() -> Grammar:
    """The grammar of assets/teaching/grammar.json: sentences whose verb agrees in number with a noun that may be far
    before it.
    """
    data = read_json(FILE)
    return Grammar(data["start"], {name: tuple((word, float(p), to) for word, p, to in words)
                                   for name, words in data["states"].items()})
