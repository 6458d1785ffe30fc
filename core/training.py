"""Training a transformer to predict the next token. `python -m core.training --help` trains one from text files.

AdamW, a linear warm-up and then a half cosine down to zero, gradients clipped by their norm, optional bfloat16 arithmetic with float32 weights.
A run is a TrainingRun; `train` moves it on one step at a time and can be stopped after any of them; saved and loaded, the run goes
on as if it had never stopped.
"""
from __future__ import annotations

import argparse
import dataclasses
import itertools
import json
import math
import os
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from core import checkpoints, corpus, teaching_text
from core.config import PRESETS, ModelConfig
from core.loss import held_out_loss, next_token_loss
from core.model import Transformer
from core.tokenizer import Tokenizer

PRECISIONS = ("float32", "bfloat16")


@dataclass(frozen=True)
class TrainingConfig:
    """How a run is trained. steps: how many in all; minutes: training time in all, which ends a run sooner and its schedule with it."""

    steps: int = 1000
    minutes: float = math.inf
    batch_size: int = 16                    # rows of n_context tokens a step
    learning_rate: float = 2e-3             # at its highest
    warmup_steps: int = 100
    weight_decay: float = 0.1               # of the W matrices; not of embeddings, biases and norms
    betas: tuple[float, float] = (0.9, 0.98)
    clip_norm: float = 1.0
    seed: int = 0                           # of the first weights and of the order of the text
    precision: str = "float32"
    compile: bool = False                   # by torch.compile: faster, after a minute of waiting

    def __post_init__(self) -> None:
        for name in ("steps", "minutes", "batch_size", "learning_rate", "clip_norm"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} must be above 0, not {getattr(self, name)}.")
        if self.warmup_steps < 0 or self.weight_decay < 0:
            raise ValueError("warmup_steps and weight_decay cannot be negative.")
        if self.precision not in PRECISIONS:
            raise ValueError(f"precision must be one of {', '.join(PRECISIONS)}, not {self.precision!r}.")

    def progress(self, step: int, seconds: float) -> float:
        """How much of the run is done after `step` steps and `seconds` of training: the larger of its two shares, at most 1."""
        return min(1.0, max(step / self.steps, seconds / (60 * self.minutes)))

    def learning_rate_at(self, step: int, seconds: float = 0.0) -> float:
        """The learning rate of step number `step`, counted from 0: a line up over the warm-up, times half a cosine from 1 to 0 over the whole run."""
        warmup = min(1.0, (step + 1) / (self.warmup_steps + 1))
        return self.learning_rate * warmup * 0.5 * (1 + math.cos(math.pi * self.progress(step, seconds)))


@dataclass(frozen=True)
class TrainingStep:
    """What one step did. loss: mean −log p in nats on the step's batch, before its update; gradient_norm: before clipping."""

    step: int
    loss: float
    learning_rate: float
    gradient_norm: float
    tokens_seen: int
    tokens_per_second: float


@dataclass
class TrainingRun:
    """A model in training: everything that the next step depends on, save the text."""

    model: Transformer
    optimizer: torch.optim.Optimizer
    config: TrainingConfig
    step: int = 0
    tokens_seen: int = 0
    seconds: float = 0.0                    # by the clock, while it trained

    @classmethod
    def start(cls, model_config: ModelConfig, config: TrainingConfig, device: torch.device | str = "cpu") -> "TrainingRun":
        """A new run with random weights."""
        return cls.start_from(Transformer(model_config).initialise(torch.Generator().manual_seed(config.seed)), config, device)

    @classmethod
    def start_from(cls, model: Transformer, config: TrainingConfig, device: torch.device | str = "cpu") -> "TrainingRun":
        """A new run that trains `model` on, its weights being whatever they are."""
        model = model.requires_grad_(True).train().to(device)
        return cls(model, make_optimizer(model, config), config)

    def save(self, path: str | Path) -> None:
        """Write the run to one file, whole or not at all."""
        state = dict(model_config=self.model.config.to_dict(), config=dataclasses.asdict(self.config), model=self.model.state_dict(),
                     optimizer=self.optimizer.state_dict(), step=self.step, tokens_seen=self.tokens_seen, seconds=self.seconds)
        partial = Path(f"{path}.partial")
        torch.save(state, partial)
        os.replace(partial, path)

    @classmethod
    def load(cls, path: str | Path, device: torch.device | str = "cpu", **changes) -> "TrainingRun":
        """The run that `save` wrote; `changes` to its TrainingConfig, such as other `minutes`, take effect from here on."""
        state = torch.load(path, map_location=device, weights_only=True)
        config = dataclasses.replace(TrainingConfig(**{**state["config"], "betas": tuple(state["config"]["betas"])}), **changes)
        model = Transformer(ModelConfig.from_dict(state["model_config"])).to(device)
        model.load_state_dict(state["model"])
        optimizer = make_optimizer(model, config)
        optimizer.load_state_dict(state["optimizer"])
        return cls(model, optimizer, config, state["step"], state["tokens_seen"], state["seconds"])

    @property
    def finished(self) -> bool:
        return self.config.progress(self.step, self.seconds) >= 1


