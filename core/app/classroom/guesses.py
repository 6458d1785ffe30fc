"""The forms of a guess: one of a few texts, a number, a free word, a token of a text, a cell of a grid; and the truth
with which it is compared.

Each form says what the browser offers, which answers are valid, and when a guess is right.
"""
from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from core.app.classroom import words

MOST_CHARACTERS = 60      # of a word
NEAR = 0.1                # of a number's range: a guess so far from the answer is close enough


@dataclass(frozen=True)
class Options:
    """One of a few texts; a guess is its place among them. pictures: none, or a square picture for each text, row by
    row, one hexadecimal digit a cell.
    """

    texts: Sequence[str]
    pictures: Sequence[str] = ()

    def offer(self) -> dict:
        pictures = {"pictures": list(self.pictures)} if self.pictures else {}
        return {"kind": "options", "texts": list(self.texts)} | pictures

    def usual(self) -> int:
        """A valid guess, for a class in which nobody has guessed."""
        return 0

    def accept(self, told: object) -> int | None:
        """The guess in the browser's message, or None if it is not valid."""
        return _place(told, len(self.texts))

    def is_right(self, guess: int, answer: int) -> bool:
        return guess == answer


@dataclass(frozen=True)
class Place:
    """One of the tokens of a text; those in `offered` may be picked (empty: all); a guess is a position."""

    tokens: Sequence[str]
    offered: Sequence[int] = ()

    def offer(self) -> dict:
        return {"kind": "place", "texts": list(self.tokens), "offered": list(self.offered)}

    def usual(self) -> int:
        return self.offered[0] if self.offered else 0

    def accept(self, told: object) -> int | None:
        guess = _place(told, len(self.tokens))
        return None if self.offered and guess not in self.offered else guess

    def is_right(self, guess: int, answer: int) -> bool:
        return guess == answer


@dataclass(frozen=True)
class Cell:
    """A cell of a grid, such as block × head; a guess is its place, row by row."""

    rows: Sequence[str]
    columns: Sequence[str]

    def offer(self) -> dict:
        return {"kind": "cell", "rows": list(self.rows), "columns": list(self.columns)}

    def usual(self) -> int:
        return 0

    def accept(self, told: object) -> int | None:
        return _place(told, len(self.rows) * len(self.columns))

    def is_right(self, guess: int, answer: int) -> bool:
        return guess == answer


@dataclass(frozen=True)
class Number:
    """A number from low to high, in steps or, with `log`, in equal ratios; unit, such as "%", is written after it.

    near: the largest distance from the answer that counts as right; None: a tenth of the range, in ratios with `log`.
    """

    low: float
    high: float
    step: float = 1.0
    unit: str = ""
    log: bool = False
    near: float | None = None

    def offer(self) -> dict:
        return {"kind": "number", "low": self.low, "high": self.high, "step": self.step, "unit": self.unit,
                "log": self.log}

    def usual(self) -> float:
        return self.low

    def accept(self, told: object) -> float | None:
        is_number = isinstance(told, int | float) and not isinstance(told, bool)
        if not is_number or isinstance(told, float) and not math.isfinite(told):
            return None
        return float(min(max(told, self.low), self.high))

    def is_right(self, guess: float, answer: float) -> bool:
        if self.near is not None:
            return abs(guess - answer) <= self.near + 1e-9
        if self.log and min(guess, answer) > 0:
            return abs(math.log(guess / answer)) <= NEAR * math.log(self.high / self.low) + 1e-9
        return abs(guess - answer) <= NEAR * (self.high - self.low) + 1e-9


@dataclass(frozen=True)
class Word:
    """A word of the reader's own, such as the next word of a text; a guess is the word.

    chance: whether words are shown with probabilities; then the reader is also asked how sure the guess is. Otherwise
    each word is shown with a number such as a cosine.
    """

    chance: bool = True

    def offer(self) -> dict:
        return {"kind": "word", "most": MOST_CHARACTERS, "chance": self.chance}

    def usual(self) -> str:
        return "–"

    def accept(self, told: object) -> str | None:
        text = words.readable(told[:MOST_CHARACTERS]) if isinstance(told, str) else ""
        return text.encode(errors="replace").decode() or None

    def is_right(self, guess: str, answer: str) -> bool:
        return words.plain(guess) == words.plain(answer)


Guess = Options | Place | Cell | Number | Word


@dataclass(frozen=True)
class Truth:
    """The truth that the picture shows.

    answer: the right guess, in the guess's own form. said, own: a few characters on the answer and on the reader's
    guess, such as their probabilities. seen: the number of the statement that is true of the picture. values: the
    values of the {names} in the reason. bars: for a word, the likeliest candidates with their probabilities, and the
    reader's own word among or after them, each with whether it is the reader's.
    """

    answer: int | float | str
    values: Mapping[str, object] = field(default_factory=dict)
    said: str = ""
    own: str = ""
    seen: int = 0
    bars: Sequence[tuple[str, float, bool]] = ()

    def is_right(self, form: Guess, guess: Any) -> bool:
        """Whether the guess is right; a word is right if its token is the likeliest."""
        return self.bars[0][2] if self.bars else form.is_right(guess, self.answer)


def _place(told: object, n: int) -> int | None:
    return told if isinstance(told, int) and not isinstance(told, bool) and 0 <= told < n else None
