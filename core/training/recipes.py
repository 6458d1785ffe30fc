"""How each bundled model was trained: its architecture, its texts and its settings.

`python -m core.training NAME` trains it again.
"""
import functools
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from core.model import checkpoints
from core.model.config import POSITIONS, STORIES, ModelConfig
from core.model.tokenizer import Tokenizer
from core.training.blanks import MaskedLanguageModelling
from core.training.distillation import Distillation
from core.training.language_modelling import LanguageModelling, Mixture, Task
from core.training.repetition import RepeatedPassages, TwoBack, small_tokenizer
from core.training.translation import DateTranslation, TableToText, date_tokenizer, table_tokenizer

PRECISIONS, OPTIMIZERS = ("float32", "bfloat16"), ("adamw", "muon")


@dataclass(frozen=True)
class TrainingConfig:
    """The settings of a run.

    minutes   limit of the training time, which ends the run, and its schedule, sooner
    decay     the share of the run, at its end, in which the learning rate falls linearly to 0 after it
              was constant; None: it falls all the time, by half a cosine
    """

    steps: int = 1000
    minutes: float = math.inf
    batch_size: int = 16                    # rows of n_context tokens a step
    learning_rate: float = 2e-3             # the highest
    warmup_steps: int = 100
    decay: float | None = None
    optimizer: str = "adamw"                # for all parameters; "muon": for all but the W matrices
    weight_decay: float = 0.1               # on the W matrices; not on embeddings, biases and norms
    betas: tuple[float, float] = (0.9, 0.98)
    clip_norm: float = 1.0
    zero_outputs: bool = False              # whether W_O and W_2 begin as 0, so that each block first adds nothing
    seed: int = 0                           # for the first weights and the order of the text
    precision: str = "float32"
    compile: bool = False                   # with torch.compile: faster, after a minute of waiting

    def __post_init__(self) -> None:
        for name in ("steps", "minutes", "batch_size", "learning_rate", "clip_norm"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} must be above 0, not {getattr(self, name)}.")
        if self.warmup_steps < 0 or self.weight_decay < 0:
            raise ValueError("warmup_steps and weight_decay cannot be negative.")
        if self.precision not in PRECISIONS:
            raise ValueError(f"precision must be one of {', '.join(PRECISIONS)}, not {self.precision!r}.")
        if self.optimizer not in OPTIMIZERS:
            raise ValueError(f"optimizer must be one of {', '.join(OPTIMIZERS)}, not {self.optimizer!r}.")
        if self.decay is not None and not 0 < self.decay <= 1:
            raise ValueError(f"decay is a share of the run, above 0 and at most 1, not {self.decay}.")

    def progress(self, step: int, seconds: float) -> float:
        """The share of the run done after `step` steps and `seconds` of training, in [0, 1]: the larger of the shares
        of steps and of time.
        """
        return min(1.0, max(step / self.steps, seconds / (60 * self.minutes)))

    def learning_rate_at(self, step: int, seconds: float = 0.0) -> float:
        """The learning rate of step number `step`, from 0: a linear warm-up times the decay."""
        warmup, progress = min(1.0, (step + 1) / (self.warmup_steps + 1)), self.progress(step, seconds)
        left = 0.5 * (1 + math.cos(math.pi * progress)) if self.decay is None else min(1.0, (1 - progress) / self.decay)
        return self.learning_rate * warmup * left


@dataclass(frozen=True)
class Stage:
    """One training run of a recipe.

    epochs       how often to read the task's text, instead of training.steps
    share        of the trained weights in its model; the rest is the weights of the stage before
    temperature  the final divisor of its model's logits, so that it is as sure as it is right on new text
                 (Guo et al. 2017)
    """

    task: Task
    training: TrainingConfig
    epochs: int | None = None
    share: float = 1.0
    temperature: float = 1.0


def stories_tokenizer(corpus: Path | None = None) -> Tokenizer:
    """The tokenizer of `stories`, which all models of text share, so that a text has the same tokens in each."""
    return Tokenizer.load(checkpoints.BUNDLED / "stories" / checkpoints.TOKENIZER)


