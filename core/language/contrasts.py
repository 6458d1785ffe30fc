"""Two versions of a text that differ in one word: how the distribution of the next token changes, and whether many
texts show the same change.
"""
import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from core.analysis import text_probability
from core.model.tokenizer import Tokenizer
from core.model.transformer import Transformer
from core.training.teaching_text import DATA

MOST_WORDS = 60         # the last words of a text; one of them may be exchanged


@dataclass(frozen=True)
class Contrast:
    """Two next-token distributions, as ln p and ln q (|V|,) in nats, both finite."""

    log_p: np.ndarray
    log_q: np.ndarray

    @property
    def difference(self) -> np.ndarray:
        """(|V|,) q − p, which sums to 0."""
        return np.exp(self.log_q) - np.exp(self.log_p)

    @property
    def log_ratio(self) -> np.ndarray:
        """(|V|,) ln(q / p), nats."""
        return self.log_q - self.log_p

    @property
    def total_variation(self) -> float:
        """½ Σ |q − p|, in [0, 1]: the largest difference in the probability of any set of tokens.

        >>> round(Contrast(np.log([0.5, 0.5]), np.log([0.8, 0.2])).total_variation, 9)
        0.3
        """
        return 0.5 * float(np.abs(self.difference).sum())

    @property
    def kl_from_p(self) -> float:
        """KL(p ‖ q) = Σ p ln(p / q), nats, at least 0."""
        return max(0.0, float(np.exp(self.log_p) @ -self.log_ratio))

    @property
    def kl_from_q(self) -> float:
        """KL(q ‖ p) = Σ q ln(q / p), nats, at least 0."""
        return max(0.0, float(np.exp(self.log_q) @ self.log_ratio))

    def movers(self, k: int, by: str = "probability", at_least: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
        """Token ids of the k largest increases and the k largest decreases from p to q, by "probability" or by "ratio",
        the largest first.

        at_least: leaves out tokens whose probability is lower in both texts.
        """
        values = self.difference if by == "probability" else self.log_ratio
        allowed = np.flatnonzero(np.exp(np.maximum(self.log_p, self.log_q)) >= at_least)
        order = allowed[np.argsort(-values[allowed], kind="stable")]
        return order[values[order] > 0][:k], order[::-1][values[order[::-1]] < 0][:k]


@dataclass(frozen=True)
class Spread:
    """One quantity over several texts, values (n,): its mean, its standard deviation (n − 1), and in how many texts it
    is above 0.
    """

    values: np.ndarray

    @property
    def mean(self) -> float:
        return float(self.values.mean())

    @property
    def deviation(self) -> float:
        return float(self.values.std(ddof=1)) if len(self.values) > 1 else math.nan

    @property
    def error(self) -> float:
        """Standard error of the mean: deviation / √n."""
        return self.deviation / math.sqrt(len(self.values))

    @property
    def n_above(self) -> int:
        return int((self.values > 0).sum())


@cache
def sets() -> dict:
    """assets/teaching/word_pairs.json: sentences with a slot {w}; pairs {a, b, neutral, counted} by name, controls
    included; swaps, the usual counterparts of words; exchanges by name, a text, the number of a word, and another word.
    """
    return json.loads((DATA / "word_pairs.json").read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Exchange:
    """A text and one of its words, text[start:end], with the word in its place in the other text."""

    text: str
    start: int
    end: int
    swap: str

    @property
    def word(self) -> str:
        return self.text[self.start:self.end]

    @property
    def changed(self) -> str:
        """The other text."""
        return self.text[:self.start] + self.swap + self.text[self.end:]

    @property
    def without(self) -> str:
        """The text with neither word."""
        return self.text[:self.start].rstrip() + self.text[self.end:]


def words_of(text: str) -> list[re.Match]:
    """The last MOST_WORDS words of a text as matches, which have their positions."""
    return list(re.finditer(r"[^\W\d_]+(?:'[^\W\d_]+)?", text))[-MOST_WORDS:]


def swapped(word: str) -> str:
    """The word's counterpart in the project's list of swaps, else the list's first word, with the word's capital.

    >>> swapped("She"), swapped("dog")
    ('He', 'cat')
    """
    swaps = {a: b for pair in sets()["swaps"] for a, b in (pair, pair[::-1])}
    swap = swaps.get(word) or swaps.get(word.lower()) or sets()["swaps"][0][0]
    return swap[:1].upper() + swap[1:] if word[:1].isupper() else swap


def exchange(text: str, place: int, typed: str) -> Exchange | None:
    """`text` with one word replaced by `typed` or, if that is empty, by the usual counterpart: the word of this number
    among words_of, else the first with a counterpart, else the last. None for a text without words.
    """
    words = words_of(text)
    if not words:
        return None
    known = {word for pair in sets()["swaps"] for word in pair}
    usual = next((i for i, match in enumerate(words) if match.group() in known), len(words) - 1)
    match = words[place if 0 <= place < len(words) else usual]
    return Exchange(text, match.start(), match.end(), " ".join(typed.split()) or swapped(match.group()))


def fitted(sentence: str, word: str) -> str:
    """The sentence with the word in its slot.

    >>> fitted("{w} ran. The {w} fell", "girl")
    'Girl ran. The girl fell'
    """
    first = word[:1].upper() + word[1:] if sentence.startswith("{w}") else word
    return first.join(sentence.split("{w}", 1)).replace("{w}", word)


def contrasts(model: Transformer, tokenizer: Tokenizer, texts: Sequence[tuple[str, str]]) -> list[Contrast]:
    """The two next-token distributions of each pair of texts, each text alone after the first token."""
    rows = [tokenizer.prompt(text, model.config.n_context).token_ids for pair in texts for text in pair]
    log_probs = text_probability.next_log_probs(model, rows)
    return [Contrast(p, q) for p, q in zip(log_probs[::2], log_probs[1::2])]


def log_ratios(model: Transformer, tokenizer: Tokenizer, texts: Sequence[tuple[str, str]],
               words: Sequence[str]) -> np.ndarray:
    """(len(words), len(texts)) ln(q / p) in nats of each word, after a space, as the continuation: the sum over its
    tokens.
    """
    ids = [tokenizer.encode(f" {word}") for word in words]
    room = model.config.n_context - max(map(len, ids), default=0)
    contexts = [tokenizer.prompt(text, room).token_ids for pair in texts for text in pair]
    log_probs = np.array(text_probability.continuation_log_probs(model, contexts, [ids] * len(contexts)))
    return (log_probs[1::2] - log_probs[::2]).T