def make_optimizer(model: Transformer, config: TrainingConfig) -> torch.optim.Optimizer:
    """AdamW; weight decay on the W matrices alone. Source: Loshchilov and Hutter 2019."""
    decayed = [p for name, p in model.named_parameters() if name.rsplit(".", 1)[-1].startswith("W_")]
    ids = {id(p) for p in decayed}
    others = [p for p in model.parameters() if id(p) not in ids]
    groups = [dict(params=decayed, weight_decay=config.weight_decay), dict(params=others, weight_decay=0.0)]
    return torch.optim.AdamW(groups, lr=config.learning_rate, betas=config.betas, fused=True)


def train(run: TrainingRun, sources: Sequence[corpus.Source]) -> Iterator[TrainingStep]:
    """Train `run` on the sources until its config's steps or minutes are over, giving each step when it is done.

    Stop iterating at any time; calling train again with the same run, or with one saved and loaded, goes on with the next batch. Without a
    limit in minutes the same seed, config and sources give the same losses on the CPU.
    """
    model, config = run.model, run.config

    def batch_loss(inputs: Tensor, targets: Tensor) -> Tensor:
        with torch.autocast(model.device.type, torch.bfloat16, enabled=config.precision == "bfloat16"):
            logits = model.logits(inputs)
        return next_token_loss(logits, targets)

    loss_of = torch.compile(batch_loss) if config.compile else batch_loss
    stream = corpus.batches(sources, model.config.n_context, model.config.end_of_text, config.batch_size, config.seed)
    clock = time.perf_counter()                       # runs on while the caller looks at a step: `minutes` are minutes of the clock
    for batch in itertools.islice(stream, run.step, None):
        if run.finished:
            return
        began = time.perf_counter()
        learning_rate = config.learning_rate_at(run.step, run.seconds)
        for group in run.optimizer.param_groups:
            group["lr"] = learning_rate
        loss = loss_of(*(torch.from_numpy(ids).to(model.device) for ids in (batch.inputs, batch.targets)))
        run.optimizer.zero_grad()
        loss.backward()
        gradient_norm = nn.utils.clip_grad_norm_(model.parameters(), config.clip_norm)
        run.optimizer.step()
        loss, gradient_norm = float(loss.detach()), float(gradient_norm)
        now, n_tokens = time.perf_counter(), int(np.sum(batch.targets != corpus.IGNORE))
        run.step, run.tokens_seen, run.seconds, clock = run.step + 1, run.tokens_seen + n_tokens, run.seconds + now - clock, now
        yield TrainingStep(run.step, loss, learning_rate, gradient_norm, run.tokens_seen, n_tokens / (now - began))


def read_sources(texts: Sequence[str], tokenizer: Tokenizer, n_teaching: int = 0, canaries: bool = False) -> list[corpus.Source]:
    """The Sources of the arguments FILE or FILE:WEIGHT, of n_teaching documents of teaching text and of the canaries."""
    sources = []
    for argument in texts:
        path, _, weight = argument.partition(":")
        sources.append(corpus.tokenize(corpus.read_documents(path), tokenizer, float(weight or 1)))
    if n_teaching:
        sources.append(corpus.tokenize(teaching_text.documents(n_teaching), tokenizer))
    if canaries:
        sources.append(corpus.tokenize(teaching_text.canary_documents(), tokenizer))
    return sources


