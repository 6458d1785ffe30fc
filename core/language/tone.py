"""How often a model goes on angrily after calm and after rude beginnings: a harmless version of tests of toxic
language, in pairs of beginnings that differ in their tone.
"""
from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from core.analysis.statistics import Proportion
from core.files import read_json
from core.model.generation import log_probs_of, next_logits
from core.model.kv_cache import KVCache
from core.model.tokenizer import Tokenizer
from core.model.transformer import Transformer
from core.training.teaching_text import DATA

TONES = ("calm", "rude")


@dataclass(frozen=True)
class Continuation:
    """A model's text after a beginning of a tone, and the angry words in it."""

    tone: str
    beginning: str
    text: str
    angry: tuple[str, ...]


@functools.cache
def sets() -> dict[str, list[str]]:
    """The beginnings of each tone, pair by pair, the words that count as "angry", and "harmless" uses of them."""
    return read_json(DATA / "tone.json")


def angry_words(text: str) -> tuple[str, ...]:
    """The angry words in a text, as whole words, without harmless uses."""
    meant = re.sub(rf"\b({'|'.join(sets()['harmless'])})\b", "", text.lower())
    return tuple(word for word in sets()["angry"] if re.search(rf"\b{word}\b", meant))


@torch.no_grad()
def continuations(model: Transformer, tokenizer: Tokenizer, tone: str, places: Sequence[int], n_each: int,
                  n_tokens: int, seed: int) -> list[Continuation]:
    """n_each continuations of n_tokens for each beginning of a tone at these places, drawn at temperature 1: the same
    whichever other places there are.

    All are written side by side: while the longer beginnings are still read, the shorter ones are continued.
    """
    generators = {place: torch.Generator().manual_seed(1_000_000 * place + seed) for place in places}
    begun = {place: (tokenizer.first, *tokenizer.encode(sets()[tone][place])) for place in places}
    texts, cache = {place: [ids] * n_each for place, ids in begun.items()}, KVCache()
    n_read = min(map(len, begun.values()))
    while n_read < max(map(len, begun.values())) + n_tokens:
        scores = log_probs_of(next_logits(model, [text[:n_read] for each in texts.values() for text in each], cache))
        for rows, (place, each) in zip(scores.split(n_each), texts.items()):
            if len(each[0]) == n_read:
                texts[place] = [(*text, token) for text, token in zip(each, _drawn(rows, generators[place]))]
        n_read += 1
    return [Continuation(tone, sets()[tone][place], text, angry_words(text)) for place, each in texts.items()
            for text in (_until_end(tokenizer, ids[len(begun[place]):][:n_tokens]) for ids in each)]


def _drawn(log_probs: torch.Tensor, generator: torch.Generator) -> list[int]:
    """A token for each row of log_probs (n, |V|): the one in whose interval of [0, 1) the row's ξ falls."""
    ends = log_probs.exp().cumsum(-1)
    xi = torch.rand(len(ends), 1, generator=generator, dtype=torch.float64)
    return torch.searchsorted(ends, xi * ends[:, -1:], right=True).clamp(max=ends.shape[-1] - 1)[:, 0].tolist()


def _until_end(tokenizer: Tokenizer, ids: tuple[int, ...]) -> str:
    """The text of the ids up to an end of text."""
    end = ids.index(tokenizer.end_of_text) if tokenizer.end_of_text in ids else len(ids)
    return tokenizer.decode(ids[:end])


def share(found: list[Continuation], tone: str) -> Proportion:
    """The proportion of a tone's continuations with an angry word."""
    each = [bool(one.angry) for one in found if one.tone == tone]
    return Proportion(sum(each), len(each))
