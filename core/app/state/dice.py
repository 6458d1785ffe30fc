"""The dice: ξ is one number for one prompt, the same in every lesson.

It follows from the reader's seed and the number of tokens before the draw, so moving a slider keeps it and one seed
writes one text. A reader may also set it by hand, for the present prompt. Both are in the address: `seed`, `xi`.
"""
import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from core.app.state import reader

DIGITS = 10_000         # ξ has four decimals, all of them shown


@dataclass(frozen=True)
class Dice:
    """The dice that decide the tokens after a prompt. by_hand: ξ of the first token, if the reader has set it."""

    seed: int
    n_tokens: int
    by_hand: float | None = None

    def xi(self, i: int = 0) -> float:
        """ξ in [0, 1) for the i-th token after the prompt."""
        if i == 0 and self.by_hand is not None:
            return self.by_hand
        return int(DIGITS * np.random.default_rng((self.seed, self.n_tokens + i)).random()) / DIGITS

    def numbers(self, first: int = 0) -> Iterator[float]:
        """ξ of one token after the other, endlessly."""
        return map(self.xi, itertools.count(first))


def of(n_tokens: int) -> Dice:
    """The reader's dice for the tokens after the first `n_tokens`."""
    chosen = reader.selection()
    return Dice(chosen.seed, n_tokens, chosen.xi)


def throw() -> None:
    """Callback: take the next seed."""
    reader.select(seed=(reader.selection().seed + 1) % (reader.MOST_SEED + 1), xi=None)
