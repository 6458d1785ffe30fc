"""WCAG 2 contrast of two colours."""
from core.figures.style import linear_rgb


def contrast(one: str, other: str) -> float:
    """The ratio of two #RRGGBB colours, from 1 (the same) to 21 (black on white).

    >>> round(contrast("#000000", "#FFFFFF"), 1)
    21.0
    """
    low, high = sorted(float(linear_rgb(colour) @ (0.2126, 0.7152, 0.0722)) for colour in (one, other))
    return (high + 0.05) / (low + 0.05)
