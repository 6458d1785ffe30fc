"""All measures of one model."""
from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from core.analysis.induction import Induction, induction
from core.analysis.statistics import Calibration, calibrate
from core.evaluation.lengths import LONG_TEXT, Stretch, stretches
from core.evaluation.losses import TextScore, text_scores, top_predictions
from core.evaluation.memorisation import PROMPT_TOKENS, Recitation, Verbatim, recitations, verbatim
from core.evaluation.reproducibility import Repetition, repetition
from core.evaluation.samples import Distinct, Sample, distinct, document_continuations, openings, samples
from core.evaluation.teaching_tasks import CHOSEN, WRITTEN, TaskScore, task_scores
from core.model.tokenizer import Tokenizer
from core.model.transformer import Transformer
from core.training import corpus, teaching_text

NEVER_TRAINED_ON = ("heldout_", "out_of_domain_")
STORIES = "heldout_tinystories"         # the held-out text most like the model's own texts
TEACHING = "teaching text"


@dataclass(frozen=True)
class Sizes:
    """The numbers of exercises, sequences, samples, tokens and steps of the measures."""

    exercises: int = 200                # of each task
    sequences: int = 64                 # random ones, for induction
    samples: int = 100                  # and as many continuations of training documents
    tokens: int = 100                   # of each sample
    beginning: int = 32                 # tokens of a training document before its continuation
    steps: int = 50                     # of each of the two equal trainings


@dataclass(frozen=True)
class Corpus:
    """Training files as token ids, and the documents of each held-out file by its name."""

    training: corpus.Source
    held_out: dict[str, list[str]]

    @classmethod
    def read(cls, folder: Path, tokenizer: Tokenizer) -> Corpus:
        """Read a folder's .txt files; heldout_* and out_of_domain_* were never trained on.

        Raises ValueError if there are none of these or none of the others.
        """
        files = sorted(folder.glob("*.txt"))
        held_out = [path for path in files if path.name.startswith(NEVER_TRAINED_ON)]
        training = [path for path in files if path not in held_out]
        if not held_out or not training:
            raise ValueError(f"{folder} must hold .txt files to train on and others named heldout_* or "
                             f"out_of_domain_*.")
        texts = [text for path in training for text in corpus.read_documents(path)]
        return cls(corpus.tokenize(texts, tokenizer), {path.stem: corpus.read_documents(path) for path in held_out})


@dataclass(frozen=True)
class Evaluation:
    """The results. Without a corpus, `losses`, `lengths` and `verbatim` are empty, and the calibration is measured on
    teaching text.
    """

    n_parameters: int
    vocab_size: int
    sizes: Sizes
    tasks: tuple[TaskScore, ...]
    induction: Induction
    calibration_text: str
    calibration: Calibration
    samples: tuple[Sample, ...]
    distinct: tuple[Distinct, ...]
    recitations: tuple[Recitation, ...]
    repetition: Repetition
    losses: tuple[TextScore, ...] = ()
    lengths: tuple[Stretch, ...] = ()
    verbatim: tuple[Verbatim, ...] = ()


def evaluate(model: Transformer, tokenizer: Tokenizer, texts: Corpus | None = None, sizes: Sizes = Sizes(),
             say: Callable[[str], None] = lambda name: None) -> Evaluation:
    """Take all measures, within minutes; with `texts` also the losses, the longest verbatim runs and the distinctness
    of real stories beside the samples' distinctness.

    `say` is called with the name of each measure before it begins. Raises ValueError for a bidirectional model.
    """
    if model.config.mask.startswith("bidirectional"):
        raise ValueError("These measures are of models that read from left to right.")
    say("the teaching tasks")
    tasks = tuple(task_scores(model, tokenizer, sizes.exercises))
    say("induction")
    heads = induction(model, sizes.sequences)
    say("calibration")
    stories = corpus.tokenize(texts.held_out.get(STORIES, []) if texts else [], tokenizer).documents
    calibration = calibrate(*top_predictions(model, stories or _held_out_exercises(tokenizer, sizes.exercises)))
    say("samples")
    drawn = sorted(samples(model, tokenizer, openings(), sizes.samples, sizes.tokens), key=lambda sample: sample.place)
    say("memorisation")
    passages = tuple(recitations(model, tokenizer, teaching_text.canaries()))
    say("the same seed again")
    rerun = repetition(tokenizer, sizes.steps)
    ids = [sample.token_ids for sample in drawn]
    # pieces of the held-out stories, as many and as long as the samples, each without the story's first tokens
    pieces = [story[PROMPT_TOKENS:][:sizes.tokens].tolist() for story in stories[:sizes.samples]]
    real = {STORIES: pieces} if stories else {}
    losses, lengths, runs = (), (), ()
    if texts:
        say("the held-out losses")
        losses = tuple(text_scores(model, tokenizer, texts.training, texts.held_out))
        if LONG_TEXT in texts.held_out:
            say("the loss by position")
            lengths = stretches(model, corpus.tokenize(texts.held_out[LONG_TEXT], tokenizer).documents)
        say("the longest runs from the training text")
        documents = texts.training.documents
        new = document_continuations(model, documents, sizes.samples, sizes.beginning, sizes.tokens)
        runs = verbatim({"openings": ids, "beginnings": list(new)} | real, documents, tokenizer)
    return Evaluation(model.n_parameters, tokenizer.vocab_size, sizes, tasks, heads,
                      STORIES if stories else TEACHING, calibration, tuple(drawn),
                      tuple(itertools.starmap(distinct, ({"samples": ids} | real).items())), passages, rerun,
                      losses, lengths, runs)


def _held_out_exercises(tokenizer: Tokenizer, n: int) -> Sequence[np.ndarray]:
    """Return n // 4 held-out exercises of every kind as token ids."""
    exercises = [exercise for kind in dict.fromkeys(WRITTEN + CHOSEN)
                 for exercise in teaching_text.held_out(kind, max(1, n // 4))]
    return corpus.tokenize([exercise.text for exercise in exercises], tokenizer).documents
