"""Training a transformer.

`python -m core.training NAME` trains a bundled model again, by its recipe in core/training/recipes.py.

The optimizer is AdamW, or Muon for the maps of the blocks, with a linear warm-up, a decay to zero, clipping of the
gradients by their norm, and optional bfloat16 arithmetic with float32 weights. `train` advances a TrainingRun step by
step and can stop after any step; a run that is saved and loaded continues as if it had never stopped. Batches and loss
come from the task. Several processes, started by torchrun, share every batch.
"""
from __future__ import annotations

import argparse
import copy
import dataclasses
import itertools
import json
import os
import platform
import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from core.files import read_json, write_json
from core.model import checkpoints
from core.model.checkpoints import Milestone
from core.model.config import ModelConfig
from core.model.tokenizer import Tokenizer
from core.model.transformer import Transformer
from core.training import milestones
from core.training.distributed import ALONE, ProcessGroup
from core.training.language_modelling import TaskContext, next_token
from core.training.loss import descend, to_tensors
from core.training.muon import Muon
from core.training.recipes import PRECISIONS, RECIPES, TEACHERS, Recipe, Stage, TrainingConfig

# settings of a recipe that arguments can change
NUMBERS = {"steps": (int, "in all, of each stage"),
           "minutes": (float, "training time in all, of each stage: run and schedule end with it at the latest"),
           "batch_size": (int, "rows of one context a step"), "learning_rate": (float, "at its highest"),
           "seed": (int, "of the first weights and of the order of the text")}
OVERRIDES = (*NUMBERS, "precision", "compile")


@dataclass(frozen=True)
class TrainingStep:
    """The result of one step. loss: mean −log p in nats on the step's batch before the update; gradient_norm: the norm
    before clipping.
    """

    step: int
    loss: float
    learning_rate: float
    gradient_norm: float
    tokens_seen: int
    tokens_per_second: float


@dataclass
class TrainingRun:
    """A model in training: everything that the next step depends on, except the text."""

    model: Transformer
    optimizer: torch.optim.Optimizer | Muon
    config: TrainingConfig
    step: int = 0
    tokens_seen: int = 0
    seconds: float = 0.0                    # seconds of training, by the clock

    @classmethod
    def start(cls, model_config: ModelConfig, config: TrainingConfig,
              device: torch.device | str = "cpu") -> TrainingRun:
        """A new run with random weights."""
        model = Transformer(model_config).initialise(torch.Generator().manual_seed(config.seed))
        for name, p in model.named_parameters():
            if config.zero_outputs and name.endswith((".W_O", ".W_2")):
                nn.init.zeros_(p)
        return cls.start_from(model, config, device)

    @classmethod
    def start_from(cls, model: Transformer, config: TrainingConfig, device: torch.device | str) -> TrainingRun:
        """A new run that continues from the weights of `model`."""
        model = model.requires_grad_(True).train().to(device)
        return cls(model, make_optimizer(model, config), config)

    def save(self, path: str | Path) -> None:
        """Write the run to one file, completely or not at all."""
        state = dict(model_config=self.model.config.to_dict(), config=dataclasses.asdict(self.config),
                     model=self.model.state_dict(), optimizer=self.optimizer.state_dict(), step=self.step,
                     tokens_seen=self.tokens_seen, seconds=self.seconds)
        partial = Path(f"{path}.partial")
        torch.save(state, partial)
        os.replace(partial, path)

    @classmethod
    def load(cls, path: str | Path, device: torch.device | str = "cpu", **changes) -> TrainingRun:
        """The run that `save` wrote, with `changes` to its TrainingConfig, such as other `minutes`, from here on."""
        state = torch.load(path, map_location=device, weights_only=True)
        run = cls.start_from(Transformer(ModelConfig.of(**state["model_config"])),
                             replace(TrainingConfig(**state["config"]), **changes), device)
        run.model.load_state_dict(state["model"])
        run.optimizer.load_state_dict(state["optimizer"])
        run.step, run.tokens_seen, run.seconds = state["step"], state["tokens_seen"], state["seconds"]
        return run

    @property
    def finished(self) -> bool:
        return self.config.progress(self.step, self.seconds) >= 1


def make_optimizer(model: Transformer, config: TrainingConfig) -> torch.optim.Optimizer | Muon:
    """AdamW or Muon, with weight decay on the W matrices only. Source: Loshchilov and Hutter 2019."""
    maps = [(name, p) for name, p in model.named_parameters() if name.rsplit(".", 1)[-1].startswith("W_")]
    ids = {id(p) for _, p in maps}
    others = [p for p in model.parameters() if id(p) not in ids]
    if config.optimizer == "muon":
        return Muon(maps, others, config.learning_rate, config.weight_decay, config.betas)
    groups = [dict(params=[p for _, p in maps], weight_decay=config.weight_decay),
              dict(params=others, weight_decay=0.0)]
    return torch.optim.AdamW(groups, lr=config.learning_rate, betas=config.betas, fused=True)


