"""A small transformer that learns while a reader watches: its tasks, and the learner, which a reader can stop, change
and inspect at any time.

Every task is text for its own tokenizer (bytes or words), so that the trained model can be saved like any other. Only
the predictable part of a row counts. Losses are in nats per counted token.
"""
import functools
import itertools
import math
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from core.learning import grammar
from core.learning.schedules import Schedule
from core.model import checkpoints
from core.model.config import ModelConfig
from core.model.generation import generate, uniforms
from core.model.sampling import SamplingConfig
from core.model.tokenizer import Tokenizer, visible_form
from core.model.transformer import Transformer
from core.training.corpus import IGNORE
from core.training.loss import descend, next_token_loss

BYTES = 257                  # the smallest vocabulary: end of text and the bytes
BATCH, N_MEASURED = 32, 128
SAMPLED = 5                  # records from one sample to the next: sampling takes as long as several steps
CLIP = 1.0                   # the norm to which longer gradients are clipped
SIZES = {"tiny": (32, 2, 2), "small": (64, 2, 4), "medium": (128, 4, 4)}     # d, L, h
OPTIMIZERS = ("sgd", "momentum", "adam")
N_SYMBOLS, N_COPIED, N_SORTED, N_DIGITS = 8, 8, 8, 2
N_WORDS, N_CHARACTERS = 24, 48            # in a row of the grammar, in a row of text
LEAST_TEXT = 4 * N_CHARACTERS             # bytes, of which a tenth is held out
HELD_OUT_SEED = 1_000_003


@dataclass(frozen=True, eq=False)
class Rows:
    """inputs, targets (B, N) int64; IGNORE if a target does not count. log_p: (B, N) the true ln p of the counted
    targets, if it is known.
    """

    inputs: Tensor
    targets: Tensor
    log_p: Tensor | None = None

    @property
    def counts(self) -> Tensor:
        """(B, N) bool: which targets count."""
        return self.targets != IGNORE


class LearningTask(Protocol):
    """A task to learn. n_context: tokens of a row. levels: name -> the loss in nats of a model that knows less;
    "floor": the lowest possible loss, if it is known.
    """

    tokenizer: Tokenizer
    n_context: int
    levels: Mapping[str, float]

    def rows(self, n: int, generator: torch.Generator, held_out: bool) -> Rows:
        """n rows; held-out rows are never trained on in tasks whose rows can repeat."""

    def sample(self, model: Transformer, generator: torch.Generator) -> tuple[str, str, str]:
        """Return the prompt, the model's output, and the right answer ("" if there is more than one), as a reader sees
        them.
        """


BYTE_TOKENIZER = Tokenizer.train([], BYTES)


def _symbols(letters: str) -> Tensor:
    return torch.tensor([BYTE_TOKENIZER.id_of(letter.encode()) for letter in letters])


def _visible(tokenizer: Tokenizer, ids: Sequence[int]) -> str:
    """The text of tokens as a reader sees it; a byte that is not a character appears as its number."""
    return visible_form(b"".join(map(tokenizer.token_bytes, ids)))


