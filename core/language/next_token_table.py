"""A table of all next-token probabilities: how many numbers it would have, and how few of its rows a text ever shows.

A row is a context of t tokens, with a number for each of the |T| tokens that may come next: |T|^(t + 1) in all. The
sequences of tokens in the training text of `stories` are counted in assets/teaching/sequences.json, made by
`python -m core.recordings sequences --corpus DIR`.
"""
import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

SEQUENCES = Path(__file__).resolve().parents[2] / "assets" / "teaching" / "sequences.json"
LONGEST = 8             # tokens of a sequence that is counted
ATOMS = 80.0            # log10 of the atoms of the observable universe, an estimate good to a factor of a hundred


def log10_entries(t: int, size: int) -> float:
    """log10 of the numbers of a table with a row for each context of t tokens out of `size`.

    >>> round(log10_entries(1, 4096), 3)
    7.225
    """
    return (t + 1) * math.log10(size)


def log2_entries(t: int, size: int) -> float:
    """log2 of the same.

    >>> log2_entries(2 ** 11 - 1, 2 ** 16)
    32768.0
    """
    return (t + 1) * math.log2(size)


@dataclass(frozen=True)
class Sequences:
    """Counts of a text's sequences of n = 1, 2, … tokens: all of them, the different ones, and those of a held-out text
    that occur in it. size: of the vocabulary; held_out: the sequences of the held-out text.
    """

    size: int
    tokens: int
    standing: tuple[int, ...]
    different: tuple[int, ...]
    held_out: tuple[int, ...]
    known: tuple[int, ...]

    def share(self, n: int) -> float:
        """The share of all |T|^n sequences of n tokens that occur in the text."""
        return self.different[n - 1] / self.size ** n


def load() -> Sequences:
    """The recorded counts."""
    return Sequences(**{name: tuple(value) if isinstance(value, list) else value
                        for name, value in json.loads(SEQUENCES.read_text()).items()})


def hashes(documents: Iterable[np.ndarray], n: int) -> np.ndarray:
    """A number for each place of the documents at which a sequence of n tokens begins: the same for equal sequences,
    different for different ones, but for a collision in 2^64.
    """
    found = []
    for document in documents:
        places = len(document) - n + 1
        if places > 0:
            mixed = np.zeros(places, dtype=np.uint64)
            for k in range(n):
                mixed = (mixed ^ document[k:places + k].astype(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
                mixed ^= mixed >> np.uint64(29)
            found.append(mixed)
    return np.concatenate(found) if found else np.zeros(0, dtype=np.uint64)


def count(documents: Sequence[np.ndarray], held_out: Sequence[np.ndarray], size: int) -> Sequences:
    """The sequences of the documents; none reaches from one document into the next."""
    standing, different, asked, known = [], [], [], []
    for n in range(1, LONGEST + 1):
        here, there = hashes(documents, n), hashes(held_out, n)
        distinct = np.unique(here)
        standing.append(len(here))
        different.append(len(distinct))
        asked.append(len(there))
        known.append(int(np.isin(there, distinct).sum()))
    return Sequences(size, standing[0], *map(tuple, (standing, different, asked, known)))


def record(folder: Path) -> dict:
    """Count the training text of `stories`; return the counts."""
    from core.model.checkpoints import BUNDLED, TOKENIZER  # the page needs none of it
    from core.model.tokenizer import Tokenizer  # the page needs none of it
    from core.training.corpus import read_documents  # the page needs none of it

    tokenizer = Tokenizer.load(BUNDLED / "stories" / TOKENIZER)
    names = [path.name for path in sorted(folder.glob("*.txt"))
             if not path.name.startswith(("heldout", "out_of_domain"))]
    documents, held_out = ([np.array(ids, dtype=np.uint16) for name in chosen
                            for ids in tokenizer.encode_batch(read_documents(folder / name))]
                           for chosen in (names, ["heldout_tinystories.txt"]))
    return vars(count(documents, held_out, tokenizer.vocab_size))
