"""Filling in blanks: a model that reads both sides of hidden tokens predicts them.

This is masked language modelling as in BERT (Devlin et al. 2019), on excerpts instead of packed rows. The model also
has a classification head, which reads the final vector of the first token (end of text, in place of [CLS]) and predicts
the sentiment of a sentence. The encoder sees all of a row, so the rows of a batch have one length, without padding.
"""
import itertools
import random
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from core.model.tokenizer import BLANK, Tokenizer, encodable
from core.model.transformer import Transformer
from core.training import teaching_text
from core.training.corpus import IGNORE, Batch, Source, corpus_documents, epoch_documents, of_one_length, stacked
from core.training.language_modelling import TaskContext
from core.training.loss import Score, to_tensors

HIDDEN_SHARE = 0.15                        # share of a row's tokens, at least one token
# shares of the hidden tokens that become a blank and a random token; the rest stay as they are
MASKED, REPLACED = 0.8, 0.1
LONGEST_EXCERPT = 8                        # sentences
SENTENCE_START = re.compile(r"(?:(?<=[.!?])|(?<=[.!?][\"']))\s+(?=\S)")
QUOTED = re.compile('"(.*)"')
BRACKETED = re.compile(r"\[([^\[\]]+)\]")
CLASSIFIES = "[CLS]"                       # BERT's name for the place whose final vector is classified
WRITTEN_MASK = re.compile(r"\[MASK\]|<mask>")     # the blanks of BERT and RoBERTa
CLASSES = ("negative", "positive")         # in the order of the classification head's logits


# ---- rows ------------------------------------------------------------------------------------------------------------


def excerpts(document: str, generator: np.random.Generator) -> list[str]:
    """Cut the document between sentences into pieces of 1 to 8 sentences, log-uniformly: short pieces are as likely as
    long ones.
    """
    starts = [0, *(match.end() for match in SENTENCE_START.finditer(document))]
    pieces, first = [], 0
    while first < len(starts):
        after = first + int((LONGEST_EXCERPT + 1) ** generator.random())
        pieces.append(document[starts[first]:starts[after] if after < len(starts) else None].strip())
        first = after
    return pieces


def sentiment_sentences(rng: random.Random) -> Iterator[tuple[str, int]]:
    """Yield without end sentences that are not held out, with the index of their sentiment in CLASSES."""
    while True:
        exercise = teaching_text.sentiment(rng)
        if not exercise.held_out:
            yield labelled(exercise)


def labelled(exercise: teaching_text.Exercise) -> tuple[str, int]:
    """Return the bare sentence of a sentiment exercise, and the index of its sentiment.

    >>> labelled(teaching_text.Exercise("sentiment", 'The sentiment of the sentence "I love cake" is:', " positive"))
    ('I love cake', 1)
    """
    return QUOTED.search(exercise.prompt)[1], CLASSES.index(exercise.answer.strip())


