"""Substitution ciphers, and reading one without its key: by how often letters, pairs and triples of letters come, and
by a language model.

Sources: al-Kindi, "On deciphering cryptographic messages" (9th century), for the counting of letters; Diaconis, "The
Markov chain Monte Carlo revolution", Bulletin of the AMS 46 (2009), for the walk through the keys.
"""
import argparse
import functools
import math
import string
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from core.analysis import text_probability
from core.model.tokenizer import Tokenizer
from core.model.transformer import Transformer
from core.training import corpus

ALPHABET = string.ascii_lowercase
N_SIGNS = 27                        # the letters, and one sign for whatever stands between words
GAP = 26
TRIPLES = Path(__file__).resolve().parents[2] / "assets" / "teaching" / "letter_triples.npy"
N_STEPS, N_WALKS, HOTTEST = 10_000, 3, 6.0      # of a search; its first temperature, in nats
N_CANDIDATES = 32                   # keys that the model reads in each round


def signs(text: str) -> np.ndarray:
    """The text as signs 0 … 26, large and small letters alike, a run of anything else as one gap, and a gap
    at either end.

    >>> signs("Ab, c").tolist()
    [26, 0, 1, 26, 2, 26]
    """
    data = np.frombuffer(f" {text.lower()} ".encode("ascii", "replace"), dtype=np.uint8).astype(np.int64) - ord("a")
    data[(data < 0) | (data >= GAP)] = GAP
    return data[np.concatenate([[True], (data[1:] != GAP) | (data[:-1] != GAP)])]


def bits_per_letter(text: str, order: int) -> float:
    """What a letter costs on average under the letters, pairs or triples of `log_probs`, in bits: gaps are known, so
    they cost nothing. NaN without a letter.
    """
    grams = _grams(signs(text), order)
    costs = -log_probs(order)[grams][grams[-1] != GAP] / np.log(2)
    return float(costs.mean()) if len(costs) else float("nan")


def _grams(text: np.ndarray, order: int) -> tuple[np.ndarray, ...]:
    """Every `order` neighbouring signs of a text: the first ones, the second ones, …; indices into `log_probs`."""
    return tuple(text[i:len(text) - order + 1 + i] for i in range(order))


def unicity(bits: float) -> float:
    """Shannon's unicity distance: the letters after which, on average, one key alone makes sense: log2(26!) / (log2 26
    − bits per letter). Infinite where nothing is saved.

    Source: Shannon, "Communication theory of secrecy systems", Bell System Technical Journal 28 (1949).

    >>> round(unicity(2.0), 1)
    32.7
    """
    saved = np.log2(GAP) - bits
    return float(np.log2(float(math.factorial(GAP))) / saved) if saved > 0 else math.inf


def triple_counts(texts: Iterable[str]) -> np.ndarray:
    """How often each three signs follow each other: (27, 27, 27) uint32."""
    counts = np.zeros((N_SIGNS,) * 3, dtype=np.uint32)
    for text in texts:
        np.add.at(counts, _grams(signs(text), 3), 1)
    return counts


@functools.cache
def log_probs(order: int) -> np.ndarray:
    """ln of the share of each single sign, or of each sign after the one or two before it, counted over the training
    text and one more than counted: order axes of 27.
    """
    counts = np.load(TRIPLES, allow_pickle=False).astype(np.float64)
    counts = counts.sum(axis=tuple(range(3 - order))) + 1.0
    return np.log(counts / counts.sum(axis=-1, keepdims=True))


def score(text: np.ndarray, order: int) -> float:
    """ln p of signs under the letters, pairs or triples of `log_probs`, in nats: each sign after the ones before it,
    from the sign number `order` on.
    """
    return float(log_probs(order)[_grams(text, order)].sum())


def random_key(seed: int) -> str:
    """A random order of the alphabet: the letter that stands for a, for b, …; the same for the same seed.

    >>> sorted(random_key(3)) == list(ALPHABET)
    True
    """
    return "".join(np.random.default_rng(seed).permutation(list(ALPHABET)))


def encipher(text: str, key: str) -> str:
    """Every letter replaced by the one that stands for it in the key, capitals by capitals; all else stays.

    >>> encipher("Cab!", "bcda" + ALPHABET[4:])
    'Dbc!'
    """
    return text.translate(str.maketrans(ALPHABET + ALPHABET.upper(), key + key.upper()))


def inverse(key: str) -> str:
    """The key that undoes a key.

    >>> encipher(encipher("any text", random_key(5)), inverse(random_key(5)))
    'any text'
    """
    return "".join(ALPHABET[key.index(letter)] for letter in ALPHABET)


def by_frequency(ciphertext: str) -> str:
    """The reading key of al-Kindi: the commonest letter of the ciphertext is read as the commonest of the language, and
    so on down. No other key has a higher `score` of order 1.
    """
    own = np.bincount(signs(ciphertext), minlength=N_SIGNS)[:GAP]
    language = np.argsort(-log_probs(1)[:GAP], kind="stable")
    key = np.empty(GAP, dtype="<U1")
    key[np.argsort(-own, kind="stable")] = np.array(list(ALPHABET))[language]
    return "".join(key)


