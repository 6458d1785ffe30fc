"""Translations of an encoder-decoder and their attention, what the heads of the bundled models are aligned with, and
whether a translation is right. Nothing here draws.
"""
import functools
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

import numpy as np
import torch

from core.app.compute import cache
from core.app.state.run import greedy
from core.model.generation import next_logits
from core.model.kv_cache import KVCache
from core.model.trace import Trace
from core.training import dates, tables, translation
from core.training.dates import Pair, Phrase
from core.training.translation import Alignment
from pages.architectures.live_models import is_bundled
from pages.architectures.shared import most_probable, probabilities

MOST_READ = 64              # source tokens: the bundled model's context, and the most columns that are legible
MEASURED = 50               # held-out dates in each direction, and held-out rows
ROW_SIGN, ROWS = "|", "rows"      # a text with the sign is a row of a table


@dataclass(frozen=True)
class Translation:
    """A source, its greedy translation, and the trace of the pass that predicts it. n_cut: source tokens that were left
    out. The decoder's inputs are the first token and the translation without its last token.
    """

    model: cache.LoadedModel
    source: tuple[int, ...]
    n_cut: int
    target: tuple[int, ...]
    trace: Trace

    @property
    def source_tokens(self) -> list[str]:
        """The M source tokens in their visible form."""
        return [self.model.tokenizer.visible(i) for i in self.source]

    @property
    def target_tokens(self) -> list[str]:
        """The N target tokens in their visible form, end of text last."""
        return [self.model.tokenizer.visible(i) for i in self.target]

    @property
    def input_tokens(self) -> list[str]:
        """The decoder's N input tokens: the first token of every text, then the target tokens before."""
        return [self.model.tokenizer.visible(int(i)) for i in self.trace.token_ids]

    @property
    def text(self) -> str:
        """The translation as text, without end of text."""
        return self.model.tokenizer.decode(self.target)

    @property
    def ends(self) -> bool:
        """Whether the model itself ended the translation."""
        return self.target[-1] == self.model.model.config.end_of_text

    @property
    def probabilities(self) -> np.ndarray:
        """(N,) float64: p of each target token given the source and the tokens before it."""
        return probabilities(self.trace.logits)[range(len(self.target)), self.target]


@dataclass(frozen=True)
class HeldOut:
    """Measures on held-out dates of one direction or on held-out rows: the alignment of the heads, and the smallest
    probability of any token of a true translation.
    """

    alignment: Alignment
    least: float

    @property
    def aligned(self) -> np.ndarray:
        """(L, h + 1) the aligned share of every head of each block, then that of the mean of its heads."""
        return np.column_stack([self.alignment.heads, self.alignment.means])


def random_source(seed: int, is_row: bool) -> str:
    """A held-out row, or a held-out date in words or digits, always the same for a seed."""
    generator = np.random.default_rng(seed)
    return next(tables.random_pairs(generator, True) if is_row else dates.random_pairs(generator, True)).source.text


def direction_of(source: str) -> str:
    """The direction in which a source is translated, or ROWS: a source without letters is a date in digits."""
    if ROW_SIGN in source:
        return ROWS
    return dates.TO_DIGITS if any(character.isalpha() for character in source) else dates.TO_WORDS


def translate(model: cache.LoadedModel, ids: tuple[int, ...]) -> Translation:
    """The greedy translation of the first tokens of a source, as many as the model reads."""
    source = source_of(model, ids)
    n_added = len(source_of(model, ()))

    def make() -> Translation:
        target = greedy(model.runner, source)
        return Translation(model, source, len(ids) - len(source) + n_added, target, forward(model, source, target))

    return cache.result(model.key("translation", ids), make, lambda value: value.trace.n_bytes)


def source_of(model: cache.LoadedModel, ids: Sequence[int]) -> tuple[int, ...]:
    """The first tokens of a source, as many as the model reads, with those that its texts begin and end with."""
    begin, end = model.tokenizer.begin if not is_bundled(model) else (), model.tokenizer.end
    room = min(MOST_READ, model.model.config.n_context) - len(begin) - len(end)
    return (*begin, *ids[:max(1, room)], *end)


