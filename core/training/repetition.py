"""Learning to look back: rows that repeat a passage, so that the last occurrence of a token shows the next one.

Trained on such rows, a model of two attention layers develops an induction head: one head marks every token with the
token before it; a head of the layer above looks for the mark of its own token, and so finds the token that followed it
last time, and predicts it (Elhage et al. 2021, "A Mathematical Framework for Transformer Circuits"; Olsson et al. 2022,
"In-context Learning and Induction Heads").
"""
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch

from core.model.tokenizer import Tokenizer
from core.model.transformer import Transformer
from core.training import teaching_text
from core.training.corpus import IGNORE, Batch, stacked
from core.training.language_modelling import NextToken, TaskContext
from core.training.loss import Score, to_tensors

TEACHING_DOCUMENTS, TOKENIZER_DOCUMENTS = 2000, 20_000
VOCABULARY = 512
HELD_OUT_SEED, HELD_OUT_ROWS = 1, 64


def repeated(passage: np.ndarray, n_context: int, end_of_text: int, counted_from: int) -> tuple[np.ndarray, np.ndarray]:
    """inputs and targets (n_context,): end of text, then the passage again and again; the first `counted_from` targets
    are IGNORE.

    >>> inputs, targets = repeated(np.array([5, 6, 7]), 8, end_of_text=0, counted_from=3)
    >>> inputs.tolist(), targets.tolist()
    ([0, 5, 6, 7, 5, 6, 7, 5], [-100, -100, -100, 5, 6, 7, 5, 6])
    """
    row = np.concatenate([[end_of_text], np.resize(passage, n_context)])
    targets = row[1:].copy()
    targets[:counted_from] = IGNORE
    return row[:-1], targets


@dataclass(frozen=True)
class RepeatedPassages(NextToken):
    """The next token of passages that are repeated.

    shortest: tokens of the shortest passage; the longest are half a row.
    text_share: the share of passages that come from core.training.teaching_text; the tokens of the others are drawn
    uniformly from the vocabulary without end of text. In random passages only the repetitions count, since the first
    reading is unpredictable; in text all tokens but the first count. From text, where the last two tokens predict more
    than the last one, the lower layer learns to mark each token with the one before it. On random tokens alone that
    does not help until the upper layer uses it, so neither layer begins.
    """

    text_share: float = 0.5
    shortest: int = 8

    def batches(self, context: TaskContext) -> Iterator[Batch]:
        """Yield batches without end of rows of n_context tokens, each with a different passage."""
        generator, text = np.random.default_rng(context.seed), running_text(context.tokenizer)
        while True:
            yield stacked(self._row(context, generator, text) for _ in range(context.batch_size))

    def _row(self, context: TaskContext, generator: np.random.Generator,
             text: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        n_context, end_of_text = context.model.n_context, context.tokenizer.end_of_text
        n = int(generator.integers(self.shortest, n_context // 2 + 1))
        if generator.random() < self.text_share:
            start = int(generator.integers(0, len(text) - n))
            return repeated(text[start:start + n], n_context, end_of_text, counted_from=1)
        return repeated(random_tokens(n, context.tokenizer, generator), n_context, end_of_text, counted_from=n)

    @torch.no_grad()
    def held_out(self, model: Transformer, context: TaskContext) -> dict[str, float]:
        """Return nats per repeated token of 64 rows of random tokens (always the same rows) and the share of those
        tokens predicted right.
        """
        batch = next(RepeatedPassages(text_share=0.0).batches(replace(context, batch_size=HELD_OUT_ROWS,
                                                                      seed=HELD_OUT_SEED)))
        batch = to_tensors(batch, model.device)
        counted = batch.targets != IGNORE
        score = Score.of([(model.logits(batch.inputs)[counted], batch.targets[counted])])
        return {"repeated": score.nats, "repeated, right": score.right}


@dataclass(frozen=True)
class TwoBack(NextToken):
    """Predicting the token two places back, in rows of random tokens.

    A model of two layers learns this before repetition. If positions distinguish no distances beyond 1
    (relative_max_distance 2), it has to look one token back twice, so its lower layer marks every token with the one
    before it. With such marks an induction head develops at once; without them neither layer begins.
    """

    def batches(self, context: TaskContext) -> Iterator[Batch]:
        """Yield batches without end of rows of n_context tokens: end of text, then tokens drawn uniformly from the
        others.
        """
        generator, n_context = np.random.default_rng(context.seed), context.model.n_context
        while True:
            drawn = random_tokens((context.batch_size, n_context - 1), context.tokenizer, generator)
            inputs = np.insert(drawn, 0, context.tokenizer.end_of_text, axis=1).astype(np.int64)
            targets = np.full_like(inputs, IGNORE)
            targets[:, 3:] = inputs[:, 1:-2]
            yield Batch(inputs, targets)

    def held_out(self, model: Transformer, context: TaskContext) -> dict[str, float]:
        """Measure repetition, for which this task prepares: see RepeatedPassages.held_out."""
        return RepeatedPassages().held_out(model, context)


def random_tokens(shape: int | tuple[int, ...], tokenizer: Tokenizer, generator: np.random.Generator) -> np.ndarray:
    """Ids of this shape, (n,) for a number n, drawn uniformly from the vocabulary without end of text."""
    return generator.choice(np.delete(np.arange(tokenizer.vocab_size), tokenizer.end_of_text), shape)


def small_tokenizer(corpus: Path | None = None) -> Tokenizer:
    """A tokenizer of 512 tokens, trained on teaching text: few enough that each is frequent in a short training."""
    return Tokenizer.train(teaching_text.documents(TOKENIZER_DOCUMENTS), VOCABULARY)


def running_text(tokenizer: Tokenizer) -> np.ndarray:
    """Teaching text as one array of tokens, with a line break between documents."""
    return np.array(tokenizer.encode("\n".join(teaching_text.documents(TEACHING_DOCUMENTS))))
