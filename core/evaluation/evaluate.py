"""All measures of one model, one after the other."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from core.analysis.induction import Induction, induction
from core.analysis.statistics import Calibration
from core.evaluation.lengths import LONG_TEXT, Stretch, stretches
from core.evaluation.losses import TextScore, calibration, text_scores
from core.evaluation.memorisation import PROMPT_TOKENS, Recitation, Verbatim, recitations, verbatim
from core.evaluation.reproducibility import Repetition, repetition
from core.evaluation.samples import Distinct, Sample, distinct, document_continuations, openings, samples
from core.evaluation.teaching_tasks import CHOSEN, WRITTEN, TaskScore, task_scores
from core.model.tokenizer import Tokenizer
from core.model.transformer import Transformer
from core.training import corpus, teaching_text

NEVER_TRAINED_ON = ("heldout_", "out_of_domain_")
STORIES = "heldout_tinystories"         # the held-out text that is most like what the model writes
TEACHING = "teaching text"


@dataclass(frozen=True)
class Sizes:
    """How much of everything is measured."""

    exercises: int = 200                # of each task
    sequences: int = 64                 # random ones, for induction
    samples: int = 100                  # and as many continuations of training documents
    tokens: int = 100                   # of each sample
    beginning: int = 32                 # tokens of a training document that are continued
    steps: int = 50                     # of the training that is repeated


@dataclass(frozen=True)
class Corpus:
    """Training files as token ids, and the documents of each held-out file by its name."""

    training: corpus.Source
    held_out: dict[str, list[str]]

    @classmethod
    def read(cls, folder: Path, tokenizer: Tokenizer) -> Corpus:
        """From a folder's .txt files: heldout_* and out_of_domain_* were never trained on.

        Raises ValueError if either kind is missing.
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
    """What was measured; without a corpus, `losses`, `lengths` and `verbatim` are empty, and calibration is that on
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
             say: Callable[[str], None] = lambda what: None) -> Evaluation:
    """Everything; with `texts` the losses and the longest verbatim runs too, and real stories to compare with.

    `say` is told what comes next.

    Minutes. Raises ValueError for a model that sees the future.
    """
    if model.config.mask == "bidirectional":
        raise ValueError("These measures are of models that read from left to right.")
    say("the teaching tasks")
    tasks = tuple(task_scores(model, tokenizer, sizes.exercises))
    say("induction")
    repeated = induction(model, sizes.sequences)
    say("calibration")
    calibration_text, documents = _calibration_documents(tokenizer, texts, sizes)
    calibrated = calibration(model, documents)
    say("samples")
    written = sorted(samples(model, tokenizer, openings(), sizes.samples, sizes.tokens),
                     key=lambda sample: sample.place)
    say("memorisation")
    recited = tuple(recitations(model, tokenizer, teaching_text.canaries()))
    say("the same seed again")
    again = repetition(tokenizer, sizes.steps)
    own = [sample.token_ids for sample in written]
    stories = _story_pieces(tokenizer, texts, sizes)
    losses, lengths, runs = (), (), ()
    if texts:
        say("the held-out losses")
        losses = tuple(text_scores(model, tokenizer, texts.training, texts.held_out))
        if LONG_TEXT in texts.held_out:
            say("the loss by position")
            lengths = stretches(model, corpus.tokenize(texts.held_out[LONG_TEXT], tokenizer).documents)
        say("the longest runs from the training text")
        copied = document_continuations(model, texts.training.documents, sizes.samples, sizes.beginning, sizes.tokens)
        runs = verbatim({"openings": own, "beginnings": list(copied)} | stories, texts.training.documents, tokenizer)
    return Evaluation(model.n_parameters, tokenizer.vocab_size, sizes, tasks,
                      repeated, calibration_text, calibrated, tuple(written),
                      tuple(distinct(of, pieces) for of, pieces in ({"samples": own} | stories).items()), recited,
                      again, losses, lengths, runs)


def _calibration_documents(tokenizer: Tokenizer, texts: Corpus | None,
                           sizes: Sizes) -> tuple[str, Sequence[np.ndarray]]:
    """What calibration is measured on, by name: held-out stories, or held-out exercises, of every kind a quarter as
    many as of a task.
    """
    if texts and STORIES in texts.held_out:
        return STORIES, corpus.tokenize(texts.held_out[STORIES], tokenizer).documents
    exercises = [e for kind in dict.fromkeys(WRITTEN + CHOSEN)
                 for e in teaching_text.held_out(kind, max(1, sizes.exercises // 4))]
    return TEACHING, corpus.tokenize([exercise.text for exercise in exercises], tokenizer).documents


def _story_pieces(tokenizer: Tokenizer, texts: Corpus | None, sizes: Sizes) -> dict[str, list[Sequence[int]]]:
    """Pieces of the held-out stories like the samples: as many and as long, each from after its first tokens on;
    nothing without them.
    """
    if not texts or STORIES not in texts.held_out:
        return {}
    documents = corpus.tokenize(texts.held_out[STORIES], tokenizer).documents
    return {STORIES: [document[PROMPT_TOKENS:][:sizes.tokens].tolist() for document in documents[:sizes.samples]]}
