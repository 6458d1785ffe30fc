"""Two tasks that need a memory, and the models that learn them while a reader watches: recall after a delay, and a
sequence through a bottleneck.

Recall: k symbols, some blanks, then the marks ?1 … ?k; the answer at ?j is the j-th symbol. Rewriting: an encoder reads
n symbols, a decoder writes them in the same or in reverse order. Symbols are drawn uniformly from N_SYMBOLS, so a model
without memory has the accuracy 1 / N_SYMBOLS and the loss ln N_SYMBOLS nats.
"""
from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from core.model.attention import dot_product_scores
from core.model.config import ModelConfig
from core.model.transformer import Transformer
from core.training.loss import descend, next_token_loss

N_SYMBOLS = 8
CHANCE, CHANCE_LOSS = 1 / N_SYMBOLS, math.log(N_SYMBOLS)
CELLS = {"rnn": nn.RNN, "lstm": nn.LSTM, "gru": nn.GRU}
READERS = (*CELLS, "attention")
WRITERS = ("bottleneck", "attention")
ORDERS = ("copy", "reverse")
BATCH, N_MEASURED = 64, 128
WIDTH = 32             # width of the embeddings, and d of the attention model
CLIP = 1.0             # the norm to which longer gradients are clipped
RECALL_RATE, REWRITING_RATE = 3e-3, 5e-3


@torch.no_grad()
def initialise(model: nn.Module, n_hidden: int, generator: torch.Generator) -> nn.Module:
    """Set uniform weights in ±1/√n_hidden, torch's choice for recurrent cells, and embeddings of variance 1, all from
    one generator; return the model.
    """
    for module in model.modules():
        for weights in module.parameters(recurse=False):
            (weights.normal_(generator=generator) if isinstance(module, nn.Embedding)
             else weights.uniform_(-n_hidden ** -0.5, n_hidden ** -0.5, generator=generator))
    return model


def n_parameters(model: nn.Module) -> int:
    return sum(weights.numel() for weights in model.parameters())


@dataclass(frozen=True)
class Record:
    """The state of a training. losses: the mean of each model in nats since the last record (NaN before the first
    step). accuracy: of each model, at each of the task's delays or lengths.
    """

    step: int
    seconds: float
    losses: Mapping[str, float]
    accuracy: Mapping[str, tuple[float, ...]]


def _train(models: Mapping[str, nn.Module], rate: float, draw: Callable[[], tuple[Tensor, Tensor]],
           logits: Callable[[nn.Module, Tensor, Tensor], Tensor], n_steps: int,
           every: int) -> Iterator[tuple[int, float, dict[str, float]]]:
    """Train the models by Adam on the same batches (inputs, targets). Yield the step, the seconds and each model's mean
    loss since the last record, before the first step and after every `every` steps.

    logits(model, inputs, targets): (B, n, N_SYMBOLS).
    """
    optimizers = {name: torch.optim.Adam(model.parameters()) for name, model in models.items()}
    start, losses = time.monotonic(), {name: [] for name in models}
    for step in range(n_steps + 1):
        if step:
            inputs, targets = draw()
            for name, model in models.items():
                loss = next_token_loss(logits(model, inputs, targets), targets)
                losses[name].append(descend(loss, optimizers[name], rate, model.parameters(), CLIP)[0])
        if step % every == 0 or step == n_steps:
            yield step, time.monotonic() - start, {name: sum(values) / len(values) if values else math.nan
                                                   for name, values in losses.items()}
            losses = {name: [] for name in models}


def _accuracy(models: Mapping[str, nn.Module], batches: Sequence[tuple[Tensor, Tensor]],
              answer: Callable[[nn.Module, Tensor], Tensor]) -> dict[str, tuple[float, ...]]:
    """Return the share of right symbols in each batch, by model."""
    return {name: tuple(float((answer(model, inputs) == targets).double().mean()) for inputs, targets in batches)
            for name, model in models.items()}


def _test_batches(task: Recall | Rewriting, sizes: Sequence[int], seed: int) -> list[tuple[Tensor, Tensor]]:
    """Return a batch of each delay or length, with a different generator than a training with this seed."""
    generator = torch.Generator().manual_seed(seed + 1_000_003)
    return [task.batch(N_MEASURED, size, generator) for size in sizes]


