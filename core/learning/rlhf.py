"""Reinforcement learning from human feedback in its three stages, at the scale of `stories-small`.

    1  supervised fine-tuning   a model learns to write as demonstrations do: ℒ = mean of −ln π(token | before it)
    2  reward model             a copy of it with one output r(x, y) learns which of two texts is preferred
                                (Bradley and Terry 1952): ℒ = mean of −ln σ(r(x, y⁺) − r(x, y⁻))
    3  reinforcement learning   the model of stage 1, the reference, writes texts y and is moved towards those whose
                                R = r(x, y) − β ln(π(y | x) / π_ref(y | x)) is above that of the batch's other texts

The third stage is REINFORCE with the mean of the other texts as its baseline (Williams 1992; Kool et al. 2019). PPO,
which InstructGPT uses (Ouyang et al. 2022), takes each batch for several steps and clips π/π_old; here each batch
serves one step, at which π = π_old and nothing would be clipped. Beside it, DPO learns from the same pairs.

The demonstrations and a recorded run are in assets/teaching/demonstrations.tsv and rlhf_runs.json, made by
`python -m core.recordings demonstrations rlhf`.
"""
import copy
import csv
import functools
import random
import statistics
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from core.files import read_json
from core.learning import tuning, tuning_texts
from core.learning.learner import Stepwise
from core.learning.tuning import Candidates, Pair, Preference, SupervisedTuner
from core.model import checkpoints
from core.model.tokenizer import Tokenizer
from core.model.transformer import Transformer
from core.training.loss import descend
from core.training.teaching_text import DATA

FILE, DEMONSTRATIONS = DATA / "rlhf_runs.json", DATA / "demonstrations.tsv"
MODEL, WRITER, SEED = "stories-small", "stories", 0          # who learns, who wrote the demonstrations
BETAS = (0.0, 0.3, 1.0)
DPO_BETA = 0.1
N_DEMONSTRATIONS, N_SHOWN = 430, 30          # demonstrations, and how many of them are held out
N_PROMPTS, N_EACH, N_NEW = 64, 6, 24         # openings, texts of each to compare, tokens of a text
REWARD_STEPS, STEPS, EVERY = 80, 60, 10      # steps of the reward model, of a policy, and between two records
PAIRS, TEXTS, MEASURED = 16, 24, 48          # pairs of a step, texts of a step, texts of a record
REWARD_RATE, POLICY_RATE, DPO_RATE, CLIP = 2e-4, 1e-4, 1e-4, 1.0
N_EXAMPLES, DIGITS = 6, 4                    # texts kept of each record; significant digits of the kept numbers


@dataclass(frozen=True)
class RewardStep:
    """The state of a reward model: the mean loss since the last record (NaN at first), the loss on held-out pairs, and
    the share of them in which the preferred text has the higher reward.
    """

    step: int
    loss: float
    held_out: float
    right: float


@dataclass(frozen=True)
class Written:
    """A text that a model wrote: its prompt, its reward by the reward model, and its value by the rule."""

    prompt: str
    text: str
    reward: float
    value: int


@dataclass(frozen=True)
class PolicyStep:
    """The state of a policy, over MEASURED texts that it writes after held-out prompts: the mean reward by the reward
    model, the mean value by the rule, the mean of ln π(y | x) − ln π_ref(y | x), which estimates the KL divergence of a
    whole text in nats, and the first of these texts.
    """

    step: int
    reward: float
    value: float
    kl: float
    texts: tuple[Written, ...]


class RewardModel(nn.Module):
    """A transformer whose unembedding is replaced by one column w [d]: r(x, y) is its output at the text's last token.
    """

    def __init__(self, start: Transformer) -> None:
        super().__init__()
        self.body = copy.deepcopy(start).requires_grad_(True)
        self.w = nn.Parameter(torch.zeros(start.config.d_model))

    def forward(self, texts: Sequence[tuple[int, ...]]) -> Tensor:
        """(B,) r of each text, its prompt included."""
        ids = torch.zeros(len(texts), max(map(len, texts)), dtype=torch.long)
        for row, text in zip(ids, texts):
            row[:len(text)] = torch.tensor(text)
        last = torch.tensor([len(text) - 1 for text in texts])
        return self.body.final_vectors(ids)[torch.arange(len(texts)), last] @ self.w


def preferred_loss(better: Tensor, worse: Tensor) -> Tensor:
    """Bradley and Terry's loss, the mean of −ln σ(r⁺ − r⁻).

    >>> round(float(preferred_loss(torch.tensor([0.0]), torch.tensor([0.0]))), 4)
    0.6931
    """
    return -F.logsigmoid(better - worse).mean()


