"""A line chart of generation: over the number of tokens, with the KV cache and without it."""
from collections.abc import Sequence

import pandas as pd

from core.figures.lines import Axis, Lines, Look, line_rows, tooltip
from core.figures.numbers import readable


def over_tokens(tokens: Sequence[int], lines: Sequence[tuple[str, Sequence[float]]], titles: tuple[str, str],
                look: Look, height: int) -> tuple[pd.DataFrame, dict]:
    """The table and the spec of one line for each (name, values) over the number of tokens, with its name at the end:
    the first solid and dark, the second dashed and grey.

    titles: of the two axes, with their units.
    """
    rows = pd.DataFrame([(name, n, value, readable(value, 4)) for name, values in lines
                         for n, value in zip(tokens, values)], columns=["name", "x", "y", "shown"])
    x, y = Axis(titles[0], (0, max(tokens)), ticks=6, format=""), Axis(titles[1], format="~s")
    drawn = Lines({name: look.ink(meaning) for (name, _), meaning in zip(lines, ("kept", "excluded"))}, x, y, look,
                  ([1, 0], [6, 3]), clip=False)
    names = drawn.names(13, -2, align="right", dy=-10, fontWeight="bold")
    return line_rows(rows, y, 0), look.spec(
        [drawn.strokes(2.2 / look.scale), drawn.points(32, color=drawn.colours(), tooltip=tooltip(x, y, "shown")),
         names], height, None)
