"""Filling in blanks: tokens of a text are hidden, and a model that reads both sides of each says what stood there.

Masked language modelling as BERT does it (Devlin et al. 2019), on excerpts instead of packed rows; and the same model's
classification head, which reads the first token's final vector (end of text, in [CLS]'s place) and tells the sentiment
of a sentence. The encoder sees all of a row, so the rows of a batch have one length and nothing is filled up.
"""
import itertools
import random
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from core.model.tokenizer import BLANK, Tokenizer, encodable
from core.model.transformer import Transformer
from core.training import teaching_text
from core.training.corpus import IGNORE, read_documents
from core.training.language_modelling import TaskContext

HIDDEN_SHARE = 0.15                        # of the tokens of a row, at least one
# of the hidden ones: shown as a blank, as a random token; the rest as they are
MASKED, REPLACED = 0.8, 0.1
LONGEST_EXCERPT = 8                        # sentences
SENTENCE_START = re.compile(r"(?:(?<=[.!?])|(?<=[.!?][\"']))\s+(?=\S)")
QUOTED = re.compile('"(.*)"')
BRACKETED = re.compile(r"\[([^\[\]]+)\]")
CLASSIFIES = "[CLS]"                       # the place whose final vector is classified, by BERT's name for it
WRITTEN_MASK = re.compile(r"\[MASK\]|<mask>")     # as BERT and RoBERTa write a blank
CLASSES = ("negative", "positive")         # what the classification head's logits stand for
DOCUMENTS_AT_ONCE = 256


# ---- rows ------------------------------------------------------------------------------------------------------------


def excerpts(document: str, generator: np.random.Generator) -> list[str]:
    """The document cut between sentences into pieces of 1 to 8 of them, short pieces as likely as long ones
    (log-uniform).
    """
    starts = [0, *(match.end() for match in SENTENCE_START.finditer(document))]
    pieces, first = [], 0
    while first < len(starts):
        after = first + int((LONGEST_EXCERPT + 1) ** generator.random())
        pieces.append(document[starts[first]:starts[after] if after < len(starts) else None].strip())
        first = after
    return pieces


def sentiment_sentences(rng: random.Random) -> Iterator[tuple[str, int]]:
    """Sentences to train on without end, and the index of each one's sentiment in CLASSES; none is held out."""
    while True:
        exercise = teaching_text.sentiment(rng)
        if not exercise.held_out:
            yield labelled(exercise)


def labelled(exercise: teaching_text.Exercise) -> tuple[str, int]:
    """The bare sentence of a sentiment exercise, and the index of its sentiment.

    >>> labelled(teaching_text.Exercise("sentiment", 'The sentiment of the sentence "I love cake" is:', " positive"))
    ('I love cake', 1)
    """
    return QUOTED.search(exercise.prompt)[1], CLASSES.index(exercise.answer.strip())