def above_the_others(returns: Tensor) -> Tensor:
    """Each return less the mean of the others, (B,): the baseline does not change the gradient's mean.

    >>> above_the_others(torch.tensor([3.0, 1.0, 2.0])).tolist()
    [1.5, -1.5, 0.0]
    """
    n = len(returns)
    return (returns - returns.mean()) * n / (n - 1)


# ---- demonstrations and comparisons ----------------------------------------------------------------------------------


@functools.cache
def demonstrations() -> tuple[tuple[str, str], ...]:
    """The openings of stories and their continuations, as written by the larger model `stories`."""
    with DEMONSTRATIONS.open(encoding="utf-8", newline="") as file:
        return tuple(tuple(row) for row in csv.reader(file, delimiter="\t"))[1:]


def record_demonstrations() -> list[tuple[str, str]]:
    """Let the larger model continue openings; return the rows of DEMONSTRATIONS. Its text is kept up to its last
    sentence end if that is a story: in one line, and without speech.
    """
    model, tokenizer = checkpoints.load_bundled(WRITER)
    prompts, kept = [(tokenizer.first, *tokenizer.encode(text)) for text in tuning_texts.openings(900, 1)], []
    for n in range(7, 11):
        some = [prompt for prompt in prompts if len(prompt) == n]
        for prompt, ids in zip(some, tuning.draw_texts(model, some, 28, torch.Generator().manual_seed(5), 0.8)):
            text = tokenizer.decode([i for i in ids if i != tokenizer.end_of_text])
            text = text[:max(map(text.rfind, ".!?")) + 1]
            if len(text) > 12 and "\n" not in text and '"' not in text:
                kept.append((tokenizer.decode(prompt[1:]), text))
    random.Random(0).shuffle(kept)
    return [("opening", "continuation"), *kept[:N_DEMONSTRATIONS]]


def rule(tokenizer: Tokenizer) -> Callable[[tuple[int, ...]], int]:
    """The true rule as a function of token ids."""
    return lambda ids: tuning_texts.pleasing(tokenizer.decode(ids))


# ---- the three stages ------------------------------------------------------------------------------------------------


class RewardTuner(Stepwise):
    """The second stage: a reward model learns from pairs."""

    def __init__(self, start: Transformer, pairs: Sequence[Preference], held_out: Sequence[Preference],
                 seed: int) -> None:
        self.model, self.pairs, self.held_out = RewardModel(start), list(pairs), list(held_out)
        self.step, self._lock, self._batches = 0, threading.Lock(), torch.Generator().manual_seed(seed + 1)
        self._optimizer = torch.optim.Adam(self.model.parameters(), lr=REWARD_RATE)
        self.history = [self._record(float("nan"))]

    def learn(self) -> Iterator[RewardStep]:
        """Train for REWARD_STEPS steps, with a record after every EVERY."""
        while self.step < REWARD_STEPS:
            self.history.append(self._record(sum(loss for loss, _ in self._take(EVERY)) / EVERY))
            yield self.history[-1]

    def rewards(self, pairs: Sequence[Preference]) -> Tensor:
        """(2, B) r of the preferred texts and of the others."""
        return self.model([p.prompt + p.chosen for p in pairs] + [p.prompt + p.rejected for p in pairs]).view(2, -1)

    def _one_step(self) -> tuple[float, float]:
        picked = torch.randint(len(self.pairs), (PAIRS,), generator=self._batches).tolist()
        self.step += 1
        loss = preferred_loss(*self.rewards([self.pairs[i] for i in picked]))
        return descend(loss, self._optimizer, REWARD_RATE, list(self.model.parameters()), CLIP)

    @torch.no_grad()
    def _record(self, loss: float) -> RewardStep:
        self.held_out_rewards = better, worse = self.rewards(self.held_out)
        ranked = (better > worse).double() + 0.5 * (better == worse).double()
        return RewardStep(self.step, loss, float(preferred_loss(better, worse)), float(ranked.mean()))