class Objective(nn.Module):
    """A model and its loss as one module, for several processes or the compiler."""

    def __init__(self, model: Transformer, loss: Callable[[Transformer, object], Tensor], precision: str) -> None:
        super().__init__()
        self.model, self.loss, self.precision = model, loss, precision

    def forward(self, batch) -> Tensor:
        """The mean loss on a batch of tensors."""
        with torch.autocast(self.model.device.type, torch.bfloat16, enabled=self.precision == "bfloat16"):
            return self.loss(self.model, batch)


def train(run: TrainingRun, batches: Iterable, loss: Callable[[Transformer, object], Tensor] = next_token,
          group: ProcessGroup = ALONE) -> Iterator[TrainingStep]:
    """Train `run` until its config's steps or minutes are over, and yield each step.

    batches  dataclasses of NumPy arrays, from the first step on: those of steps already done are skipped
    loss     (model, the batch as tensors) -> the mean loss over its n_targets

    The caller may stop at any time; train with the same run, or with one saved and loaded, continues with the next
    batch. Without a limit in minutes the same seed, config and batches give the same losses on the CPU. The processes
    of a group take their shares of every batch, weighted by its targets, so that the step is the same as on the whole
    batch.
    """
    model, config = run.model, run.config
    objective = Objective(model, loss, config.precision)
    if config.compile:
        objective.compile()
    objective = group.parallel(objective)
    # includes the caller's time between steps: `minutes` are minutes of the clock
    clock = time.perf_counter()
    for batch in itertools.islice(batches, run.step, None):
        if run.finished:
            return
        began, share = time.perf_counter(), group.share(batch)
        learning_rate = config.learning_rate_at(run.step, run.seconds)
        # weighted so that the mean of the parts is that of the whole batch
        part = objective(to_tensors(share, model.device)) * (share.n_targets * group.size / batch.n_targets)
        part_loss, gradient_norm = descend(part, run.optimizer, learning_rate, model.parameters(), config.clip_norm)
        now = time.perf_counter()
        # all processes share one clock
        batch_loss, seconds = group.mean(part_loss, now - clock)
        run.step, run.tokens_seen, run.seconds, clock = (run.step + 1, run.tokens_seen + batch.n_targets,
                                                         run.seconds + seconds, now)
        yield TrainingStep(run.step, batch_loss, learning_rate, gradient_norm, run.tokens_seen,
                           batch.n_targets / (now - began))


@dataclass(frozen=True)
class Before:
    """The totals of the earlier stages of a recipe. folder: the last one's folder; None in the first stage."""

    steps: int = 0
    tokens_seen: int = 0
    folder: Path | None = None

    @classmethod
    def read(cls, folders: Sequence[Path]) -> Before:
        """Read the totals from the finished stages in `folders`."""
        ends = [read_json(folder / "training.json")[-1] for folder in folders]
        return cls(sum(end["step"] for end in ends), sum(end["tokens_seen"] for end in ends),
                   folders[-1] if folders else None)