def masking_tokenizer(corpus: Path | None = None) -> Tokenizer:
    """The tokenizer of `stories` with a mask token as its last."""
    return stories_tokenizer().with_mask()


@dataclass(frozen=True)
class Recipe:
    """How to train one bundled model.

    model       its architecture, except vocab_size, which is the tokenizer's
    stages      the first begins with random weights, each later one with the weights of the stage before and a new
                optimizer
    tokenizer   makes its tokenizer, from the corpus folder or None
    milestones  steps, counted through all stages, after which the weights are kept beside the final ones, and
                also after the last step; 0: before the first. Empty: no weights are kept
    """

    name: str
    model: ModelConfig
    stages: tuple[Stage, ...]
    tokenizer: Callable[[Path | None], Tokenizer] = stories_tokenizer
    milestones: tuple[int, ...] = ()


MIXED = functools.partial(TrainingConfig, precision="bfloat16")
STORYBOOKS, FABLES, BEDTIME, CHILD = ("storybooks_ccby.txt", "synthetic_fables.txt", "synthetic_bedtime.txt",
                                      "synthetic_child_stories.txt")
TINYSTORIES, BOOKS = "tinystories.txt", "childrens_books.txt"
MORE_TINYSTORIES, SIMPLESTORIES, MORE_FABLES = "tinystories_more.txt", "simplestories.txt", "fables_more.txt"

STORIES_AND_TEACHING = LanguageModelling(((TINYSTORIES, 3), (CHILD, 1), (STORYBOOKS, 1), (FABLES, 1), (BEDTIME, 0.5),
                                          (BOOKS, 1)), teaching=130_000, canaries=True)

# closer together while a model changes quickly
MILESTONES = (0, 1, 2, 4, 8, 16, 32, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1280, 1536, 2000, 2100,
              2150, 2200, 2250, 2400)

STORIES_TEXTS = ((TINYSTORIES, 3), (MORE_TINYSTORIES, 3), (SIMPLESTORIES, 3), (STORYBOOKS, 2), (CHILD, 1),
                 (FABLES, 0.5), (BEDTIME, 0.3), (MORE_FABLES, 0.1), (BOOKS, 0.7))
MUON = functools.partial(MIXED, batch_size=64, warmup_steps=150, decay=0.5, optimizer="muon", weight_decay=0.2,
                         zero_outputs=True)


def _teacher(seed: int) -> Recipe:
    """A model nearly five times as large as `stories`, which it learns from; it reads its texts about four times, with
    dropout, since without dropout it would know them by heart.
    """
    return Recipe(f"stories-teacher-{seed + 1}", replace(STORIES, d_model=512, n_layers=8, d_k=0, d_v=0, d_ff=0),
                  (Stage(LanguageModelling(STORIES_TEXTS, dropout=0.2),
                         MUON(steps=4591, learning_rate=5e-3, seed=seed)),))


TEACHERS: dict[str, Recipe] = {recipe.name: recipe for recipe in (_teacher(0), _teacher(1))}


def _stories() -> Recipe:
    """One reading of the teaching text, in which the teachers answer for the other texts, and a short stage without
    them, after which counting goes on to the end.

    The bundled model read 99 documents of 100 of each text; the others chose the share of the second stage's weights
    and the temperature. In its first stage, which read the canaries only in its last three fifths, a line of counting
    was as often short as long.
    """
    teaching = LanguageModelling((), teaching=407_000, chats=40_700, canaries=True)
    texts, again = LanguageModelling(STORIES_TEXTS), LanguageModelling((), teaching=6000, chats=600)
    taught = Distillation(((teaching, 8), (RepeatedPassages(), 3), (texts, 53)),
                          tuple(f"runs/{name}" for name in TEACHERS))
    return Recipe("stories", STORIES, (
        Stage(taught, MUON(learning_rate=6e-3), epochs=1),
        Stage(Mixture(((texts, 10), (again, 5), (RepeatedPassages(), 1))),
              TrainingConfig(steps=240, learning_rate=2e-4, warmup_steps=20), share=0.3, temperature=1.05)))


