"""Unigram learned from a small text, round by round: which pieces it has, what each is worth, and which are dropped.

As in Kudo 2018 and SentencePiece: begin with far too many pieces, fit their probabilities by expectation maximisation,
compute for every piece how much the text's likelihood depends on it, drop a quarter of them, and repeat. A word is what
core.language.segmentation.words_of splits off.
"""
import functools
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from core.language.segmentation import LearnedUnigram, words_of

MOST_SEEDS = 2_000       # pieces to begin with, beside the characters
LONGEST = 16             # characters of a piece
KEPT = 0.75              # share of the pieces that each round keeps
EM_STEPS = 2             # before each round's losses
SURE = 0.999             # the share above which 1 − share has too few digits
LEAST = 0.01             # the least count of a character, in occurrences, so that it never becomes impossible


@dataclass(frozen=True)
class Round:
    """One round of pruning. log_p: ln p of every piece after this round's fit; objective: ln of the text's probability
    with them, in nats; losses: by how much the objective falls if only this piece is dropped, for all that may be
    dropped; dropped: the dropped pieces, the smallest loss first.
    """

    log_p: Mapping[str, float]
    objective: float
    losses: Mapping[str, float]
    dropped: tuple[str, ...]

    @functools.cached_property
    def model(self) -> LearnedUnigram:
        return LearnedUnigram(self.log_p)


def seeds(counts: Mapping[str, int]) -> dict[str, int]:
    """The pieces to begin with and how often each occurs: every character, and the strings within words that occur
    twice or more, at most MOST_SEEDS of them, the strings that cover most characters first.

    >>> seeds({"low": 2})
    {'l': 2, 'o': 2, 'w': 2, 'low': 2, 'lo': 2, 'ow': 2}
    """
    found: Counter[str] = Counter()
    for word, count in counts.items():
        for start in range(len(word)):
            for end in range(start + 1, min(len(word), start + LONGEST) + 1):
                found[word[start:end]] += count
    characters = {piece: count for piece, count in found.items() if len(piece) == 1}
    longer = sorted((piece for piece, count in found.items() if len(piece) > 1 and count > 1),
                    key=lambda piece: -found[piece] * len(piece))
    return characters | {piece: found[piece] for piece in longer[:MOST_SEEDS]}


def rounds(text: str, sizes: Sequence[int] = ()) -> Iterator[Round]:
    """The rounds of pruning, from the seeds down to only the characters; the last one drops nothing.

    sizes: numbers of pieces at which a round has to end, beside those that follow from KEPT. Raises ValueError for an
    empty text.
    """
    counts = Counter(words_of(text))
    if not counts:
        raise ValueError("Unigram cannot be learned from an empty text.")
    found = seeds(counts)
    lattices = Lattices(counts, tuple(found))
    log_p = _logarithms(np.array([*found.values()], dtype=float))
    while True:
        for _ in range(EM_STEPS):
            expected, *_ = lattices.expected(log_p)
            expected = np.where(lattices.longer, expected, np.maximum(expected, LEAST))
            log_p = _logarithms(np.where(lattices.kept, expected, 0.0))
        now = _round(lattices, log_p, sizes)
        yield now
        if not now.dropped:
            return
        lattices.drop(now.dropped)
        log_p = np.where(lattices.kept, log_p, -math.inf)


def _round(lattices: "Lattices", log_p: np.ndarray, sizes: Sequence[int]) -> Round:
    """The round at these probabilities, which drops pieces down to the next size."""
    losses, objective = lattices.losses(log_p)
    pieces = lattices.pieces
    kept, n = np.flatnonzero(lattices.kept), int(lattices.kept.sum())
    may = [int(i) for i in np.flatnonzero(lattices.kept & lattices.longer)]
    n_characters = n - len(may)
    target = max([n_characters, math.floor(KEPT * n), *(size for size in sizes if size < n)])
    worst = sorted(may, key=lambda i: (round(float(losses[i]), 9), -len(pieces[i]), pieces[i]))
    return Round({pieces[i]: float(log_p[i]) for i in kept}, objective,
                 {pieces[i]: float(losses[i]) for i in worst}, tuple(pieces[i] for i in worst[:n - target]))


def _logarithms(weights: np.ndarray) -> np.ndarray:
    """ln of the weights' shares; −inf if a weight is 0."""
    with np.errstate(divide="ignore"):
        return np.log(weights) - np.log(weights.sum())


