"""How a text is split into tokens, step by step: the merges of BPE in their order, BPE learned from a small text, and
the ways in which the pieces of a Unigram model cut a word (unigram.py learns one).

Here BPE and Unigram start from characters; a model's tokenizer (core.model.tokenizer) starts from bytes. A word is what
GPT-2's pattern splits off, with the space before it; no token reaches from one word into the next.
"""
import functools
import heapq
import itertools
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic

import numpy as np
import tokenizers
from tokenizers import models, pre_tokenizers, trainers

from core.model.tokenizer import PIECE, encodable, ranks_of

# GPT-2's pattern with words of at most 60 characters, so that a text without spaces does not take seconds
WORDS = pre_tokenizers.Split(tokenizers.Regex(r"'(?:[sdmt]|ll|ve|re)| ?\p{L}{1,60}| ?\p{N}{1,60}| "
                                              r"?[^\s\p{L}\p{N}]{1,60}|\s{1,60}(?!\S)|\s{1,60}"), "isolated")


def words_of(text: str) -> list[str]:
    """The words of a text, whose concatenation is the text.

    >>> words_of("I don't, you")
    ['I', ' don', "'t", ',', ' you']
    """
    return [word for word, _ in WORDS.pre_tokenize_str(encodable(text))]


# ---- BPE: the merges -------------------------------------------------------------------------------------------------


def merged(pieces: Sequence[PIECE], left: PIECE, right: PIECE) -> list[PIECE]:
    """The pieces with every `left` followed by `right` merged into one, from left to right.

    >>> merged(["a", "a", "a", "b"], "a", "a")
    ['aa', 'a', 'b']
    """
    out: list[PIECE] = []
    i = 0
    while i < len(pieces):
        both = i + 1 < len(pieces) and pieces[i] == left and pieces[i + 1] == right
        out.append(left + right if both else pieces[i])
        i += 2 if both else 1
    return out


@dataclass(frozen=True)
class Step(Generic[PIECE]):
    """One merge applied everywhere: its rank (from 1, in the order of learning), the two pieces that it joins, and the
    words after it.
    """

    rank: int
    left: PIECE
    right: PIECE
    words: tuple[tuple[PIECE, ...], ...]


def merge_steps(words: Sequence[Sequence[PIECE]], ranks: Mapping[tuple[PIECE, PIECE], int]) -> Iterator[Step[PIECE]]:
    """Yield the steps of BPE on `words`, each a sequence of pieces: BPE repeatedly merges the pair with the lowest
    rank, everywhere at once, until no merge applies.

    A merge can only join the results of earlier merges, so the ranks rise from step to step. Source: Sennrich et al.
    2016, algorithm 1.
    """
    state = [list(word) for word in words]
    while True:
        present = {pair for word in state for pair in zip(word, word[1:]) if pair in ranks}
        if not present:
            return
        left, right = min(present, key=ranks.__getitem__)
        state = [merged(word, left, right) if left in word else word for word in state]
        yield Step(ranks[left, right], left, right, tuple(map(tuple, state)))


def pair_counts(cuts: Mapping[tuple[PIECE, ...], int]) -> Counter[tuple[PIECE, PIECE]]:
    """The counts of adjacent pieces, by which BPE chooses its next merge. cuts: the pieces of each word -> how often
    the word occurs.

    >>> pair_counts({("l", "o", "w"): 5, ("l", "o"): 2}).most_common(1)
    [(('l', 'o'), 7)]
    """
    counts: Counter[tuple[PIECE, PIECE]] = Counter()
    for pieces, count in cuts.items():
        for pair in zip(pieces, pieces[1:]):
            counts[pair] += count
    return counts


