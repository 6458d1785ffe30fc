"""Numbers in the browser: the same as Python writes, and never rounded into a falsehood."""
import re

import numpy as np
import pytest

from core.figures import numbers
from tests.helpers.javascript import evaluate

MODULE = "core/components/lib/numbers.js"
FORMATS = {"significant": [2, 3, 4], "readable": [2, 3, 5], "probability": [3, 4], "decimals": [0, 1, 2, 4, 6],
           "plain": [2, 4], "exact": [None]}
SUPERSCRIPTS = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")


def values(n: int = 1000) -> list[float]:
    """Numbers of all sizes, of both signs, many of them close to 0 and to 1; the whole ones, and those of float32."""
    rng = np.random.default_rng(5)
    near = 10 ** rng.uniform(-16, -1, n)
    sizes = [10 ** rng.uniform(-12, 6, n), rng.uniform(0, 2, n), near, 1 - near, 1 + near,
             rng.random(n).astype(np.float32), rng.integers(0, 3000, n),
             [5e-324, 1e-4, 5e-4, 0.001, 0.9995, 0.99951, 9.995, 999.5]]
    return (np.concatenate(sizes) * rng.choice([-1, 1], 7 * n + 8)).tolist()


VALUES = values()


def in_browser(name: str, digits: int | None, given_values: list[float]) -> list[str]:
    return evaluate(MODULE, f"given.map((value) => m.{name}(value{'' if digits is None else ', digits'}))",
                    given=given_values, digits=digits)


def read(written: str) -> float:
    """The number that a text says."""
    mantissa, _, power = written.replace("−", "-").partition("·10")
    return float(f"{mantissa}e{power.translate(SUPERSCRIPTS)}" if power else mantissa)


def as_python(written: str) -> str:
    return re.sub(r"e−(\d)$", r"e−0\1", written)


def trimmed(written: str) -> str:
    return written.rstrip("0").rstrip(".") if "." in written else written


def is_a_tie(value: float) -> bool:
    """Whether a decimal ends in 5: it may be rounded either way, and Python does it otherwise than JavaScript."""
    return repr(value).partition("e")[0].removesuffix(".0").endswith("5")


@pytest.mark.parametrize("name, digits", [(name, one) for name, each in FORMATS.items() for one in each])
def test_no_number_is_rounded_into_a_falsehood(name, digits):
    given_values = [min(abs(value), 1.0) for value in VALUES] if name == "probability" else VALUES
    for value, written in zip(given_values, in_browser(name, digits, given_values), strict=True):
        said = read(written)
        assert (said == 0) == (value == 0) and (said > 0) == (value > 0), (value, written)
        assert abs(value) >= 1 or abs(said) < 1, (value, written)
        assert "-" not in written and "e+" not in written, written
        step = 10.0 ** -digits if name in ("decimals", "plain") else 0
        share = 0 if step and abs(value) >= 1e-4 else 0.051
        assert abs(said - value) <= max(0.501 * step, share * abs(value)), (value, written)


@pytest.mark.parametrize("digits", [2, 3, 4, 5])
def test_significant_digits_are_pythons(digits):
    given_values = [value for value in VALUES if abs(value) < 0.99 * 10 ** digits and not is_a_tie(value)]
    for value, written in zip(given_values, in_browser("readable", digits, given_values), strict=True):
        assert as_python(written) == numbers.readable(value, digits), value


def test_probabilities_are_pythons():
    given_values = [abs(p) for p in VALUES if 5e-4 <= abs(p) <= 1 and not is_a_tie(p)] + [0.0, 1.0]
    for p, written in zip(given_values, in_browser("probability", 3, given_values), strict=True):
        assert trimmed(written) == trimmed(numbers.probability(p)), p


@pytest.mark.parametrize("places", [4, 6])
def test_decimals_are_pythons(places):
    given_values = [value for value in VALUES if abs(value) >= 1e-4 and not is_a_tie(value)]
    given_values += [0.0, 1.0, -0.25, 0.99996]
    for value, written in zip(given_values, in_browser("decimals", places, given_values), strict=True):
        claims = value != 1 and abs(round(abs(value), places)) == 1      # here Python lets a number above 1 read as 1
        assert claims or written == numbers.plain_number(value, places).replace("-", "−"), value


def test_formats_by_hand():
    written = {
        "significant(0.99962)": "0.9996", "significant(12.3456)": "12.3", "significant(1234.5)": "1235",
        "significant(999.96)": "1000", "significant(0.5)": "0.500", "significant(0)": "0",
        "significant(-0.00001234)": "−1.2e−5", "significant(NaN)": "–", "significant(-Infinity)": "−∞",
        "readable(0.5)": "0.5", "readable(100)": "100", "readable(20.04)": "20",
        "probability(1.0000001)": "1", "probability(0)": "0",
        "decimals(0.00004)": "4.0e−5", "decimals(0.003, 2)": "0.003", "decimals(-0.25)": "−0.2500",
        "decimals(1.00001)": "1.00001",
        "plain(-3)": "−3", "plain(2.5)": "2.500", "plain(-Infinity, 4)": "−∞",
        "exact(0.12345)": "0.1235", "exact(123456.7)": "1.235·10⁵", "exact(1.2346e-7)": "1.235·10⁻⁷", "exact(12)": "12",
        "grouped(-1234567.891)": "−1\u202f234\u202f567.891", "grouped('0.0001')": "0.0001",
        "powerOfTen(0.00012, 2)": "1.2·10⁻⁴", "scientific(-4.44e-16)": "−4.4e−16", "written(-7)": "−7",
    }
    calls = ", ".join(f"m.{call}" for call in written)
    assert evaluate(MODULE, f"[{calls}]") == list(written.values())
