"""Induction: how well a model predicts random tokens when they are repeated, and which heads make it possible."""
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from core.analysis.stream_and_heads import induction_score, previous_token_score
from core.model.transformer import Transformer

BATCH = 8


@dataclass(frozen=True)
class Head:
    """A head, layer and head counted from 0, and its score in [0, 1]."""

    layer: int
    head: int
    score: float


@dataclass(frozen=True, eq=False)
class Induction:
    """Losses and head scores on n_sequences sequences, each of n_tokens different random tokens and their repetition.

    first, second            mean loss of each half in nats per token, without its first token, which is unpredictable
    induction        (L, h)  each head's mean induction score
    previous_token   (L, h)  each head's mean previous-token score
    """

    n_sequences: int
    n_tokens: int
    first: float
    second: float
    induction: np.ndarray
    previous_token: np.ndarray

    @property
    def best_induction_head(self) -> Head:
        return _best(self.induction)

    @property
    def best_previous_token_head(self) -> Head:
        return _best(self.previous_token)


def _best(scores: np.ndarray) -> Head:
    layer, head = np.unravel_index(scores.argmax(), scores.shape)
    return Head(int(layer), int(head), float(scores[layer, head]))


def repeated_sequences(model: Transformer, n_sequences: int, n_tokens: int, seed: int = 0) -> Tensor:
    """(n_sequences, 1 + 2 n) int64 on the model's device: the first token, n random tokens, and the same n again.

    n is n_tokens, or as many as the context and the vocabulary allow. The n tokens are all different and none is end of
    text, so that each token of the second half has exactly one earlier occurrence. Raises ValueError for a context
    without room for n = 2.
    """
    config, generator = model.config, torch.Generator().manual_seed(seed)
    others = torch.tensor([i for i in range(config.vocab_size) if i not in (config.end_of_text, config.first_token)])
    n = min(n_tokens, (config.n_context - 1) // 2, len(others))
    if n < 2:
        raise ValueError(f"A context of {config.n_context} tokens has no room for a sequence and its repetition.")
    halves = torch.stack([others[torch.randperm(len(others), generator=generator)[:n]] for _ in range(n_sequences)])
    start = torch.full((n_sequences, 1), config.first_token)
    return torch.cat([start, halves, halves], dim=1).to(model.device)


@torch.no_grad()
def induction(model: Transformer, n_sequences: int = 64, n_tokens: int = 50, seed: int = 0) -> Induction:
    """Losses and head scores on repeated random sequences. Takes about two seconds."""
    sequences = repeated_sequences(model, n_sequences, n_tokens, seed)
    n = sequences.shape[1] // 2
    losses, induction_scores, previous_scores = (torch.cat(parts) for parts in zip(*_batches(model, sequences)))
    return Induction(n_sequences, n, float(losses[:, 1:n].mean()), float(losses[:, n + 1:].mean()),
                     induction_scores.mean(0).cpu().numpy(), previous_scores.mean(0).cpu().numpy())


def _batches(model: Transformer, sequences: Tensor) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """For BATCH sequences at a time: losses (B, 2n), induction scores and previous-token scores (B, L, h)."""
    for ids in sequences.split(BATCH):
        trace = model(ids)
        log_probs = trace.logits[:, :-1].log_softmax(-1).gather(-1, ids[:, 1:, None])[..., 0]
        patterns = [block.pattern for block in trace.blocks]
        yield (-log_probs, torch.stack([induction_score(pattern, ids) for pattern in patterns], dim=1),
               torch.stack([previous_token_score(pattern) for pattern in patterns], dim=1))