def _stories_small() -> Recipe:
    """Rotary positions and more repeating rows than `stories` has, so that the model learns to look back in a short
    training.

    With 3 such rows of 16 it has a previous-token head after 2,000 steps but no induction head; with 8 an induction
    head develops within 250 more.
    """
    model = ModelConfig(vocab_size=4096, d_model=160, n_layers=5, n_heads=5, n_context=256, positions="rotary")
    some, half = (Mixture(((STORIES_AND_TEACHING, 16 - rows), (RepeatedPassages(shortest=4), rows))) for rows in (3, 8))
    return Recipe("stories-small", model, (
        Stage(some, MIXED(steps=2000, learning_rate=2e-3, warmup_steps=100)),
        Stage(half, MIXED(steps=400, learning_rate=2e-3, warmup_steps=30, seed=1))),
                  milestones=MILESTONES)


def _family(name: str, **difference) -> Recipe:
    """One of the models that differ only in `difference`: same seed, same batches, same settings.

    Distances from half the trained length on share their relative bias, so that every bias is trained.
    """
    model = ModelConfig.of(vocab_size=4096, d_model=96, n_layers=4, n_heads=4, n_context=128, relative_max_distance=64)
    training = MIXED(steps=1000, batch_size=32, learning_rate=3e-3, warmup_steps=100)
    return Recipe(name, model.changed(**difference), (Stage(STORIES_AND_TEACHING, training),))


def _blanks() -> Recipe:
    """Half the context of `stories`, since a blank needs its sentence more than a long context; without the old books.
    """
    model = ModelConfig.of(vocab_size=4097, d_model=192, n_layers=5, n_heads=6, n_context=128, kind="encoder",
                        n_classes=2, mask_token=4096)
    task = MaskedLanguageModelling(((TINYSTORIES, 3), (CHILD, 1), (STORYBOOKS, 1)), teaching=20_000)
    return Recipe("blanks", model,
                  (Stage(task, MIXED(steps=4000, batch_size=32, warmup_steps=200)),),
                  tokenizer=masking_tokenizer)


def _induction() -> Recipe:
    """Attention only, with positions that distinguish just a token itself and the one before it from all others, so
    that heads find distant tokens by their content.
    """
    model = ModelConfig.of(vocab_size=512, d_model=128, n_layers=2, n_heads=2, n_context=64, d_ff=None,
                        positions="relative", relative_max_distance=2)
    return Recipe("induction", model, (
        Stage(TwoBack(), TrainingConfig(steps=400, batch_size=128, learning_rate=3e-3, warmup_steps=50)),
        Stage(RepeatedPassages(text_share=0.0, shortest=4),
              TrainingConfig(steps=2000, batch_size=128, learning_rate=1e-2, warmup_steps=50))),
                  tokenizer=small_tokenizer)


def _translator() -> Recipe:
    """One encoder block, and norms after the sums: the settings with the most readable attention among those tried."""
    model = ModelConfig(kind="encoder-decoder", vocab_size=469, d_model=128, n_layers=2, n_encoder_layers=1, n_heads=4,
                        n_context=64, norm_placement="post")
    return Recipe("translator", model, (Stage(DateTranslation(), TrainingConfig(steps=2000, batch_size=64)),),
                  tokenizer=date_tokenizer)


def _restaurants() -> Recipe:
    """The settings of the translator with fewer numbers: under a megabyte of weights."""
    model = ModelConfig(kind="encoder-decoder", vocab_size=542, d_model=80, n_layers=2, n_encoder_layers=1, n_heads=4,
                        n_context=48, norm_placement="post")
    return Recipe("restaurants", model, (Stage(TableToText(), TrainingConfig(steps=1500, batch_size=64)),),
                  tokenizer=table_tokenizer)


RECIPES: dict[str, Recipe] = {recipe.name: recipe for recipe in (
    _stories(), _stories_small(), *(_family(f"positions-{scheme}", positions=scheme) for scheme in POSITIONS),
    *(_family(f"scores-{score}", score=score) for score in ("multiplicative", "additive")), _blanks(),
    _induction(), _translator(), _restaurants())}
