"""Exercises to solve by hand, drawn from a seed and filled with a model's numbers, with every step of the solution.

Numbers are rounded before they are used, so that calculating with the numbers on the sheet leads to the solution.
"""
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.cost import counting
from core.language import segmentation
from core.model import positional
from core.model.config import ModelConfig
from core.model.sampling import SamplingConfig, Truncation, draw, truncate
from core.model.tokenizer import Tokenizer

MOST_SEED = 9999
# limits of a sheet of merges: words, merges a word, rules in all
N_WORDS, FEWEST_MERGES, MOST_MERGES, MOST_RULES = 3, 3, 6, 16
N_CANDIDATES = 6
MOST_TRIES = 50         # to find suitable numbers
MARGIN = 0.02           # least distance of p from the cumulative masses and of ξ from the boundaries, against rounding
MOST_TOKENS = 8         # length of a text whose probability is computed
WIDTH = 4               # d of the positions


# ---- tokens ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class MergedWord:
    """A word and its pieces after each merge: (rank of the rule, pieces). Before the first, each letter is a piece."""

    word: str
    steps: tuple[tuple[int, tuple[str, ...]], ...]


@dataclass(frozen=True)
class Merges:
    """rules: (rank, left, right) of every rule that fits before some merge, so that the reader has to choose; lower
    ranks apply first.
    """

    rules: tuple[tuple[int, str, str], ...]
    words: tuple[MergedWord, ...]


def merges(seed: int, tokenizer: Tokenizer, words: Sequence[str]) -> Merges:
    """Three of `words` (ASCII letters) to tokenize by hand with the tokenizer's rules.

    ValueError if too few of them are suitable.
    """
    dice = np.random.default_rng(seed)
    for _ in range(MOST_TRIES):
        picked, rules = [], {}
        for index in dice.permutation(len(words)):
            word, fitting = _merged(words[index], tokenizer)
            if FEWEST_MERGES <= len(word.steps) <= MOST_MERGES and len(rules | fitting) <= MOST_RULES:
                picked.append(word)
                rules |= fitting
            if len(picked) == N_WORDS:
                return Merges(tuple((rank, left, right) for rank, (left, right) in sorted(rules.items())),
                              tuple(picked))
    raise ValueError("Too few of these words are cut in a few steps by this tokenizer.")


def _merged(word: str, tokenizer: Tokenizer) -> tuple[MergedWord, dict[int, tuple[str, str]]]:
    """The word's steps, and by rank every rule that fits before one of them."""
    letters = tuple(bytes([byte]) for byte in word.encode())
    steps = list(segmentation.merge_steps([letters], tokenizer.ranks))
    states = [letters, *(step.words[0] for step in steps)]
    fitting = {tokenizer.ranks[pair]: tuple(map(_text, pair)) for state in states for pair in zip(state, state[1:])
               if pair in tokenizer.ranks}
    return MergedWord(word, tuple((step.rank, tuple(map(_text, step.words[0]))) for step in steps)), fitting


def _text(piece: bytes) -> str:
    return piece.decode("ascii", errors="replace")


# ---- softmax, temperature, top-k, top-p ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sampling:
    """Six candidates, the whole vocabulary here, with their logits (one decimal, falling), a temperature, k, p and ξ.
    """

    tokens: tuple[str, ...]
    logits: np.ndarray
    temperature: float
    k: int
    p: float
    xi: float

    def truncated(self, temperature: float = 1.0, k: int | None = None, p: float = 1.0) -> Truncation:
        """The distribution under these settings."""
        return truncate(self.logits, SamplingConfig(temperature=temperature, top_k=k, top_p=p))

    @property
    def drawn(self) -> int:
        """The candidate that ξ picks after top-p."""
        return draw(self.truncated(p=self.p), self.xi)


def sampling(seed: int, logits: np.ndarray, names: Sequence[str]) -> Sampling:
    """A sheet from (|V|,) logits: the six largest, and settings whose solution does not depend on rounding, if there
    are any: one token may outweigh all others.

    names: the visible form of each token, by id.
    """
    best = np.argsort(-logits, kind="stable")[:N_CANDIDATES]
    values, dice = np.round(logits[best].astype(np.float64), 1), np.random.default_rng(seed)
    for _ in range(MOST_TRIES):
        temperature, k, p, xi = (float(dice.choice([0.5, 2.0])), int(dice.integers(2, 5)),
                                 float(dice.choice([0.7, 0.75, 0.8, 0.85, 0.9, 0.95])), int(dice.integers(5, 96)) / 100)
        sheet = Sampling(tuple(names[i] for i in best), values, temperature, k, p, xi)
        if _clear(sheet):
            break
    return sheet


