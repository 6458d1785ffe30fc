"""The loss by position, inside and beyond the length that a model was trained on: what its position scheme is worth there."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F

from core.model import Transformer

WINDOW = 512


@dataclass(frozen=True)
class Stretch:
    """Mean −log p in nats of the tokens predicted at positions first … last − 1, over `n` of them."""

    first: int
    last: int
    nats_per_token: float
    n: int


@torch.no_grad()
def loss_by_position(model: Transformer, documents: Sequence[np.ndarray], window: int = WINDOW, batch_size: int = 4) -> np.ndarray:
    """(window,) float64: mean −log p of the token that follows position i, over all pieces of `window` tokens of the documents.

    Each piece follows an end-of-text token at position 0, as the continuation of a long document does in training. Positions for which a model
    has no vector (learned ones beyond n_context) are NaN. Raises ValueError if no document is as long as the window.
    """
    end_of_text = model.config.end_of_text
    pieces = [document[start:start + window] for document in documents for start in range(0, len(document) - window + 1, window)]
    if not pieces:
        raise ValueError(f"No document has {window} tokens.")
    length = min(window, model.config.n_context) if model.config.positions == "learned" else window
    total = np.zeros(length)
    for start in range(0, len(pieces), batch_size):
        targets = torch.from_numpy(np.stack(pieces[start:start + batch_size])[:, :length].astype(np.int64)).to(model.device)
        inputs = torch.cat([torch.full_like(targets[:, :1], end_of_text), targets[:, :-1]], dim=1)
        losses = F.cross_entropy(model.logits(inputs).flatten(0, 1).float(), targets.flatten(), reduction="none").view_as(targets)
        total += losses.double().sum(0).cpu().numpy()
    return np.concatenate([total / len(pieces), np.full(window - length, np.nan)])


def stretches(losses: np.ndarray, n_pieces: int = 1, trained: int = 128, width: int = 64) -> tuple[Stretch, ...]:
    """`losses` by position (W,) in stretches of `width`; a stretch that is NaN anywhere is left out, and none reaches over the trained length.

    >>> [(s.first, s.last, s.nats_per_token) for s in stretches(np.array([4.0, 2.0, 3.0, 5.0]), trained=2, width=2)]
    [(0, 2, 3.0), (2, 4, 4.0)]
    """
    edges = sorted({*range(0, len(losses), width), min(trained, len(losses)), len(losses)})
    found = [(first, last, losses[first:last]) for first, last in zip(edges, edges[1:])]
    return tuple(Stretch(first, last, float(part.mean()), n_pieces * len(part)) for first, last, part in found if not np.isnan(part).any())
