"""The common part of the frozen records that describe a model: whole numbers in range, choices among names, tuples."""
from __future__ import annotations

from dataclasses import dataclass, fields
from typing import ClassVar

MOST = 10**9                # of any number: torch counts the numbers of a tensor in 64 bits


def check_choice(name: str, value: str, allowed: tuple[str, ...]) -> None:
    """Raise ValueError, with the sentence to show a reader, for a value that is not among the allowed ones."""
    if value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(allowed)}, not {value!r}.")


def check_rules(*rules: tuple[bool, str]) -> None:
    """Raise ValueError with the sentence of the first rule that is broken; a rule is (whether it is broken, its
    sentence).
    """
    for broken, complaint in rules:
        if broken:
            raise ValueError(complaint)


@dataclass(frozen=True)
class Record:
    """Settings that belong together, checked when they are made; lists, as JSON has them, become tuples."""

    RANGES: ClassVar[dict[str, tuple[int, int]]] = {}           # the least and the largest that a whole number may be
    CHOICES: ClassVar[dict[str, tuple[str, ...]]] = {}

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, list):
                object.__setattr__(self, field.name, tuple(value))
        for name, (least, most) in self.RANGES.items():
            value = getattr(self, name)
            if type(value) is not int or not least <= value <= most:
                raise ValueError(f"{name} must be a whole number from {least} to {most:,}, not {value!r}.")
        for name, allowed in self.CHOICES.items():
            check_choice(name, getattr(self, name), allowed)
