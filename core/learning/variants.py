"""Small transformers that differ from one another in one thing, and their training on a task of core.learning.learner.

All begin as the first Transformer did: what enters the stream has entries of about 1 (the rows of E, of length 1, times
√d, and positions of the size of sinusoids), maps keep the variance of what they read, and maps that write to the stream
are not divided by √(2L), which would hide the purpose of the norms. DeepNorm keeps its own β.
"""
import math
from collections.abc import Iterator
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from core.learning.learner import TASKS, Knobs, LearningTask
from core.model.config import ModelConfig
from core.model.norms import Norm
from core.model.transformer import Transformer
from core.training.loss import descend, next_token_loss

BATCH, N_MEASURED = 16, 128
DRAWN = 0.02                    # the deviation with which `initialise` draws embeddings and positions
SINUSOID = 0.5 ** 0.5           # root mean square of a sinusoid's values
CLIP = 1.0                      # the norm to which longer gradients are clipped
HELD_OUT_SEED = 1_000_003


class NoNorm(nn.Module):
    """The identity in the place of a norm."""

    def forward(self, x: Tensor, kind: str) -> Tensor:
        """x, whatever norm the pass asks for."""
        return x


@dataclass(frozen=True)
class Variant:
    """The differences of one small transformer from the others.

    config: fields of ModelConfig, in pairs. unnormed: it has no norms at all. shared: one block's weights serve all
    blocks (Dehghani et al. 2019; Lan et al. 2020).
    """

    config: tuple[tuple[str, object], ...] = ()
    unnormed: bool = False
    shared: bool = False

    def build(self, task: LearningTask, seed: int, d: int = 32, n_layers: int = 2, n_heads: int = 2) -> Transformer:
        """The transformer with its first weights."""
        fields = dict(d_model=d, n_layers=n_layers, n_heads=n_heads) | dict(self.config)
        config = ModelConfig.of(vocab_size=task.tokenizer.vocab_size, n_context=task.n_context,
                             embedding_scale=fields["d_model"] ** 0.5, **fields)
        model = Transformer(config).initialise(torch.Generator().manual_seed(seed))
        begin_large(model)
        if self.unnormed:
            for part in [*model.modules()]:
                for name in [name for name, child in part.named_children() if isinstance(child, Norm)]:
                    setattr(part, name, NoNorm())
        if self.shared:
            model.blocks = nn.ModuleList([model.blocks[0]] * config.n_layers)
        return model


@torch.no_grad()
def begin_large(model: Transformer) -> None:
    """Give the weights that `initialise` has drawn the sizes of the first Transformer."""
    config = model.config
    for name, p in model.named_parameters():
        leaf = name.rsplit(".", 1)[-1]
        if leaf in ("E", "W_U"):
            p.mul_(config.d_model ** -0.5 / DRAWN)
        elif leaf == "P":
            p.mul_(SINUSOID / DRAWN)
        elif leaf in ("W_O", "W_2") and config.norm_placement != "deepnorm":
            p.mul_((2 * config.n_layers) ** 0.5)


def gradients(model: Transformer, task: LearningTask, seed: int = 0) -> tuple[float, list[float]]:
    """The loss of one batch, and the length of its gradient by the weights of each block, the first block first; 0 and
    infinity are what float32 makes of them.
    """
    rows = task.rows(64, torch.Generator().manual_seed(seed + 1), held_out=False)
    model.zero_grad()
    loss = next_token_loss(model.logits(rows.inputs), rows.targets)
    loss.backward()
    lengths = [math.sqrt(sum(float(p.grad.double().square().sum()) for p in block.parameters() if p.grad is not None))
               for block in model.blocks]
    return float(loss.detach()), lengths


@dataclass(eq=False)
class Trial:
    """The training of one model. history: (step, held-out loss) pairs; a loss that is not finite ends it."""

    model: Transformer
    task: LearningTask
    knobs: Knobs
    seed: int = 0
    history: list[tuple[int, float]] = field(default_factory=list)

    def run(self, steps: int, every: int = 10) -> Iterator[tuple[int, float]]:
        """Train for `steps` steps; yield the held-out loss at the start and after every `every` steps."""
        batches = torch.Generator().manual_seed(self.seed + 1)
        held_out = self.task.rows(N_MEASURED, torch.Generator().manual_seed(HELD_OUT_SEED), held_out=True)
        optimizer = torch.optim.Adam(self.model.parameters(), lr=self.knobs.learning_rate, fused=True)
        for step in range(steps + 1):
            if step % every == 0:
                with torch.no_grad():
                    loss = float(next_token_loss(self.model.logits(held_out.inputs), held_out.targets))
                self.history.append((step, loss))
                yield self.history[-1]
                if not math.isfinite(loss):
                    return
            rows = self.task.rows(BATCH, batches, held_out=False)
            loss = next_token_loss(self.model.logits(rows.inputs), rows.targets)
            descend(loss, optimizer, self.knobs.rate_at(step), self.model.parameters(), CLIP)


def task_of(name: str) -> LearningTask:
    """A task of core.learning.learner that needs no text."""
    return TASKS[name]()
