"""Formulas of numbers, read as a reader with a calculator reads them: every number is known up to half a unit of its
last digit, so both sides of an equation are intervals, which must meet.
"""
from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

SLACK = 2e-6        # relative: sums of float32
FIVE_DIGITS = 2e-5
RELATIONS = ("=", "<", ">", r"\le", r"\ge", r"\approx", r"\ne")
BREAKS = (r"\to", r"\rightarrow", r"\iff", r"\Rightarrow", r"\in", r"\leftarrow", "against", ":", r"\mid")
DOTS = (r"\dots", r"\cdots", r"\ldots")
FUNCTIONS = {r"\ln": math.log, r"\exp": math.exp, r"\sin": math.sin, r"\cos": math.cos, r"\tanh": math.tanh,
             r"\log_2": math.log2, r"\log": math.log, r"\lceil": math.ceil}
TOKEN = re.compile(r"\d+\.\d+|\d+|\\log_2|\\([A-Za-z]+|[#|%])|[A-Za-zα-ωℒ]|\S")
UNITS = {"nats": "", "bits": "", "letters": "", "bits sent": "", "a year": "", "au": "",
         "ms": r" \cdot 10^{-3}", "GFLOP/s": r" \cdot 10^{9}"}
SPACES = re.compile(r"\\[,;:! ]|~|\\textstyle|\\displaystyle|\\left(?![a-z])|\\right(?![a-z])"
                    r"|\\[Bb]ig[lr]?(?![A-Za-z])|\\[Bb]igg(?![A-Za-z])|\\begin\{aligned\}|\\end\{aligned\}|&|\\\\")


class Symbolic(Exception):
    """The expression has a letter in it that stands for something."""


class Elided(Exception):
    """The expression leaves terms out."""


class Unreadable(Exception):
    """Nobody has taught this reader that form."""


@dataclass(frozen=True)
class Interval:
    """All that a number may be. point: what a calculator finds from the digits as they stand; unit: of the last digit
    of a number that is written out, 0 of what is computed or whole.
    """

    low: float
    high: float
    point: float
    unit: float = 0.0

    def meets(self, other: Interval) -> bool:
        """Whether the two may be one number."""
        slack = SLACK * max(abs(self.point), abs(other.point)) + 1e-300
        return self.low <= other.high + slack and other.low <= self.high + slack


Value = tuple[Interval, ...]        # one number, or a vector's


@dataclass(frozen=True)
class Side:
    """One side of a relation. value: None of a side with letters or with terms left out."""

    text: str
    relation: str           # to the side before it; "" of the first
    value: Value | None
    elided: bool = False
    unit: str = ""


def parts(latex: str) -> list[list[Side]]:
    """A formula's statements, each with its sides."""
    text = re.sub(r"(&\\quad) \+", " +", latex.replace("{,}", ""))
    text = SPACES.sub(" ", text.replace(r"\qquad", ";;").replace(r"\quad", ";;"))
    text = re.sub(r"(?<=[\d}])'|\^\\circ", " ", text)
    return [sides for part in _split(text, (";;", ",", ";")) if (sides := list(_sides(part[1])))]


def _sides(part: str) -> Iterator[Side]:
    for relation, text in _split(part, (*RELATIONS, *BREAKS)):
        if not text.strip():
            continue
        unit = next((name for name in UNITS if rf"\text{{{name}}}" in text or rf"\text{{ {name}}}" in text), "")
        plain = re.sub(r"\\text\{ ?([^{}]*)\}", lambda found: UNITS.get(found[1], found[0]), text).strip()
        try:
            yield Side(text.strip(), relation, read(plain), unit=unit)
        except (Symbolic, Elided) as letters:
            yield Side(text.strip(), relation, None, isinstance(letters, Elided), unit)


