"""Every formula under In numbers, in drawn states of its view's settings: true as it is written, for a reader with a
calculator too, and of the case that the picture shows.
"""
from __future__ import annotations

import functools
import re

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from core.base import prose
from core.figures.numbers import formula
from tests.formulas.beside import BESIDE
from tests.formulas.cases import CASES, Case
from tests.helpers import latex
from tests.helpers.view_states import ALIKE, VIEWS, Shown, opened, shown, states

pytestmark = pytest.mark.long

N_STATES = 5
FEW = {"meaning": 2, "calibration": 2, "facts": 2, "strategies": 2, **dict.fromkeys(      # those that take seconds
    ("placement", "words", "kepler", "tasks", "writing", "decipher", "futures", "correct", "tuning", "backprop"), 3)}
LARGE = 600         # entries of an array in which any number is found by chance
UNITS_OFF = 1.1     # of the last digit of a result, from what a calculator finds
QUICK = dict(deadline=None, derandomize=True, database=None, phases=[Phase.explicit, Phase.generate],
             suppress_health_check=list(HealthCheck))


def faults(text: str) -> list[str]:
    """The faults of a formula as it is written."""
    try:
        statements = latex.parts(text)
    except latex.Unreadable as error:
        return [f"not understood ({error}): {text}"]
    return [f"{a.text} {b.relation} {b.text}" for sides in statements for a, b in latex.compared(sides)
            if latex.false(a.value, b.relation, b.value)
            or b.relation == "=" and latex.off(a.value, b.value) > UNITS_OFF]


def is_beside(text: str, picture: Shown) -> bool:
    """Whether the picture has a number of the formula, or there is none with three digits in it."""
    numbers = latex.numbers(text)
    return not numbers or any(picture.has(value, unit) for value, unit in numbers)


def has(text: str, expected: float) -> bool:
    """Whether one of a formula's numbers is the expected one to its digits, in size."""
    return any(abs(size - abs(expected)) <= max(0.51 * unit, ALIKE * size, 1e-9)
               for size, unit in latex.numbers(text, 1))


@functools.cache
def label_of(lesson: str, caption: str) -> str:
    """The label that a caption is."""
    of_lesson = prose.load(lesson).labels
    fitting = [key for key, text in of_lesson.items() if re.fullmatch(_template(text), caption, re.DOTALL)]
    return max(fitting, key=lambda key: len(of_lesson[key]), default=caption)


def _template(label: str) -> str:
    """A label as a regular expression, in which any text stands for a value."""
    parts = re.split(r"(\{\{|\}\}|\{\w+[^{}]*\})", label)
    return "".join({"{{": r"\{", "}}": r"\}"}.get(part, ".*") if k % 2 else re.escape(part) for k, part in
                   enumerate(parts))


@pytest.mark.parametrize("lesson, view", VIEWS, ids=["/".join(one).rstrip("/") for one in VIEWS])
def test_every_formula_is_true_and_the_pictures_own(lesson: str, view: str):
    name = f"{lesson}/{view}".rstrip("/")

    @settings(max_examples=FEW.get(view, N_STATES), **QUICK)
    @given(states(lesson))
    def holds(address: dict[str, str]) -> None:
        at, said = opened(lesson, view, address)
        picture = shown(at, said, LARGE)
        lines = [(label_of(lesson, caption), formula(text)) for caption, text in said.lines]
        assert not [(label, fault) for label, text in lines for fault in faults(text)]
        alone = {label: text for label, text in lines if not is_beside(text, picture)}
        assert not alone.keys() - BESIDE.get(name, {}).keys(), alone
        expected = CASES[name](Case(at, said, address)) if name in CASES else {}
        assert not [(label, value) for label, values in expected.items() for value in values
                    if not has(dict(reversed(lines))[label], value)]

    holds()
