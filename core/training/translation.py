"""Learning to translate dates, and to put the rows of a table into sentences: the tasks, the share of right
translations, and the alignment of the cross-attention with the translated words.
"""
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from core.model.generation import translations
from core.model.tokenizer import Tokenizer
from core.model.transformer import Transformer
from core.training import dates, tables
from core.training.corpus import Batch, of_one_length
from core.training.dates import DIRECTIONS, Pair, Phrase
from core.training.language_modelling import TaskContext
from core.training.loss import filled_up, next_token_loss, to_tensors

HELD_OUT_SEED = 1
# enough pairs to contain every word, and enough tokens for each word to become one
N_WORDS_READ, LARGEST_VOCABULARY = 20_000, 1_000


def date_tokenizer(corpus: Path | None = None) -> Tokenizer:
    """A tokenizer in which every word of a date and every digit is one token, so that rows and columns of the
    cross-attention are easy to read.
    """
    return _word_tokenizer(dates.random_pairs(np.random.default_rng(0), held_out=False))


def table_tokenizer(corpus: Path | None = None) -> Tokenizer:
    """A tokenizer in which every word of a row and of its sentences is one token."""
    return _word_tokenizer(tables.random_pairs(np.random.default_rng(0), held_out=False))


def _word_tokenizer(pairs: Iterable[Pair]) -> Tokenizer:
    read = itertools.islice(pairs, N_WORDS_READ)
    return Tokenizer.train((phrase.text for pair in read for phrase in (pair.source, pair.target)), LARGEST_VOCABULARY,
                           single_digits=True)


@dataclass(frozen=True)
class TranslationBatch(Batch):
    """inputs (B, N), end of text and the translation; targets (B, N), the translation and end of text; source_ids
    (B, M) of one length, so that the encoder needs no mask. Short translations are padded, with IGNORE as targets.
    """

    source_ids: np.ndarray


def stack(pairs: Sequence[tuple[Sequence[int], Sequence[int]]], end_of_text: int) -> TranslationBatch:
    """The batch of pairs (source, translation) of token ids, the sources of one length.

    >>> batch = stack([([5, 6], [7, 8]), ([6, 5], [9])], end_of_text=0)
    >>> batch.inputs.tolist(), batch.targets.tolist()
    ([[0, 7, 8], [0, 9, 0]], [[7, 8, 0], [9, 0, -100]])
    """
    rows = filled_up([((end_of_text, *target), (*target, end_of_text)) for _, target in pairs], end_of_text)
    return TranslationBatch(rows.inputs, rows.targets, np.array([source for source, _ in pairs], dtype=np.int64))


def _ids(pair: Pair, tokenizer: Tokenizer) -> tuple[list[int], list[int]]:
    return tokenizer.encode(pair.source.text), tokenizer.encode(pair.target.text)


def batches(pairs: Iterable[Pair], tokenizer: Tokenizer, batch_size: int) -> Iterator[TranslationBatch]:
    """Yield the pairs in batches of one source length, each as soon as it is full."""
    for group in of_one_length((_ids(pair, tokenizer) for pair in pairs), lambda length: batch_size):
        yield stack(group, tokenizer.end_of_text)


def translation_loss(model: Transformer, batch: TranslationBatch) -> Tensor:
    """Mean −log p of the batch's targets in nats, each given the source and the true tokens before it, without a trace.
    """
    return next_token_loss(model.logits(batch.inputs, memory=model.encode(batch.source_ids)), batch.targets)


@dataclass(frozen=True)
class _PairsTask:
    """A task of translation. measured: the number of held-out pairs, in each direction if there are two."""

    measured: int = 200
    random_pairs: ClassVar[Callable]        # (generator, held_out) -> pairs

    def batches(self, context: TaskContext) -> Iterator[TranslationBatch]:
        return batches(self.random_pairs(np.random.default_rng(context.seed), held_out=False), context.tokenizer,
                       context.batch_size)

    def loss(self, model: Transformer, batch: TranslationBatch) -> Tensor:
        return translation_loss(model, batch)


@dataclass(frozen=True)
class DateTranslation(_PairsTask):
    """Dates in words to digits, and back."""

    random_pairs = staticmethod(dates.random_pairs)

    def held_out(self, model: Transformer, context: TaskContext) -> dict[str, float]:
        """Nats per token in each direction, and the share of pairs translated without a mistake."""
        measures = {}
        for direction in DIRECTIONS:
            pairs = held_out_pairs(direction, self.measured)
            measures[direction] = held_out_nats(model, context.tokenizer, pairs)
            measures[f"{direction}, exact"] = exact_match(model, context.tokenizer, pairs)
        return measures


@dataclass(frozen=True)
class TableToText(_PairsTask):
    """Rows of a table to sentences."""

    random_pairs = staticmethod(tables.random_pairs)

    def held_out(self, model: Transformer, context: TaskContext) -> dict[str, float]:
        """Nats per token, and the shares of `row_scores`."""
        scores = row_scores(model, context.tokenizer, self.measured)
        return {"sentences": scores.nats, "every value": scores.every_value, "exact": scores.exact}


@lru_cache(maxsize=8)
def held_out_rows(n: int) -> tuple[tables.Row, ...]:
    """n held-out rows, always the same ones."""
    return tuple(itertools.islice(tables.random_rows(np.random.default_rng(HELD_OUT_SEED), held_out=True), n))