def _split(text: str, at: tuple[str, ...]) -> list[tuple[str, str]]:
    """The text cut where one of these stands outside of every bracket, each piece with what it was cut at before it."""
    words = re.compile("|".join(re.escape(word) + (r"(?![A-Za-z])" if word[0] == "\\" else "") for word in at))
    pieces, depth, begin, before, place = [], 0, 0, "", 0
    while place < len(text):
        depth += (text[place] in "{([") - (text[place] in "})]")
        found = words.match(text, place) if not depth else None
        if found and not (found[0] == "<" and text[place - 1] == "\\"):
            pieces.append((before, text[begin:place]))
            before, begin, place = found[0], found.end(), found.end()
        else:
            place += 1
    return [*pieces, (before, text[begin:])]


def read(text: str) -> Value:
    """The value of an expression of numbers; where it holds vectors or a ±, entry by entry."""
    tokens = [found[0] for found in TOKEN.finditer(text)]
    if r"\pm" in tokens:
        return tuple(_Reader([sign if token == r"\pm" else token for token in tokens]).whole() for sign in "-+")
    size, entry = 1, 0
    values = []
    while entry < size:
        chosen, size = _entries(tokens, entry)
        values.append(_Reader(chosen).whole())
        entry += 1
    return tuple(values)


def _entries(tokens: list[str], entry: int) -> tuple[list[str], int]:
    """The tokens with each vector's entry in its place, and how many entries the vectors have; 1 without any."""
    chosen, size, place = [], 1, 0
    while place < len(tokens):
        end = _closing(tokens, place)
        inner = tokens[place + 1:end]
        cuts = [-1, *(k for k, token in enumerate(inner) if token == "," and not _depth(inner[:k])), len(inner)]
        if tokens[place] in "([" and len(cuts) > 2 and (not place or tokens[place - 1] not in (r"\max", r"\min")):
            size = len(cuts) - 1
            if entry >= size:
                raise Unreadable("vectors of different sizes")
            chosen += ["(", *inner[cuts[entry] + 1:cuts[entry + 1]], ")"]
            place = end + 1
        else:
            chosen.append(tokens[place])
            place += 1
    return chosen, size


def _depth(tokens: list[str]) -> int:
    return sum((token in "([{") - (token in ")]}") for token in tokens)


def _closing(tokens: list[str], place: int) -> int:
    """The place of the bracket that closes the one at `place`."""
    depth = 0
    for end in range(place, len(tokens)):
        depth += (tokens[end] in "([") - (tokens[end] in ")]")
        if not depth:
            return end
    return len(tokens)