@dataclass
class Journal:
    """The folder of one run: run.pt (to resume), model/ (to load), training.json (losses by step), recipe.json, and
    history/ with the weights of milestones. Only rank 0 has one.
    """

    folder: Path
    stage: Stage
    context: TaskContext
    facts: dict                                         # about the training, for recipe.json
    before: Before
    evaluate_every: int                                 # steps from one measurement to the next
    save_minutes: float                                 # from one save to the next
    milestones: Sequence[int]                           # steps of this stage after which to keep the weights
    keeps_last: bool                                    # whether to keep them also after its last step
    losses: list[dict] = field(default_factory=list)
    kept: list[Milestone] = field(default_factory=list)

    def read(self, step: int) -> None:
        """Restore the journal after `step` steps; a new one begins with the milestones of the stages before."""
        folder, before = self.folder, self.before
        if not step and before.folder and (before.folder / checkpoints.HISTORY).exists():
            shutil.copytree(before.folder / checkpoints.HISTORY, folder / checkpoints.HISTORY, dirs_exist_ok=True)
        if step:
            losses = read_json(folder / "training.json")
            self.losses = [entry for entry in losses if entry["step"] <= step]
        if step or before.folder:
            self.kept = [m for m in checkpoints.load_history(folder) if m.step <= before.steps + step]

    def evaluate(self, run: TrainingRun, recent: Sequence[TrainingStep]) -> None:
        """Add the mean loss of the recent steps and the held-out losses to the journal and print them."""
        held_out = self.stage.task.held_out(run.model, self.context)
        self.losses.append(dict(
            step=run.step, tokens_seen=run.tokens_seen, hours=round(run.seconds / 3600, 4),
            learning_rate=recent[-1].learning_rate, training_loss=round(float(np.mean([s.loss for s in recent])), 4),
            held_out={name: round(loss, 4) for name, loss in held_out.items()}))
        print("", json.dumps(self.losses[-1]), sep="\n", flush=True)

    def keep(self, run: TrainingRun) -> None:
        """Keep the run's weights as a milestone, with their measures."""
        held_out = self.stage.task.held_out(run.model, self.context)
        self.kept.append(milestones.measure(run.model, self.context.tokenizer, self.before.steps + run.step,
                                            self.before.tokens_seen + run.tokens_seen, held_out))
        checkpoints.save_history(self.folder, self.kept, run.model)

    @torch.no_grad()
    def model_of(self, run: TrainingRun) -> Transformer:
        """The run's model with the stage's share and temperature."""
        model, stage = copy.deepcopy(run.model), self.stage
        if stage.share < 1:
            before = checkpoints.load(self.before.folder / "model")[0].to(model.device)
            for p, earlier in zip(model.parameters(), before.parameters()):
                p.copy_(torch.lerp(earlier, p, stage.share))
        if stage.temperature != 1:
            for p in model.final_norm.parameters():
                p.div_(stage.temperature)
        return model

    def save(self, run: TrainingRun) -> None:
        """Write everything that a resumed run or a reader of its model needs."""
        card = f"A model in training: {run.step} steps, {run.tokens_seen} tokens, {run.seconds / 3600:.2f} hours.\n"
        checkpoints.save(self.folder / "model", self.model_of(run), self.context.tokenizer, card)
        write_json(self.folder / "training.json", self.losses)
        write_json(self.folder / "recipe.json", self.facts, indent=1)
        run.save(self.folder / "run.pt")


def follow(run: TrainingRun, stage: Stage, context: TaskContext, journal: Journal | None, stop: threading.Event,
           group: ProcessGroup) -> None:
    """Train to the end, or until `stop` is set in some process, with a progress line; save the run at intervals and at
    the end.
    """
    recent: list[TrainingStep] = []
    saved = time.monotonic()
    if journal and run.step == 0 and 0 in journal.milestones:
        journal.keep(run)
    for step in train(run, stage.task.batches(context), stage.task.loss, group):
        if journal:
            recent.append(step)
            print(f"\r{progress_line(step, run)}", end="", flush=True)
            if step.step % journal.evaluate_every == 0 or run.finished:
                journal.evaluate(run, recent)
                recent.clear()
            if step.step in journal.milestones or (journal.keeps_last and run.finished):
                journal.keep(run)
            if time.monotonic() - saved > 60 * journal.save_minutes:
                journal.save(run)
                saved = time.monotonic()
        if group.any(stop.is_set()):
            break
    if journal:
        journal.save(run)
        print(f"\nSaved after step {run.step} in {journal.folder}.", flush=True)


def progress_line(step: TrainingStep, run: TrainingRun) -> str:
    done = run.config.progress(run.step, run.seconds)
    remaining = run.seconds * (1 - done) / done / 60
    return (f"step {step.step} ({done:.1%}, {remaining:.0f} min left)  loss {step.loss:.3f}  learning rate "
            f"{step.learning_rate:.2e}  gradient norm {step.gradient_norm:.2f}  {step.tokens_seen / 1e6:.2f} M tokens, "
            f"{step.tokens_per_second:,.0f}/s   ")


def parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(prog="python -m core.training",
                                description="Train a bundled model again, by its recipe; start it again with the same "
                                            "--run-folder to go on where it stopped (Ctrl-C or SIGTERM saves first). "
                                            "Settings left out are the recipe's.")
    p.add_argument("name", choices=sorted(RECIPES | TEACHERS), help="which model", metavar="NAME")
    p.add_argument("--corpus", type=Path, metavar="DIR", help="the folder of text files that the recipe names")
    p.add_argument("--run-folder", type=Path, required=True, metavar="FOLDER",
                   help="where the run, its losses, its history and its model are kept")
    for name, (kind, meaning) in NUMBERS.items():
        p.add_argument(f"--{name.replace('_', '-')}", type=kind, help=meaning)
    p.add_argument("--precision", choices=PRECISIONS, help="of the arithmetic; weights stay float32")
    p.add_argument("--compile", action="store_true", default=None,
                   help="compile the model first: faster steps after about a minute")
    p.add_argument("--device", default="cpu", help="cpu, cuda or mps (default %(default)s)")
    p.add_argument("--threads", type=int, default=torch.get_num_threads(), help="of the CPU (default %(default)s)")
    p.add_argument("--evaluate-every", type=int, default=500, metavar="STEPS", help="(default %(default)s)")
    p.add_argument("--save-minutes", type=float, default=10.0, metavar="MINUTES",
                   help="between saves (default %(default)s)")
    return p


