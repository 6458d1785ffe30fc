"""Substitution ciphers, and their solution without the key: by the frequencies of letters, pairs and triples of
letters, and by a language model.

Sources: al-Kindi, "On deciphering cryptographic messages" (9th century), for the counting of letters; Diaconis, "The
Markov chain Monte Carlo revolution", Bulletin of the AMS 46 (2009), for the search over the keys.
"""
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
N_SIGNS = 27                        # the letters, and one sign for anything between words
GAP = 26
TRIPLES = Path(__file__).resolve().parents[2] / "assets" / "teaching" / "letter_triples.npy"
TEXTS = ("childrens_books.txt", "storybooks_ccby.txt", "synthetic_bedtime.txt", "synthetic_child_stories.txt",
         "synthetic_fables.txt", "tinystories.txt")          # in which the triples are counted
N_STEPS, N_WALKS, HOTTEST = 10_000, 3, 6.0      # of a search; its first temperature, in nats
N_CANDIDATES = 32                   # keys that the model evaluates in each round


def signs(text: str) -> np.ndarray:
    """The text as signs 0 … 26: letters without their case, a run of anything else as one gap, and a gap at either
    end.

    >>> signs("Ab, c").tolist()
    [26, 0, 1, 26, 2, 26]
    """
    data = np.frombuffer(f" {text.lower()} ".encode("ascii", "replace"), dtype=np.uint8).astype(np.int64) - ord("a")
    data[(data < 0) | (data >= GAP)] = GAP
    return data[np.concatenate([[True], (data[1:] != GAP) | (data[:-1] != GAP)])]


def bits_per_letter(text: str, order: int) -> float:
    """The mean cost of a letter in bits under the letters, pairs or triples (order 1, 2, 3) of `log_probs`. The places
    of the gaps are known: a gap costs nothing, and a letter costs −log2 of its probability among the letters alone,
    p(letter | before) / (1 − p(gap | before)). NaN for a text without letters.
    """
    grams, logs = _grams(signs(text), order), log_probs(order)
    among_letters = logs - np.log1p(-np.exp(logs[..., GAP:GAP + 1]))
    costs = -among_letters[grams][grams[-1] != GAP] / np.log(2)
    return float(costs.mean()) if len(costs) else float("nan")


def _grams(text: np.ndarray, order: int) -> tuple[np.ndarray, ...]:
    """Every n-gram of `order` signs in a text as index arrays into `log_probs`: the first signs, the second ones, …"""
    return tuple(text[i:len(text) - order + 1 + i] for i in range(order))


def unicity(bits: float) -> float:
    """Shannon's unicity distance log2(26!) / (log2 26 − bits per letter): the number of letters after which, on
    average, only one key makes sense. Infinite if a letter costs log2 26 bits or more.

    Source: Shannon, "Communication theory of secrecy systems", Bell System Technical Journal 28 (1949).

    >>> round(unicity(2.0), 1)
    32.7
    """
    saved = np.log2(GAP) - bits
    return float(np.log2(float(math.factorial(GAP))) / saved) if saved > 0 else math.inf


def triple_counts(texts: Iterable[str]) -> np.ndarray:
    """(27, 27, 27) uint32: the count of every triple of signs."""
    counts = np.zeros((N_SIGNS,) * 3, dtype=np.uint32)
    for text in texts:
        np.add.at(counts, _grams(signs(text), 3), 1)
    return counts


@functools.cache
def log_probs(order: int) -> np.ndarray:
    """ln p of each sign after the order − 1 signs before it: `order` axes of 27, from the counts of the training text
    plus 1 (Laplace smoothing).
    """
    counts = np.load(TRIPLES, allow_pickle=False).astype(np.float64)
    counts = counts.sum(axis=tuple(range(3 - order))) + 1.0
    return np.log(counts / counts.sum(axis=-1, keepdims=True))


def score(text: np.ndarray, order: int) -> float:
    """ln p in nats of signs (M,) under the letters, pairs or triples of `log_probs`, from the sign with index
    order − 1 on.
    """
    return float(log_probs(order)[_grams(text, order)].sum())


def random_key(seed: int) -> str:
    """A random permutation of the alphabet: the letters that stand for a, b, …; the same for the same seed.

    >>> sorted(random_key(3)) == list(ALPHABET)
    True
    """
    return "".join(np.random.default_rng(seed).permutation(list(ALPHABET)))


def encipher(text: str, key: str) -> str:
    """The text with every letter replaced by its letter in the key, capitals by capitals; all else stays.

    >>> encipher("Cab!", "bcda" + ALPHABET[4:])
    'Dbc!'
    """
    return text.translate(str.maketrans(ALPHABET + ALPHABET.upper(), key + key.upper()))


def inverse(key: str) -> str:
    """The inverse permutation of a key.

    >>> encipher(encipher("any text", random_key(5)), inverse(random_key(5)))
    'any text'
    """
    return "".join(ALPHABET[key.index(letter)] for letter in ALPHABET)