class _Reader:
    """Recursive descent over the tokens of one expression."""

    def __init__(self, tokens: list[str]):
        self.tokens, self.place, self.elides = tokens, 0, False

    @property
    def next(self) -> str:
        return self.tokens[self.place] if self.place < len(self.tokens) else ""

    def take(self, *expected: str) -> str:
        token = self.next
        if expected and token not in expected:
            raise _unknown(token)
        self.place += 1
        return token

    def whole(self) -> Interval:
        """The value of all tokens."""
        value = self.sum()
        if self.place != len(self.tokens):
            raise _unknown(self.next)
        if self.elides:
            raise Elided
        return value

    def _is_shape(self) -> bool:
        """Whether what is next says [rows × columns]."""
        return self.next == "[" and r"\times" in self.tokens[self.place:_closing(self.tokens, self.place)]

    def sum(self) -> Interval:
        sign = -1 if self.next in "+-" and self.next and self.take() == "-" else 1
        value = _times(self.product(), sign)
        while self.next in ("+", "-"):
            sign = 1 if self.take() == "+" else -1
            value = _add(value, _times(self.product(), sign))
        return value

    def product(self) -> Interval:
        value = self.power()
        while True:
            if self.next in (r"\cdot", r"\times"):
                self.take()
                value = _multiplied(value, self.power())
            elif self.next == "/":
                self.take()
                value = _divided(value, self.power())
            elif self.next and self.next not in (")", "]", "}", "+", "-", ",", "|", r"\rvert", r"\rceil"):
                value = _multiplied(value, self.power())       # no sign between
            else:
                return value

    def power(self) -> Interval:
        base = self.atom()
        while self.next in ("^", "!"):
            if self.take() == "!":
                base = _exactly(_guarded(float)(math.factorial(round(base.low))))
            else:
                base = _raised(base, self.argument())
                if self.next == "^":
                    raise Unreadable("a double superscript")
        return base

    def argument(self) -> Interval:
        """The part in braces, or the one sign after ^ or a command."""
        if self.next != "{":
            token = self.take()
            return _number(token) if token.isdigit() and len(token) == 1 else self._digits(token)
        self.take()
        value = self.sum()
        self.take("}")
        return value

    def _digits(self, token: str) -> Interval:
        """\\tfrac12 is one half."""
        if not token.isdigit():
            raise _unknown(token)
        self.place -= 1
        self.tokens[self.place:self.place + 1] = list(token)
        return _number(self.take())

    def atom(self) -> Interval:
        if self._is_shape():
            raise Symbolic
        token = self.take()
        if re.fullmatch(r"\d+(\.\d+)?", token):
            return self._written(token)
        if token in DOTS:
            self.elides = True
            return _exactly(0)
        if token == "e" and self.next == "^":
            self.take()
            return _monotone(math.exp, self.argument())
        if token in (r"\frac", r"\tfrac", r"\dfrac"):
            return _divided(self.argument(), self.argument())
        if token == r"\sqrt":
            return _monotone(lambda x: math.sqrt(max(x, 0)), self.argument())
        if token == r"\pi":
            return _exactly(math.pi)
        if token in (r"\max", r"\min"):
            return self._extreme(max if token == r"\max" else min)
        if token in FUNCTIONS:
            return self._applied(FUNCTIONS[token])
        return self._bracketed(token)

    def _written(self, token: str) -> Interval:
        """A number, with the power of ten that belongs to it."""
        number = _number(token)
        if self.tokens[self.place:self.place + 4] == [r"\cdot", "10", "^", "{"] and "." in token:
            self.take(), self.take(), self.take()
            scale = _guarded(math.pow)(10.0, self.argument().low)
            if self.next == "^":
                raise Unreadable("a double superscript")
            return Interval(number.low * scale, number.high * scale, number.point * scale, number.unit * scale)
        return number

    def _bracketed(self, token: str) -> Interval:
        pairs = {"(": ")", "[": "]", "{": "}", "|": "|", r"\lvert": r"\rvert"}
        if token not in pairs:
            raise _unknown(token)
        value = self.sum()
        self.take(pairs[token])
        if token in ("|", r"\lvert"):
            low, high = sorted((abs(value.low), abs(value.high)))
            return Interval(0.0 if value.low < 0 < value.high else low, high, abs(value.point))
        return value

    def _applied(self, function: Callable[[float], float]) -> Interval:
        if function is math.ceil:
            value = _monotone(math.ceil, self.sum())
            self.take(r"\rceil")
            return value
        if not self.next:
            raise Symbolic          # the cosine of something that was said before
        argument = self.power()
        if function in (math.sin, math.cos):
            half = (argument.high - argument.low) / 2
            found = function(argument.point)
            return Interval(found - half, found + half, found)
        if argument.high <= 0 and function in (math.log, math.log2):
            raise Unreadable("the logarithm of a number that is not above 0")
        return _monotone(lambda x: function(max(x, 5e-324) if function in (math.log, math.log2) else x), argument)

    def _extreme(self, chosen: Callable) -> Interval:
        if self.next != "(":
            raise Symbolic
        self.take()
        values = [self.sum()]
        while self.next == ",":
            self.take()
            values.append(self.sum())
        self.take(")")
        return Interval(*(chosen(getattr(value, end) for value in values) for end in ("low", "high", "point")))


def _unknown(token: str) -> Exception:
    """Letters stand for something; anything else nobody can read."""
    if re.match(r"[A-Za-zα-ωℒ]|\\(?!cdot|frac|sqrt|rvert|rceil)[A-Za-z#|]|[_'|]", token):
        return Symbolic(token)
    return Unreadable(token or "the end")


