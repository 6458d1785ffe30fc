"""A setting: what of a reader's state can be written in an address, as text, and read from there."""
from collections.abc import Callable
from dataclasses import dataclass

LONGEST = 4_000           # characters of a text; a longer one is cut
LARGEST = 10 ** 9         # absolute value of a number without closer bounds


@dataclass(frozen=True)
class Setting:
    """One setting: its default (which also gives its type), its bounds if it is a number (LARGEST if none is given),
    its options if it is one of a few texts; or `reads`, which gives the value of a text, None for an invalid one.
    """

    default: int | float | str | bool
    low: float | None = None
    high: float | None = None
    options: tuple[str, ...] = ()
    reads: Callable[[str], int | float | str | None] | None = None

    def accept(self, written: object) -> int | float | str | bool | None:
        """The value as this setting's type, within its bounds; None if it is invalid."""
        if self.reads is not None:
            return self.reads(str(written))
        kind, text = type(self.default), str(written)[:LONGEST]
        if kind is bool:
            return {"true": True, "1": True, "false": False, "0": False}.get(text.lower())
        try:
            value = kind(float(text)) if kind in (int, float) else text
        except (ValueError, OverflowError):
            return None
        if self.options and value not in self.options:
            return None
        if kind in (int, float):
            if value != value:
                return None
            low, high = (-LARGEST if self.low is None else self.low), (LARGEST if self.high is None else self.high)
            value = kind(min(max(value, low), high))
        return value