def by_frequency(ciphertext: str) -> str:
    """The reading key of al-Kindi: it reads the commonest letter of the ciphertext as the commonest of the language,
    the second as the second, and so on. No other key has a higher `score` of order 1.
    """
    counts = np.bincount(signs(ciphertext), minlength=N_SIGNS)[:GAP]
    language = np.argsort(-log_probs(1)[:GAP], kind="stable")
    key = np.empty(GAP, dtype="<U1")
    key[np.argsort(-counts, kind="stable")] = np.array(list(ALPHABET))[language]
    return "".join(key)


@dataclass(frozen=True)
class Walk:
    """The improvements of a search over reading keys (the letters read for a, b, …): each best key so far with its step
    and its ln p in nats.
    """

    steps: tuple[int, ...]
    keys: tuple[str, ...]
    scores: tuple[float, ...]


class _Scorer:
    """Computes ln p of a ciphertext under any key from the counts of its different pairs or triples."""

    def __init__(self, ciphertext: str, order: int) -> None:
        self.grams, self.counts = np.unique(_grams(signs(ciphertext), order), axis=1, return_counts=True)
        self.table = log_probs(order)

    def score(self, key: np.ndarray) -> float:
        return float(self.table[tuple(key[self.grams])] @ self.counts)


def search(ciphertext: str, order: int) -> Walk:
    """The best of N_WALKS runs of simulated annealing from `by_frequency`: each step swaps two letters of the key and
    keeps the swap if ln p rises, or else with probability e^(Δ ln p / τ), with τ falling from HOTTEST to 0. `order` is
    2 or 3.
    """
    scorer, generator = _Scorer(ciphertext, order), np.random.default_rng(0)
    return max((_walk(scorer, by_frequency(ciphertext), generator) for _ in range(N_WALKS)),
               key=lambda walk: walk.scores[-1])


def _walk(scorer: _Scorer, start: str, generator: np.random.Generator) -> Walk:
    key = _numbers(start)
    now = best = scorer.score(key)
    improvements = [(0, start, now)]
    pairs, log_u = generator.integers(0, GAP, (N_STEPS, 2)), np.log(generator.random(N_STEPS))
    for step, ((i, j), chance) in enumerate(zip(pairs, log_u), 1):
        key[[i, j]] = key[[j, i]]
        new = scorer.score(key)
        if (new - now) >= chance * HOTTEST * (1 - step / N_STEPS):
            now = new
            if now > best:
                best = now
                improvements.append((step, "".join(ALPHABET[k] for k in key[:GAP]), now))
        else:
            key[[i, j]] = key[[j, i]]
    return Walk(*zip(*improvements))


def model_scores(model: Transformer, tokenizer: Tokenizer, texts: Sequence[str]) -> list[float]:
    """ln p in nats of each text after end of text.

    Raises ValueError as the model does for a text that does not fit its context.
    """
    rows = [(tokenizer.first, *tokenizer.encode(text)) for text in texts]
    return [float(log_probs.sum()) for log_probs in text_probability.token_log_probs(model, rows)]


@dataclass(frozen=True)
class Repair:
    """The progress of `repairs`: the best key, ln p in nats of its reading under the model, how many readings the model
    has evaluated, and whether the key is new.
    """

    key: str
    log_prob: float
    n_read: int
    new: bool


def repairs(model: Transformer, tokenizer: Tokenizer, ciphertext: str, key: str,
            n_candidates: int = N_CANDIDATES) -> Iterator[Repair]:
    """Yield the key, then better ones (hill climbing): of all keys with two letters swapped, the model evaluates the
    `n_candidates` with the highest `score` of order 3, with a record after each; the best becomes the next key, as long
    as it is better.
    """
    scorer, n_read, now, tried = _Scorer(ciphertext, 3), 0, -math.inf, [key]
    while True:
        scores, readings = [], [(tokenizer.first, *tokenizer.encode(encipher(ciphertext, each))) for each in tried]
        for log_probs in text_probability.each_token_log_probs(model, readings):
            scores.append(float(log_probs.sum()))
            n_read += 1
            if n_read > 1:
                yield Repair(key, now, n_read, False)
        if max(scores) <= now:
            return
        key, now = max(zip(tried, scores), key=lambda pair: pair[1])
        yield Repair(key, now, n_read, True)
        swapped = [key.translate({ord(key[i]): key[j], ord(key[j]): key[i]}) for i in range(GAP) for j in range(i)
                   if ALPHABET[i] in ciphertext.lower() or ALPHABET[j] in ciphertext.lower()]
        tried = sorted(swapped, key=lambda each: -scorer.score(_numbers(each)))[:n_candidates]


def _numbers(key: str) -> np.ndarray:
    """(27,) a key as the sign that is read for each sign; the gap stays a gap."""
    return np.array([*map(ALPHABET.index, key), GAP])


def record(folder: Path) -> np.ndarray:
    """Count the triples in the files of the training text that TEXTS names."""
    return triple_counts(text for name in TEXTS for text in corpus.read_documents(folder / name))
