"""Shannon's guessing game: the next letter of a text, guessed until it is right, by a reader and by a model of tokens.

Source: Shannon, "Prediction and entropy of printed English", Bell System Technical Journal 30 (1951).
"""
import math
import string
from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np

from core.analysis.text_probability import next_log_probs
from core.model.tokenizer import Tokenizer
from core.model.transformer import Transformer

# small and capital letters are one; the last stands for every other sign
SYMBOLS = (*string.ascii_lowercase, " ", ".")


def playable(text: str) -> str:
    """A text as the game takes it: signs of ASCII alone, one blank between words.

    >>> playable(" A  café,\\nhere ")
    'A caf, here'
    """
    return " ".join("".join(c for c in text if c.isascii() and (c.isprintable() or c.isspace())).split())


def symbol(character: str) -> int:
    """Which of SYMBOLS a sign of ASCII is.

    >>> [SYMBOLS[symbol(c)] for c in "aZ ,?"]
    ['a', 'z', ' ', '.', '.']
    """
    lower = character.lower()
    return SYMBOLS.index(lower) if lower in SYMBOLS else len(SYMBOLS) - 1


def next_symbols(model: Transformer, tokenizer: Tokenizer, text: str) -> np.ndarray:
    """(n, |SYMBOLS|) float64: at each sign of a `playable` text, the model's probability of every symbol after the
    signs before it; rows sum to 1.

    A token is several signs at once, and where the next one ends is not known. So all tokens count that agree with what
    was read: for every place j in the present word, the word up to j in the tokenizer's own cut, and then each token
    that begins with the rest of the word and goes on. Only the signs before are used. Raises ValueError for a text that
    does not fit the model's context.
    """
    states = [_hypotheses(tokenizer, text[:i]) for i in range(len(text))]
    contexts = sorted({ids for state in states for ids, _, _ in state}, key=len)
    scores = dict(zip(contexts, next_log_probs(model, contexts)))
    going_on = _going_on(tokenizer)
    probabilities = np.zeros((len(text), len(SYMBOLS)))
    for row, state in zip(probabilities, states):
        for ids, n_before, rest in state:
            before = sum(scores[ids[:k]][ids[k]] for k in range(n_before, len(ids)))
            tokens, symbols = going_on.get(rest, ([], []))
            if tokens:
                row += np.bincount(symbols, np.exp(before + scores[ids][tokens]), len(SYMBOLS))
    return probabilities / probabilities.sum(axis=1, keepdims=True)


def _hypotheses(tokenizer: Tokenizer, before: str) -> list[tuple[tuple[int, ...], int, bytes]]:
    """For each place j in the last word of what was read: the tokens up to j, how many of them stand before that word
    (end of text too), and the rest of the word.
    """
    words = tokenizer.words(before)
    word = words[-1] if words else b""
    base = (tokenizer.first, *tokenizer.encode(before[:len(before) - len(word)]))
    return [((*base, *tokenizer.encode(word[:j].decode())), len(base), word[j:]) for j in range(len(word) + 1)]


def _going_on(tokenizer: Tokenizer) -> dict[bytes, tuple[list[int], list[int]]]:
    """Beginning -> the tokens that are longer than it, and which symbol each goes on with; bytes beyond ASCII, which no
    game has, are left out.
    """
    going_on: dict[bytes, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
    for token_id in range(tokenizer.vocab_size):
        token = tokenizer.token_bytes(token_id)
        for k in range(len(token) if token.isascii() else 0):
            tokens, symbols = going_on[token[:k]]
            tokens.append(token_id)
            symbols.append(symbol(chr(token[k])))
    return going_on


def guess_number(probabilities: np.ndarray, true: int) -> int:
    """The guess at which the true symbol comes, from 1, if one guesses by falling probability; equal ones in the
    order of SYMBOLS.

    >>> guess_number(np.array([0.2, 0.5, 0.3]), 2)
    2
    """
    own = probabilities[true]
    return 1 + int(np.count_nonzero(probabilities > own) + np.count_nonzero(probabilities[:true] == own))


def entropy_bounds(guesses: Sequence[int]) -> tuple[float, float]:
    """Shannon's bounds on the entropy in bits a sign, from the numbers of the right guesses, q_r being the share of
    signs that took r guesses:

        Σ r (q_r − q_{r+1}) log2 r   ≤   H   ≤   −Σ q_r log2 q_r

    They hold for an ideal guesser and many signs; of a few signs the upper one is too low (n signs cannot show more
    than log2 n bits), and q_r may rise, so that the lower one means nothing. NaN for no guess.

    >>> entropy_bounds([1, 1, 1, 1]), entropy_bounds([1, 1, 2, 2])
    ((0.0, 0.0), (1.0, 1.0))
    """
    if not guesses:
        return math.nan, math.nan
    q = Counter(guesses)
    share = [q[r] / len(guesses) for r in range(max(guesses) + 2)]
    lower = sum(r * (share[r] - share[r + 1]) * math.log2(r) for r in range(1, len(share) - 1))
    return lower, -sum(p * math.log2(p) for p in share if p) + 0.0
