"""Numbers as a reader sees them: a few significant digits, and never rounded into a falsehood."""
from __future__ import annotations


def probability(p: float, digits: int = 3) -> str:
    """A probability in [0, 1] with `digits` significant digits; what is less than 1 never reads as 1, what is above 0 never as 0.

    >>> probability(0.4567), probability(0.99963), probability(1.0), probability(3.21e-7)
    ('0.457', '0.9996', '1', '3.2e-07')
    """
    if not p or p == 1:
        return f"{p:.0f}"
    if p < 1e-4:
        return f"{p:.{digits - 2}e}"
    shown = f"{p:.{digits}g}"
    if float(shown) < 1:
        return shown
    places = digits
    while float(f"{p:.{places}f}") == 1 and places < 16:
        places += 1
    return f"{p:.{places}f}"