@dataclass
class Journal:
    """The folder of one run: run.pt (to resume from), model/ (to load), training.json (losses by step), tokenizer.json."""

    folder: Path
    tokenizer: Tokenizer
    held_out: dict[str, tuple[corpus.Source, int]]      # name -> documents, bytes
    history: list[dict]

    @classmethod
    def open(cls, folder: Path, tokenizer: Tokenizer, held_out: Sequence[str], step: int) -> "Journal":
        """The journal of the run in `folder`, with its history up to `step`."""
        texts = {Path(path).stem: corpus.read_documents(path) for path in held_out}
        measured = {name: (corpus.tokenize(t, tokenizer), sum(len(d.encode()) for d in t)) for name, t in texts.items()}
        path = folder / "training.json"
        history = json.loads(path.read_text(encoding="utf-8")) if step else []
        return cls(folder, tokenizer, measured, [entry for entry in history if entry["step"] <= step])

    def evaluate(self, run: TrainingRun, recent: Sequence[TrainingStep]) -> None:
        """Add the mean loss of the recent steps and the held-out losses to the history, and print them."""
        losses = {name: held_out_loss(run.model, source.documents, n_bytes) for name, (source, n_bytes) in self.held_out.items()}
        self.history.append(dict(
            step=run.step, tokens_seen=run.tokens_seen, hours=round(run.seconds / 3600, 4), learning_rate=recent[-1].learning_rate,
            training_loss=round(float(np.mean([s.loss for s in recent])), 4),
            held_out={name: round(loss.nats_per_token, 4) for name, loss in losses.items()}))
        print("", json.dumps(self.history[-1]), sep="\n", flush=True)

    def save(self, run: TrainingRun) -> None:
        """Write everything that a resumed run or a reader of its model needs."""
        card = f"A model in training: {run.step} steps, {run.tokens_seen} tokens, {run.seconds / 3600:.2f} hours.\n"
        checkpoints.save(self.folder / "model", run.model, self.tokenizer, card)
        (self.folder / "training.json").write_text(json.dumps(self.history, indent=0) + "\n", encoding="utf-8")
        run.save(self.folder / "run.pt")


def follow(run: TrainingRun, sources: Sequence[corpus.Source], journal: Journal, evaluate_every: int, save_minutes: float,
           stop: threading.Event) -> None:
    """Train to the end, or until `stop` is set, with a progress line; the run is saved now and then and when it ends."""
    recent: list[TrainingStep] = []
    saved = time.monotonic()
    for step in train(run, sources):
        recent.append(step)
        print(f"\r{progress_line(step, run)}", end="", flush=True)
        if step.step % evaluate_every == 0 or run.finished:
            journal.evaluate(run, recent)
            recent.clear()
        if stop.is_set():
            break
        if time.monotonic() - saved > 60 * save_minutes:
            journal.save(run)
            saved = time.monotonic()
    journal.save(run)
    print(f"\nSaved after step {run.step} in {journal.folder}.", flush=True)


def progress_line(step: TrainingStep, run: TrainingRun) -> str:
    done = run.config.progress(run.step, run.seconds)
    left = run.seconds * (1 - done) / done / 60
    return (f"step {step.step} ({done:.1%}, {left:.0f} min left)  loss {step.loss:.3f}  learning rate {step.learning_rate:.2e}  "
            f"gradient norm {step.gradient_norm:.2f}  {step.tokens_seen / 1e6:.2f} M tokens, {step.tokens_per_second:,.0f}/s   ")


