"""Numbers as text for sentences, tables and formulas; rounding never makes 0 or 1 of a number that is neither.

The rule, which core/components/lib/numbers.js also follows: commas between thousands (4,096), a true minus (−0.5),
powers of ten as 1.3 · 10⁻⁴, a dash for a missing number. A share counted out of many (right answers, parameters,
variance kept) is in percent. On pictures and in sentences, the chance that a model gives to a word, a class or an
answer is in percent as well; it stays a number from 0 to 1 in the formulas and tables of "In numbers" and in data,
where it is compared with a setting that is such a number (top-p's p and the mass kept), and at the ticks of an axis
from 0 to 1. Attention weights are not chances but numbers from 0 to 1.
"""
import math
import re
from collections.abc import Callable

import numpy as np

LEAST = 5e-4                           # a smaller size, in significant digits, is written with its power of ten
LEAST_DECIMAL, GREATEST = 1e-4, 1e7    # the same for decimals: a size below the first, or from the second on
DOT = "\u00a0·\u00a0"                  # no line breaks at its spaces
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
PLAIN = {raised: plain for plain, raised in RAISED.items()}


def written(text: str) -> str:
    """Python's text of a number, with a true minus and, for e, a power of ten.

    >>> written("-3"), written("1.2e-05"), written("-4e+23")
    ('−3', '1.2\\xa0·\\xa010⁻⁵', '−4\\xa0·\\xa010²³')
    """
    digits, is_power, exponent = text.partition("e")
    return digits.replace("-", "−") + (DOT + power_of_ten(int(exponent)) if is_power else "")


def grouped(n: int) -> str:
    """A whole number, with commas between its thousands.

    >>> grouped(4096), grouped(-1234567)
    ('4,096', '−1,234,567')
    """
    return written(f"{n:,}")


def probability(p: float, digits: int = 3) -> str:
    """A number in [0, 1] that is not written in percent, such as an attention weight, with `digits` significant digits:
    0 or 1 only if it is exactly that (or rounding has left it a little above 1).

    >>> probability(0.4567), probability(0.5), probability(0.99963), probability(0.9999999), probability(1.0)
    ('0.457', '0.500', '0.9996', '> 0.9999', '1')
    """
    if not p or p >= 1:
        return "1" if p else "0"
    if not p >= LEAST:
        return readable(p)
    return _all_but_one(p, digits) or _below_one(p, digits, lambda n: f"{p:#.{n}g}")


def percent(share: float, places: int = 1) -> str:
    """A chance or a share in percent with `places` decimals, and below 1 % with `places` + 1 significant digits; it is
    0 % or 100 % only if it is exactly that (or rounding has left it a little above 1).

    >>> percent(0.327), percent(0.5, 0), percent(0.00364), percent(0.0002, 0), percent(1.0)
    ('32.7\\xa0%', '50\\xa0%', '0.36\\xa0%', '0.02\\xa0%', '100\\xa0%')
    >>> percent(0.9996), percent(0.99996)
    ('99.96\\xa0%', '> 99.99\\xa0%')
    """
    value = 100 * float(share)
    if not math.isfinite(value):
        return "–"
    return (written(f"{value:.1e}") if 0 < value < LEAST else written(_hundredths(value, places))) + "\u00a0%"


def _hundredths(value: float, places: int) -> str:
    if value == 0 or 100 <= value < 100 + LEAST:
        return f"{abs(value):.0f}"
    few, more = f"{value:#.{places + 1}g}", f"{value:.{places + 1}f}"
    if abs(float(few)) < 1:
        return few
    if value < 100 and float(more) == 100:
        return f"> 99.{(places + 1) * '9'}"
    return more if float(f"{value:.{places}f}") == 100 else f"{value:.{places}f}"


def _below_one(value: float, digits: int, write: Callable[[int], str]) -> str:
    """`write(digits)`, with more digits if needed to keep a value below 1 in size from being rounded to 1."""
    while abs(value) < 1 <= abs(float(write(digits))):
        digits += 1
    return write(digits)


def _all_but_one(value: float, digits: int) -> str | None:
    """The text of a value that one more digit would still round to 1: beyond 0.9999; None for any other."""
    if abs(value) < 1 <= float(f"{abs(value):.{digits + 1}g}"):
        return f"{'> 0.' if value > 0 else '< −0.'}{(digits + 1) * '9'}"
    return None


def readable(value: float, digits: int = 3) -> str:
    """A number with `digits` significant figures, no zeros at its end; a whole number if it has more before the point.
    One below 1 in size is never written as 1, and a tiny one keeps its power of ten.

    >>> readable(0.99962), readable(12.3456), readable(-0.00001234), readable(0.0), readable(65537.6)
    ('0.9996', '12.3', '−1.2\\xa0·\\xa010⁻⁵', '0', '65,538')
    """
    value = float(value)
    if not math.isfinite(value):
        return "–" if math.isnan(value) else "∞" if value > 0 else "−∞"
    if value == 0:
        return "0"
    if abs(value) < LEAST:
        return written(f"{value:.1e}")
    if abs(value) >= 10 ** digits:
        return grouped(round(value))
    if near := _all_but_one(value, digits):
        return near
    text = _below_one(value, digits, lambda n: np.format_float_positional(value, n, fractional=False, trim="-"))
    whole, *decimals = text.split(".")
    return ".".join([grouped(int(whole)) if abs(value) >= 1 else written(whole), *decimals])


