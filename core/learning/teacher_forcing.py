"""Teacher forcing: the loss of a model on a text when it reads the true tokens before each position, and the gradient
of this loss.

At position i the model has read tokens 0 … i and gives every token of the vocabulary a probability; the true next token
is i + 1, with the loss −ln p. One pass gives the losses of the whole text, since the causal mask hides every target.
"""
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

_ENDS = re.compile(r"(?<=[.!?…])\s+|\n+")


@dataclass(frozen=True, eq=False)
class Predictions:
    """The predictions of the next tokens in a text of n + 1 tokens, float64. p_true, losses, rank: (n,) the probability
    of each true next token, −ln p in nats, and its rank, from 0. guesses, p_guess: (n + 1,) the most probable token
    after every position, the last one included, which has no true next token.
    """

    p_true: np.ndarray
    losses: np.ndarray
    rank: np.ndarray
    guesses: np.ndarray
    p_guess: np.ndarray

    @property
    def n(self) -> int:
        """The number of predictions with a true token."""
        return len(self.losses)

    @property
    def mean(self) -> float:
        """The training loss of this text in nats per token; NaN for a text without a prediction."""
        return float(self.losses.mean()) if self.n else math.nan

    @property
    def total(self) -> float:
        """−ln p of the whole text, nats."""
        return float(self.losses.sum())

    @property
    def perplexity(self) -> float:
        """exp(mean): the mean uncertainty as a number of equally probable tokens."""
        return math.exp(self.mean)


def predict(logits: Tensor, token_ids: Sequence[int]) -> Predictions:
    """The predictions of token_ids (N,) from the logits (N, |V|) of one pass over them."""
    log_p = logits.double().log_softmax(dim=-1)
    true = torch.tensor(list(token_ids[1:]), dtype=torch.int64, device=logits.device)
    log_true = log_p[:-1].gather(-1, true[:, None])
    best = log_p.max(dim=-1)
    return Predictions(log_true[:, 0].exp().cpu().numpy(),
                  -log_true[:, 0].cpu().numpy(), (log_p[:-1] > log_true).sum(-1).cpu().numpy(),
                  best.indices.cpu().numpy(), best.values.exp().cpu().numpy())


def logit_gradient(logits: Tensor, true: int) -> Tensor:
    """(|V|,) float64: the gradient ∂(−ln p_true)/∂u = softmax(u) − 1[true] of the loss at the logits u (|V|,). Its
    entries add up to 0.

    >>> logit_gradient(torch.zeros(4), 1)
    tensor([ 0.2500, -0.7500,  0.2500,  0.2500], dtype=torch.float64)
    """
    gradient = logits.double().softmax(dim=-1)
    gradient[true] -= 1
    return gradient


def documents_of(text: str) -> list[str]:
    """Return the lines or sentences of a text, which packing treats as its documents.

    >>> documents_of("One. Two!\\nThree")
    ['One.', 'Two!', 'Three']
    """
    return [part.strip() for part in _ENDS.split(text) if part.strip()]


def packed(documents: Sequence[Sequence[int]], end_of_text: int, n_context: int) -> tuple[int, ...]:
    """The documents (token ids) in one row of at most n_context tokens: end of text before each, and after the last if
    there is room.

    >>> packed([[5, 6], [7]], 0, 8)
    (0, 5, 6, 0, 7, 0)
    """
    row = [i for document in documents for i in (end_of_text, *document)] + [end_of_text]
    return tuple(row[:n_context])