def parser() -> argparse.ArgumentParser:
    defaults = TrainingConfig()
    p = argparse.ArgumentParser(prog="python -m core.training", description="Train a transformer on text files; start it again with the same "
                                "--run folder to go on where it stopped (Ctrl-C or SIGTERM saves first).")
    p.add_argument("--text", nargs="+", required=True, metavar="FILE[:WEIGHT]",
                   help="training text, documents separated by lines <|endoftext|>; WEIGHT: how often each is read an epoch (default 1)")
    p.add_argument("--held-out", nargs="*", default=[], metavar="FILE", help="text to measure the loss on, never trained on")
    p.add_argument("--teaching", type=int, default=0, metavar="DOCUMENTS", help="that many documents of core.teaching_text besides (default 0)")
    p.add_argument("--canaries", action="store_true", help="and the canary passages, each as often an epoch as it says")
    p.add_argument("--run", type=Path, required=True, metavar="FOLDER", help="where the run, its history and its model are kept")
    p.add_argument("--preset", choices=sorted(PRESETS), default="stories", help="the architecture (default %(default)s)")
    p.add_argument("--start-from", type=Path, metavar="FOLDER", help="a saved model whose weights, architecture and tokenizer a new run begins with")
    p.add_argument("--tokenizer", type=Path, metavar="FILE", help="a tokenizer.json to use; without it one is trained on the text")
    p.add_argument("--steps", type=int, default=defaults.steps, help="in all (default %(default)s)")
    p.add_argument("--epochs", type=int, metavar="N", help="instead of --steps: as many as it takes to read the text N times")
    p.add_argument("--minutes", type=float, default=defaults.minutes, help="training time in all: the run and its schedule end with it at the latest")
    p.add_argument("--batch-size", type=int, default=defaults.batch_size, help="rows of one context a step (default %(default)s)")
    p.add_argument("--learning-rate", type=float, default=defaults.learning_rate, help="at its highest (default %(default)s)")
    p.add_argument("--warmup-steps", type=int, default=defaults.warmup_steps, help="(default %(default)s)")
    p.add_argument("--weight-decay", type=float, default=defaults.weight_decay, help="of the W matrices (default %(default)s)")
    p.add_argument("--clip-norm", type=float, default=defaults.clip_norm, help="largest norm of a gradient (default %(default)s)")
    p.add_argument("--seed", type=int, default=defaults.seed, help="(default %(default)s)")
    p.add_argument("--precision", choices=PRECISIONS, default=defaults.precision, help="of the arithmetic; weights stay float32 (default %(default)s)")
    p.add_argument("--compile", action="store_true", help="compile the model first: faster steps after about a minute")
    p.add_argument("--device", default="cpu", help="cpu, cuda or mps (default %(default)s)")
    p.add_argument("--threads", type=int, default=torch.get_num_threads(), help="of the CPU (default %(default)s)")
    p.add_argument("--evaluate-every", type=int, default=500, metavar="STEPS", help="(default %(default)s)")
    p.add_argument("--save-minutes", type=float, default=10.0, metavar="MINUTES", help="between saves (default %(default)s)")
    return p


def open_tokenizer(arguments: argparse.Namespace) -> Tokenizer:
    """The run's own tokenizer; for a new run the one asked for, or one trained on the text."""
    own = arguments.run / checkpoints.TOKENIZER
    if not own.exists():
        arguments.run.mkdir(parents=True, exist_ok=True)
        given = arguments.start_from / checkpoints.TOKENIZER if arguments.start_from else arguments.tokenizer
        if given:
            tokenizer = Tokenizer.load(given)
        else:
            texts = (d for argument in arguments.text for d in corpus.read_documents(argument.partition(":")[0]))
            tokenizer = Tokenizer.train(texts, PRESETS[arguments.preset].vocab_size)
        tokenizer.save(own)
    return Tokenizer.load(own)


def open_model(arguments: argparse.Namespace, tokenizer: Tokenizer) -> Transformer:
    """The model that a new run begins with."""
    if arguments.start_from:
        return checkpoints.load(arguments.start_from)[0]
    architecture = dataclasses.replace(PRESETS[arguments.preset], vocab_size=tokenizer.vocab_size)      # little text makes few tokens
    return Transformer(architecture).initialise(torch.Generator().manual_seed(arguments.seed))


def main(argv: Sequence[str] | None = None) -> None:
    arguments = parser().parse_args(argv)
    torch.set_num_threads(arguments.threads)
    stop = threading.Event()
    for name in (signal.SIGINT, signal.SIGTERM):                  # after the step that is under way, so that what is saved is whole
        signal.signal(name, lambda *_: stop.set())
    tokenizer = open_tokenizer(arguments)
    sources = read_sources(arguments.text, tokenizer, arguments.teaching, arguments.canaries)
    state = arguments.run / "run.pt"
    model = None if state.exists() else open_model(arguments, tokenizer)
    settings = {f.name: getattr(arguments, f.name) for f in dataclasses.fields(TrainingConfig) if f.name != "betas"}
    if arguments.epochs:
        n_context = (model or TrainingRun.load(state).model).config.n_context
        settings["steps"] = corpus.steps_per_epoch(sources, n_context, tokenizer.end_of_text, arguments.batch_size, arguments.seed) * arguments.epochs
    if model is None:
        run = TrainingRun.load(state, arguments.device, **settings)
    else:
        run = TrainingRun.start_from(model, TrainingConfig(**settings), arguments.device)
    print(f"{run.model.n_parameters:,} parameters, {sum(s.n_tokens for s in sources):,} tokens of text, starting after step {run.step} of {run.config.steps}", flush=True)
    journal = Journal.open(arguments.run, tokenizer, arguments.held_out, run.step)
    follow(run, sources, journal, arguments.evaluate_every, arguments.save_minutes, stop)


if __name__ == "__main__":
    main()