def said_in_turn(rows: Sequence[tables.Row]) -> list[Pair]:
    """The rows with one sentence each, the phrasings in turn."""
    return [Pair(tables.in_a_row(row), tables.sentence(row, i % len(tables.PHRASINGS))) for i, row in enumerate(rows)]


@dataclass(frozen=True)
class RowScores:
    """Measures on n held-out rows.

    nats         per token of sentences by every phrasing in turn, end of text included
    every_value  the share of rows whose greedy sentence has every value of the row
    one_of_four  the share whose greedy sentence is one of the row's own, to the last character
    exact        the share of sentences in which every token after the first, which decides on the phrasing, is the most
                 probable one
    """

    n: int
    nats: float
    every_value: float
    one_of_four: float
    exact: float


def row_scores(model: Transformer, tokenizer: Tokenizer, n: int) -> RowScores:
    """Measure the model on n held-out rows."""
    rows = held_out_rows(n)
    pairs, texts = said_in_turn(rows), sentences(model, tokenizer, rows)
    every_value = sum(not tables.unsaid(row, text) for row, text in zip(rows, texts))
    own = sum(text in tables.sentences(row) for row, text in zip(rows, texts))
    exact = sum(is_followed(model, tokenizer, pair) for pair in pairs)
    return RowScores(n, held_out_nats(model, tokenizer, pairs), every_value / n, own / n, exact / n)


def sentences(model: Transformer, tokenizer: Tokenizer, rows: Sequence[tables.Row]) -> list[str]:
    """The model's greedy sentence for each row."""
    sources = [tokenizer.encode(tables.in_a_row(row).text) for row in rows]
    made = dict(translations(model, sources, model.config.n_context - 1))
    return [tokenizer.decode(made[i]) for i in range(len(rows))]


@torch.no_grad()
def is_followed(model: Transformer, tokenizer: Tokenizer, pair: Pair) -> bool:
    """Whether every token of the pair's target after the first is the most probable one after those before it."""
    batch = to_tensors(stack([_ids(pair, tokenizer)], tokenizer.end_of_text), model.device)
    best = model.logits(batch.inputs, memory=model.encode(batch.source_ids)).argmax(-1)
    return bool((best == batch.targets)[0, 1:].all())


@lru_cache(maxsize=8)
def held_out_pairs(direction: str, n: int) -> tuple[Pair, ...]:
    """n held-out dates as pairs in one direction, always the same ones."""
    generator = np.random.default_rng(HELD_OUT_SEED)
    return tuple(itertools.islice(dates.random_pairs(generator, held_out=True, directions=(direction,)), n))


@torch.no_grad()
def held_out_nats(model: Transformer, tokenizer: Tokenizer, pairs: Sequence[Pair]) -> float:
    """Nats per token, end of text included, of the pairs' translations."""
    nats, n_targets = 0.0, 0
    for pair in pairs:
        batch = to_tensors(stack([_ids(pair, tokenizer)], tokenizer.end_of_text), model.device)
        nats += float(translation_loss(model, batch)) * batch.n_targets
        n_targets += batch.n_targets
    return nats / n_targets


def exact_match(model: Transformer, tokenizer: Tokenizer, pairs: Sequence[Pair]) -> float:
    """The share of pairs whose most probable tokens, one after the other, are the translation and its end of text."""
    sources, targets = zip(*(_ids(pair, tokenizer) for pair in pairs))
    expected = [(*target, tokenizer.end_of_text) for target in targets]
    outputs = translations(model, sources, max(map(len, expected)))
    return sum(token_ids == expected[i] for i, token_ids in outputs) / len(pairs)


def token_parts(tokenizer: Tokenizer, phrase: Phrase) -> tuple[str | None, ...]:
    """The part of the date or the column of the table that each token of the phrase belongs to, as "year" or "food";
    None for "the", "of" and the like.
    """
    parts, end = [], 0
    for token_id in tokenizer.encode(phrase.text):
        end += len(tokenizer.decode([token_id]))
        parts.append(next((name for name, (start, stop) in phrase.spans.items() if start < end <= stop), None))
    return tuple(parts)


@dataclass(frozen=True)
class Alignment:
    """The share of the target's tokens of a part (year, month, day; a column's value) whose query attends most to a
    source token of the same part.

    heads: (L, h) for each head of each decoder block's cross-attention; means: (L,) for the mean pattern of its heads.
    """

    heads: Tensor
    means: Tensor


@torch.no_grad()
def alignment(model: Transformer, tokenizer: Tokenizer, pairs: Sequence[Pair]) -> Alignment:
    """Measure the alignment of the cross-attention on the pairs' true translations. The query of a target token is the
    one that predicts it.
    """
    config, n_tokens = model.config, 0
    hits = torch.zeros(config.n_layers, config.n_heads + 1)
    for pair in pairs:
        source, target = _ids(pair, tokenizer)
        from_parts, to_parts = token_parts(tokenizer, pair.source), token_parts(tokenizer, pair.target)
        trace = model(torch.tensor([tokenizer.end_of_text, *target[:-1]]), source_ids=torch.tensor(source))
        patterns = torch.stack([torch.cat([block.cross.pattern, block.cross.pattern.mean(0, keepdim=True)])
                                for block in trace.blocks])
        strongest = patterns.argmax(-1).cpu()                                              # (L, h + 1, N)
        for row, part in enumerate(to_parts):
            if part is not None:
                n_tokens += 1
                hits += torch.tensor([name == part for name in from_parts])[strongest[:, :, row]]
    return Alignment(hits[:, :-1] / n_tokens, hits[:, -1] / n_tokens)
