"""Arithmetic coding in integers: encodes a sequence of symbols of probability p in about −log2 p bits, without loss.

Every symbol narrows an interval, [0, 1) at first, to its own share of the interval; the bits are the digits of a number
in the last interval. Encoder and decoder hold the leading digits of the interval's ends in registers of WIDTH bits;
they send and drop digits that both ends share. Source: Witten, Neal and Cleary, "Arithmetic coding for data
compression", Communications of the ACM 30 (1987).
"""
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

# bits of a register: far more than a frequency has, so that rounding costs nothing measurable
WIDTH = 48
TOTAL = 1 << 24                 # the frequencies of one distribution add up to this
_HALF, _QUARTER, _ALL = 1 << (WIDTH - 1), 1 << (WIDTH - 2), (1 << WIDTH) - 1


def quantise(probabilities: np.ndarray, total: int = TOTAL) -> np.ndarray:
    """Frequencies (n,) int64 of at least 1 that add up to `total`, near total · p; the most probable symbol gets the
    remainder of the rounding.

    A symbol costs at most −log2(1 − n / total) bits more than with its own p; a symbol with p = 0 can also be coded.
    Raises ValueError for values that are not a distribution, or too many symbols for `total`.

    >>> quantise(np.array([0.5, 0.25, 0.25, 0.0]), total=16)
    array([7, 4, 4, 1])
    """
    p = np.asarray(probabilities, dtype=np.float64)
    if p.ndim != 1 or not len(p) or not np.isfinite(p).all() or (p < 0).any() or abs(p.sum() - 1) > 1e-6:
        raise ValueError("Frequencies are made of probabilities that add up to 1.")
    if 2 * len(p) > total or total > TOTAL:
        raise ValueError(f"{len(p)} symbols need a total between {2 * len(p)} and {TOTAL}, not {total}.")
    frequencies = 1 + np.floor(p / p.sum() * (total - len(p))).astype(np.int64)
    frequencies[int(p.argmax())] += total - frequencies.sum()
    return frequencies


class _Coder:
    """The registers of encoder and decoder: the leading digits of the interval's ends."""

    def __init__(self) -> None:
        self.low, self.high = 0, _ALL

    def narrow(self, start: int, end: int, total: int) -> Iterator[int]:
        """Narrow the interval to its part [start, end) of [0, total), and yield each dropped digit as `_settled`
        returns it. Raises ValueError for an empty part or a total that is too large.
        """
        if not 0 <= start < end <= total <= TOTAL:
            raise ValueError(f"[{start}, {end}) is no share of [0, {total}) that can be coded.")
        span = self.high - self.low + 1
        self.low, self.high = self.low + span * start // total, self.low + span * end // total - 1
        while (digit := _settled(self.low, self.high)) is not None:
            yield digit
            self.low, self.high = 2 * (self.low - digit), 2 * (self.high - digit) + 1


class Encoder(_Coder):
    """Encodes symbols, given as intervals [start, end) of [0, total), as bits. `pending` bits are the opposite of the
    next one and are sent after it.
    """

    def __init__(self) -> None:
        super().__init__()
        self.bits: list[int] = []
        self.pending = 0

    def encode(self, start: int, end: int, total: int) -> None:
        """Narrow the interval to the symbol's share, and send the settled bits. Raises ValueError as `narrow`."""
        for digit in self.narrow(start, end, total):
            if digit == _QUARTER:
                self.pending += 1
            else:
                self._send(int(digit == _HALF))

    def finish(self) -> list[int]:
        """All bits, with the last ones that select a number in the interval; the decoder reads zeros after them."""
        self.pending += 1
        self._send(int(self.low >= _QUARTER))
        return self.bits

    def _send(self, bit: int) -> None:
        self.bits += [bit, *[1 - bit] * self.pending]
        self.pending = 0


class Decoder(_Coder):
    """Decodes the bits of an Encoder: the same registers, and the current digits of the number sent, with zeros after
    its last bit.
    """

    def __init__(self, bits: Iterable[int]) -> None:
        super().__init__()
        self._bits, self.value = iter(bits), 0
        for _ in range(WIDTH):
            self.value = 2 * self.value + next(self._bits, 0)

    def symbol(self, frequencies: np.ndarray) -> int:
        """The next symbol, whose share of the interval contains the number; narrows the interval as the Encoder did."""
        total = int(frequencies.sum())
        place = ((self.value - self.low + 1) * total - 1) // (self.high - self.low + 1)
        symbol = int(np.searchsorted(np.cumsum(frequencies), place, side="right"))
        for digit in self.narrow(*share(frequencies, symbol)):
            self.value = 2 * (self.value - digit) + next(self._bits, 0)
        return symbol


def _settled(low: int, high: int) -> int | None:
    """The number to subtract from both ends before they are doubled: 0 or _HALF for a common digit, _QUARTER for a
    digit that the next one decides, None if no digit is settled.
    """
    if high < _HALF:
        return 0
    if low >= _HALF:
        return _HALF
    return _QUARTER if low >= _QUARTER and high < _HALF + _QUARTER else None


def share(frequencies: np.ndarray, symbol: int) -> tuple[int, int, int]:
    """The interval (start, end, total) of a symbol when all symbols are lined up in their order.

    >>> share(np.array([7, 4, 5]), 1)
    (7, 11, 16)
    """
    ends = np.cumsum(frequencies)
    return int(ends[symbol] - frequencies[symbol]), int(ends[symbol]), int(ends[-1])


def encode(symbols: Sequence[int], frequencies: Callable[[Sequence[int]], np.ndarray]) -> list[int]:
    """The bits of `symbols`; frequencies(symbols before) returns the next symbol's frequencies, (n,) positive integers.
    """
    encoder = Encoder()
    for i, symbol in enumerate(symbols):
        encoder.encode(*share(frequencies(symbols[:i]), symbol))
    return encoder.finish()


def decode(bits: Iterable[int], frequencies: Callable[[Sequence[int]], np.ndarray], n: int) -> list[int]:
    """The n encoded symbols; `frequencies` is the same function as in `encode`."""
    decoder, symbols = Decoder(bits), []
    for _ in range(n):
        symbols.append(decoder.symbol(frequencies(symbols)))
    return symbols
