"""Shannon's guessing game: a reader and a model of tokens guess the next letter of a text until they are right.

Source: Shannon, "Prediction and entropy of printed English", Bell System Technical Journal 30 (1951).
"""
import math
import string
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from core.analysis.text_probability import next_log_probs, token_log_probs
from core.model.tokenizer import Tokenizer
from core.model.transformer import Transformer

# letters without their case; the last symbol stands for every other character
SYMBOLS = (*string.ascii_lowercase, " ", ".")


def playable(text: str) -> str:
    """A text for the game: ASCII characters only, one blank between words.

    >>> playable(" A  café,\\nhere ")
    'A caf, here'
    """
    return " ".join("".join(c for c in text if c.isascii() and (c.isprintable() or c.isspace())).split())


def symbol(character: str) -> int:
    """The index in SYMBOLS of an ASCII character.

    >>> [SYMBOLS[symbol(c)] for c in "aZ ,?"]
    ['a', 'z', ' ', '.', '.']
    """
    lower = character.lower()
    return SYMBOLS.index(lower) if lower in SYMBOLS else len(SYMBOLS) - 1


def next_symbols(model: Transformer, tokenizer: Tokenizer, text: str) -> np.ndarray:
    """(n, |SYMBOLS|) float64: at each character of a `playable` text, the model's probability of every symbol after the
    characters before it; rows sum to 1.

    A token spans several characters, and the end of the current one is unknown. So the probability sums over all tokens
    that agree with the characters read: for every position j in the current word, the tokenizer's tokens of the word up
    to j, then each longer token that begins with the rest of the word. Only the characters before are used. Raises
    ValueError for a text that does not fit the model's context.
    """
    extensions = _extensions(tokenizer)
    states = [_hypotheses(tokenizer, text[:i], extensions) for i in range(len(text))]
    # in alphabetical order, since neighbours then share their beginnings
    contexts = sorted({ids for state in states for ids, _, _ in state})
    following = dict(zip(contexts, next_log_probs(model, contexts)))
    read = dict(zip(contexts, token_log_probs(model, contexts)))
    probabilities = np.zeros((len(text), len(SYMBOLS)))
    for row, state in zip(probabilities, states):
        continued = []
        for ids, n_before, rest in state:
            before = read[ids][n_before - 1:].sum()
            tokens, symbols = extensions[rest]
            continued.append((symbols, before + following[ids][tokens]))
        # against the largest, since under a model that finds the text impossible all are below the least float
        most = max((float(logs.max()) for _, logs in continued), default=0.0)
        for symbols, logs in continued:
            row += np.bincount(symbols, np.exp(logs - most), len(SYMBOLS))
    return probabilities / probabilities.sum(axis=1, keepdims=True)


def _hypotheses(tokenizer: Tokenizer, before: str,
                extensions: Mapping[bytes, object]) -> list[tuple[tuple[int, ...], int, bytes]]:
    """For each position j in the last word of `before` from which a longer token may go on: the tokens up to j, how
    many of them precede that word (the first token included), and the rest of the word.

    With a tokenizer that does not split a text into words there is one word, and only its last characters count: a rest
    longer than any token begins none.
    """
    words = tokenizer.words(before)
    word = words[-1] if words else b""
    base = (tokenizer.first, *tokenizer.encode(before[:len(before) - len(word)]))
    return [((*base, *tokenizer.encode(word[:j].decode())), len(base), word[j:]) for j in range(len(word) + 1)
            if word[j:] in extensions]


def _extensions(tokenizer: Tokenizer) -> dict[bytes, tuple[list[int], list[int]]]:
    """prefix -> the longer tokens that begin with it, and the symbol that follows the prefix in each; tokens beyond
    ASCII, which no game contains, are left out.
    """
    extensions: dict[bytes, tuple[list[int], list[int]]] = {}
    for token_id in range(tokenizer.vocab_size):
        token = tokenizer.token_bytes(token_id)
        for k in range(len(token) if token.isascii() else 0):
            tokens, symbols = extensions.setdefault(token[:k], ([], []))
            tokens.append(token_id)
            symbols.append(symbol(chr(token[k])))
    return extensions


def guess_number(probabilities: np.ndarray, true: int) -> int:
    """The rank of the true symbol, from 1, when guessing by falling probability; ties in the order of SYMBOLS.

    >>> guess_number(np.array([0.2, 0.5, 0.3]), 2)
    2
    """
    p = probabilities[true]
    return 1 + int(np.count_nonzero(probabilities > p) + np.count_nonzero(probabilities[:true] == p))


def entropy_bounds(guesses: Sequence[int]) -> tuple[float, float]:
    """Shannon's bounds on the entropy in bits per character, from the numbers of the right guesses; q_r is the share of
    characters that took r guesses:

        Σ r (q_r − q_{r+1}) log2 r   ≤   H   ≤   −Σ q_r log2 q_r

    They hold for an ideal guesser and many characters. For few characters the upper bound is too low (n characters show
    at most log2 n bits), and if q_r rises, the lower bound is not valid. NaN for no guess.

    >>> entropy_bounds([1, 1, 1, 1]), entropy_bounds([1, 1, 2, 2])
    ((0.0, 0.0), (1.0, 1.0))
    """
    if not guesses:
        return math.nan, math.nan
    q = Counter(guesses)
    share = [q[r] / len(guesses) for r in range(max(guesses) + 2)]
    lower = sum(r * (share[r] - share[r + 1]) * math.log2(r) for r in range(1, len(share) - 1))
    return lower, -sum(p * math.log2(p) for p in share if p) + 0.0
