"""Tuning a trained model: supervised fine-tuning on answers, and alignment with preferences by DPO.

    fine-tuning   L = mean of −ln π(answer token | all before it), over the answers only: the prompt does not count
    DPO           L = mean of −ln σ(β m),  m = ln π(y_w | x) / π_ref(y_w | x) − ln π(y_l | x) / π_ref(y_l | x)

π is the model in training, π_ref its initial state; y_w is the preferred continuation of x, y_l the rejected one
(Rafailov et al. 2023, "Direct Preference Optimization"). β m is the implicit reward margin. A tuner trains a copy; the
model that it begins with stays unchanged.
"""
import abc
import copy
import itertools
import math
import operator
import statistics
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from core.learning.learner import Rows, Stepwise
from core.learning.low_rank import adapt, merged
from core.model.generation import next_logits
from core.model.kv_cache import KVCache
from core.model.transformer import Transformer
from core.training.corpus import IGNORE
from core.training.loss import descend

PARTS = ("all", "last", "adapters")
RATES = {"all": 5e-4, "last": 1e-3, "adapters": 5e-3}       # for Adam: fewer weights need larger steps
DPO_SLOWER = 5.0                                             # divides the rates for DPO
# steps of warm-up: Adam's first steps at the full rate would destroy more than they teach
WARM_UP = 10
CLIP = 1.0
BATCH, BATCH_PREFERENCES = 6, 4
EVERY, ROUND = 5, 100        # steps from one record to the next; steps after which a tuner pauses
N_OLD, OLD_LENGTH = 12, 40   # texts that the model itself wrote, and their tokens
# candidates: openings, continuations of each, their tokens, the temperature
N_OPENINGS, N_EACH, N_NEW, TEMPERATURE = 48, 6, 16, 0.7
MOST_HELD_OUT = 40


@dataclass(frozen=True)
class Pair:
    """A prompt, which begins with the end-of-text token, and the answer to learn, as token ids."""

    prompt: tuple[int, ...]
    answer: tuple[int, ...]


@dataclass(frozen=True)
class Preference:
    """Two continuations of one prompt: the preferred and the rejected one."""

    prompt: tuple[int, ...]
    chosen: tuple[int, ...]
    rejected: tuple[int, ...]


def answers(pairs: Sequence[Pair], filler: int = 0) -> Rows:
    """The pairs as rows, padded at their ends with `filler`; only the tokens of the answers count.

    >>> rows = answers([Pair((0, 5), (7, 0)), Pair((0,), (9,))])
    >>> rows.inputs.tolist(), rows.targets.tolist()
    ([[0, 5, 7], [0, 0, 0]], [[-100, 7, 0], [9, -100, -100]])
    """
    n = max(len(pair.prompt) + len(pair.answer) for pair in pairs) - 1
    inputs, targets = torch.full((len(pairs), n), filler), torch.full((len(pairs), n), IGNORE)
    for row, pair in enumerate(pairs):
        first, text = len(pair.prompt) - 1, torch.tensor(pair.prompt + pair.answer)
        inputs[row, :len(text) - 1] = text[:-1]
        targets[row, first:len(text) - 1] = text[first + 1:]
    return Rows(inputs, targets)


def next_log_probs(model: Transformer, rows: Rows) -> Tensor:
    """(n, |V|) ln p of every token at each counted position; other positions are not unembedded."""
    return model.logits_of(model.final_vectors(rows.inputs)[rows.counts]).log_softmax(-1)


def token_log_probs(model: Transformer, rows: Rows) -> Tensor:
    """(n,) ln p of the counted tokens, in the order of the rows."""
    return _gathered(next_log_probs(model, rows), rows)


def _gathered(log_probs: Tensor, rows: Rows) -> Tensor:
    return log_probs.gather(1, rows.targets[rows.counts][:, None])[:, 0]


def masked_loss(model: Transformer, rows: Rows) -> Tensor:
    """The mean −ln p of the counted tokens, in nats."""
    return -token_log_probs(model, rows).mean()


