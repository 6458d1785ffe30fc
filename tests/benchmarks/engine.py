"""The engine against transformers on the same random weights, of the size of the bundled model."""
from __future__ import annotations

import itertools
import multiprocessing
import time

import torch
from safetensors.torch import load_file
from torch import nn

from core.learning.learner import BATCH, CLIP, Copying, Learner
from core.model import checkpoints
from core.model.config import ModelConfig
from core.model.fused import lay_out
from core.model.generation import generate
from core.model.sampling import SamplingConfig
from core.training.loss import next_token_loss
from tests.benchmarks.timing import Figure, alternate, figure
from tests.helpers import parity

RIGHT = 0.99        # of the new symbols, to which copying is trained


def models():
    """transformers' model, and ours with the same weights, laid out in memory as in every model that is loaded."""
    theirs, ours = parity.gpt2(vocab_size=4096, d=256, n_layers=6, n_heads=8, n_context=256)
    lay_out(ours)
    return theirs, ours


@torch.no_grad()
def trace_figures(repeats: int) -> list[Figure]:
    """A full Trace against transformers' forward with attentions and hidden states."""
    theirs, ours = models()
    figures = []
    for n in (32, 64, 128, 256):
        ids = torch.randint(0, 4096, (n,), generator=torch.Generator().manual_seed(n))
        a, b = alternate(lambda: ours(ids),
                         lambda: theirs(ids[None], output_attentions=True, output_hidden_states=True), repeats)
        figures.append(figure(f"full Trace, {n} tokens", a, b, "ms",
                              "reference: transformers with attentions and hidden states"))
    return figures


@torch.no_grad()
def generation_figures(repeats: int, n_new: int = 64) -> list[Figure]:
    """Greedy generation with a KV cache against transformers' generate, milliseconds a token."""
    theirs, ours = models()
    ids = torch.randint(1, 4096, (32,), generator=torch.Generator().manual_seed(0))

    def run_ours() -> None:
        for _ in generate(ours, ids.tolist(), SamplingConfig(temperature=0.0), max_new_tokens=n_new):
            pass

    def run_theirs() -> None:
        theirs.generate(ids[None], attention_mask=torch.ones(1, 32), do_sample=False, min_new_tokens=n_new,
                        max_new_tokens=n_new, pad_token_id=0)

    a, b = alternate(run_ours, run_theirs, max(min(3, repeats), repeats // 5))
    return [figure("generation, a token", [t / n_new for t in a], [t / n_new for t in b], "ms",
                   "reference: transformers' generate; ours also truncates and keeps each step")]


def milestone_figures(repeats: int) -> list[Figure]:
    """A moment of a model's childhood, ready to run: each in turn, against reading the numbers of its file alone."""
    steps = [milestone.step for milestone in checkpoints.history("stories-small")]
    turn, files = itertools.cycle(steps), itertools.cycle(sorted((checkpoints.BUNDLED / "stories-small"
                                                                  / checkpoints.HISTORY).glob("*.safetensors")))
    a, b = alternate(lambda: checkpoints.load_bundled("stories-small", step=next(turn)), lambda: load_file(next(files)),
                     max(repeats, len(steps)))
    return [figure("a milestone loaded", a, b, "ms", "reference: safetensors' load_file of the same files")]


class TorchDecoder(nn.Module):
    """torch's own transformer of the size of a live one: the yardstick of a training step."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.E, self.P = (nn.Embedding(config.vocab_size, config.d_model),
                          nn.Parameter(torch.zeros(config.n_context, config.d_model)))
        layer = nn.TransformerEncoderLayer(config.d_model, config.n_heads, config.d_ff, dropout=0.0, activation="gelu",
                                           batch_first=True, norm_first=True)
        self.blocks = nn.TransformerEncoder(layer, config.n_layers, norm=nn.LayerNorm(config.d_model),
                                            enable_nested_tensor=False)
        self.register_buffer("mask", nn.Transformer.generate_square_subsequent_mask(config.n_context))

    def logits(self, token_ids: torch.Tensor) -> torch.Tensor:
        return self.blocks(self.E(token_ids) + self.P, mask=self.mask, is_causal=True) @ self.E.weight.T


def learning_figures(repeats: int, seeds: int, share: float) -> list[Figure]:
    """A step of the smallest live training, and how long it takes to copy RIGHT: on one torch thread, as the app
    trains, beside nothing else. share: of RIGHT, at which the training ends.
    """
    learner, theirs = Learner(Copying()), TorchDecoder(Learner(Copying()).model.config)
    optimizer = torch.optim.Adam(theirs.parameters(), lr=learner.knobs.learning_rate)

    def step() -> None:
        rows = learner.task.rows(BATCH, torch.Generator().manual_seed(0), held_out=False)
        optimizer.zero_grad()
        next_token_loss(theirs.logits(rows.inputs), rows.targets).backward()
        nn.utils.clip_grad_norm_(theirs.parameters(), CLIP)
        optimizer.step()

    a, b = alternate(learner._one_step, step, 10 * repeats)
    right = share * RIGHT
    seconds = [_seconds_to_copy(seed, right) for seed in range(seeds)]
    return [figure("a step of live training, tiny, copying", a, b, "ms",
                   "reference: the same step with torch's nn.TransformerEncoder"),
            figure("steps a second, tiny, copying", [1e3 / t for t in a],
                   [1e3 / t for t in b], "", "the app asks for 20"),
            figure(f"copying, tiny, to {100 * right:.3g} % of new symbols right, its measurements included", seconds,
                   None, "s", "the app asks for 60")]


def _seconds_to_copy(seed: int, right: float) -> float:
    start, learner = time.perf_counter(), Learner(Copying(), seed=seed)
    next(record for record in learner.learn() if record.step and record.accuracy >= right)
    return time.perf_counter() - start


def thread_figures(repeats: int) -> list[Figure]:
    """A Trace of 64 tokens with 1 and 2 torch threads, idle and while another process is busy: why the app sets the
    number it does.
    """
    ours = models()[1]
    ids = torch.randint(0, 4096, (64,), generator=torch.Generator().manual_seed(1))
    before, figures = torch.get_num_threads(), []
    for busy in (False, True):
        other = multiprocessing.get_context("spawn").Process(target=_spin, daemon=True) if busy else None
        if other:
            other.start()
        for threads in (1, 2):
            torch.set_num_threads(threads)
            a, _ = alternate(lambda: ours(ids), lambda: None, repeats)
            figures.append(figure(f"full Trace, 64 tokens, {threads} torch thread{'s' * (threads > 1)}, "
                                  f"{'beside a busy process' if busy else 'alone'}", a, None, "ms"))
        if other:
            other.terminate()
            other.join()
    torch.set_num_threads(before)
    return figures


def _spin() -> None:
    while True:
        sum(range(10_000))