def hide(rows: np.ndarray, tokenizer: Tokenizer, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return inputs and targets (B, N) from rows (B, N) of token ids with the tokenizer's begin and end: 15 % of a
    row's other tokens are targets, all other targets IGNORE.

    80 % of the targets become the mask token in the inputs, 10 % a token drawn uniformly from text tokens, and 10 %
    stay. Raises ValueError for rows without a token to hide.
    """
    n_rows, first = rows.shape[0], len(tokenizer.begin)
    n = rows.shape[1] - first - len(tokenizer.end)
    if n < 1:
        raise ValueError("A row needs a token besides its first and last ones, to hide it.")
    chosen = first + generator.random((n_rows, n)).argsort(axis=1)[:, :max(1, round(HIDDEN_SHARE * n))]
    hidden = np.take_along_axis(rows, chosen, axis=1)
    ordinary = np.array(tokenizer.text_tokens)
    fate = generator.random(chosen.shape)
    replacements = np.where(fate < MASKED, tokenizer.mask_token,
                            np.where(fate < MASKED + REPLACED, generator.choice(ordinary, chosen.shape), hidden))
    inputs, targets = rows.copy(), np.full_like(rows, IGNORE)
    np.put_along_axis(inputs, chosen, replacements, axis=1)
    np.put_along_axis(targets, chosen, hidden, axis=1)
    return inputs, targets


# ---- the task --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class BlanksBatch(Batch):
    """inputs and targets (B, N) of `hide`, and sentences (C, M), token ids without hidden tokens, with their classes
    `labels` (C,).
    """

    sentences: np.ndarray
    labels: np.ndarray

    @property
    def n_targets(self) -> int:
        """The number of hidden tokens and labels to predict."""
        return super().n_targets + len(self.labels)


@dataclass(frozen=True)
class MaskedLanguageModelling:
    """Predicting hidden tokens of text and, beside it, the sentiment of sentences.

    texts      (file of the corpus, how often each of its documents is read an epoch)
    teaching   the number of additional documents, of core.training.teaching_text
    sentences  the number of sentences to classify in each batch
    measured   the file of the corpus for the held-out loss, never trained on
    measured_sentences  the number of held-out sentences to classify
    """

    texts: tuple[tuple[str, float], ...]
    teaching: int = 0
    sentences: int = 32
    measured: str = "heldout_tinystories.txt"
    measured_sentences: int = 400

    def batches(self, context: TaskContext) -> Iterator[BlanksBatch]:
        """Yield batches without end, each of about batch_size · n_context tokens, whatever the length of its rows."""
        generator, tokenizer, n_context = (np.random.default_rng([context.seed, 1]), context.tokenizer,
                                           context.model.n_context)
        texts = of_one_length(_rows(self._excerpts(context), tokenizer, n_context),
                              lambda length: max(1, context.batch_size * n_context // length))
        sentences = of_one_length(_rows(sentiment_sentences(random.Random(context.seed)), tokenizer, n_context),
                                  lambda length: self.sentences)
        for rows, labels in zip(map(stacked, texts), map(stacked, sentences)):
            yield BlanksBatch(*hide(rows.inputs, tokenizer, generator), labels.inputs, labels.targets)

    def _excerpts(self, context: TaskContext) -> Iterator[tuple[str, int]]:
        """Yield excerpts without end, epoch after epoch, from the weighted documents in random order."""
        sources = [Source(tuple(corpus_documents(context.corpus, name)), weight) for name, weight in self.texts]
        sources.append(Source(tuple(teaching_text.documents(self.teaching))))
        generator = np.random.default_rng(context.seed)
        while True:
            for document in epoch_documents(sources, generator):
                yield from ((piece, 0) for piece in excerpts(document, generator))

    def loss(self, model: Transformer, batch: BlanksBatch) -> Tensor:
        """Mean −log p over hidden tokens and labels together, each counting as one."""
        hidden = batch.targets != IGNORE
        # only for the hidden tokens: a seventh of the work
        logits = model.logits_of(model.final_vectors(batch.inputs)[hidden])
        nats = F.cross_entropy(logits.float(), batch.targets[hidden], reduction="sum")
        nats = nats + F.cross_entropy(model.class_logits(batch.sentences).float(), batch.labels, reduction="sum")
        return nats / batch.n_targets

    @torch.no_grad()
    def held_out(self, model: Transformer, context: TaskContext) -> dict[str, float]:
        """Return nats per hidden token of the measured file (always the same tokens) and per label of held-out
        sentences, and the share of each predicted right.
        """
        name = Path(self.measured).stem
        blanks, labels = (held_out_blanks(model, context.tokenizer, corpus_documents(context.corpus, self.measured)),
                          held_out_sentiment(model, context.tokenizer, self.measured_sentences))
        return {name: blanks.nats, f"{name}, right": blanks.right, "sentiment": labels.nats,
                "sentiment, right": labels.right}


def _rows(texts: Iterable[tuple[str, int]], tokenizer: Tokenizer, n_context: int) -> Iterator[tuple[list[int], int]]:
    """Yield the texts as rows of token ids that begin with end of text, cut to the context, without empty texts."""
    for text, number in texts:
        if ids := tokenizer.encode(text):
            yield [tokenizer.end_of_text, *ids[:n_context - 1]], number


# ---- scores ----------------------------------------------------------------------------------------------------------


@torch.no_grad()
def held_out_blanks(model: Transformer, tokenizer: Tokenizer, documents: Sequence[str]) -> Score:
    """Score the model's predictions of hidden tokens in excerpts of the documents, hidden as in training, the same ones
    each time.
    """
    generator, n_context = np.random.default_rng(0), model.config.n_context
    pieces = [(piece, 0) for document in documents for piece in excerpts(document, generator)]

    def answers() -> Iterator[tuple[Tensor, Tensor]]:
        for group in of_one_length(_rows(pieces, tokenizer, n_context), lambda length: 64, emptied=True):
            batch = to_tensors(Batch(*hide(stacked(group).inputs, tokenizer, generator)), model.device)
            hidden = batch.targets != IGNORE
            yield model.logits_of(model.final_vectors(batch.inputs)[hidden]), batch.targets[hidden]

    return Score.of(answers())


@torch.no_grad()
def held_out_sentiment(model: Transformer, tokenizer: Tokenizer, n: int) -> Score:
    """Score the classification head on the sentiment of n held-out sentences."""
    sentences = [labelled(exercise) for exercise in teaching_text.held_out("sentiment", n)]
    groups = of_one_length(_rows(sentences, tokenizer, model.config.n_context), lambda length: 64, emptied=True)
    batches = (to_tensors(stacked(group), model.device) for group in groups)
    return Score.of((model.class_logits(batch.inputs), batch.targets) for batch in batches)


# ---- a text with marks around its hidden words -----------------------------------------------------------------------


@dataclass(frozen=True)
class MarkedText:
    """A text for such a model. token_ids: with the tokenizer's begin and end, and a mask token for each blank of
    unknown content; hidden: the positions of known tokens to hide; n_cut: the number of tokens at the end that did not
    fit.

    plain: the text without brackets; spans: the (start, end) of each token in it, in characters, (0, 0) for begin and
    end.
    """

    token_ids: tuple[int, ...]
    hidden: tuple[int, ...]
    n_cut: int
    plain: str
    spans: tuple[tuple[int, int], ...]


def marked_text(text: str, tokenizer: Tokenizer, n_context: int) -> MarkedText:
    """Parse the marks of a text: text in [brackets] is to be hidden; ____, [MASK] and <mask> are blanks of unknown
    content.

    Every token that shares a character with the text in brackets is hidden. Raises ValueError if the vocabulary has no
    mask token.
    """
    if tokenizer.mask_token is None:
        raise ValueError("This vocabulary has no token for a blank.")
    pieces = BRACKETED.split(WRITTEN_MASK.sub("____", encodable(text)))
    plain, marks = "", []
    for i, piece in enumerate(pieces):
        if i % 2:
            marks.append((len(plain), len(plain) + len(piece)))
        plain += piece
    tokens = _with_blanks(plain, tokenizer)
    kept = tokens[:max(0, n_context - len(tokenizer.begin) - len(tokenizer.end))]
    ids = (*tokenizer.begin, *(token_id for token_id, _, _ in kept), *tokenizer.end)
    spans = (*((0, 0) for _ in tokenizer.begin), *((start, end) for _, start, end in kept),
             *((0, 0) for _ in tokenizer.end))
    hidden = tuple(i for i, (start, end) in enumerate(spans)
                   if ids[i] != tokenizer.mask_token and any(start < stop and first < end for first, stop in marks))
    return MarkedText(ids, hidden, len(tokens) - len(kept), plain, spans)


def _with_blanks(plain: str, tokenizer: Tokenizer) -> list[tuple[int, int, int]]:
    """Return (id, start, end) of every token of a text whose runs of underscores are blanks."""
    tokens, at = [], 0
    for part in re.split(f"({BLANK.pattern})", plain):
        part_tokens = [(tokenizer.mask_token, 0, len(part))] if BLANK.fullmatch(part) else tokenizer.spans(part)
        tokens += [(token_id, at + start, at + end) for token_id, start, end in part_tokens]
        at += len(part)
    return tokens


def can_be_marked(token_id: int, tokenizer: Tokenizer) -> bool:
    """Whether the token can be put in brackets: it consists of whole characters, none of them a bracket."""
    piece = tokenizer.decode([token_id])
    return bool(tokenizer.token_bytes(token_id)) and "\ufffd" not in piece and not set(piece) & set("[]")


def with_marks(marked: MarkedText) -> str:
    """Return the text that `marked_text` parses into `marked`: brackets around hidden tokens, after their space."""
    pieces, at = [], 0
    for _, run in itertools.groupby(enumerate(marked.hidden), lambda entry: entry[1] - entry[0]):      # neighbours
        places = [marked.spans[position] for _, position in run]
        start, end = max(at, places[0][0]), places[-1][1]
        # these tokens are parts of a character that is already marked
        if start >= end:
            continue
        start += (len(marked.plain[start:end]) - len(marked.plain[start:end].lstrip(" "))
                  if marked.plain[start:end].strip(" ") else 0)
        pieces += [marked.plain[at:start], f"[{marked.plain[start:end]}]"]
        at = end
    return "".join((*pieces, marked.plain[at:]))