# ---- recall after a delay --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Recall:
    """The task: recall n_remembered symbols (k) after at most most_delay blanks.

    Token ids: the symbols, then the blank, then ?1 … ?k.
    """

    n_remembered: int = 4
    most_delay: int = 40

    def __post_init__(self) -> None:
        if self.n_remembered < 1 or self.most_delay < 1:
            raise ValueError("There must be a symbol to remember and a blank to remember it over.")

    @property
    def blank(self) -> int:
        return N_SYMBOLS

    @property
    def vocab_size(self) -> int:
        return N_SYMBOLS + 1 + self.n_remembered

    @property
    def n_context(self) -> int:
        """Tokens of the longest sequence."""
        return 2 * self.n_remembered + self.most_delay

    def delays(self) -> tuple[int, ...]:
        """The delays at which accuracy is measured: nine, evenly from 0 to the longest.

        >>> Recall(most_delay=40).delays()
        (0, 5, 10, 15, 20, 25, 30, 35, 40)
        """
        return tuple(sorted({self.most_delay * i // 8 for i in range(9)}))

    def batch(self, n: int, delay: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """Inputs (n, 2k + delay) and targets (n, k) at the last k positions, int64."""
        symbols = torch.randint(N_SYMBOLS, (n, self.n_remembered), generator=generator)
        marks = torch.arange(self.blank + 1, self.vocab_size).expand(n, -1)
        return torch.cat([symbols, torch.full((n, delay), self.blank), marks], dim=1), symbols


class RecurrentReader(nn.Module):
    """A recurrent network of torch over token ids: embedding, cell, and a linear map of every hidden state to
    N_SYMBOLS logits.
    """

    def __init__(self, cell: str, vocab_size: int, n_hidden: int) -> None:
        super().__init__()
        self.embedding, self.cell, self.output = (nn.Embedding(vocab_size, WIDTH),
                                                  CELLS[cell](WIDTH, n_hidden, batch_first=True),
                                                  nn.Linear(n_hidden, N_SYMBOLS))

    def logits(self, token_ids: Tensor) -> Tensor:
        """(B, N, N_SYMBOLS)"""
        return self.output(self.cell(self.embedding(token_ids))[0])


def attention_reader(task: Recall, generator: torch.Generator) -> Transformer:
    """The app's own transformer with one layer, two heads, learned positions and no feed-forward part."""
    config = ModelConfig(vocab_size=task.vocab_size, d_model=WIDTH, n_layers=1, n_heads=2, n_context=task.n_context,
                         d_ff=None, end_of_text=None)
    return Transformer(config).initialise(generator)


def hidden_units(cell: str, vocab_size: int, target: int) -> int:
    """The number of hidden units, from 4 to 128, with which a reader's number of parameters is nearest to `target`."""
    gates = {"rnn": 1, "lstm": 4, "gru": 3}[cell]

    def parameters(m: int) -> int:
        return vocab_size * WIDTH + gates * m * (WIDTH + m + 2) + N_SYMBOLS * (m + 1)
    return min(range(4, 129), key=lambda m: abs(parameters(m) - target))


def readers(task: Recall, seed: int, names: tuple[str, ...] = READERS) -> dict[str, nn.Module]:
    """The untrained models by name, each with about the attention model's number of parameters."""
    models, attention = {}, attention_reader(task, torch.Generator().manual_seed(seed))
    for name in names:
        if name == "attention":
            models[name] = attention
        else:
            m = hidden_units(name, task.vocab_size, n_parameters(attention))
            models[name] = initialise(RecurrentReader(name, task.vocab_size, m), m, torch.Generator().manual_seed(seed))
    return models


def recall_logits(model: nn.Module, task: Recall, inputs: Tensor) -> Tensor:
    """(B, k, N_SYMBOLS) the logits at the marks."""
    return model.logits(inputs)[:, -task.n_remembered:, :N_SYMBOLS]


@dataclass(frozen=True)
class RecallRecord(Record):
    """inputs, targets: one sequence at the longest delay; answers: by model."""

    inputs: tuple[int, ...]
    targets: tuple[int, ...]
    answers: Mapping[str, tuple[int, ...]]


def train_recall(task: Recall, seed: int = 0, n_steps: int = 500, every: int = 20,
                 names: tuple[str, ...] = READERS) -> Iterator[RecallRecord]:
    """Train the models on batches of random delays; yield a record before the first step and after every `every` steps.

    The same seed gives the same records, except their seconds.
    """
    models, generator = readers(task, seed, names), torch.Generator().manual_seed(seed)

    def draw() -> tuple[Tensor, Tensor]:
        return task.batch(BATCH, int(torch.randint(task.most_delay + 1, (1,), generator=generator)), generator)

    @torch.no_grad()
    def answer(model: nn.Module, inputs: Tensor) -> Tensor:
        return recall_logits(model, task, inputs).argmax(-1)

    batches = _test_batches(task, task.delays(), seed)
    inputs, targets = (part[:1] for part in batches[-1])
    for progress in _train(models, RECALL_RATE, draw, lambda model, inputs, _: recall_logits(model, task, inputs),
                           n_steps, every):
        yield RecallRecord(*progress, _accuracy(models, batches, answer), tuple(inputs[0].tolist()),
                           tuple(targets[0].tolist()),
                           {name: tuple(answer(model, inputs)[0].tolist()) for name, model in models.items()})


# ---- one vector for a whole sequence ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Rewriting:
    """The task: write sequences of 1 to `longest` symbols again, in the same order ("copy") or reversed ("reverse")."""

    order: str = "copy"
    longest: int = 16

    def __post_init__(self) -> None:
        if self.order not in ORDERS or self.longest < 2:
            raise ValueError(f"The order is one of {', '.join(ORDERS)}, and the longest sequence has two "
                             f"symbols at least.")

    def lengths(self) -> tuple[int, ...]:
        """The lengths at which accuracy is measured: eight, evenly up to the longest.

        >>> Rewriting(longest=16).lengths()
        (2, 4, 6, 8, 10, 12, 14, 16)
        """
        return tuple(sorted({max(1, self.longest * i // 8) for i in range(1, 9)}))

    def batch(self, n: int, length: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """(n, length) sources and targets, int64."""
        source = torch.randint(N_SYMBOLS, (n, length), generator=generator)
        return source, source.flip(1) if self.order == "reverse" else source


class EncoderDecoder(nn.Module):
    """Two GRUs: the encoder's last state is the decoder's first.

    With attention, every decoder state also attends to all encoder states: softmax(d W_A S^T / √m) S, the
    multiplicative score of Luong et al. 2015. Sutskever et al. 2014; Bahdanau et al. 2015.
    """

    START = N_SYMBOLS

    def __init__(self, n_hidden: int, attention: bool) -> None:
        super().__init__()
        self.embedding = nn.Embedding(N_SYMBOLS + 1, WIDTH)
        self.encoder, self.decoder = (nn.GRU(WIDTH, n_hidden, batch_first=True) for _ in range(2))
        self.W_A = nn.Linear(n_hidden, n_hidden, bias=False) if attention else None
        self.output = nn.Linear(n_hidden * (2 if attention else 1), N_SYMBOLS)

    def encode(self, source: Tensor) -> tuple[Tensor, Tensor]:
        """(B, n, m) all encoder states, and (1, B, m) the last one, the bottleneck."""
        return self.encoder(self.embedding(source))

    def decode(self, written: Tensor, state: Tensor, sources: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
        """Logits (B, n, N_SYMBOLS) of the symbols after `written`, the decoder's last state, and the weights
        (B, n, n_source) over the source's states.
        """
        states, last = self.decoder(self.embedding(written), state)
        if self.W_A is None:
            return self.output(states), last, None
        weights = torch.softmax(dot_product_scores(self.W_A(states), sources), dim=-1)
        return self.output(torch.cat([states, weights @ sources], dim=-1)), last, weights

    def logits(self, source: Tensor, target: Tensor) -> Tensor:
        """(B, n, N_SYMBOLS) the logits, given the true symbol before each position (teacher forcing)."""
        sources, state = self.encode(source)
        return self.decode(F.pad(target[:, :-1], (1, 0), value=self.START), state, sources)[0]

    @torch.no_grad()
    def write(self, source: Tensor) -> tuple[Tensor, Tensor | None]:
        """(B, n) the greedy output, in which the decoder reads back each symbol, and the attention weights (B, n,
        n_source); None without attention.
        """
        sources, state = self.encode(source)
        symbol, symbols, rows = torch.full((len(source), 1), self.START), [], []
        for _ in range(source.shape[1]):
            logits, state, weights = self.decode(symbol, state, sources)
            symbol = logits.argmax(-1)
            symbols.append(symbol)
            rows.append(weights)
        return torch.cat(symbols, dim=1), None if self.W_A is None else torch.cat(rows, dim=1)


@dataclass(frozen=True)
class RewritingRecord(Record):
    """The accuracy is that of a model's greedy output. source, target: one sequence of the longest length; written: its
    output by model. alignment: (n, n) the attention weights, output by source.
    """

    source: tuple[int, ...]
    target: tuple[int, ...]
    written: Mapping[str, tuple[int, ...]]
    alignment: tuple[tuple[float, ...], ...]


def writers(n_hidden: int, seed: int) -> dict[str, EncoderDecoder]:
    """Return the two untrained models, which differ only in attention."""
    return {name: initialise(EncoderDecoder(n_hidden, name == "attention"), n_hidden,
                             torch.Generator().manual_seed(seed)) for name in WRITERS}


def train_rewriting(task: Rewriting, n_hidden: int = 64, seed: int = 0, n_steps: int = 500,
                    every: int = 20) -> Iterator[RewritingRecord]:
    """Train both models on batches of random lengths, as `train_recall` does."""
    models, generator = writers(n_hidden, seed), torch.Generator().manual_seed(seed)

    def draw() -> tuple[Tensor, Tensor]:
        return task.batch(BATCH, int(torch.randint(1, task.longest + 1, (1,), generator=generator)), generator)

    batches = _test_batches(task, task.lengths(), seed)
    source, target = (part[:1] for part in batches[-1])
    for progress in _train(models, REWRITING_RATE, draw, EncoderDecoder.logits, n_steps, every):
        outputs = {name: model.write(source) for name, model in models.items()}
        yield RewritingRecord(*progress, _accuracy(models, batches, lambda model, source: model.write(source)[0]),
                              tuple(source[0].tolist()), tuple(target[0].tolist()),
                              {name: tuple(symbols[0].tolist()) for name, (symbols, _) in outputs.items()},
                              tuple(map(tuple, outputs["attention"][1][0].tolist())))
