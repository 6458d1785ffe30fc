"""The reader of formulas finds what is wrong in one, and reads what is right."""
import math

import numpy as np
import pytest

from tests.formulas.test_formulas import faults, is_beside
from tests.helpers import latex
from tests.helpers.view_states import Shown

RIGHT = (
    r"y = \frac{e^{u}}{\sum e^{u}} = \frac{675{,}905.1928}{1{,}078{,}442.6959} = 0.6267",
    r"4.4466 - 4.5472 = -0.1006, \qquad e^{4.446568} = 85.3335",
    r"-\log_2 p = \frac{28.543753}{0.693147} = 41.1799\ \text{bits}",
    r"-\ln 0.0132477 = 4.3239\ \text{nats} = \frac{4.323931}{\ln 2} = 6.2381\ \text{bits}",
    r"(-4.000000, 1.200000) - 0.0501187 \cdot (-4.000000, 30.000000) = (-3.7995, -0.3036)",
    r"\frac{1.048018 \pm 0.0480182}{1.096036} = [0.9124,\ 1.0000]",
    r"\lceil 14 / 16 \rceil + \lceil 7 / 16 \rceil = 2", r"-0.6 \ln 0.6 - 0.4 \ln 0.4 = 0.6730",
    r"q_{2} \cdot k_{1} = (1.5)(2.0) + (-0.5)(1.0) + \dots = 7.1", r"26! \approx 2^{88.38}", r"\tfrac12 \cdot 3 = 1.5",
)
WRONG = (
    r"\frac{98}{100} = 0.9900", r"4.4466 - 4.5472 = -0.1016", r"263.9075 < 2\pi", r"e^{8.5531} = 5{,}182.5472",
    r"0.5 \cdot (1.0, 2.0) = (0.5, 2.0)", r"\sqrt{16} = 4.5", r"1.2 \cdot 10^{-7}^{1/35} = 0.6",
    r"\frac{0.000000}{0.000000} = 1.0000", r"0.5 \cdot -0.2 = -0.1", r"2.4692 \cdot 1.6330 = 4.0325",
)


@pytest.mark.parametrize("formula", RIGHT)
def test_what_is_right_is_read(formula: str):
    assert not faults(formula)


@pytest.mark.parametrize("formula", WRONG)
def test_what_is_wrong_is_found(formula: str):
    assert faults(formula)


def test_a_number_is_known_to_half_of_its_last_digit():
    [[side]] = latex.parts("2.0 \\cdot 3.00")
    [value] = side.value
    assert (value.low, value.high, value.point) == pytest.approx((1.95 * 2.995, 2.05 * 3.005, 6.0))
    [[left, right]] = latex.parts(r"e^{1.00} = 2.7183")
    assert latex.off(left.value, right.value) == pytest.approx(abs(math.e - 2.7183) / 1e-4)


def test_a_formula_of_another_case_is_beside_no_picture():
    picture = Shown(np.array([0.6916, 2.0]), np.array([[7.48, 0.01]]))
    assert is_beside(r"\alpha = 0.6916", picture) and is_beside(r"\max = 7.4812", picture)
    assert not is_beside(r"\max = 5.2601 \cdot 10^{-6}", picture) and not is_beside(r"\alpha_{6916} = 0.6917", picture)