# ---- learned from a small text ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LearnedBpe:
    """A BPE learned from characters: its alphabet, and its merges in the order of learning.

    Its first n merges are the BPE of a smaller vocabulary.
    """

    alphabet: tuple[str, ...]
    merges: tuple[tuple[str, str], ...]

    @property
    def vocab_size(self) -> int:
        return len(self.alphabet) + len(self.merges)

    @functools.cached_property
    def _ranks(self) -> dict[tuple[str, str], int]:
        return ranks_of(self.merges)

    def history(self, word: str) -> list[Step[str]]:
        """The steps of the merges on `word`."""
        return list(merge_steps([list(word)], self._ranks))

    def cut(self, word: str, n_merges: int) -> tuple[str, ...]:
        """The pieces of `word` under the first n_merges merges."""
        done = [step.words[0] for step in self.history(word) if step.rank <= n_merges]
        return done[-1] if done else tuple(word)


def learn_bpe(text: str) -> LearnedBpe:
    """BPE learned from the words of `text`, until each word is one token.

    Raises ValueError for a text without characters.
    """
    if not text:
        raise ValueError("BPE cannot be learned from an empty text.")
    learned = tokenizers.Tokenizer(models.BPE())
    learned.pre_tokenizer = WORDS
    learned.train_from_iterator([encodable(text)], trainers.BpeTrainer(vocab_size=10**6, show_progress=False))
    model = json.loads(learned.to_str())["model"]
    merges = tuple((left, right) for left, right in model["merges"])
    return LearnedBpe(tuple(sorted(set(encodable(text)))), merges)


@dataclass(frozen=True)
class LearnedUnigram:
    """A Unigram model learned from characters: ln p of every piece.

    A text with an unknown character has no probability.
    """

    log_p: Mapping[str, float]

    @functools.cached_property
    def longest(self) -> int:
        """Characters of the longest piece."""
        return max(map(len, self.log_p))

    def segmentations(self, word: str, n: int) -> list[tuple[float, tuple[str, ...]]]:
        """The n most probable segmentations of `word`, the best first: (sum of ln p of the pieces, the pieces); empty
        if there is none.

        The Viterbi algorithm with n survivors at each position, each linked to its predecessor; of equally probable
        ones, the one with fewer pieces first.
        """
        best: list[list[tuple[float, int, tuple]]] = [[(0.0, 0, ())]]
        for end in range(1, len(word) + 1):
            ways = [(cost - self.log_p[piece], length + 1, (before, piece)) for start, piece in self._ending(word, end)
                    for cost, length, before in best[start]]
            best.append(heapq.nsmallest(n, ways, key=lambda way: way[:2]))
        return [(-cost, _unlinked(link)) for cost, _, link in best[-1]]

    def cut(self, word: str) -> tuple[str, ...]:
        """The pieces of the most probable segmentation; an unknown character is its own piece."""
        known = set("".join(self.log_p))
        runs = ("".join(run) for _, run in itertools.groupby(word, key=known.__contains__))
        return tuple(piece for run in runs for piece in (self.segmentations(run, 1)[0][1] if run[0] in known else run))

    def log_likelihood(self, word: str) -> float:
        """ln p of `word` by the forward algorithm: the sum, over all its segmentations, of the product of p of the
        pieces; −inf if there is none.
        """
        forward = [0.0]
        for end in range(1, len(word) + 1):
            ways = [forward[start] + self.log_p[piece] for start, piece in self._ending(word, end)]
            forward.append(float(np.logaddexp.reduce(ways)))
        return forward[-1]

    def _ending(self, word: str, end: int) -> list[tuple[int, str]]:
        starts = range(max(0, end - self.longest), end)
        return [(start, word[start:end]) for start in starts if word[start:end] in self.log_p]


def objective(unigram: LearnedUnigram, counts: Mapping[str, int]) -> float:
    """Unigram's objective in nats: the sum of ln p over all words of the text. counts: word -> how often it occurs."""
    return sum(count * unigram.log_likelihood(word) for word, count in counts.items())


def _unlinked(link: tuple) -> tuple[str, ...]:
    """The pieces of (… (((), first), second) …, last)."""
    pieces = []
    while link:
        link, piece = link
        pieces.append(piece)
    return tuple(reversed(pieces))
