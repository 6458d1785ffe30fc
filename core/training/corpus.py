"""Training text: documents read from files, tokenized and packed into rows of one context each.

A file is UTF-8 text; each document ends with a line that holds only `<|endoftext|>`.
"""
import itertools
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from core.model.tokenizer import END_OF_TEXT, Tokenizer

IGNORE = -100    # a target that does not count; torch's cross_entropy ignores it by default


@dataclass(frozen=True)
class Source:
    """Documents as token ids (uint16, without end of text), and how often an epoch reads each; 0.5 means a random half
    of them.
    """

    documents: tuple[np.ndarray, ...]
    weight: float = 1.0

    @property
    def n_tokens(self) -> int:
        return sum(len(document) for document in self.documents)


@dataclass(frozen=True)
class Batch:
    """inputs (B, n_context), and targets (B, n_context): for each input the token that follows it, or IGNORE."""

    inputs: np.ndarray
    targets: np.ndarray

    @property
    def n_targets(self) -> int:
        """The number of targets that count."""
        return int((self.targets != IGNORE).sum())


def read_documents(path: str | Path) -> list[str]:
    """The documents of a text file, stripped, without empty ones.

    Raises OSError for a file that cannot be read, UnicodeDecodeError for one that is not UTF-8.
    """
    text = Path(path).read_text(encoding="utf-8")
    parts = ("\n" + text.strip() + "\n").split(f"\n{END_OF_TEXT}\n")
    return [part.strip() for part in parts if part.strip()]


def corpus_documents(folder: Path | None, name: str) -> list[str]:
    """The documents of a file of the corpus. Raises ValueError without a folder."""
    if folder is None:
        raise ValueError(f"This training reads {name}: say in which folder it lies (--corpus).")
    return read_documents(folder / name)


def tokenize(texts: Sequence[str], tokenizer: Tokenizer) -> Source:
    """The texts as a Source. Raises ValueError for a vocabulary that does not fit 16 bits."""
    if tokenizer.vocab_size > 2 ** 16:
        raise ValueError(f"Token ids are stored in 16 bits, and this vocabulary has {tokenizer.vocab_size} tokens.")
    return source(tokenizer.encode_batch(texts))


def source(documents: Iterable[Sequence[int]]) -> Source:
    """Documents of token ids as a Source."""
    return Source(tuple(np.array(ids, dtype=np.uint16) for ids in documents))


def epoch_documents(sources: Sequence[Source], generator: np.random.Generator) -> list:
    """Return one epoch's documents in random order, each as often as the weight of its source says."""
    chosen = []
    for source in sources:
        whole, part = int(source.weight), source.weight - int(source.weight)
        chosen += source.documents * whole
        extra = generator.permutation(len(source.documents))[: round(part * len(source.documents))]
        chosen += [source.documents[i] for i in extra]
    return [chosen[i] for i in generator.permutation(len(chosen))]


def of_one_length(rows: Iterable[tuple], size: Callable[[int], int], emptied: bool = False) -> Iterator[list[tuple]]:
    """Yield the rows, tuples that begin with N token ids, in groups of the same N, each as soon as it has size(N) rows.

    emptied: yield the smaller groups too, at the end.
    """
    waiting: dict[int, list[tuple]] = {}
    for row in rows:
        n = len(row[0])
        group = waiting.setdefault(n, [])
        group.append(row)
        if len(group) >= size(n):
            yield waiting.pop(n)
    if emptied:
        yield from (waiting[n] for n in sorted(waiting))


def pack(documents: Sequence[np.ndarray], n_context: int, end_of_text: int) -> Batch:
    """Pack an epoch into rows: every row begins with end of text, like every prompt, and every token is a target
    exactly once.

    Documents follow each other, each after an end-of-text token, until a row is full. The rest of a cut document is a
    separate piece further on, after an end-of-text token whose target is IGNORE, so that the model learns only from
    true beginnings what follows end of text.

    A document that ends inside a row has the next end of text as its last target. The last row is padded with IGNORE.

    >>> rows = pack([np.array([5, 6, 7], dtype=np.uint16)], n_context=3, end_of_text=0)
    >>> rows.inputs.tolist(), rows.targets.tolist()
    ([[0, 5, 6], [0, 7, 0]], [[5, 6, 7], [-100, 0, -100]])
    """
    if n_context < 2:
        raise ValueError(f"A row needs room for at least 2 tokens, not {n_context}.")
    waiting = deque((document, True) for document in documents)
    inputs, targets = [], []
    while waiting:
        row = np.full(n_context + 1, end_of_text, dtype=np.int32)     # the last column is a target only
        counted = np.zeros(n_context, dtype=bool)
        start = 0                                                     # place of the end of text before the next piece
        while waiting and start < n_context:
            piece, is_beginning = waiting.popleft()
            room = n_context - start
            end = start + 1 + min(len(piece), room)
            row[start + 1:end] = piece[:room]
            counted[start:end] = True
            counted[start] = is_beginning
            # cut: the next piece begins with the token that was only a target
            if len(piece) >= room:
                waiting.append((piece[room - 1:], False))
            start = end
        inputs.append(row[:-1])
        targets.append(np.where(counted, row[1:], IGNORE))
    return Batch(np.stack(inputs), np.stack(targets))


def batches(sources: Sequence[Source], n_context: int, end_of_text: int, batch_size: int, seed: int) -> Iterator[Batch]:
    """Yield batches of batch_size rows without end; every epoch is packed and shuffled again. The same seed gives the
    same batches.

    Rows left at the end of an epoch begin the next epoch's first batch. Raises ValueError if there is no text.
    """
    if not any(round(s.weight * len(s.documents)) for s in sources):
        raise ValueError("There is no text to train on: give at least one document.")
    rows = _rows(sources, n_context, end_of_text, seed)
    while True:
        yield stacked(itertools.islice(rows, batch_size))


def _rows(sources: Sequence[Source], n_context: int, end_of_text: int, seed: int) -> Iterator[tuple]:
    for epoch in itertools.count():
        generator = np.random.default_rng([seed, epoch])
        rows = pack(epoch_documents(sources, generator), n_context, end_of_text)
        order = generator.permutation(len(rows.inputs))
        yield from zip(rows.inputs[order], rows.targets[order])


def stacked(rows: Iterable[tuple[Sequence[int], Sequence[int]]]) -> Batch:
    """Rows (inputs, targets) of one length as a batch; targets may also be single numbers."""
    inputs, targets = zip(*rows)
    return Batch(np.array(inputs, dtype=np.int64), np.array(targets, dtype=np.int64))


def steps_per_epoch(sources: Sequence[Source], n_context: int, end_of_text: int, batch_size: int, seed: int) -> int:
    """Return the number of whole batches in the first epoch of `batches`, at least 1."""
    rows = pack(epoch_documents(sources, np.random.default_rng([seed, 0])), n_context, end_of_text)
    return max(1, len(rows.inputs) // batch_size)
