"""How packing arranges documents in rows, position by position, and the cost of padding instead.

`core.training.corpus.pack` packs the rows as for a training; it receives the indices of the tokens, which show where
each token came from.
"""
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.training.corpus import IGNORE, pack

MOST_TOKENS = 2 ** 16 - 2        # since `core.training.corpus` stores tokens in 16 bits


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of N places. inputs, targets: (B, N) int64 token ids; counted: (B, N) bool, whether the target counts in the
    loss; documents: (B, N) the index of each input's document; place: (B, N) its index in the document; both −1 for end
    of text.
    """

    inputs: np.ndarray
    targets: np.ndarray
    counted: np.ndarray
    documents: np.ndarray
    place: np.ndarray

    @property
    def n_places(self) -> int:
        return self.inputs.size

    @property
    def n_counted(self) -> int:
        """The number of predictions that count in the loss."""
        return int(self.counted.sum())

    @property
    def wasted(self) -> float:
        """The share of places that are computed but do not count."""
        return 1 - self.n_counted / self.n_places


def packed(documents: Sequence[Sequence[int]], n_context: int, end_of_text: int) -> Rows:
    """The documents (token ids) in the rows of a training.

    Raises ValueError for none, or for more than MOST_TOKENS tokens.
    """
    # index 0 is end of text
    tokens = np.array([end_of_text, *(token for document in documents for token in document)], dtype=np.int64)
    if not 1 < len(tokens) <= MOST_TOKENS:
        raise ValueError(f"From 1 to {MOST_TOKENS - 1} tokens can be packed here, not {len(tokens) - 1}.")
    owner = np.array([-1, *(i for i, document in enumerate(documents) for _ in document)])
    within = np.array([-1, *(k for document in documents for k in range(len(document)))])
    ends = np.cumsum([0, *map(len, documents)])
    rows = pack([np.arange(a + 1, b + 1, dtype=np.uint16) for a, b in zip(ends, ends[1:])], n_context, 0)
    counted = rows.targets != IGNORE
    return Rows(tokens[rows.inputs], tokens[np.where(counted, rows.targets, np.roll(rows.inputs, -1, axis=1))], counted,
                owner[rows.inputs], within[rows.inputs])


def padded_lengths(lengths: Sequence[int], n_context: int) -> list[int]:
    """The number of used places in each row if every document began its own row and the rest of the row were padded.

    A document of n tokens makes n + 1 predictions: each of its tokens, and the end of text after it.

    >>> padded_lengths([3, 6], 4)
    [4, 4, 3]
    """
    return [min(n_context, n + 1 - start) for n in lengths for start in range(0, n + 1, n_context)]
