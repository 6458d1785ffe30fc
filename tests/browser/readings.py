"""A picture's words under the pointer or the arrow keys, held against the tensor whose entry they name."""
from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from playwright.sync_api import Page
from torch import Tensor

from core.base import prose
from core.figures.numbers import DOT
from tests.helpers.shapes import Shown

POINTS = 700
ASCII = str.maketrans("−∞⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-∞-0123456789") | {ord("∞"): "Infinity"}
# Sends the pointer to points spread evenly over a part of a picture, or goes through its rows with the arrow keys, and
# returns every different reading: the texts of the node that shows it, a line each.
READ = """async (picture, {shows, part: [from, to], points, keys: [columns, rows], late}) => {
    picture.scrollIntoView({block: "center"});
    const root = picture.getRootNode(), found = new Set(), frame = () => new Promise(requestAnimationFrame);
    const texts = (node) => node.nodeType === Node.TEXT_NODE ? [node.data] : [...node.childNodes].flatMap(texts);
    const read = async () => {
        if (late) await frame();
        const node = root.querySelector(shows);
        if (node && !node.hidden) found.add(texts(node).join("\\n"));
    };
    const {left, top, width, height} = picture.getBoundingClientRect();
    for (let k = 0; k < points; k++) {      // the additive sequence R2: Roberts 2018
        const x = left + width * (from + (to - from) * ((0.5 + k * 0.7548776662) % 1));
        const y = top + height * ((0.5 + k * 0.569840291) % 1);
        const event = {clientX: x, clientY: y, bubbles: true, composed: true}, at = root.elementFromPoint(x, y);
        at?.dispatchEvent(new PointerEvent("pointermove", event));
        at?.dispatchEvent(new MouseEvent("mousemove", event));
        await read();
    }
    const press = (key) => picture.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true}));
    for (let row = 0; row < rows; row++) press("ArrowUp");
    for (let row = 0; row < rows; row++) {
        press("Home");
        for (let column = 0; column < columns; column++) { await read(); press("ArrowRight"); }
        press("ArrowDown");
    }
    return [...found];
}"""


@dataclass(frozen=True)
class Reading:
    """A picture's words for an entry of a tensor.

    says: a regular expression with the groups of `axes`, which name the entry by numbers or tokens, and `value`.
    whole: whether the pointer comes to every index of every axis.
    """

    says: str
    tensor: Callable[[Shown], Tensor]
    axes: tuple[str, ...]
    whole: bool = True


@dataclass(frozen=True)
class Picture:
    """A picture's place, and all its readings."""

    address: str
    over: str                               # CSS of what the pointer goes over
    shows: str                              # CSS of what is read
    readings: tuple[Reading, ...]
    besides: str = "(?!)"                   # a regular expression of what else is read there
    part: tuple[float, float] = (0, 1)      # of its width
    points: int = POINTS
    keys: tuple[int, int] = (0, 0)          # columns and rows that the arrow keys go through, in place of the points
    late: bool = False                      # whether it shows a reading in the frame after the pointer came

    def read(self, page: Page) -> list[str]:
        """Its readings, each once, its texts in lines of their own."""
        place = page.locator(self.over).first
        place.wait_for()
        chosen = {name: getattr(self, name) for name in ("shows", "part", "points", "keys", "late")}
        return [said.replace("\u2068", "").replace("\u2069", "") for said in place.evaluate(READ, chosen)]


def label(lesson: str, key: str, /, **words: str) -> str:
    """A label as a regular expression: its {names} are groups, but for those whose words are given."""
    parts = re.split(r"\{(\w+)\}", prose.load(lesson).label(key))
    return "".join(words.get(part, f"(?P<{part}>.+?)") if k % 2 else re.escape(part) for k, part in enumerate(parts))


def faults(picture: Picture, page: Page, shown: Shown) -> list[str]:
    """Faults of a picture on a page that stands: readings that nobody knows, or that are not the tensor's entry; and
    indices that the pointer should reach and does not.
    """
    said = picture.read(page)
    known = "|".join(re.sub(r"\?P<\w+>", "", reading.says.removeprefix("(?s)")) for reading in picture.readings)
    found = [f"unknown: {one!r}" for one in said if not re.fullmatch(f"(?s:{known}|{picture.besides})", one)]
    for reading in picture.readings:
        wrong, seen = checked(reading, said, shown)
        found += wrong
        if not seen or reading.whole and any(places != set(range(size)) for places, size in seen):
            found.append(f"not read everywhere: {reading.says} {seen}")
    return found


def checked(reading: Reading, said: list[str], shown: Shown) -> tuple[list[str], list[tuple[set[int], int]]]:
    """The readings that differ from the tensor, and for each axis the indices that were read and its size."""
    values, found, wrong = reading.tensor(shown), [], []
    finite = values[values.isfinite()]
    # of float32, where the terms of an entry may cancel: entries of both signs
    noise = 1e-6 * float(finite.abs().max()) if finite.min() < 0 else 0.0
    for match in filter(None, (re.fullmatch(reading.says, one) for one in said)):
        place = tuple(index(match[axis], shown) for axis in reading.axes)
        found.append(place)
        expected = float(values[place])
        if not agrees(match["value"], expected, noise):
            wrong.append(f"{match[0]!r}: {expected}")
    if not found:
        return wrong, []
    return wrong, [(set(indices), size) for indices, size in zip(zip(*found, strict=True), values.shape, strict=True)]


def index(named: str, shown: Shown) -> int:
    """The index that a number or a token of the prompt names."""
    return int(named) if named.isdecimal() else shown.tokens.index(named)


def agrees(written: str, expected: float, noise: float) -> bool:
    """Whether a written number is the expected one, rounded, but for noise; of NaN, which the mask hides, no number is
    written."""
    if written.endswith("%"):
        return agrees(written[:-1].strip(), 100 * expected, 100 * noise)
    digits = written.lstrip("<> ").replace(",", "").translate(ASCII).replace(f"{DOT}10", "e")
    try:
        number = Decimal(digits)
    except InvalidOperation:
        return math.isnan(expected)
    if number.is_infinite():
        return float(number) == expected
    unit = 10.0 ** number.as_tuple().exponent if {".", "e"} & set(digits) else 0
    return abs(float(number) - expected) <= 0.6 * unit + 1e-5 * abs(expected) + noise
