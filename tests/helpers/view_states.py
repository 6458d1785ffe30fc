"""Every view in drawn states of its settings, with what it shows and what it says of it in numbers."""
from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
import pyarrow
from hypothesis import strategies as st
from streamlit.testing.v1 import AppTest

from core.app.lesson.lesson import Lesson
from core.app.state.lesson_settings import Setting
from core.base import catalogue
from core.figures.numbers import PLAIN
from tests.helpers import lessons
from tests.helpers.addresses import SETTINGS
from tests.helpers.messages import unpacked

VIEWS = [(entry.id, view) for entry in catalogue.existing() for view in entry.views or ("",)]
PROMPTS = (None, None, "a", "", "the the the the", "I ❤️ 🐶 and 👩‍👩‍👧‍👦!", "The dog ran to the door and barked.")
MOST = 40           # of a whole number without an upper bound
QUICK = {"embeddings_dimensions": ("2", "3"), "limits_n": ("20",), "limits_steps": ("8", "64"),
         "limits_source": ("pages", "prompt")}      # options that take no seconds
# no pictures
FRAME = {"page", "navigation", "palette", "strip", "prediction", "prediction_switch", "picture_download",
         "next_view", "standing"}
NUMBER = re.compile(r"([-−]?)(\d[\d,]*)(\.\d+)?(?:\u00a0·\u00a010([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+))?(\u00a0%)?")
ALIKE = 2e-6        # relative: float32


@dataclass
class Said:
    """A page's words: the pairs (caption, LaTeX) under In numbers, the picture in one sentence, and the tables behind
    the picture.
    """

    lines: list[tuple[str, str]] = field(default_factory=list)
    title: str = ""
    tables: dict[str, pd.DataFrame] = field(default_factory=dict)


@dataclass(frozen=True)
class Shown:
    """All numbers of a picture: those that it was given, sorted, and those that it says, each with the unit of its last
    digit.
    """

    given: np.ndarray
    said: np.ndarray        # (n, 2)

    def has(self, value: float, unit: float) -> bool:
        """Whether a number, known to half a unit, is among them in size."""
        size, half = abs(value), max(0.51 * unit, ALIKE * abs(value), 1e-12)
        place = int(np.searchsorted(self.given, size - half))
        if place < len(self.given) and self.given[place] <= size + half:
            return True
        near = np.maximum(half, 0.51 * self.said[:, 1])
        return bool((np.abs(self.said[:, 0] - size) <= near).any())


@contextlib.contextmanager
def heard() -> Iterator[Said]:
    """The words of the page opened meanwhile."""
    said, numbers, code = Said(), Lesson.numbers, Lesson.code

    def hear_numbers(page: Lesson, lines, table=None) -> None:
        said.lines = list(lines)
        numbers(page, lines, table)

    def hear_code(page: Lesson, functions, data, picture: str, twin: str) -> None:
        said.title, said.tables = twin, {name: make() for name, make in data.items()}
        code(page, functions, data, picture, twin)

    Lesson.numbers, Lesson.code = hear_numbers, hear_code
    try:
        yield said
    finally:
        Lesson.numbers, Lesson.code = numbers, code


def opened(lesson: str, view: str, address: Mapping[str, str]) -> tuple[AppTest, Said]:
    """The view at that address; it must not fail."""
    picks = {f"{lesson}_{catalogue.entry(lesson).picks}": view} if view else {}
    with heard() as said:
        at = lessons.open_at(lesson, **address | picks)
    assert lessons.fine(at), [e.value for e in (*at.exception, *at.error)]
    return at, said


