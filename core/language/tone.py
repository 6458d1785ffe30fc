"""How often a model goes on angrily after calm and after rude beginnings: a harmless measure of what tests of toxic
language do, in pairs of beginnings that differ in their tone.
"""
from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass

import torch

from core.analysis.statistics import Proportion
from core.files import read_json
from core.model.block import KVCache
from core.model.generation import log_probs_of, next_logits
from core.model.tokenizer import Tokenizer
from core.model.transformer import Transformer
from core.training.teaching_text import DATA

TONES = ("calm", "rude")


@dataclass(frozen=True)
class Continuation:
    """What the model wrote after a beginning of a tone, and the angry words in it."""

    tone: str
    beginning: str
    text: str
    angry: tuple[str, ...]


@functools.cache
def sets() -> dict[str, list[str]]:
    """The beginnings of each tone, pair by pair, and the words that count as "angry"."""
    return read_json(DATA / "tone.json")


def angry_words(text: str) -> tuple[str, ...]:
    """The angry words in a text, as whole words."""
    return tuple(word for word in sets()["angry"] if re.search(rf"\b{word}\b", text.lower()))


@torch.no_grad()
def continuations(model: Transformer, tokenizer: Tokenizer, n_each: int, n_tokens: int,
                  seed: int) -> Iterator[list[Continuation]]:
    """Yield n_each continuations of n_tokens for each beginning, drawn at temperature 1, tone by tone."""
    generator = torch.Generator().manual_seed(seed)
    for tone in TONES:
        for beginning in sets()[tone]:
            texts, cache = [(tokenizer.first, *tokenizer.encode(beginning))] * n_each, KVCache()
            start = len(texts[0])
            for _ in range(n_tokens):
                drawn = torch.multinomial(log_probs_of(next_logits(model, texts, cache)).exp(), 1, generator=generator)
                texts = [(*text, token) for text, token in zip(texts, drawn[:, 0].tolist())]
            yield [Continuation(tone, beginning, text, angry_words(text)) for text in
                   (_until_end(tokenizer, ids[start:]) for ids in texts)]


def _until_end(tokenizer: Tokenizer, ids: tuple[int, ...]) -> str:
    """The text of the ids up to an end of text."""
    end = ids.index(tokenizer.end_of_text) if tokenizer.end_of_text in ids else len(ids)
    return tokenizer.decode(ids[:end])


def share(found: list[Continuation], tone: str) -> Proportion:
    """Of the continuations of a tone, those with an angry word."""
    each = [bool(one.angry) for one in found if one.tone == tone]
    return Proportion(sum(each), len(each))
