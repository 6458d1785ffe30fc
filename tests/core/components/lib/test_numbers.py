"""Numbers in the browser: the same as Python writes, and never rounded into a falsehood."""
import numpy as np
import pytest

from core.figures import numbers
from tests.helpers.javascript import evaluate
from tests.helpers.messages import value_of

MODULE = "core/components/lib/numbers.js"
FORMATS = {"significant": [2, 3, 4], "readable": [2, 3, 5], "probability": [3, 4], "decimals": [0, 1, 2, 4, 6],
           "plain": [2, 4], "exact": [None]}


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


def is_a_tie(value: float) -> bool:
    """Whether a decimal ends in 5: it may be rounded either way, and Python does it otherwise than JavaScript."""
    return repr(value).partition("e")[0].removesuffix(".0").rstrip("0").endswith("5")


@pytest.mark.parametrize("name, digits", [(name, one) for name, each in FORMATS.items() for one in each])
def test_no_number_is_rounded_into_a_falsehood(name, digits):
    given_values = [min(abs(value), 1.0) for value in VALUES] if name == "probability" else VALUES
    for value, written in zip(given_values, in_browser(name, digits, given_values), strict=True):
        said = value_of(written)
        assert (said == 0) == (value == 0) and (said > 0) == (value > 0), (value, written)
        assert abs(value) >= 1 or abs(said) < 1, (value, written)
        assert "-" not in written and "e+" not in written, written
        step = 10.0 ** -digits if name in ("decimals", "plain") else 0
        share = 0 if step and abs(value) >= 1e-4 else 0.051
        assert abs(said - value) <= max(0.501 * step, share * abs(value)), (value, written)


@pytest.mark.parametrize("digits", [2, 3, 4, 5])
def test_significant_digits_are_pythons(digits):
    given_values = [value for value in VALUES if not is_a_tie(value)]
    for value, written in zip(given_values, in_browser("readable", digits, given_values), strict=True):
        assert written == numbers.readable(value, digits), value


@pytest.mark.parametrize("digits", [3, 4])
def test_probabilities_are_pythons(digits):
    given_values = [abs(p) for p in VALUES if abs(p) <= 1 and not is_a_tie(p)] + [0.0, 1.0, 1.0000001]
    for p, written in zip(given_values, in_browser("probability", digits, given_values), strict=True):
        assert written == numbers.probability(p, digits), p


@pytest.mark.parametrize("name, digits", [("readable", 2), ("readable", 3), ("readable", 4), ("probability", 3)])
def test_half_way_between_two_numbers_is_the_even_one_as_in_python(name, digits):
    given_values = [n / 2 ** power for power in range(1, 9) for n in range(1, 2 ** power)]
    if name == "readable":
        given_values += [sign * (n + value) for value in given_values for n in range(1, 9) for sign in (1, -1)]
    for value, written in zip(given_values, in_browser(name, digits, given_values), strict=True):
        assert written == getattr(numbers, name)(value, digits), value


@pytest.mark.parametrize("places", [0, 1, 2])
def test_shares_are_pythons(places):
    given_values = [abs(share) for share in VALUES if abs(share) <= 1 and not is_a_tie(100 * share)] + [0.0, 1.0]
    for share, written in zip(given_values, in_browser("percent", places, given_values), strict=True):
        assert written == numbers.percent(share, places), share
        assert (value_of(written[:-2]) in (0, 100)) == (100 * share in (0, 100)), share


@pytest.mark.parametrize("places", [4, 6])
def test_decimals_are_pythons(places):
    given_values = [value for value in VALUES if abs(value) >= 1e-4 and not is_a_tie(value)]
    given_values += [0.0, 1.0, -0.25, 0.99996]
    for value, written in zip(given_values, in_browser("decimals", places, given_values), strict=True):
        claims = value != 1 and abs(round(abs(value), places)) == 1      # here Python lets a number above 1 read as 1
        assert claims or written == numbers.plain_number(value, places), value


@pytest.mark.parametrize("digits", [1, 2, 4])
def test_powers_of_ten_are_pythons(digits):
    given_values = [value for value in VALUES if value and not is_a_tie(value)]
    for value, written in zip(given_values, in_browser("powerOfTen", digits, given_values), strict=True):
        assert written == numbers.written(f"{value:.{digits - 1}e}"), value


def test_whole_numbers_are_pythons():
    given_values = [0, 7, 999, 1000, 4096, -12345, 10 ** 9]
    assert in_browser("grouped", None, given_values) == [numbers.grouped(value) for value in given_values]


def test_formats_by_hand():
    written = {
        "significant(0.99962)": "0.9996", "significant(12.3456)": "12.3", "significant(1234.5)": "1,235",
        "significant(999.96)": "1,000", "significant(0.5)": "0.500", "significant(0)": "0.00", "readable(0)": "0",
        "significant(-0.00001234)": "−1.2\u00a0·\u00a010⁻⁵", "significant(NaN)": "–", "significant(-Infinity)": "−∞",
        "readable(0.5)": "0.5", "readable(100)": "100", "readable(20.04)": "20",
        "probability(0.9999999)": "> 0.9999", "probability(1.0000001)": "1", "probability(0)": "0",
        "decimals(0.00004)": "4.0\u00a0·\u00a010⁻⁵", "decimals(0.003, 2)": "0.003", "decimals(-0.25)": "−0.2500",
        "decimals(1.00001)": "1.00001",
        "plain(-3)": "−3", "plain(2.5)": "2.500", "plain(-Infinity, 4)": "−∞",
        "exact(0.12345)": "0.1235", "exact(12)": "12",
        "exact(123456.7)": "1.235\u00a0·\u00a010⁵", "exact(1.2346e-7)": "1.235\u00a0·\u00a010⁻⁷",
        "grouped(-1234567.891)": "−1,234,567.891", "grouped('0.0001')": "0.0001",
        "powerOfTen(0.00012)": "1.2\u00a0·\u00a010⁻⁴", "powerOfTen(0)": "0", "written(-7)": "−7",
        "percent(0.327)": "32.7\u00a0%", "percent(0.9999)": "99.99\u00a0%", "percent(1)": "100\u00a0%",
        "percent(0.00364)": "0.36\u00a0%", "percent(0.9999999)": "> 99.99\u00a0%", "percent(1.0000001)": "100\u00a0%",
        "percent(NaN)": "–", "plain(4096)": "4,096", "decimals(1234.5, 1)": "1,234.5", "exact(12000)": "12,000",
    }
    calls = ", ".join(f"m.{call}" for call in written)
    assert evaluate(MODULE, f"[{calls}]") == list(written.values())