def answer_log_probs(model: Transformer, rows: Rows) -> Tensor:
    """(B,) ln π(answer | prompt) of each row: the sum over the answer's tokens."""
    row = rows.counts.nonzero()[:, 0]
    log_probs = token_log_probs(model, rows)
    return torch.zeros(len(rows.inputs), dtype=log_probs.dtype).index_add(0, row, log_probs)


def margins(chosen: Tensor, rejected: Tensor, ref_chosen: Tensor, ref_rejected: Tensor) -> Tensor:
    """m = (ln π(y_w) − ln π_ref(y_w)) − (ln π(y_l) − ln π_ref(y_l)) in nats, elementwise: how much more the preferred
    continuation has gained than the rejected one.
    """
    return (chosen - ref_chosen) - (rejected - ref_rejected)


def dpo_loss(margin: Tensor, beta: float) -> Tensor:
    """The mean of −ln σ(β m), which is ln 2 for π = π_ref.

    >>> round(float(dpo_loss(torch.tensor([0.0]), 0.1)), 4), round(float(dpo_loss(torch.tensor([2.0]), 0.5)), 4)
    (0.6931, 0.3133)
    """
    return -F.logsigmoid(beta * margin).mean()


def kl(log_p: Tensor, log_q: Tensor) -> Tensor:
    """KL(p ‖ q) = Σ p (ln p − ln q) over the last axis, in nats."""
    return (log_p.exp() * (log_p - log_q)).sum(-1)


@torch.no_grad()
def draw_texts(model: Transformer, prompts: Sequence[tuple[int, ...]], n_new: int, generator: torch.Generator,
               temperature: float = 1.0) -> list[tuple[int, ...]]:
    """Return samples, from the whole distribution, that continue prompts of one length: n_new tokens each, or up to and
    including end of text.
    """
    texts, cache = [tuple(prompt) for prompt in prompts], KVCache()
    for _ in range(n_new):
        drawn = ((next_logits(model, texts, cache) / temperature).softmax(-1)
                 .multinomial(1, generator=generator)[:, 0].tolist())
        texts = [text + (token,) for text, token in zip(texts, drawn)]
    end_of_text, n = model.config.end_of_text, len(prompts[0])
    return [text[n:text.index(end_of_text, n) + 1] if end_of_text in text[n:] else text[n:] for text in texts]


@dataclass(frozen=True, eq=False)
class OldText:
    """Texts that a model wrote by itself, and its own ln p (n, |V|) of every next token in them."""

    rows: Rows
    log_probs: Tensor

    @property
    def n_bytes(self) -> int:
        return self.log_probs.numel() * self.log_probs.element_size()

    @torch.no_grad()
    def measure(self, model: Transformer) -> tuple[float, float]:
        """Return the loss of `model` on these texts in nats per token, and the mean KL(model ‖ writer) of its
        next-token distributions.
        """
        log_p = next_log_probs(model, self.rows)
        return float(-_gathered(log_p, self.rows).mean()), float(kl(log_p, self.log_probs).mean())


@torch.no_grad()
def old_text(model: Transformer) -> OldText:
    """Texts that the model writes from end of text alone, to measure forgetting: another model's loss on them minus
    this model's own loss estimates KL(this ‖ other) per token.
    """
    start = (model.config.end_of_text,)
    texts = draw_texts(model, [start] * N_OLD, min(OLD_LENGTH, model.config.n_context - 1),
                       torch.Generator().manual_seed(0))
    rows = answers([Pair(start, text) for text in texts])
    return OldText(rows, next_log_probs(model, rows))


@dataclass(frozen=True)
class Candidates:
    """Openings of one length, as token ids, and several continuations of each by a model."""

    prompts: tuple[tuple[int, ...], ...]
    texts: tuple[tuple[tuple[int, ...], ...], ...]