def _number(token: str) -> Interval:
    """A whole number is exact, a decimal one known to half of its last digit."""
    unit = 10.0 ** -len(token.partition(".")[2]) if "." in token else 0.0
    return Interval(float(token) - unit / 2, float(token) + unit / 2, float(token), unit)


def _exactly(value: float) -> Interval:
    return Interval(float(value), float(value), float(value))


def _add(a: Interval, b: Interval) -> Interval:
    return Interval(a.low + b.low, a.high + b.high, a.point + b.point)


def _times(value: Interval, sign: int) -> Interval:
    return value if sign == 1 else Interval(-value.high, -value.low, -value.point, value.unit)


def _each(operate: Callable[[float, float], float], a: Interval, b: Interval) -> Interval:
    """Apply an operation with extremes at the ends."""
    ends = [operate(x, y) for x in (a.low, a.high) for y in (b.low, b.high)]
    return Interval(min(ends), max(ends), operate(a.point, b.point))


def _multiplied(a: Interval, b: Interval) -> Interval:
    return _each(lambda x, y: x * y, a, b)


def _divided(a: Interval, b: Interval) -> Interval:
    if b.point == 0:
        raise Unreadable("a division by 0")
    if b.low <= 0 <= b.high:
        return Interval(-math.inf, math.inf, a.point / b.point)
    return _each(lambda x, y: x / y, a, b)


def _raised(base: Interval, exponent: Interval) -> Interval:
    if base.low < 0 and exponent.low == exponent.high and exponent.low % 2 == 0:
        ends = sorted((abs(base.low) ** exponent.low, abs(base.high) ** exponent.low))
        return Interval(0.0 if base.high > 0 else ends[0], ends[1], base.point ** exponent.low)
    return _each(_guarded(math.pow), base, exponent)


def _monotone(function: Callable[[float], float], value: Interval) -> Interval:
    """Apply a function that grows with it."""
    function = _guarded(function)
    return Interval(function(value.low), function(value.high), function(value.point))


def _guarded(function: Callable[..., float]) -> Callable[..., float]:
    """The same, where a result beyond all floats is infinite."""
    def safe(*arguments: float) -> float:
        try:
            return function(*arguments)
        except OverflowError:
            return math.inf
    return safe


def false(a: Value, relation: str, b: Value) -> bool:
    """Whether two sides contradict the relation that is written between them."""
    if len(a) != len(b):
        return True
    if relation in ("=", r"\approx"):
        return not all(x.meets(y) for x, y in zip(a, b))
    (x,), (y,) = a, b
    return x.low > y.high if relation in ("<", r"\le") else x.high < y.low


def off(a: Value, b: Value) -> float:
    """By how many units of its last digit the result b is another than a calculator finds from the digits of a; of a
    result of more than five digits, of the fifth.
    """
    return max((abs(x.point - y.point) / max(y.unit, FIVE_DIGITS * abs(y.point)) for x, y in zip(a, b) if y.unit),
               default=0.0)


def compared(sides: list[Side]) -> list[tuple[Side, Side]]:
    """The neighbours of a statement that have a value in the same unit each."""
    return [(a, b) for a, b in zip(sides, sides[1:]) if a.value is not None and b.value is not None
            and b.relation in RELATIONS and a.unit in ("", b.unit)]


def numbers(text: str, least: int = 3) -> list[tuple[float, float]]:
    """The numbers of at least `least` digits in a formula that are no index, in size, each with the unit of its last
    digit; 0 of a whole one.
    """
    plain = re.sub(r"_\{[^{}]*\}|(?<=e)\^\{-?\d+\}", "", text.replace("{,}", ""))
    found = re.finditer(r"(?<![\d.])(\d+)(?:\.(\d+)(?: \\cdot 10\^\{(-?\d+)\})?)?(?![\d.])", plain)
    return [(float(f"{whole}.{decimals or 0}e{power or 0}"),
             float(f"1e{int(power or 0) - len(decimals)}") if decimals else 0.0)
            for whole, decimals, power in (one.groups() for one in found)
            if len((whole + (decimals or "")).lstrip("0")) >= least]
