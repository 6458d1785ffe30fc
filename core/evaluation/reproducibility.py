"""Reproducibility of training: the losses of two runs from one seed."""
from dataclasses import dataclass

from core.model.config import ModelConfig
from core.model.tokenizer import Tokenizer
from core.training import corpus, teaching_text
from core.training.run import TrainingConfig, TrainingRun, train

N_DOCUMENTS = 400


@dataclass(frozen=True)
class Repetition:
    """The losses of two runs, step by step, in nats per token."""

    first: tuple[float, ...]
    second: tuple[float, ...]

    @property
    def same(self) -> bool:
        """Whether they are equal to the last bit."""
        return self.first == self.second


def repetition(tokenizer: Tokenizer, n_steps: int, seed: int = 0) -> Repetition:
    """Train one small model twice from the same seed on teaching text, n_steps each, within a few seconds.

    The losses are equal on one machine with the same number of threads; another machine may add in a different order
    and differ in the last bits.
    """
    config = ModelConfig(vocab_size=tokenizer.vocab_size, d_model=32, n_layers=2, n_heads=2, n_context=64,
                         end_of_text=tokenizer.end_of_text)
    settings = TrainingConfig(steps=n_steps, batch_size=4, warmup_steps=n_steps // 5, seed=seed)
    sources = [corpus.tokenize(teaching_text.documents(N_DOCUMENTS, seed), tokenizer)]

    def losses() -> tuple[float, ...]:
        batches = corpus.batches(sources, config.n_context, config.end_of_text, settings.batch_size, seed)
        return tuple(step.loss for step in train(TrainingRun.start(config, settings), batches))

    return Repetition(losses(), losses())