def candidates(model: Transformer, prompts: Sequence[tuple[int, ...]], seed: int = 0) -> Candidates:
    """Continuations of the prompts with the most common length, so that all texts of a batch are equally long."""
    common = statistics.mode(len(prompt) for prompt in prompts)
    used = tuple(prompt for prompt in prompts if len(prompt) == common)[:N_OPENINGS]
    drawn = draw_texts(model, [prompt for prompt in used for _ in range(N_EACH)], N_NEW,
                       torch.Generator().manual_seed(seed), TEMPERATURE)
    return Candidates(used, tuple(tuple(drawn[i:i + N_EACH]) for i in range(0, len(drawn), N_EACH)))


def preferences(drawn: Candidates,
                value: Callable[[tuple[int, ...]], int]) -> tuple[list[Preference], list[Preference]]:
    """Return the pairs of continuations of one opening with different values: those to train on, and at most
    MOST_HELD_OUT held-out ones from the first quarter of the openings.
    """
    def pairs_of(openings: range) -> list[Preference]:
        pairs = []
        for i in openings:
            valued = [(value(text), text) for text in drawn.texts[i]]
            for pair in itertools.combinations(valued, 2):
                (low, rejected), (high, chosen) = sorted(pair, key=operator.itemgetter(0))
                if low < high:
                    pairs.append(Preference(drawn.prompts[i], chosen, rejected))
        return pairs

    quarter = len(drawn.prompts) // 4
    held_out = pairs_of(range(quarter))
    return pairs_of(range(quarter, len(drawn.prompts))), held_out[::max(1, -(-len(held_out) // MOST_HELD_OUT))]


@dataclass(frozen=True)
class TuningStep:
    """The state of a tuning.

    loss      mean over the steps since the last record, NaN before the first
    held_out  the loss on held-out pairs
    right     the share of these whose answer is the model's first choice at every token; with preferences, the share
              with a margin above 0 (a margin of 0 counts half)
    margin    mean β m of these, NaN in fine-tuning
    old, kl   see OldText.measure
    score     the mean value of new continuations by the rule, NaN if it was not measured
    """

    step: int
    seconds: float
    loss: float
    held_out: float
    right: float
    margin: float
    old: float
    kl: float
    score: float = math.nan


def unfreeze(model: Transformer, parts: str, rank: int, generator: torch.Generator) -> list[nn.Parameter]:
    """Make only the weights to learn trainable, in place, and return them: "all" weights, those of the "last" block, or
    new "adapters" of that rank.
    """
    if parts == "adapters":
        return adapt(model, rank, generator)
    model.requires_grad_(parts == "all")
    learned = model if parts == "all" else model.blocks[-1].requires_grad_(True)
    return list(learned.parameters())


class Tuner(Stepwise, abc.ABC):
    """The tuning of a model. One thread at a time runs `learn`; others may read `history` and call `copy`.

    All randomness comes from the seed. The two subclasses define the loss of a step and the measures of a record.
    """

    def __init__(self, start: Transformer, old: OldText, parts: str, rank: int, seed: int) -> None:
        self.start, self.old, self.parts, self.rank, self.seed = start, old, parts, rank, seed
        self.model = copy.deepcopy(start)
        generator = torch.Generator().manual_seed(seed)
        self.learned = unfreeze(self.model, parts, rank, generator)
        self.rate = RATES[parts] / self.slower
        self._optimizer = torch.optim.Adam(self.learned, lr=self.rate)
        self._batches, self._lock = torch.Generator().manual_seed(seed + 1), threading.Lock()
        self.step, self.history = 0, []
        self.history.append(self._record(math.nan))

    slower = 1.0

    @property
    def n_learned(self) -> int:
        """The number of trained parameters."""
        return sum(p.numel() for p in self.learned)

    def learn(self) -> Iterator[TuningStep]:
        """Train to the end of a round, with a record after every EVERY steps."""
        end = (self.step // ROUND + 1) * ROUND
        while self.step < end:
            self.history.append(self._record(sum(loss for loss, _ in self._take(EVERY)) / EVERY))
            yield self.history[-1]

    def _one_step(self) -> tuple[float, float]:
        self.step += 1
        return descend(self._loss(), self._optimizer, self.rate * min(1.0, self.step / WARM_UP), self.learned, CLIP)

    def copy(self) -> Transformer:
        """A copy of the model's current state, with adapters added into their weights."""
        with self._lock:
            return merged(self.model)

    def _sampled(self, n: int, batch: int) -> list[int]:
        """The indices of the next batch of n examples."""
        return torch.randint(n, (batch,), generator=self._batches).tolist()

    @abc.abstractmethod
    def _loss(self) -> Tensor:
        """Return the loss of the next batch, with its graph."""

    @abc.abstractmethod
    def _record(self, loss: float) -> TuningStep:
        """The record of the model's current state; `loss` is the mean of the last steps."""


class SupervisedTuner(Tuner):
    """Supervised fine-tuning: the loss of the answers."""

    def __init__(self, start: Transformer, old: OldText, pairs: Sequence[Pair], held_out: Sequence[Pair],
                 parts: str = "all", rank: int = 4, seed: int = 0) -> None:
        self.pairs, self.held_out = list(pairs), answers(held_out)
        super().__init__(start, old, parts, rank, seed)

    def _loss(self) -> Tensor:
        return masked_loss(self.model, answers([self.pairs[i] for i in self._sampled(len(self.pairs), BATCH)]))

    @torch.no_grad()
    def _record(self, loss: float) -> TuningStep:
        log_probs, rows = next_log_probs(self.model, self.held_out), self.held_out
        right = torch.ones_like(rows.counts)
        right[rows.counts] = log_probs.argmax(-1) == rows.targets[rows.counts]
        return TuningStep(self.step, self.seconds, loss, float(-_gathered(log_probs, rows).mean()),
                          float(right.all(1).double().mean()), math.nan, *self.old.measure(self.model))


class PreferenceTuner(Tuner):
    """Direct preference optimisation: raises the probability of the preferred continuation against the rejected one,
    relative to the initial model.
    """

    slower = DPO_SLOWER

    def __init__(self, start: Transformer, old: OldText, pairs: Sequence[Preference], held_out: Sequence[Preference],
                 beta: float = 0.1, parts: str = "all", rank: int = 4, seed: int = 0,
                 score: Callable[[Transformer], float] | None = None) -> None:
        """score: a model -> the mean value of its new continuations by the rule; None without a rule."""
        self.beta, self._score = beta, score
        self.pairs, self.held_out = list(pairs), list(held_out)
        self._held_out_reference = self._log_probs(start, self.held_out)
        super().__init__(start, old, parts, rank, seed)

    @staticmethod
    def _log_probs(model: Transformer, pairs: Sequence[Preference]) -> Tensor:
        """(2, B) ln π of the preferred and of the rejected continuations."""
        rows = answers([Pair(p.prompt, p.chosen) for p in pairs] + [Pair(p.prompt, p.rejected) for p in pairs])
        return answer_log_probs(model, rows).view(2, -1)

    def _loss(self) -> Tensor:
        picked = [self.pairs[i] for i in self._sampled(len(self.pairs), BATCH_PREFERENCES)]
        return dpo_loss(margins(*self._log_probs(self.model, picked), *self._log_probs(self.start, picked)), self.beta)

    def held_out_margins(self) -> Tensor:
        """(n,) the current m of the held-out pairs."""
        return margins(*self._log_probs(self.model, self.held_out), *self._held_out_reference)

    @torch.no_grad()
    def _record(self, loss: float) -> TuningStep:
        m = self.held_out_margins()
        ranked = (m > 0).double() + 0.5 * (m == 0).double()
        score = self._score(self.model) if self._score and self.step % (2 * EVERY) == 0 else math.nan
        return TuningStep(self.step, self.seconds, loss, float(dpo_loss(m, self.beta)), float(ranked.mean()),
                          float(self.beta * m.mean()), *self.old.measure(self.model), score)
