"""The loss of next-token prediction, and a model's loss on text that it was not trained on."""
from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from core.model.transformer import Transformer
from core.training.corpus import IGNORE, Batch
from core.training.muon import Muon

PADDED = 0.25           # the longest row of a batch is at most this share longer than the shortest


def next_token_loss(logits: Tensor, targets: Tensor) -> Tensor:
    """Mean −log p(target) in nats over all positions that count, from logits (..., N, |V|) and targets (..., N)."""
    return F.cross_entropy(logits.flatten(0, -2).float(), targets.flatten(), ignore_index=IGNORE)


def descend(loss: Tensor, optimizer: torch.optim.Optimizer | Muon, rate: float, parameters: Iterable[Tensor],
            longest: float) -> tuple[float, float]:
    """Take one step down the loss at this learning rate, with the norm of the gradient clipped to `longest`.

    Return the loss before the step and the norm before clipping.
    """
    for group in optimizer.param_groups:
        group["lr"] = rate
    optimizer.zero_grad()
    loss.backward()
    norm = nn.utils.clip_grad_norm_(parameters, longest)
    optimizer.step()
    return float(loss.detach()), float(norm)


@dataclass(frozen=True)
class HeldOutLoss:
    """The sum of −log p in nats over n_tokens tokens (each document's closing end of text included) of n_bytes bytes of
    text.
    """

    nats: float
    n_tokens: int
    n_bytes: int

    @property
    def nats_per_token(self) -> float:
        return self.nats / self.n_tokens

    @property
    def perplexity(self) -> float:
        """exp(nats per token): the number of equally probable tokens with the same uncertainty."""
        return math.exp(self.nats_per_token)

    @property
    def bits_per_byte(self) -> float:
        """The bits that an arithmetic coder needs with this model, which do not depend on the tokenizer."""
        return self.nats / math.log(2) / self.n_bytes


def windows(document: np.ndarray, n_context: int, end_of_text: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield rows (inputs, targets), each (≤ n_context,), in which every token of the document and its closing end of
    text counts once.

    The first row begins with end of text and the document; each later one, like a cut prompt, with end of text and half
    a context before the first token that counts.
    """
    text = np.append(document, end_of_text).astype(np.int64)
    first, overlap = 0, 0                       # the row reads text[first − overlap:], and counts from text[first] on
    while first < len(text):
        row = np.concatenate([[end_of_text], text[first - overlap:first - overlap + n_context]])
        targets = row[1:].copy()
        targets[:overlap] = IGNORE
        yield row[:-1], targets
        first += len(targets) - overlap
        overlap = n_context // 2


@torch.no_grad()
def held_out_logits(model: Transformer, documents: Sequence[np.ndarray],
                    batch_size: int = 32) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield batches of logits (B, N, |V|) in float32, whatever the training's precision, and targets (B, N), IGNORE if
    none counts: every token of `documents` (ids without end of text) and their closing ends of text once, in `windows`.
    """
    end_of_text, n_context = model.config.end_of_text, model.config.n_context
    rows = [row for document in documents for row in windows(document, n_context, end_of_text)]
    for similar in _of_similar_length(rows, batch_size):
        batch = to_tensors(filled_up(similar, end_of_text), model.device)
        yield model.logits(batch.inputs), batch.targets


def _of_similar_length(rows: list[tuple[np.ndarray, np.ndarray]],
                       batch_size: int) -> Iterator[list[tuple[np.ndarray, np.ndarray]]]:
    """The rows (inputs, targets), the shortest first, in batches that little padding fills up: at most batch_size, the
    longest by at most PADDED longer than the shortest.
    """
    batch = []
    for row in sorted(rows, key=lambda row: len(row[0])):
        if batch and (len(batch) == batch_size or len(row[0]) > (1 + PADDED) * len(batch[0][0])):
            yield batch
            batch = []
        batch.append(row)
    if batch:
        yield batch


def held_out_loss(model: Transformer, documents: Sequence[np.ndarray], n_bytes: int,
                  batch_size: int = 32) -> HeldOutLoss:
    """The model's loss on `documents` (token ids without end of text), n_bytes bytes in all."""
    nats, n_tokens = 0.0, 0
    for logits, targets in held_out_logits(model, documents, batch_size):
        counted = int((targets != IGNORE).sum())
        nats += float(next_token_loss(logits, targets)) * counted
        n_tokens += counted
    return HeldOutLoss(nats, n_tokens, n_bytes)


def filled_up(rows: Sequence[tuple[Sequence[int], Sequence[int]]], filler: int) -> Batch:
    """Rows (inputs, targets) of any length as one batch, padded with `filler` and IGNORE."""
    longest = max(len(inputs) for inputs, _ in rows)
    inputs, targets = np.full((len(rows), longest), filler), np.full((len(rows), longest), IGNORE)
    for i, (row_inputs, row_targets) in enumerate(rows):
        inputs[i, :len(row_inputs)], targets[i, :len(row_targets)] = row_inputs, row_targets
    return Batch(inputs, targets)


def to_tensors(batch, device: torch.device):
    """The batch, a dataclass of arrays, with tensors on the device instead of arrays."""
    return replace(batch, **{name: torch.from_numpy(array).to(device) for name, array in vars(batch).items()})


@dataclass(frozen=True)
class Score:
    """Mean −log p of the true answer in nats, and the share of n answers for which it was the most probable."""

    nats: float
    right: float
    n: int

    @classmethod
    def of(cls, answers: Iterable[tuple[Tensor, Tensor]]) -> Score:
        """The score of pairs of logits (n, k) and true answers (n,)."""
        logits, true = (torch.cat(parts) for parts in zip(*answers))
        return cls(float(F.cross_entropy(logits, true)), float((logits.argmax(-1) == true).double().mean()), len(true))