def _digits(numbers: Tensor, n: int) -> Tensor:
    """(B, n) the tokens of the last n digits of numbers (B,), the units first."""
    return _symbols("0123456789")[torch.stack([numbers // 10 ** k % 10 for k in range(n)], dim=1)]


class _Answering:
    """A task of questions with one right answer each."""

    n_answer: int
    tokenizer = BYTE_TOKENIZER

    def _rows(self, *parts: Tensor | str) -> Rows:
        """Rows of end of text and the parts: tokens (B, ·), or a separator; the last n_answer tokens count."""
        n = len(parts[0])
        row = torch.cat([torch.full((n, 1), self.tokenizer.end_of_text),
                         *(_symbols(part).expand(n, 1) if isinstance(part, str) else part for part in parts)], dim=1)
        targets = row[:, 1:].clone()
        targets[:, :-self.n_answer] = IGNORE
        return Rows(row[:, :-1], targets)

    def sample(self, model: Transformer, generator: torch.Generator) -> tuple[str, str, str]:
        rows = self.rows(1, generator, held_out=True)
        question, answer = (rows.inputs[0, :len(rows.inputs[0]) - self.n_answer + 1].tolist(),
                            rows.targets[0, -self.n_answer:].tolist())
        output = [step.token_id
                   for step in generate(model, question, SamplingConfig(temperature=0.0), max_new_tokens=self.n_answer)]
        return tuple(_visible(self.tokenizer, ids) for ids in (question, output, answer))


class Copying(_Answering):
    """Eight random letters, a bar, and the same letters again: `hbdaecfg|hbdaecfg`."""

    n_answer, n_context = N_COPIED, 2 * N_COPIED + 1
    levels = {"blind": math.log(N_SYMBOLS), "floor": 0.0}

    def rows(self, n: int, generator: torch.Generator, held_out: bool) -> Rows:
        letters = _symbols("abcdefgh"[:N_SYMBOLS])[torch.randint(N_SYMBOLS, (n, N_COPIED), generator=generator)]
        return self._rows(letters, "|", letters)


class Sorting(_Answering):
    """Eight random digits, an arrow, and the same digits in order: `31415926>11234569`."""

    n_answer, n_context = N_SORTED, 2 * N_SORTED + 1

    @functools.cached_property
    def levels(self) -> dict[str, float]:
        """Blind: a model that knows the distribution of the k-th smallest of eight digits, but not these digits."""
        at_most = np.array([[sum(math.comb(N_SORTED, j) * (v / 10) ** j * (1 - v / 10) ** (N_SORTED - j)
                                 for j in range(k, N_SORTED + 1)) for v in range(11)] for k in range(1, N_SORTED + 1)])
        return {"blind": float(np.mean([grammar.entropy(np.diff(row)) for row in at_most])), "floor": 0.0}

    def rows(self, n: int, generator: torch.Generator, held_out: bool) -> Rows:
        digits = torch.randint(10, (n, N_SORTED), generator=generator)
        codes = _symbols("0123456789")
        return self._rows(codes[digits], ">", codes[digits.sort(dim=1).values])


class Addition(_Answering):
    """Two numbers of two digits and their sum with its units first, the order of adding by hand: `27+48=570`.

    A tenth of all pairs, drawn at random once and for all, is held out. A rule for which ones, such as a sum modulo 10,
    would keep whole entries of the table of one-digit sums from the training.
    """

    n_answer, n_context = N_DIGITS + 1, 3 * N_DIGITS + 3

    @functools.cached_property
    def _pairs(self) -> tuple[Tensor, Tensor]:
        """The pairs that are trained on and those that are held out, (n, 2) each."""
        every = torch.cartesian_prod(*[torch.arange(10 ** N_DIGITS)] * 2)
        shuffled = every[torch.randperm(len(every), generator=torch.Generator().manual_seed(0))]
        return shuffled[len(every) // 10:], shuffled[:len(every) // 10]

    @functools.cached_property
    def levels(self) -> dict[str, float]:
        """Blind: a model that knows the distribution of each digit of the sum, but not the numbers."""
        sums = np.add.outer(np.arange(10 ** N_DIGITS), np.arange(10 ** N_DIGITS)).ravel()
        shares = [np.bincount(sums // 10 ** k % 10, minlength=10) / len(sums) for k in range(self.n_answer)]
        return {"blind": float(np.mean([grammar.entropy(share) for share in shares])), "floor": 0.0}

    def rows(self, n: int, generator: torch.Generator, held_out: bool) -> Rows:
        pairs = self._pairs[held_out]
        pairs = pairs[torch.randint(len(pairs), (n,), generator=generator)]
        a, b = (_digits(numbers, N_DIGITS).flip(1) for numbers in pairs.T)
        return self._rows(a, "+", b, "=", _digits(pairs.sum(1), self.n_answer))


class _Continuing:
    """A task of texts without a question: every token counts."""

    def _rows(self, targets: Tensor, log_p: Tensor | None = None) -> Rows:
        return Rows(F.pad(targets[:, :-1], (1, 0), value=self.tokenizer.end_of_text), targets, log_p)

    def sample(self, model: Transformer, generator: torch.Generator) -> tuple[str, str, str]:
        """Return a text that the model samples from the start at temperature 1."""
        steps = generate(model, [self.tokenizer.end_of_text], SamplingConfig(), uniforms(generator), self.n_context - 1)
        output = [step.token_id for step in steps]
        return "", _visible(self.tokenizer, output), ""


class MadeUpGrammar(_Continuing):
    """Sentences of `core.learning.grammar`, whose entropy is known: every word counts."""

    n_context = N_WORDS

    @functools.cached_property
    def tokenizer(self) -> Tokenizer:
        """Every word one token, with its space before it; the full stop without one."""
        return Tokenizer.train([" " + " ".join(grammar.made_up().words)] * 9, BYTES + 100)

    @functools.cached_property
    def levels(self) -> dict[str, float]:
        return grammar.made_up().levels(N_WORDS)

    @functools.cached_property
    def _ids(self) -> Tensor:
        return torch.tensor([self.tokenizer.encode(word if word == "." else f" {word}")[0]
                             for word in grammar.made_up().words])

    def rows(self, n: int, generator: torch.Generator, held_out: bool) -> Rows:
        words, p = grammar.made_up().write(n, N_WORDS,
                                           torch.rand(n, N_WORDS, generator=generator, dtype=torch.float64).numpy())
        return self._rows(self._ids[torch.from_numpy(words)], torch.from_numpy(np.log(p)))


class OwnText(_Continuing):
    """Random windows of a text, byte by byte; its last tenth is held out. The entropy of such a text is unknown.

    Raises ValueError for fewer than LEAST_TEXT bytes.
    """

    n_context, tokenizer = N_CHARACTERS, BYTE_TOKENIZER

    def __init__(self, text: str) -> None:
        ids = torch.tensor(self.tokenizer.encode(text))
        if len(ids) < LEAST_TEXT:
            raise ValueError(f"A text to learn from has at least {LEAST_TEXT} bytes, and this one {len(ids)}.")
        cut = len(ids) - max(len(ids) // 10, N_CHARACTERS + 1)
        self._train, self._held_out = ids[:cut], ids[cut:]
        pairs = np.zeros((self.tokenizer.vocab_size, self.tokenizer.vocab_size))
        np.add.at(pairs, (ids[:cut - 1].numpy(), ids[1:cut].numpy()), 1)
        self.levels = grammar.pair_levels(pairs)

    def rows(self, n: int, generator: torch.Generator, held_out: bool) -> Rows:
        text = self._held_out if held_out else self._train
        first = torch.randint(len(text) - N_CHARACTERS + 1, (n, 1), generator=generator)
        return self._rows(text[first + torch.arange(N_CHARACTERS)])


TASKS = {"copying": Copying, "sorting": Sorting, "addition": Addition, "grammar": MadeUpGrammar, "text": OwnText}


@dataclass(frozen=True)
class Knobs:
    """The settings that a reader can change during training.

    Optimizers: plain gradient descent, with momentum 0.9 (Polyak 1964), Adam (Kingma and Ba 2015).
    """

    optimizer: str = "adam"
    learning_rate: float = 3e-3          # the peak
    schedule: Schedule = Schedule()

    def rate_at(self, step: int) -> float:
        """The learning rate of step number `step`, counted from 0."""
        return self.learning_rate * self.schedule.share(step)

    def make(self, model: nn.Module) -> torch.optim.Optimizer:
        """A new optimizer without state from earlier gradients."""
        if self.optimizer == "adam":
            return torch.optim.Adam(model.parameters(), lr=self.learning_rate)
        return torch.optim.SGD(model.parameters(), lr=self.learning_rate,
                               momentum=0.9 if self.optimizer == "momentum" else 0.0)


@dataclass(frozen=True)
class Progress:
    """The state of a training.

    loss, gradient_norm  means over the steps since the last record, NaN before the first; the norm before clipping
    held_out             the loss on held-out rows
    accuracy, whole      the share of counted tokens that are predicted right, and of rows that are entirely right
    sample               see LearningTask; new in every SAMPLED-th record
    """

    step: int
    seconds: float
    loss: float
    held_out: float
    gradient_norm: float
    accuracy: float
    whole: float
    knobs: Knobs
    sample: tuple[str, str, str]

    @property
    def rate(self) -> float:
        """The learning rate of the last step taken, or of the first step before it."""
        return self.knobs.rate_at(max(self.step - 1, 0))

    @property
    def diverged(self) -> bool:
        return not math.isfinite(self.held_out)


class Stepwise:
    """A training that one thread at a time advances; others may read its `history`."""

    seconds = 0.0

    def _take(self, n: int) -> list[tuple[float, float]]:
        """Take n steps; return the loss and the gradient's norm of each."""
        results = []
        for _ in range(n):
            began = time.monotonic()
            with self._lock:
                results.append(self._one_step())
            self.seconds += time.monotonic() - began
            # yield this core to the pages of other readers
            time.sleep(0.001)
        return results


@dataclass(eq=False)
class Learner(Stepwise):
    """A model in training.

    One thread at a time runs `learn`; others may read `history`, `tokens` and `pattern`, set `knobs`, and call `saved`.

    All randomness comes from the seed: the same seed and knobs give the same history, except its seconds.
    """

    task: LearningTask
    size: str = "tiny"
    seed: int = 0
    knobs: Knobs = Knobs()
    history: list[Progress] = field(default_factory=list)

    def __post_init__(self) -> None:
        d, n_layers, n_heads = SIZES[self.size]
        config = ModelConfig(vocab_size=self.task.tokenizer.vocab_size, d_model=d, n_layers=n_layers, n_heads=n_heads,
                             n_context=self.task.n_context)
        self.model = Transformer(config).initialise(torch.Generator().manual_seed(self.seed))
        self._batches, self._samples, held_out = (torch.Generator().manual_seed(self.seed + offset)
                                                  for offset in (1, 2, HELD_OUT_SEED))
        self._held_out = self.task.rows(N_MEASURED, held_out, held_out=True)
        self._lock, self._optimizer, self._made_for = threading.Lock(), None, ""
        self.step, self._sample = 0, ("", "", "")
        self.tokens = [self.task.tokenizer.visible(i) for i in self._held_out.inputs[0].tolist()]
        self._measure([])

    def learn(self) -> Iterator[Progress]:
        """Train without end, with a record after every 10 steps, from step 1000 every 25; end if the loss is not
        finite.
        """
        while not self.history[-1].diverged:
            yield self._measure(self._take(10 if self.step < 1000 else 25))

    def _one_step(self) -> tuple[float, float]:
        """Train on one batch; return its loss and the gradient's norm."""
        knobs = self.knobs
        if self._made_for != knobs.optimizer:
            self._optimizer, self._made_for = knobs.make(self.model), knobs.optimizer
        rows = self.task.rows(BATCH, self._batches, held_out=False)
        loss = next_token_loss(self.model.logits(rows.inputs), rows.targets)
        self.step += 1
        return descend(loss, self._optimizer, knobs.rate_at(self.step - 1), self.model.parameters(), CLIP)

    @torch.no_grad()
    def _measure(self, steps: list[tuple[float, float]]) -> Progress:
        rows = self._held_out
        logits, counts = self.model.logits(rows.inputs), rows.counts
        loss = float(next_token_loss(logits, rows.targets))
        # the excess over the true ln p of these rows, plus the exact floor: free of the rows' own sampling error
        if rows.log_p is not None:
            loss += float(rows.log_p.mean()) + self.task.levels["floor"]
        right = (logits.argmax(-1) == rows.targets) | ~counts
        self.pattern = torch.stack([block.pattern for block in self.model(rows.inputs[0]).blocks])
        loss_before, norm = (sum(values) / len(values) for values in zip(*steps)) if steps else (math.nan, math.nan)
        if len(self.history) % SAMPLED == 0 and math.isfinite(loss):
            self._sample = self.task.sample(self.model, self._samples)
        self.history.append(Progress(self.step, self.seconds, loss_before, loss, norm,
                                     float(right[counts].double().mean()), float(right.all(1).double().mean()),
                                     self.knobs, self._sample))
        return self.history[-1]

    def copy(self) -> Transformer:
        """Return a copy of the model's current state, in eval mode and without gradients."""
        with self._lock:
            weights = {name: p.detach().clone() for name, p in self.model.state_dict().items()}
        copied = Transformer(self.model.config)
        copied.load_state_dict(weights)
        return copied.eval().requires_grad_(False)

    def saved(self, card: str) -> bytes:
        """The model's current state as a ZIP of the files that `core.model.checkpoints.load` reads, with `card`
        (Markdown).
        """
        return checkpoints.archive(self.copy(), self.task.tokenizer, card)


def thinned(history: list[Progress], most: int = 240) -> list[Progress]:
    """Return about `most` records at most, evenly spread over the history, with the first and the last."""
    every = max(1, math.ceil(len(history) / most))
    return [*itertools.islice(history, 0, max(len(history) - 1, 0), every), *history[-1:]]
