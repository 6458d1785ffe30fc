"""The loss by position, inside and beyond the length that a model was trained on: a test of its position scheme."""
import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F

from core.files import read_json, write_json
from core.model import checkpoints
from core.model.transformer import Transformer

FILE = "lengths.json"               # beside a bundled model's weights
LONG_TEXT = "heldout_books"         # the held-out text whose documents are long enough
WINDOW, WIDTH = 512, 64


@dataclass(frozen=True)
class Stretch:
    """Mean −log p in nats of the `n` tokens that follow positions first … last − 1."""

    first: int
    last: int
    nats_per_token: float
    n: int


def save(folder: Path, stretches: Sequence[Stretch]) -> None:
    """Write the stretches beside the weights in `folder`."""
    write_json(folder / FILE, list(map(dataclasses.asdict, stretches)))


def bundled(name: str) -> tuple[Stretch, ...]:
    """Return the measured stretches of a bundled model; none if it was not measured.

    Raises CheckpointError for a file that cannot be read.
    """
    path = checkpoints.BUNDLED / name / FILE
    try:
        return tuple(Stretch(**fields) for fields in read_json(path))
    except FileNotFoundError:
        return ()
    except (OSError, ValueError, TypeError) as error:
        raise checkpoints.CheckpointError(f"{path} cannot be read: {error} Put the original file back.") from error


def mean(stretches: Sequence[Stretch]) -> float:
    """Nats per token over several stretches."""
    return sum(s.n * s.nats_per_token for s in stretches) / sum(s.n for s in stretches)


def stretches(model: Transformer, documents: Sequence[np.ndarray], window: int = WINDOW,
              width: int = WIDTH) -> tuple[Stretch, ...]:
    """Return the loss in stretches of `width` positions, as far as the model has positions; none if no document is as
    long as the window.

    A stretch ends at n_context, the length of training, so that none contains positions on both sides of it.
    """
    pieces = [document[start:start + window] for document in documents
              for start in range(0, len(document) - window + 1, window)]
    if not pieces:
        return ()
    losses = loss_by_position(model, pieces)
    edges = sorted({*range(0, len(losses), width), min(model.config.n_context, len(losses)), len(losses)})
    return tuple(Stretch(first, last, float(losses[first:last].mean()), len(pieces) * (last - first))
                 for first, last in zip(edges, edges[1:]))


@torch.no_grad()
def loss_by_position(model: Transformer, pieces: Sequence[np.ndarray], batch_size: int = 4) -> np.ndarray:
    """(W,) float64: mean −log p of the token that follows position i, over pieces of W tokens; (n_context,) for learned
    positions, if that is less.

    Each piece follows an end-of-text token at position 0, as the continuation of a long document does in training.
    """
    length = min(len(pieces[0]), model.config.n_context) if model.config.positions == "learned" else len(pieces[0])
    total = np.zeros(length)
    for start in range(0, len(pieces), batch_size):
        targets = torch.from_numpy(np.stack(pieces[start:start + batch_size])[:, :length].astype(np.int64)).to(
            model.device)
        inputs = torch.cat([torch.full_like(targets[:, :1], model.config.end_of_text), targets[:, :-1]], dim=1)
        losses = F.cross_entropy(model.logits(inputs).flatten(0, 1).float(), targets.flatten(),
                                 reduction="none").view_as(targets)
        total += losses.cpu().double().sum(0).numpy()
    return total / len(pieces)