def of_one_length(rows: Iterable[tuple[Sequence[int], int]], size: Callable[[int], int],
                  emptied: bool = False) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Rows of token ids, each with a number of its own, in groups of one length N: ids (B, N) and numbers (B,),
    with B = size(N).

    A group is given as soon as it is full; with `emptied`, smaller groups at the end too.
    """
    waiting: dict[int, list[tuple[Sequence[int], int]]] = {}
    for row, number in rows:
        alike = waiting.setdefault(len(row), [])
        alike.append((row, number))
        if len(alike) >= size(len(row)):
            yield _stacked(waiting.pop(len(row)))
    if emptied:
        yield from (_stacked(waiting[length]) for length in sorted(waiting))


def _stacked(rows: Sequence[tuple[Sequence[int], int]]) -> tuple[np.ndarray, np.ndarray]:
    return np.array([row for row, _ in rows], dtype=np.int64), np.array([number for _, number in rows], dtype=np.int64)


def hide(rows: np.ndarray, tokenizer: Tokenizer, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """inputs and targets (B, N) from rows (B, N) of token ids, each with what texts of this tokenizer begin and end
    with: 15 % of a row's other tokens are targets, all other targets IGNORE.

    Of the targets, 80 % are shown as the mask token, 10 % as a token drawn uniformly from those of text, and 10 % as
    they are. Raises ValueError for rows with nothing to hide.
    """
    n_rows, first = rows.shape[0], len(tokenizer.begin)
    n = rows.shape[1] - first - len(tokenizer.end)
    if n < 1:
        raise ValueError("A row needs a token besides its first and last ones, to hide it.")
    chosen = first + generator.random((n_rows, n)).argsort(axis=1)[:, :max(1, round(HIDDEN_SHARE * n))]
    hidden = np.take_along_axis(rows, chosen, axis=1)
    ordinary = np.array(tokenizer.text_tokens)
    fate = generator.random(chosen.shape)
    shown = np.where(fate < MASKED, tokenizer.mask_token,
                     np.where(fate < MASKED + REPLACED, generator.choice(ordinary, chosen.shape), hidden))
    inputs, targets = rows.copy(), np.full_like(rows, IGNORE)
    np.put_along_axis(inputs, chosen, shown, axis=1)
    np.put_along_axis(targets, chosen, hidden, axis=1)
    return inputs, targets


# ---- the task --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class BlanksBatch:
    """inputs and targets (B, N), as `hide` makes them; and sentences (C, M), token ids with nothing hidden, of the
    classes `labels` (C,).
    """

    inputs: np.ndarray
    targets: np.ndarray
    sentences: np.ndarray
    labels: np.ndarray

    @property
    def n_targets(self) -> int:
        """How many hidden tokens and labels there are to tell."""
        return int((self.targets != IGNORE).sum()) + len(self.labels)


@dataclass(frozen=True)
class MaskedLanguageModelling:
    """Filling in hidden tokens of text, and telling the sentiment of sentences beside it.

    texts      (file of the corpus, how often each of its documents is read an epoch)
    teaching   that many documents of core.training.teaching_text besides
    sentences  to classify in each batch
    measured   file of the corpus that is never trained on, to measure on; as many of its sentences' sentiments as
               measured_sentences
    """

    texts: tuple[tuple[str, float], ...]
    teaching: int = 0
    sentences: int = 32
    measured: str = "heldout_tinystories.txt"
    measured_sentences: int = 400

    def batches(self, context: TaskContext) -> Iterator[BlanksBatch]:
        """Batches of as many tokens as batch_size rows of n_context have, whatever their length."""
        generator, tokenizer, n_context = (np.random.default_rng([context.seed, 1]), context.tokenizer,
                                           context.model.n_context)
        texts = of_one_length(_rows(self._excerpts(context), tokenizer, n_context),
                              lambda length: max(1, context.batch_size * n_context // length))
        sentences = of_one_length(_rows(sentiment_sentences(random.Random(context.seed)), tokenizer, n_context),
                                  lambda length: self.sentences)
        for (rows, _), (read, labels) in zip(texts, sentences):
            yield BlanksBatch(*hide(rows, tokenizer, generator), read, labels)

    def _excerpts(self, context: TaskContext) -> Iterator[tuple[str, int]]:
        """Excerpts without end, epoch after epoch, the documents of each by their weights and in random order."""
        sources = [(_read(context.corpus, name), weight) for name, weight in self.texts]
        generator = np.random.default_rng(context.seed)
        if self.teaching:
            sources.append((teaching_text.documents(self.teaching), 1.0))
        while True:
            epoch = [document for documents, weight in sources for document in _as_often(documents, weight, generator)]
            for i in generator.permutation(len(epoch)):
                yield from ((piece, 0) for piece in excerpts(epoch[i], generator))

    def loss(self, model: Transformer, batch: BlanksBatch) -> Tensor:
        """Mean −log p over hidden tokens and labels together: each counts as one."""
        hidden = batch.targets != IGNORE
        # of the hidden tokens alone: a seventh of the work
        logits = model.logits_of(model.final_vectors(batch.inputs)[hidden])
        nats = F.cross_entropy(logits.float(), batch.targets[hidden], reduction="sum")
        nats = nats + F.cross_entropy(model.class_logits(batch.sentences).float(), batch.labels, reduction="sum")
        return nats / batch.n_targets

    @torch.no_grad()
    def held_out(self, model: Transformer, context: TaskContext) -> dict[str, float]:
        """Nats per hidden token of the measured file, always the same ones, and per label of held-out sentences; and
        the share told right of each.
        """
        name = Path(self.measured).stem
        blanks, labels = (held_out_blanks(model, context.tokenizer, _read(context.corpus, self.measured)),
                          held_out_sentiment(model, context.tokenizer, self.measured_sentences))
        return {name: blanks.nats, f"{name}, right": blanks.right, "sentiment": labels.nats,
                "sentiment, right": labels.right}


def _read(folder: Path | None, name: str) -> list[str]:
    if folder is None:
        raise ValueError(f"This training reads {name}: say in which folder it lies (--corpus).")
    return read_documents(folder / name)


def _as_often(documents: Sequence[str], weight: float, generator: np.random.Generator) -> list[str]:
    """Every document as often as the weight's whole part says, and a random part of them once more by its fraction."""
    more = generator.permutation(len(documents))[:round((weight - int(weight)) * len(documents))]
    return [*documents] * int(weight) + [documents[i] for i in more]


