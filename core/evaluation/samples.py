"""Samples of a model's writing, and the share of distinct n-grams in them."""
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from core.model.generation import continuations
from core.model.sampling import SamplingConfig
from core.model.tokenizer import Tokenizer
from core.model.transformer import Transformer
from core.training.teaching_text import DATA

SAMPLING = SamplingConfig(temperature=0.8, top_p=0.95)


@dataclass(frozen=True)
class Sample:
    """The place of a sample in its series, its prompt, and the model's continuation: token ids without the closing end
    of text, and their text.
    """

    place: int
    prompt: str
    token_ids: tuple[int, ...]
    text: str


def openings() -> tuple[str, ...]:
    """The prompts of the samples: one a line of assets/teaching/openings.txt."""
    return tuple((DATA / "openings.txt").read_text(encoding="utf-8").splitlines())


def samples(model: Transformer, tokenizer: Tokenizer, prompts: Sequence[str], n: int, n_tokens: int,
            seed: int = 0) -> Iterator[Sample]:
    """Yield n samples of at most n_tokens tokens at temperature 0.8 and top-p 0.95, for each prompt in turn, again and
    again; fewer tokens if the model ends its text. They come in any order, about 0.3 seconds each.
    """
    texts = [prompts[i % len(prompts)] for i in range(n)]
    token_ids = [tokenizer.prompt(text, model.config.n_context).token_ids for text in texts]
    for place, new in continuations(model, token_ids, SAMPLING, seed, n_tokens):
        ids = new[:-1] if new and new[-1] == tokenizer.end_of_text else new
        yield Sample(place, texts[place], ids, tokenizer.decode(ids))


def document_continuations(model: Transformer, documents: Sequence[np.ndarray], n: int, beginning: int,
                           n_tokens: int, seed: int = 0) -> Iterator[tuple[int, ...]]:
    """Yield the model's continuations of the first `beginning` tokens of n random documents (token ids) longer than
    that, or of all such documents if there are fewer, sampled like `samples`.
    """
    long_enough = [document for document in documents if len(document) > beginning]
    chosen = random.Random(seed).sample(long_enough, min(n, len(long_enough)))
    prompts = [(model.config.end_of_text, *document[:beginning].tolist()) for document in chosen]
    for _, new in continuations(model, prompts, SAMPLING, seed, n_tokens):
        yield new


@dataclass(frozen=True)
class Distinct:
    """The share of different 4-grams among all 4-grams of n texts of the kind `of`, with n_tokens tokens in all."""

    of: str
    n: int
    n_tokens: int
    share: float


def distinct(of: str, texts: Sequence[Sequence[int]]) -> Distinct:
    """The `distinct_share` of texts (token ids) of the kind `of`, with their number and total length."""
    return Distinct(of, len(texts), sum(map(len, texts)), distinct_share(texts))


def distinct_share(texts: Sequence[Sequence[int]], n: int = 4) -> float:
    """Different n-grams over all n-grams of the texts together, in (0, 1]; NaN if no text has n tokens. Source: Li et
    al. 2016 (distinct-n).

    >>> distinct_share([[1, 2, 1, 2, 1]], n=2)
    0.5
    """
    grams = [tuple(text[i:i + n]) for text in texts for i in range(len(text) - n + 1)]
    return len(set(grams)) / len(grams) if grams else float("nan")