class PolicyTuner(Stepwise):
    """The third stage: a copy of the reference writes texts and is moved by their rewards; or, with pairs and without
    rewards, DPO of the same reference, measured in the same way.
    """

    def __init__(self, reference: Transformer, reward: RewardModel, prompts: Sequence[tuple[int, ...]],
                 tokenizer: Tokenizer, beta: float, seed: int, pairs: Sequence[Preference] = ()) -> None:
        self.reference, self.reward, self.tokenizer, self.beta = reference, reward, tokenizer, beta
        self.held_out, self.prompts = prompts[:len(prompts) // 4], prompts[len(prompts) // 4:]
        self.model, self.pairs, self.seed = copy.deepcopy(reference).requires_grad_(True), pairs, seed
        self.step, self._lock, self._draws = 0, threading.Lock(), torch.Generator().manual_seed(seed + 3)
        self.rate = DPO_RATE if pairs else POLICY_RATE
        self._optimizer = torch.optim.Adam(self.model.parameters(), lr=self.rate)
        self.history = [self._record()]

    def learn(self) -> Iterator[PolicyStep]:
        """Train for STEPS steps, with a record after every EVERY."""
        while self.step < STEPS:
            self._take(EVERY)
            self.history.append(self._record())
            yield self.history[-1]

    def _one_step(self) -> tuple[float, float]:
        loss = self._preferences() if self.pairs else self._policy_gradient()
        self.step += 1
        return descend(loss, self._optimizer, self.rate, list(self.model.parameters()), CLIP)

    def _policy_gradient(self) -> Tensor:
        """A loss with the gradient of −(mean R), estimated from TEXTS new texts."""
        prompts = [self.prompts[i] for i in torch.randint(len(self.prompts), (TEXTS,), generator=self._draws).tolist()]
        texts = tuning.draw_texts(self.model, prompts, N_NEW, self._draws)
        log_probs, reference, rewards = self.weighed(prompts, texts)
        returns = rewards - self.beta * (log_probs.detach() - reference)
        return -(above_the_others(returns) * log_probs).mean()

    def _preferences(self) -> Tensor:
        """DPO's loss of PAIRS pairs."""
        picked = [self.pairs[i] for i in torch.randint(len(self.pairs), (PAIRS,), generator=self._draws).tolist()]
        both = [p.prompt for p in picked] * 2, [p.chosen for p in picked] + [p.rejected for p in picked]
        rows = tuning.answers([Pair(*each) for each in zip(*both)])
        now = tuning.answer_log_probs(self.model, rows).view(2, -1)
        with torch.no_grad():
            before = tuning.answer_log_probs(self.reference, rows).view(2, -1)
        return tuning.dpo_loss(tuning.margins(*now, *before), self.beta)

    def weighed(self, prompts: Sequence[tuple[int, ...]],
                texts: Sequence[tuple[int, ...]]) -> tuple[Tensor, Tensor, Tensor]:
        """(B,) ln π with its graph, ln π_ref and r of texts after prompts."""
        rows = tuning.answers([Pair(*each) for each in zip(prompts, texts)])
        with torch.no_grad():
            reference = tuning.answer_log_probs(self.reference, rows)
            rewards = self.reward([prompt + text for prompt, text in zip(prompts, texts)])
        return tuning.answer_log_probs(self.model, rows), reference, rewards

    @torch.no_grad()
    def _record(self) -> PolicyStep:
        prompts = [self.held_out[i % len(self.held_out)] for i in range(MEASURED)]
        texts = tuning.draw_texts(self.model, prompts, N_NEW, torch.Generator().manual_seed(self.seed + 99))
        now, before, rewards = self.weighed(prompts, texts)
        values, decode = list(map(rule(self.tokenizer), texts)), self.tokenizer.decode
        kept = tuple(Written(decode(prompt[1:]), decode(text), float(r), value) for prompt, text, r, value
                     in list(zip(prompts, texts, rewards, values))[:N_EXAMPLES])
        return PolicyStep(self.step, float(rewards.mean()), statistics.mean(values), float((now - before).mean()), kept)


class Feedback:
    """The three stages of one seed, each begun when the one before has ended, and the policies of several β by name:
    "dpo", or β as text. One thread at a time runs `learn`; others may read.
    """

    def __init__(self, start: Transformer, tokenizer: Tokenizer, seed: int = SEED) -> None:
        self.tokenizer, self.seed = tokenizer, seed
        pairs = [Pair((tokenizer.first, *tokenizer.encode(prompt)), (*tokenizer.encode(text), tokenizer.end_of_text))
                 for prompt, text in demonstrations()]
        self.tuner = SupervisedTuner(start, tuning.old_text(start), pairs[N_SHOWN:], pairs[:N_SHOWN], seed=seed)
        self.reference: Transformer | None = None
        self.rewarder: RewardTuner | None = None
        self.policies: dict[str, PolicyTuner] = {}
        self.drawn = Candidates((), ())

    def learn(self, name: str) -> Iterator[str]:
        """Go through the stages as far as the policy `name`, or continue from where they are; yield the name of the
        current stage at each record.
        """
        if self.reference is None:
            for _ in self.tuner.learn():
                yield "demonstrations"
            reference = self.tuner.copy()
            self.drawn = self._write(reference)
            self.reference = reference
        yield "comparisons"
        if self.rewarder is None:
            self.rewarder = RewardTuner(self.reference, *tuning.preferences(self.drawn, rule(self.tokenizer)),
                                        self.seed)
        for _ in self.rewarder.learn():
            yield "comparisons"
        if name not in self.policies:
            self.policies[name] = self._policy(name)
        for _ in self.policies[name].learn():
            yield "reinforcement"

    def _write(self, model: Transformer) -> Candidates:
        """N_EACH texts after each of N_PROMPTS openings of one length."""
        prompts = [(self.tokenizer.first, *self.tokenizer.encode(text))
                   for text in tuning_texts.openings(5 * N_PROMPTS, self.seed)]
        length = statistics.mode(map(len, prompts))
        used = tuple(prompt for prompt in prompts if len(prompt) == length)[:N_PROMPTS]
        texts = tuning.draw_texts(model, [prompt for prompt in used for _ in range(N_EACH)], N_NEW,
                                  torch.Generator().manual_seed(self.seed))
        return Candidates(used, tuple(tuple(texts[i:i + N_EACH]) for i in range(0, len(texts), N_EACH)))

    def _policy(self, name: str) -> PolicyTuner:
        beta, pairs = (DPO_BETA, self.rewarder.pairs) if name == "dpo" else (float(name), ())
        return PolicyTuner(self.reference, self.rewarder.model, self.drawn.prompts, self.tokenizer, beta, self.seed,
                           pairs)

    def outcome(self) -> "Outcome":
        """The results of the stages so far."""
        rewarder = self.rewarder
        return Outcome(tuple(self.tuner.history), () if rewarder is None else tuple(rewarder.history),
                       0 if rewarder is None else len(rewarder.pairs), () if rewarder is None else self._compared(),
                       {name: tuple(policy.history) for name, policy in list(self.policies.items())})

    def _compared(self) -> tuple[tuple[Written, Written], ...]:
        """The held-out pairs, the preferred text first, with their current rewards."""
        pairs, decode, value = self.rewarder.held_out, self.tokenizer.decode, rule(self.tokenizer)
        return tuple(tuple(Written(decode(pair.prompt[1:]), decode(text), float(r), value(text))
                           for text, r in ((pair.chosen, better), (pair.rejected, worse)))
                     for pair, better, worse in zip(pairs, *self.rewarder.held_out_rewards))


@dataclass(frozen=True, eq=False)
class Outcome:
    """The results of the stages: the records of each, how many pairs the reward model learned from, the held-out pairs
    with their rewards, and the records of the policies by name.
    """

    demonstrations: tuple[tuning.TuningStep, ...]
    rewards: tuple[RewardStep, ...]
    n_pairs: int
    compared: tuple[tuple[Written, Written], ...]
    policies: dict[str, tuple[PolicyStep, ...]]


# ---- the recorded run ------------------------------------------------------------------------------------------------


@functools.cache
def recorded() -> Outcome:
    """The recorded run of SEED."""
    kept = read_json(FILE)
    policies = {name: tuple(PolicyStep(**{**row, "texts": tuple(Written(*text) for text in row["texts"])})
                            for row in rows) for name, rows in kept["policies"].items()}
    return Outcome(tuple(tuning.TuningStep(**row) for row in kept["demonstrations"]),
                   tuple(RewardStep(**row) for row in kept["rewards"]), kept["n_pairs"],
                   tuple(tuple(Written(*text) for text in pair) for pair in kept["compared"]), policies)


def _short(value: object) -> object:
    """The value with its floats rounded, records as their fields, texts as lists."""
    if isinstance(value, Written):
        value = list(asdict(value).values())
    if isinstance(value, dict):
        return {name: _short(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_short(each) for each in value]
    if hasattr(value, "__dataclass_fields__"):
        return {name: _short(getattr(value, name)) for name in value.__dataclass_fields__}
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


def record() -> dict:
    """Go through the stages with every policy; return what is kept of them."""
    feedback = Feedback(*checkpoints.load_bundled(MODEL))
    for which in (*map(str, BETAS), "dpo"):
        list(feedback.learn(which))
        print(which, feedback.policies[which].history[-1], flush=True)
    return _short(feedback.outcome())