def _rows(texts: Iterable[tuple[str, int]], tokenizer: Tokenizer, n_context: int) -> Iterator[tuple[list[int], int]]:
    """The texts as rows of token ids that begin with end of text; what does not fit is left out, and so are texts
    without a token.
    """
    for text, number in texts:
        if ids := tokenizer.encode(text):
            yield [tokenizer.end_of_text, *ids[:n_context - 1]], number


# ---- what such a model can do ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Score:
    """Mean −log p of the true answer in nats, and the share of n answers where it was the most probable."""

    nats: float
    right: float
    n: int


def _score(answers: Iterable[tuple[Tensor, Tensor]]) -> Score:
    """From pairs of logits (n, k) and true answers (n,)."""
    logits, true = (torch.cat(parts) for parts in zip(*answers))
    return Score(float(F.cross_entropy(logits, true)), float((logits.argmax(-1) == true).double().mean()), len(true))


@torch.no_grad()
def held_out_blanks(model: Transformer, tokenizer: Tokenizer, documents: Sequence[str], seed: int = 0) -> Score:
    """How well the model tells the hidden tokens of the documents' excerpts, hidden as in training; the same seed hides
    the same ones.
    """
    generator, n_context = np.random.default_rng(seed), model.config.n_context
    pieces = [(piece, 0) for document in documents for piece in excerpts(document, generator)]

    def answers() -> Iterator[tuple[Tensor, Tensor]]:
        for rows, _ in of_one_length(_rows(pieces, tokenizer, n_context), lambda length: 64, emptied=True):
            inputs, targets = (torch.from_numpy(a).to(model.device) for a in hide(rows, tokenizer, generator))
            hidden = targets != IGNORE
            yield model.logits_of(model.final_vectors(inputs)[hidden]), targets[hidden]

    return _score(answers())


@torch.no_grad()
def held_out_sentiment(model: Transformer, tokenizer: Tokenizer, n: int) -> Score:
    """How well the classification head tells the sentiment of n sentences that no training meets."""
    sentences = [labelled(exercise) for exercise in teaching_text.held_out("sentiment", n)]
    groups = of_one_length(_rows(sentences, tokenizer, model.config.n_context), lambda length: 64, emptied=True)
    return _score((model.class_logits(torch.from_numpy(ids).to(model.device)),
                   torch.from_numpy(labels).to(model.device)) for ids, labels in groups)


@dataclass(frozen=True)
class Blank:
    """A blank at `position` of a text, and how probable the model holds each token to stand there: probabilities
    (|V|,), which sum to 1.
    """

    position: int
    probabilities: Tensor


