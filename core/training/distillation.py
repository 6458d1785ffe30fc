"""Learning from larger models as well: beside the token that follows, a small model learns the probability that its
teachers give every token (Hinton et al. 2015, "Distilling the Knowledge in a Neural Network").
"""
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from core.model import checkpoints
from core.model.transformer import Transformer
from core.training.corpus import IGNORE, Batch
from core.training.language_modelling import Mixture, TaskContext


@dataclass(frozen=True)
class TaughtBatch(Batch):
    """A Batch, and taught (B,): the rows for which the teachers answer."""

    taught: np.ndarray


@dataclass(frozen=True)
class Distillation(Mixture):
    """A Mixture in which the teachers also answer in the last part.

    teachers  the folders of their training runs
    weight    of the teachers' answer in the loss of a token; the rest is the true token's weight
    """

    teachers: tuple[str, ...]
    weight: float = 0.7

    def batches(self, context: TaskContext) -> Iterator[TaughtBatch]:
        first = context.batch_size - self.parts[-1][1]
        for batch in super().batches(context):
            yield TaughtBatch(batch.inputs, batch.targets, np.arange(context.batch_size) >= first)

    def loss(self, model: Transformer, batch: TaughtBatch) -> Tensor:
        """Mean over the targets of −log p(target) or, in taught rows, of (1 − weight) times this plus weight times the
        cross-entropy −Σ q log p with the teachers' mean probabilities q.
        """
        log_probs, counted = model.logits(batch.inputs).float().log_softmax(-1), batch.targets != IGNORE
        losses = F.nll_loss(log_probs.flatten(0, 1), batch.targets.flatten(), ignore_index=IGNORE,
                            reduction="none").view(batch.targets.shape)
        answers = self._answers(batch.inputs[batch.taught])
        taught = torch.lerp(losses[batch.taught], -(answers * log_probs[batch.taught]).sum(-1), self.weight)
        return ((taught * counted[batch.taught]).sum() + losses[~batch.taught].sum()) / counted.sum()

    @torch.no_grad()
    def _answers(self, inputs: Tensor) -> Tensor:
        """(B, N, |V|) the mean of the teachers' probabilities."""
        return torch.stack([teacher(folder, inputs.device).logits(inputs).float().softmax(-1)
                            for folder in self.teachers]).mean(0)


@cache
def teacher(folder: str, device: torch.device) -> Transformer:
    """The model of a training run. Raises CheckpointError for a run that does not exist."""
    return checkpoints.load(Path(folder) / "model")[0].to(device)