def _clear(sheet: Sampling) -> bool:
    """Whether top-p removes some tokens and keeps more than one, and p and ξ are MARGIN away from every boundary."""
    whole, cut = sheet.truncated(), sheet.truncated(p=sheet.p)
    far = (np.abs(whole.cumulative - sheet.p).min() > MARGIN
           and np.abs(cut.interval_ends[:cut.n_kept] - sheet.xi).min() > MARGIN)
    return bool(far and 1 < cut.n_kept < len(sheet.tokens))


# ---- the chain rule --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Chain:
    """The first tokens of a text and the probability of each given those before, to three significant figures but not
    rounded up to 1.
    """

    tokens: tuple[str, ...]
    probabilities: np.ndarray

    @property
    def nats(self) -> np.ndarray:
        """−ln p of each."""
        return -np.log(self.probabilities)

    @property
    def total(self) -> float:
        """−ln p of the whole text."""
        return float(self.nats.sum())

    @property
    def perplexity(self) -> float:
        return math.exp(self.total / len(self.tokens))


def chain(tokens: Sequence[str], log_probs: np.ndarray) -> Chain:
    """The sheet of a text's first MOST_TOKENS tokens; log_probs: ln p of each."""
    return Chain(tuple(tokens[:MOST_TOKENS]),
                 np.array([_rounded(math.exp(value)) for value in log_probs[:MOST_TOKENS]]))


def _rounded(p: float) -> float:
    """A probability to three significant figures, or to as many more as keep it below 1.

    >>> _rounded(0.123456), _rounded(0.99987)
    (0.123, 0.9999)
    """
    return next((value for digits in range(3, 17) if (value := float(f"{p:.{digits}g}")) < 1), 1.0)


# ---- positions -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Positions:
    """Four positions; the first two are as far apart as the last two, so that their dot products are equal."""

    base: float
    places: tuple[int, int, int, int]

    @property
    def frequencies(self) -> np.ndarray:
        """(2,) radians a position."""
        return positional.frequencies(WIDTH, self.base).numpy()

    @property
    def vectors(self) -> np.ndarray:
        """(4, 4) P of each place."""
        return positional.sinusoidal(max(self.places) + 1, WIDTH, self.base).numpy()[list(self.places)]


def positions(seed: int) -> Positions:
    """The base and the places of a seed: four different places below 20, and a distance from 1 to 5."""
    dice = np.random.default_rng(seed)
    while True:
        base, step, first, second = (float(dice.choice([25, 100, 400, 10_000])), int(dice.integers(1, 6)),
                                     int(dice.integers(0, 8)), int(dice.integers(3, 15)))
        places = (first, first + step, second, second + step)
        if len(set(places)) == 4:
            return Positions(base, places)


# ---- counting --------------------------------------------------------------------------------------------------------


def architecture(seed: int, config: ModelConfig) -> ModelConfig:
    """Return the config whose parameters to count: the model's for seed 0, unless it has experts or norms of queries,
    for which the sheet has no row; else a random one of GPT-2's kind.
    """
    if seed == 0 and not config.experts.n_experts and not config.sublayer.qk_norm:
        return config
    dice = np.random.default_rng(seed)
    d = int(dice.choice([64, 96, 128, 192, 256, 384, 512, 768]))
    return ModelConfig(vocab_size=1000 * int(dice.integers(4, 51)), d_model=d, n_layers=int(dice.integers(2, 25)),
                       n_heads=d // int(dice.choice([16, 32])), n_context=int(dice.choice([128, 256, 512, 1024])))


def counts(config: ModelConfig) -> dict[str, int]:
    """Return the answers in order: attention and mlp for the maps of one block, the others for the whole model."""
    parts = counting.parameters_by_part(config)
    return {"E": parts["E"], "P": parts["P"],
            "attention": counting.attention_parameters(config), "mlp": counting.mlp_parameters(config),
            "blocks": parts["attention"] + parts["mlp"], "norms": parts["norms"], "biases": parts["biases"],
            "output": parts["output"], "total": sum(parts.values()), "rough": counting.rough_parameters(config)}