def states(lesson: str) -> st.SearchStrategy[dict[str, str]]:
    """Addresses of a lesson: its settings and what all lessons share, each given or left at its default."""
    each = {f"{prefix}_{name}": _values(f"{prefix}_{name}", setting) for prefix, named in SETTINGS.items()
            if prefix == lesson or prefix.startswith(f"{lesson}_") for name, setting in named.items()}
    each.pop(f"{lesson}_{catalogue.entry(lesson).picks}", None)
    shared = {"prompt": st.sampled_from(PROMPTS), "layer": st.integers(0, 5).map(str),
              "head": st.integers(0, 7).map(str), "position": st.integers(0, 26).map(str),
              "target": st.integers(0, 4095).map(str), "seed": st.integers(0, 9).map(str),
              "xi": st.floats(0, 0.9999).map(lambda x: f"{x:.4f}")}
    return st.fixed_dictionaries({}, optional=each | shared).map(
        lambda drawn: {key: value for key, value in drawn.items() if value is not None})


def _values(key: str, setting: Setting) -> st.SearchStrategy[str]:
    if setting.options:
        return st.sampled_from(QUICK.get(key, setting.options))
    if isinstance(setting.default, bool):
        return st.sampled_from(("true", "false"))
    if isinstance(setting.default, str):
        return st.just(setting.default)
    low, high = (setting.low or 0), (MOST if setting.high is None else setting.high)
    if isinstance(setting.default, int):
        return st.integers(int(low), int(min(high, 10 * MOST + low))).map(str) | st.just(str(int(high)))
    return st.floats(low, high).map(lambda x: f"{x:.6g}")


def shown(at: AppTest, said: Said, most: int) -> Shown:
    """The numbers of a picture: of its components, charts, tables and headlines; of no array of more than `most`
    entries, in which any number would be found.
    """
    headlines = [_of_text(each.value) for each in at.markdown if each.value.startswith("**")]
    found = [*_of_components(at), *_of_charts(at), *map(_of_table, said.tables.values()), _of_text(said.title),
             *headlines]
    given = [np.abs(np.asarray(one.values, float).ravel()) for one in found if len(one.values) <= most]
    values = np.concatenate([*given, np.zeros(0)])
    texts = [pair for one in found if len(one.said) <= most for pair in one.said]
    return Shown(np.unique(values[np.isfinite(values)]), np.array(texts).reshape(-1, 2))


@dataclass(frozen=True)
class _Found:
    values: np.ndarray | list[float] = field(default_factory=list)
    said: list[tuple[float, float]] = field(default_factory=list)


def _of_components(at: AppTest) -> Iterator[_Found]:
    for element in at.get("bidi_component"):
        if element.proto.component_name not in FRAME and element.proto.bytes:
            yield from _leaves(unpacked(element.proto.bytes))


def _leaves(value: object) -> Iterator[_Found]:
    if isinstance(value, np.ndarray):
        yield _Found(value)
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from _leaves(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _leaves(each)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield _Found([float(value)])
    elif isinstance(value, str):
        yield _of_text(value)


def _of_charts(at: AppTest) -> Iterator[_Found]:
    for element in at.get("vega_lite_chart"):
        for data in element.proto.datasets:
            yield _of_table(pyarrow.ipc.open_stream(data.data.data).read_all().to_pandas())


def _of_table(table: pd.DataFrame) -> _Found:
    texts = [pair for name in table.select_dtypes(exclude="number") for text in table[name]
             for pair in _of_text(str(text)).said]
    return _Found(table.select_dtypes("number").to_numpy(float).ravel(), texts)


def _of_text(text: str) -> _Found:
    """The numbers of a text that have three digits at least, in percent two, as core/figures/numbers.py writes them."""
    return _Found(said=[_number(*found.groups()) for found in NUMBER.finditer(text)
                        if _digits(found) >= (2 if found[5] else 3)])


def _digits(found: re.Match) -> int:
    return len((found[2].replace(",", "") + (found[3] or "")).replace(".", "").lstrip("0"))


def _number(_sign: str, whole: str, decimals: str | None, power: str | None,
            percent: str | None) -> tuple[float, float]:
    """(size, unit of the last digit)."""
    scale = 10.0 ** int((power or "0").translate(PLAIN)) / (100 if percent else 1)
    unit = 10.0 ** -(len(decimals) - 1) if decimals else 1.0 if len(whole) > 3 else 0.0
    return float(whole.replace(",", "") + (decimals or "")) * scale, unit * scale
