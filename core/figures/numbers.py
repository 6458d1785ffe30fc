"""Numbers as text for sentences, tables and formulas; rounding never makes 0 or 1 of a number that is neither."""
import math
from collections.abc import Callable

import numpy as np

LEAST, GREATEST = 1e-4, 1e7      # in size; below and from here on a number is written with its power of ten


def probability(p: float, digits: int = 3) -> str:
    """A probability in [0, 1] with `digits` significant digits, written as 0 or 1 only if it is exactly that.

    >>> probability(0.4567), probability(0.99963), probability(1.0), probability(3.21e-7)
    ('0.457', '0.9996', '1', '3.2e-07')
    """
    if not p or p == 1:
        return f"{p:.0f}"
    if p < 1e-4:
        return f"{p:.{digits - 2}e}"
    return _below_one(p, digits, lambda n: f"{p:.{n}g}")


def _below_one(value: float, digits: int, write: Callable[[int], str]) -> str:
    """`write(digits)`, with as many more digits as keep a value below 1 in size from being rounded to 1."""
    while abs(value) < 1 <= abs(float(write(digits))):
        digits += 1
    return write(digits)


def readable(value: float, digits: int = 3) -> str:
    """A number with `digits` significant figures; one below 1 in size is never written as 1, and a tiny one keeps
    its power of ten.

    >>> readable(0.99962), readable(12.3456), readable(-0.00001234), readable(0.0)
    ('0.9996', '12.3', '−1.2e−05', '0')
    """
    if not math.isfinite(value):
        return "–" if math.isnan(value) else "∞" if value > 0 else "−∞"
    if value == 0:
        return "0"
    if abs(value) < 5e-4:
        return f"{value:.1e}".replace("-", "−")
    text = _below_one(value, digits, lambda n: np.format_float_positional(value, n, fractional=False, trim="-"))
    return text.replace("-", "−")


def percent(share: float) -> str:
    """A share in percent with three significant figures, written as 100 only if it is that.

    >>> percent(0.6934), percent(-0.0123), percent(0.99997)
    ('69.3\\xa0%', '−1.23\\xa0%', '99.997\\xa0%')
    """
    digits = 3
    while abs(share) < 1 and readable(100 * abs(share), digits) == "100":
        digits += 1
    return f"{readable(100 * share, digits)}\N{NO-BREAK SPACE}%"


def superscript(value: float) -> str:
    """A very large or very small number for a sentence, with a power of ten.

    >>> superscript(3.15e23), superscript(1.2e-4)
    ('3.15 · 10²³', '1.2 · 10⁻⁴')
    """
    digits, exponent = f"{value:.2e}".split("e")
    return f"{digits.rstrip('0').rstrip('.')} · {power_of_ten(int(exponent))}"


def power_of_ten(exponent: int) -> str:
    """10 to a whole power, for a sentence.

    >>> power_of_ten(-4)
    '10⁻⁴'
    """
    return "10" + str(exponent).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


def plain_number(value: float, places: int = 4) -> str:
    """A number for a table with `places` decimals. Only 0 is written as 0, and no number below 1 in size as 1.

    >>> plain_number(0.25), plain_number(0.99996), plain_number(-2e-7), plain_number(0.0), plain_number(float("nan"))
    ('0.2500', '0.99996', '-2.0000e-07', '0.0000', '–')
    """
    value = float(value) + 0.0       # which makes 0 of −0
    size = abs(value)
    if not math.isfinite(value):
        return "–" if math.isnan(value) else "∞" if value > 0 else "-∞"
    if 0 < size < LEAST or size >= GREATEST:
        return f"{value:.{places if size < 1 else max(places, 6)}e}"
    return _below_one(value, places, lambda n: f"{value:.{n}f}")


def latex_number(value: float, places: int = 4) -> str:
    """The result of a formula: `plain_number` in LaTeX.

    >>> latex_number(-0.5), latex_number(0.99996), latex_number(1.5e-7), latex_number(float("nan"))
    ('-0.5000', '0.99996', '1.5000 \\\\cdot 10^{-7}', '\\\\text{–}')
    >>> latex_number(123456789.0)
    '1.234568 \\\\cdot 10^{8}'
    """
    return in_latex(plain_number(value, places))


def in_latex(text: str) -> str:
    """The text of a number in LaTeX, where 2e-07 would be a product.

    >>> in_latex("0.5"), in_latex("2.0e-07")
    ('0.5', '2.0 \\\\cdot 10^{-7}')
    """
    digits, is_power, exponent = text.partition("e")
    if is_power:
        return rf"{digits} \cdot 10^{{{int(exponent)}}}"
    return digits.replace("–", r"\text{–}").replace("∞", r"\infty")


def latex_operand(value: float) -> str:
    """A number that a formula starts from, in LaTeX: six decimals, and below 1 six significant digits of x and of
    1 − x, so that a calculator arrives at the four decimals of the result.

    >>> [latex_operand(value) for value in (-12.5, 0.0123456789, 0.9995, 3.2e-7, 0.0)]
    ['-12.500000', '0.0123457', '0.999500000', '3.20000 \\\\cdot 10^{-7}', '0.000000']
    """
    size = abs(float(value))
    if not 0 < size < 1:
        return latex_number(value, 6)
    if size < LEAST:
        return latex_number(value, 5)
    zeros = -math.floor(math.log10(min(size, 1 - size))) - 1      # between the point and the first digit
    return latex_number(value, min(6 + zeros, 16))


def bracketed(text: str) -> str:
    """The text of a number, in brackets where its sign or power of ten would be misread: after a minus, beside a dot,
    under a square.

    >>> bracketed("0.5000"), bracketed("-0.5000"), bracketed(latex_number(2e-7))
    ('0.5000', '(-0.5000)', '(2.0000 \\\\cdot 10^{-7})')
    """
    return f"({text})" if text.startswith("-") or "cdot" in text else text