@torch.no_grad()
def fill_blanks(model: Transformer, token_ids: Sequence[int]) -> tuple[Blank, ...]:
    """What could stand in each blank (mask token) of token_ids, first to last; none if there is no blank.

    Each distribution is that of its blank alone, with the others left blank: for two blanks, the best of each
    need not go together. Raises ValueError for a model that knows no mask token, and as the model does for ids
    that it cannot read.
    """
    if model.config.mask_token is None:
        raise ValueError("This model was not trained to fill in blanks.")
    ids = torch.tensor(token_ids, device=model.device)
    positions = (ids == model.config.mask_token).nonzero()[:, 0]
    probabilities = torch.softmax(model.logits(ids)[positions], dim=-1)
    return tuple(Blank(int(position), p) for position, p in zip(positions, probabilities))


# ---- a text whose hidden words are marked in it ----------------------------------------------------------------------


@dataclass(frozen=True)
class MarkedText:
    """A text for such a model. token_ids: with what the tokenizer's texts begin and end with, and a mask token where
    nobody knows what stood there; `hidden`: the positions of tokens that are known and to be hidden; n_cut tokens at
    the text's end did not fit.

    plain: the text without brackets; spans: where in it each token stands, (start, end) in characters, (0, 0) for what
    begins and ends it.
    """

    token_ids: tuple[int, ...]
    hidden: tuple[int, ...]
    n_cut: int
    plain: str
    spans: tuple[tuple[int, int], ...]


def marked_text(text: str, tokenizer: Tokenizer, n_context: int) -> MarkedText:
    """The text without its marks: what stands in [brackets] is to be hidden; ____, [MASK] and <mask> are blanks of
    unknown content.

    Every token that shares a character with a bracket's content is hidden. Raises ValueError if this vocabulary has
    no mask token.
    """
    if tokenizer.mask_token is None:
        raise ValueError("This vocabulary has no token for a blank.")
    pieces = BRACKETED.split(WRITTEN_MASK.sub("____", encodable(text)))
    plain, marks = "", []
    for i, piece in enumerate(pieces):
        if i % 2:
            marks.append((len(plain), len(plain) + len(piece)))
        plain += piece
    found = _with_blanks(plain, tokenizer)
    kept = found[:max(0, n_context - len(tokenizer.begin) - len(tokenizer.end))]
    ids = (*tokenizer.begin, *(token_id for token_id, _, _ in kept), *tokenizer.end)
    spans = (*((0, 0) for _ in tokenizer.begin), *((start, end) for _, start, end in kept),
             *((0, 0) for _ in tokenizer.end))
    hidden = tuple(i for i, (start, end) in enumerate(spans)
                   if ids[i] != tokenizer.mask_token and any(start < stop and first < end for first, stop in marks))
    return MarkedText(ids, hidden, len(found) - len(kept), plain, spans)


def _with_blanks(plain: str, tokenizer: Tokenizer) -> list[tuple[int, int, int]]:
    """(id, start, end) of every token of a text in which runs of underscores are blanks."""
    found, at = [], 0
    for part in re.split(f"({BLANK.pattern})", plain):
        here = [(tokenizer.mask_token, 0, len(part))] if BLANK.fullmatch(part) else tokenizer.spans(part)
        found += [(token_id, at + start, at + end) for token_id, start, end in here]
        at += len(part)
    return found


def can_be_marked(token_id: int, tokenizer: Tokenizer) -> bool:
    """Whether brackets can stand around the token: it is whole characters, and none of them a bracket."""
    piece = tokenizer.decode([token_id])
    return bool(piece) and "\ufffd" not in piece and not set(piece) & set("[]")


def with_marks(marked: MarkedText) -> str:
    """The text that `marked_text` reads as this: brackets around hidden tokens, without the space before them."""
    pieces, at = [], 0
    for _, run in itertools.groupby(enumerate(marked.hidden), lambda entry: entry[1] - entry[0]):      # neighbours
        places = [marked.spans[position] for _, position in run]
        start, end = max(at, places[0][0]), places[-1][1]
        # parts of a character that is marked already
        if start >= end:
            continue
        start += (len(marked.plain[start:end]) - len(marked.plain[start:end].lstrip(" "))
                  if marked.plain[start:end].strip(" ") else 0)
        pieces += [marked.plain[at:start], f"[{marked.plain[start:end]}]"]
        at = end
    return "".join((*pieces, marked.plain[at:]))