class Lattices:
    """All ways to cut the distinct words into pieces: an edge for each place of a piece, from the character where it
    starts to the one where it ends. counts: word -> how often it occurs.
    """

    def __init__(self, counts: Mapping[str, int], pieces: Sequence[str]):
        self.pieces, self.words = tuple(pieces), tuple(counts)
        self.index = {piece: i for i, piece in enumerate(pieces)}
        self.weights = np.array([*counts.values()], dtype=float)
        self.longer = np.array([len(piece) > 1 for piece in pieces])
        self.kept = np.ones(len(pieces), dtype=bool)
        edges = [(w, start, end, self.index[word[start:end]]) for w, word in enumerate(self.words)
                 for end in range(1, len(word) + 1) for start in range(max(0, end - LONGEST), end)
                 if word[start:end] in self.index]
        self.word, self.start, self.end, self.piece = np.array(edges).T
        self.lengths = np.array([len(word) for word in self.words])
        self.begins = np.searchsorted(self.word, np.arange(len(self.words) + 1))      # where each word's edges begin

    def drop(self, pieces: Sequence[str]) -> None:
        self.kept[[self.index[piece] for piece in pieces]] = False

    def forward(self, log_p: np.ndarray) -> np.ndarray:
        """[word, character] ln of the sum, over all ways to cut the word up to there, of the product of the p."""
        return self._sweep(log_p, self.start, self.end, np.zeros(len(self.words), dtype=int), rising=True)

    def backward(self, log_p: np.ndarray) -> np.ndarray:
        """[word, character] the same from there to the word's end."""
        return self._sweep(log_p, self.end, self.start, self.lengths, rising=False)

    def _sweep(self, log_p, from_, to, begins, rising: bool) -> np.ndarray:
        longest = int(self.lengths.max())
        sums = np.full((len(self.words), longest + 1), -math.inf)
        sums[np.arange(len(self.words)), begins] = 0.0
        for place in (range(1, longest + 1) if rising else range(longest - 1, -1, -1)):
            here = np.flatnonzero(to == place)
            np.logaddexp.at(sums[:, place], self.word[here],
                            sums[self.word[here], from_[here]] + log_p[self.piece[here]])
        return sums

    def shares(self, log_p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """([edge] the probability that a cut of its word uses it, [word] ln of the word's probability)."""
        forward, backward = self.forward(log_p), self.backward(log_p)
        whole = backward[:, 0]
        log = forward[self.word, self.start] + log_p[self.piece] + backward[self.word, self.end] - whole[self.word]
        return np.exp(np.minimum(log, 0.0)), whole

    def expected(self, log_p: np.ndarray) -> tuple[np.ndarray, float]:
        """([piece] how often the text is expected to use it, ln of the text's probability)."""
        shares, whole = self.shares(log_p)
        return (np.bincount(self.piece, self.weights[self.word] * shares, len(self.pieces)),
                float(self.weights @ whole))

    def losses(self, log_p: np.ndarray) -> tuple[np.ndarray, float]:
        """([piece] by how much ln of the text's probability falls without it, ln of the text's probability).

        If a piece occurs once in a word, the cuts without it have the share 1 − its own; a word in which it occurs more
        often, or that nearly always uses it, is computed again without it.
        """
        shares, whole = self.shares(log_p)
        found = np.zeros(len(self.pieces))
        pairs, place, times = np.unique(self.word * len(self.pieces) + self.piece, return_inverse=True,
                                        return_counts=True)
        plain = (times[place] == 1) & (shares < SURE)
        np.add.at(found, self.piece[plain], -self.weights[self.word[plain]] * np.log1p(-shares[plain]))
        again = {int(pairs[k]) for k in place[~plain & self.kept[self.piece] & self.longer[self.piece]]}
        for pair in sorted(again):
            w, piece = divmod(pair, len(self.pieces))
            found[piece] += self.weights[w] * (whole[w] - self._without(w, piece, log_p))
        return found, float(self.weights @ whole)

    def _without(self, w: int, piece: int, log_p: np.ndarray) -> float:
        """ln of the probability of word w if one piece is taken away."""
        sums = [0.0] + [-math.inf] * len(self.words[w])
        for k in range(self.begins[w], self.begins[w + 1]):
            if self.piece[k] != piece:
                end = self.end[k]
                sums[end] = float(np.logaddexp(sums[end], sums[self.start[k]] + log_p[self.piece[k]]))
        return sums[-1]
