"""The loss by position, inside and beyond the length that a model was trained on: what its position scheme
is worth there.
"""
import dataclasses
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F

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


def save(folder: Path, measured: Sequence[Stretch]) -> None:
    """Write what was measured beside the weights in `folder`."""
    (folder / FILE).write_text(json.dumps([dataclasses.asdict(stretch) for stretch in measured], indent=0) + "\n",
                               encoding="utf-8")


def bundled(name: str) -> tuple[Stretch, ...]:
    """What was measured of a bundled model; none if that was never done.

    Raises CheckpointError for a file that cannot be read.
    """
    path = checkpoints.BUNDLED / name / FILE
    try:
        return tuple(Stretch(**fields) for fields in json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return ()
    except (OSError, ValueError, TypeError) as error:
        raise checkpoints.CheckpointError(f"{path} cannot be read: {error} Put the original file back.") from error


def mean(measured: Sequence[Stretch]) -> float:
    """Nats per token over several stretches."""
    return sum(s.n * s.nats_per_token for s in measured) / sum(s.n for s in measured)


def stretches(model: Transformer, documents: Sequence[np.ndarray], window: int = WINDOW,
              width: int = WIDTH) -> tuple[Stretch, ...]:
    """The loss in stretches of `width` positions, as far as the model has positions; none if no document is as long
    as the window.

    For models trained on n_context tokens; a stretch ends there, so that inside and beyond do not mix.
    """
    pieces = _pieces(documents, window)
    if not pieces:
        return ()
    losses = loss_by_position(model, pieces)
    edges = sorted({*range(0, len(losses), width), min(model.config.n_context, len(losses)), len(losses)})
    return tuple(Stretch(first, last, float(losses[first:last].mean()), len(pieces) * (last - first))
                 for first, last in zip(edges, edges[1:]))


def _pieces(documents: Sequence[np.ndarray], window: int) -> list[np.ndarray]:
    return [document[start:start + window] for document in documents
            for start in range(0, len(document) - window + 1, window)]


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