def superscript(value: float) -> str:
    """A very large or very small number for a sentence, with a power of ten.

    >>> superscript(3.15e23), superscript(1.2e-4)
    ('3.15\\xa0·\\xa010²³', '1.2\\xa0·\\xa010⁻⁴')
    """
    digits, exponent = f"{value:.2e}".split("e")
    return written(digits.rstrip("0").rstrip(".") + f"e{exponent}")


def power_of_ten(exponent: int) -> str:
    """10 to a whole power, for a sentence.

    >>> power_of_ten(-4)
    '10⁻⁴'
    """
    return "10" + str(exponent).translate(RAISED)


def plain_number(value: float, places: int = 4) -> str:
    """A number for a table with `places` decimals. Only 0 is written as 0, and no number below 1 in size as 1.

    >>> plain_number(0.25), plain_number(0.99996), plain_number(-2e-7), plain_number(0.0), plain_number(float("nan"))
    ('0.2500', '0.99996', '−2.0000\\xa0·\\xa010⁻⁷', '0.0000', '–')
    """
    value = float(value) + 0.0       # which makes 0 of −0
    size = abs(value)
    if not math.isfinite(value):
        return "–" if math.isnan(value) else "∞" if value > 0 else "−∞"
    if 0 < size < LEAST_DECIMAL or size >= GREATEST:
        return written(f"{value:.{places if size < 1 else max(places, 6)}e}")
    return written(_below_one(value, places, lambda n: f"{value:.{n}f}") if size < 1 else f"{value:,.{places}f}")


def latex_number(value: float, places: int = 4) -> str:
    """The result of a formula: `plain_number` in LaTeX.

    >>> latex_number(-0.5), latex_number(0.99996), latex_number(1.5e-7), latex_number(float("nan"))
    ('-0.5000', '0.99996', '1.5000 \\\\cdot 10^{-7}', '\\\\text{–}')
    >>> latex_number(123456789.0)
    '1.234568 \\\\cdot 10^{8}'
    """
    return in_latex(plain_number(value, places))


def latex_power(value: float) -> str:
    """A large number for a formula, as a product with a power of ten.

    >>> latex_power(3.15e23), latex_power(300e9)
    ('3.15 \\\\cdot 10^{23}', '3 \\\\cdot 10^{11}')
    """
    digits, exponent = f"{value:.6e}".split("e")
    return rf"{digits.rstrip('0').rstrip('.')} \cdot 10^{{{int(exponent)}}}"


def in_latex(text: str) -> str:
    """The text of a number in LaTeX.

    >>> in_latex("−0.5"), in_latex("2.0\\xa0·\\xa010⁻⁷"), in_latex("4,096")
    ('-0.5', '2.0 \\\\cdot 10^{-7}', '4{,}096')
    """
    digits, is_power, exponent = text.partition(f"{DOT}10")
    digits = digits.replace("−", "-").replace(",", "{,}").replace("–", r"\text{–}").replace("∞", r"\infty")
    return digits + (rf" \cdot 10^{{{exponent.translate(PLAIN)}}}" if is_power else "")


def formula(latex: str) -> str:
    """A formula with commas between the thousands of its whole numbers, except in an index, in text or in a special
    typeface, such as that of bits.

    >>> formula(r"12 \\cdot 4096 = 49152, E_{1133} = 0.12345, 4{,}096, 10000^{-2}, \\mathbf{1101}")
    '12 \\\\cdot 4{,}096 = 49{,}152, E_{1133} = 0.12345, 4{,}096, 10{,}000^{-2}, \\\\mathbf{1101}'
    """
    return re.sub(r"_\{[^{}]*\}|\\(?:text|math[a-z]+)\{[^}]*\}|\d+\.\d+|\d{4,}",
                  lambda found: in_latex(grouped(int(found[0]))) if found[0].isdigit() else found[0], latex)


def latex_operand(value: float) -> str:
    """A number that a formula starts from, in LaTeX: six decimals, and below 1 six significant digits of x and of
    1 − x, so that a calculator arrives at the four decimals of the result.

    >>> [latex_operand(value) for value in (-12.5, 0.0123456789, 0.9995, 3.2e-7, 0.0)]
    ['-12.500000', '0.0123457', '0.999500000', '3.20000 \\\\cdot 10^{-7}', '0.000000']
    """
    size = abs(float(value))
    if not 0 < size < 1:
        return latex_number(value, 6)
    if size < LEAST_DECIMAL:
        return latex_number(value, 5)
    zeros = -math.floor(math.log10(min(size, 1 - size))) - 1      # between the point and the first digit
    return latex_number(value, min(6 + zeros, 16))


def bracketed(text: str) -> str:
    """The text of a number, in brackets if its sign or power of ten would be misread: after a minus, beside a dot,
    under a square.

    >>> bracketed("0.5000"), bracketed("-0.5000"), bracketed(latex_number(2e-7))
    ('0.5000', '(-0.5000)', '(2.0000 \\\\cdot 10^{-7})')
    """
    return f"({text})" if text.startswith(("-", "−")) or "cdot" in text else text