def open_tokenizer(recipe: Recipe, folder: Path, corpus: Path | None, group: ProcessGroup) -> Tokenizer:
    """The tokenizer in the run's folder; for a new run the recipe's."""
    path = folder / checkpoints.TOKENIZER
    if group.writes and not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        recipe.tokenizer(corpus).save(path)
    group.wait()
    return Tokenizer.load(path)


def open_run(folder: Path, config: TrainingConfig, architecture: ModelConfig, before: Path | None,
             device: torch.device) -> TrainingRun:
    """The run saved in `folder`, with the settings of `config`; else a new one, from the model of the stage `before` or
    from random weights.
    """
    if (folder / "run.pt").exists():
        return TrainingRun.load(folder / "run.pt", device,
                                **{f.name: getattr(config, f.name) for f in dataclasses.fields(config)})
    if before:
        return TrainingRun.start_from(checkpoints.load(before / "model")[0], config, device)
    return TrainingRun.start(architecture, config, device)


def hardware(group: ProcessGroup) -> str:
    """The hardware of the run in words."""
    threads = torch.get_num_threads()
    cpu = f"{platform.machine()} CPU, {threads} thread{'s' * (threads != 1)}"
    where = torch.cuda.get_device_name(group.device) if group.device.type == "cuda" else cpu
    return f"{where}; {group.size} process{'es' * (group.size != 1)}; torch {torch.__version__}"


def run_stage(recipe: Recipe, number: int, tokenizer: Tokenizer, arguments: argparse.Namespace, stop: threading.Event,
              group: ProcessGroup) -> None:
    """Train stage `number` of the recipe, from 0, or continue it.

    The last stage is saved in the run's folder, the others in subfolders.
    """
    folders = [arguments.run_folder / f"stage-{n}" for n in range(1, len(recipe.stages))] + [arguments.run_folder]
    folder, stage = folders[number], recipe.stages[number]
    folder.mkdir(parents=True, exist_ok=True)
    changes = {name: value for name in OVERRIDES if (value := getattr(arguments, name)) is not None}
    config = replace(stage.training, **changes)
    architecture = replace(recipe.model, vocab_size=tokenizer.vocab_size)
    context = TaskContext(architecture, tokenizer, arguments.corpus, config.batch_size, config.seed)
    if stage.epochs and "steps" not in changes:
        config = replace(config, steps=stage.task.steps_per_epoch(context) * stage.epochs)
    run = open_run(folder, config, architecture, folders[number - 1] if number else None, group.device)
    before = Before.read(folders[:number])
    facts = dict(name=recipe.name, stage=number + 1, stages=len(recipe.stages), parameters=run.model.n_parameters,
                 hardware=hardware(group), task=dataclasses.asdict(stage.task),
                 training=dataclasses.asdict(config) | dict(minutes=arguments.minutes))
    journal = None
    if group.writes:
        journal = Journal(folder, stage, context, facts, before, arguments.evaluate_every, arguments.save_minutes,
                          [step - before.steps for step in recipe.milestones if step > before.steps or not number],
                          keeps_last=bool(recipe.milestones) and number == len(recipe.stages) - 1)
        journal.read(run.step)
        print(f"{recipe.name}, stage {number + 1} of {len(recipe.stages)}: {run.model.n_parameters:,} parameters, "
              f"starting after step {run.step} of {run.config.steps}", flush=True)
    if not run.finished:
        follow(run, stage, context, journal, stop, group)
    group.wait()


def main(argv: Sequence[str] | None = None) -> None:
    arguments = parser().parse_args(argv)
    torch.set_num_threads(arguments.threads)
    stop = threading.Event()
    # stops after the current step, so that the saved run is complete
    for name in (signal.SIGINT, signal.SIGTERM):
        signal.signal(name, lambda *_: stop.set())
    group, recipe = ProcessGroup.join(arguments.device), (RECIPES | TEACHERS)[arguments.name]
    tokenizer = open_tokenizer(recipe, arguments.run_folder, arguments.corpus, group)
    for number in range(len(recipe.stages)):
        if not group.any(stop.is_set()):
            run_stage(recipe, number, tokenizer, arguments, stop, group)
    group.leave()