@dataclass(frozen=True)
class Walk:
    """A walk through the reading keys (what is read for a, for b, …): those that were the best so far, each with its
    step and its ln p in nats.
    """

    steps: tuple[int, ...]
    keys: tuple[str, ...]
    scores: tuple[float, ...]


class _Counted:
    """The ln p of a ciphertext under any key, from its different pairs or triples alone."""

    def __init__(self, ciphertext: str, order: int) -> None:
        self.grams, self.counts = np.unique(_grams(signs(ciphertext), order), axis=1, return_counts=True)
        self.table = log_probs(order)

    def score(self, key: np.ndarray) -> float:
        return float(self.table[tuple(key[self.grams])] @ self.counts)


def search(ciphertext: str, order: int, seed: int = 0, n_steps: int = N_STEPS, n_walks: int = N_WALKS) -> Walk:
    """The best of `n_walks` walks from `by_frequency`: at each step two letters of the key change places, and the
    change stays if ln p rises, or else with probability e^(Δ ln p / τ), where τ falls from HOTTEST to 0
    (simulated annealing). `order` is 2 or 3.
    """
    counted, generator = _Counted(ciphertext, order), np.random.default_rng(seed)
    return max((_walk(counted, by_frequency(ciphertext), generator, n_steps) for _ in range(n_walks)),
               key=lambda walk: walk.scores[-1])


def _walk(counted: _Counted, start: str, generator: np.random.Generator, n_steps: int) -> Walk:
    key = _numbers(start)
    at = best = counted.score(key)
    improvements = [(0, start, at)]
    pairs, luck = generator.integers(0, GAP, (n_steps, 2)), np.log(generator.random(n_steps))
    for step, ((i, j), chance) in enumerate(zip(pairs, luck), 1):
        key[[i, j]] = key[[j, i]]
        new = counted.score(key)
        if (new - at) >= chance * HOTTEST * (1 - step / n_steps):
            at = new
            if at > best:
                best = at
                improvements.append((step, "".join(ALPHABET[k] for k in key[:GAP]), at))
        else:
            key[[i, j]] = key[[j, i]]
    return Walk(*zip(*improvements))


def model_scores(model: Transformer, tokenizer: Tokenizer, texts: Sequence[str]) -> list[float]:
    """ln p of each text after end of text, in nats.

    Raises ValueError as the model does for a text that does not fit its context.
    """
    rows = [(tokenizer.first, *tokenizer.encode(text)) for text in texts]
    return [float(log_probs.sum()) for log_probs in text_probability.token_log_probs(model, rows)]


@dataclass(frozen=True)
class Repair:
    """How far `repairs` are: the best key, ln p of what it reads under the model, in nats, and how many readings the
    model has weighed; new: whether the key is.
    """

    key: str
    log_prob: float
    n_read: int
    new: bool


def repairs(model: Transformer, tokenizer: Tokenizer, ciphertext: str, key: str,
            n_candidates: int = N_CANDIDATES) -> Iterator[Repair]:
    """The key, then better and better ones: of all keys with two letters in each other's place, the `n_candidates`
    with the highest `score` of order 3 are read by the model, one step after each, and the best is the next, as long
    as it is better.
    """
    counted, n_read, at, tried = _Counted(ciphertext, 3), 0, -math.inf, [key]
    while True:
        scores, readings = [], [(tokenizer.first, *tokenizer.encode(encipher(ciphertext, each))) for each in tried]
        for log_probs in text_probability.each_token_log_probs(model, readings):
            scores.append(float(log_probs.sum()))
            n_read += 1
            if n_read > 1:
                yield Repair(key, at, n_read, False)
        if max(scores) <= at:
            return
        key, at = max(zip(tried, scores), key=lambda pair: pair[1])
        yield Repair(key, at, n_read, True)
        swapped = [key.translate({ord(key[i]): key[j], ord(key[j]): key[i]}) for i in range(GAP) for j in range(i)
                   if ALPHABET[i] in ciphertext.lower() or ALPHABET[j] in ciphertext.lower()]
        tried = sorted(swapped, key=lambda each: -counted.score(_numbers(each)))[:n_candidates]


def _numbers(key: str) -> np.ndarray:
    """A key as the sign read for each sign; the gap stays a gap."""
    return np.array([*map(ALPHABET.index, key), GAP])


def main(argv: Sequence[str] | None = None) -> None:
    """Counts the triples of the files' texts again and writes them to TRIPLES."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("files", nargs="+", help="text files; documents end with a line that holds only <|endoftext|>")
    texts = (text for file in parser.parse_args(argv).files for text in corpus.read_documents(file))
    np.save(TRIPLES, triple_counts(texts), allow_pickle=False)


if __name__ == "__main__":
    main()
