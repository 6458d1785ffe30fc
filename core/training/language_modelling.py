"""Training tasks: batches without end, the loss on a batch, and the loss on held-out data. Text is one such task."""
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Protocol

import numpy as np
from torch import Tensor

from core.model.config import ModelConfig
from core.model.tokenizer import Tokenizer
from core.model.transformer import Transformer
from core.training import chats, corpus, teaching_text
from core.training.loss import held_out_loss, next_token_loss


@dataclass(frozen=True)
class TaskContext:
    """The model and settings that a task makes batches for. corpus: the folder of text files, or None if the task needs
    no text.
    """

    model: ModelConfig
    tokenizer: Tokenizer
    corpus: Path | None
    batch_size: int
    seed: int


class Task(Protocol):
    """A training task, a dataclass.

    Its batches are dataclasses of arrays, whose first axis is the rows, with a property `n_targets`.
    """

    def batches(self, context: TaskContext) -> Iterator:
        """Yield batches of NumPy arrays without end. The same context gives the same batches."""

    def loss(self, model: Transformer, batch) -> Tensor:
        """The mean loss in nats over the batch's n_targets; the batch holds tensors on the model's device."""

    def held_out(self, model: Transformer, context: TaskContext) -> dict[str, float]:
        """Nats per target on each kind of held-out data, by name."""


def next_token(model: Transformer, batch: corpus.Batch, dropout: float = 0.0) -> Tensor:
    """Mean −log p of the batch's targets in nats, without a trace."""
    return next_token_loss(model.logits(batch.inputs, dropout=dropout), batch.targets)


class NextToken:
    """A task with batches of type corpus.Batch and the loss of the next token."""

    def loss(self, model: Transformer, batch: corpus.Batch) -> Tensor:
        return next_token(model, batch)


@dataclass(frozen=True)
class LanguageModelling(NextToken):
    """Predicting the next token of text.

    texts     (file of the corpus, how often each of its documents is read an epoch)
    teaching  the number of additional documents, of core.training.teaching_text
    chats     the number of additional chats, of core.training.chats
    canaries  whether to add the canary passages, each as often as its `repeats` says
    measured  the files of the corpus for the held-out loss, never trained on
    dropout   the share dropped in training
    """

    texts: tuple[tuple[str, float], ...]
    teaching: int = 0
    chats: int = 0
    canaries: bool = False
    measured: tuple[str, ...] = ("heldout_tinystories.txt", "heldout_books.txt")
    dropout: float = 0.0

    def sources(self, context: TaskContext) -> list[corpus.Source]:
        """The texts as token ids, with their weights."""
        sources = [corpus.Source(_tokenized(context.corpus, name, context.tokenizer)[0], weight)
                   for name, weight in self.texts]
        if self.teaching:
            sources.append(corpus.tokenize(teaching_text.documents(self.teaching), context.tokenizer))
        if self.chats:
            sources.append(corpus.source([context.tokenizer.encode_chat(chat)
                                          for chat in chats.conversations(self.chats)]))
        if self.canaries:
            sources.append(corpus.tokenize(teaching_text.canary_documents(), context.tokenizer))
        return sources

    def loss(self, model: Transformer, batch: corpus.Batch) -> Tensor:
        return next_token(model, batch, self.dropout)

    def batches(self, context: TaskContext) -> Iterator[corpus.Batch]:
        return corpus.batches(self.sources(context), *_packing(context))

    def steps_per_epoch(self, context: TaskContext) -> int:
        """The number of steps that read every text as often as its weight says."""
        return corpus.steps_per_epoch(self.sources(context), *_packing(context))

    def held_out(self, model: Transformer, context: TaskContext) -> dict[str, float]:
        """Nats per token on each of the measured files."""
        texts = {Path(name).stem: _tokenized(context.corpus, name, context.tokenizer) for name in self.measured}
        return {name: held_out_loss(model, documents, n_bytes).nats_per_token
                for name, (documents, n_bytes) in texts.items()}


@dataclass(frozen=True)
class Mixture(NextToken):
    """Several next-token tasks at once, each with a fixed number of rows in every batch.

    The first task defines the epoch and the held-out loss.
    """

    parts: tuple[tuple[Task, int], ...]

    def batches(self, context: TaskContext) -> Iterator[corpus.Batch]:
        """Yield batches without end, the first task's rows first.

        Raises ValueError if the rows do not add up to context.batch_size.
        """
        for rows in zip(*(task.batches(part) for task, part in self._contexts(context))):
            yield corpus.Batch(np.concatenate([batch.inputs for batch in rows]),
                               np.concatenate([batch.targets for batch in rows]))

    def steps_per_epoch(self, context: TaskContext) -> int:
        """The number of steps that read the first task's texts as often as its weights say."""
        task, part = self._contexts(context)[0]
        return task.steps_per_epoch(part)

    def held_out(self, model: Transformer, context: TaskContext) -> dict[str, float]:
        task, part = self._contexts(context)[0]
        return task.held_out(model, part)

    def _contexts(self, context: TaskContext) -> list[tuple[Task, TaskContext]]:
        if sum(n for _, n in self.parts) != context.batch_size:
            raise ValueError(f"The parts have {sum(n for _, n in self.parts)} rows, and a batch {context.batch_size}.")
        return [(task, replace(context, batch_size=n)) for task, n in self.parts]


def _packing(context: TaskContext) -> tuple[int, int, int, int]:
    return context.model.n_context, context.tokenizer.end_of_text, context.batch_size, context.seed


@lru_cache(maxsize=32)
def _tokenized(folder: Path | None, name: str, tokenizer: Tokenizer) -> tuple[tuple[np.ndarray, ...], int]:
    """The documents of a file as token ids, and their number of bytes; cached, since every measurement needs them."""
    texts = corpus.corpus_documents(folder, name)
    return corpus.tokenize(texts, tokenizer).documents, sum(len(text.encode()) for text in texts)