def forward(model: cache.LoadedModel, source: tuple[int, ...], target: tuple[int, ...]) -> Trace:
    """The pass that predicts every token of the target from the source and the tokens before it."""
    with torch.inference_mode():
        ids = torch.tensor([model.model.config.first_token, *target[:-1]], device=model.device)
        return model.runner(ids, source_ids=torch.tensor(source, device=model.device)).to("cpu")


def patterns(trace: Trace) -> dict[str, np.ndarray]:
    """The attention weights of all blocks and heads: encoder (L, h, M, M), decoder (L, h, N, N), cross (L, h, N, M).
    """
    stacks = {"encoder": [block.pattern for block in trace.encoder.blocks],
              "decoder": [block.pattern for block in trace.blocks],
              "cross": [block.cross.pattern for block in trace.blocks]}
    return {name: torch.stack(stack).float().numpy() for name, stack in stacks.items()}


def held_out(model: cache.LoadedModel, direction: str) -> HeldOut:
    """The measures on held-out dates of one direction or on held-out rows, shared by all readers. The first token of a
    row's sentence, for which there are several right ones, does not count.
    """
    def make() -> HeldOut:
        pairs, tokenizer, first = held_out_of(direction), model.tokenizer, int(direction == ROWS)
        texts = [(tuple(tokenizer.encode(example.source.text)),
                  (*tokenizer.encode(example.target.text), tokenizer.end_of_text)) for example in pairs]
        least = min(float(Translation(model, source, 0, target, forward(model, source, target))
                          .probabilities[first:].min()) for source, target in texts)
        return HeldOut(translation.alignment(model.runner, tokenizer, pairs), least)

    return cache.result(model.key("alignment", direction), make, lambda _: 4096)


def held_out_of(direction: str) -> Sequence[Pair]:
    """The held-out dates of one direction, or the held-out rows, that are measured."""
    return (translation.said_in_turn(translation.held_out_rows(MEASURED)) if direction == ROWS
            else translation.held_out_pairs(direction, MEASURED))


def phrases(source: str, target: str) -> tuple[Phrase, Phrase] | None:
    """Source and translation as phrases of one date, if they are; else None."""
    digits, words = (target, source) if direction_of(source) == dates.TO_DIGITS else (source, target)
    try:
        day = date.fromisoformat(digits)
    except ValueError:
        return None
    if len(digits) != 10 or not dates.FIRST <= day <= dates.LAST:
        return None
    ways = itertools.product(range(len(dates.PHRASINGS)), range(len(dates.year_readings(day.year))))
    for phrase in itertools.starmap(functools.partial(dates.in_words, day), ways):
        if phrase.text == words:
            return (phrase, dates.in_digits(day)) if digits == target else (dates.in_digits(day), phrase)
    return None


def verdict(pair: Translation, least: float) -> str:
    """"right": source and translation are the same date by the rules; "unknown": a token is less probable than any of a
    held-out date; else "unchecked".
    """
    if phrases(pair.model.tokenizer.decode(pair.source), pair.text) is not None:
        return "right"
    return "unknown" if pair.probabilities.min() < least else "unchecked"


def row_verdict(row: tables.Row | None, text: str) -> str:
    """Judge a sentence for a row: "cut", if the row was cut (None); "unknown", if the model was not taught
    all of its values; "unsaid", if a value is missing; "right", if it is one of the row's sentences; else "other".
    """
    if row is None:
        return "cut"
    if tables.unknown(row):
        return "unknown"
    return "unsaid" if tables.unsaid(row, text) else "right" if text in tables.sentences(row) else "other"


def swapped(pair: Translation) -> tuple[int, ...]:
    """The translation with its first token replaced by the second most probable one, continued greedily."""
    config, runner = pair.model.model.config, pair.model.runner
    target, cached = (most_probable(probabilities(pair.trace.logits[0]), 2)[1],), KVCache()
    with torch.inference_mode():
        memory = runner.encode(torch.tensor([pair.source], device=pair.model.device))
        while target[-1] != config.end_of_text and len(target) < len(pair.target) + 4:
            target = (*target, int(next_logits(runner, [(config.first_token, *target)], cached, memory)[0].argmax()))
    return target
