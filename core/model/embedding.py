"""How tokens enter the stream."""
from __future__ import annotations

from dataclasses import dataclass

from core.model.record import MOST, Record


@dataclass(frozen=True)
class Embedding(Record):
    """Changes to the rows of E, and additions to them, before the first block."""

    RANGES = dict.fromkeys(("embedding_width", "n_token_types"), (0, MOST))

    embedding_scale: float = 1.0          # times the rows of E as they enter the stream
    # numbers in a row of E, P and T, if not d: their sum, normed, is mapped into the stream by W_E and b_E,
    # and a head's transform maps back (ELECTRA); 0: d
    embedding_width: int = 0
    # with embedding_width: W_E maps only the rows of E, before P of width d is added, and W_H is the whole head's
    # transform; neither map has a bias (OPT-350m)
    plain_maps: bool = False
    # the sum of embedding and position is normed before the first block, in an encoder-decoder in each stack
    embedding_norm: bool = False
    n_token_types: int = 0                # texts told apart in one sequence (BERT's segments), a learned vector each
    sinusoidal_halves: bool = False       # sinusoidal positions: all sines come first, then all cosines (Marian)
