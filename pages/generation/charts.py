"""An altair chart of generation: lines over the number of tokens, with the KV cache and without it."""
from collections.abc import Sequence

import altair as alt
import pandas as pd

from core.figures.channels import kinds, quantity, tips
from core.figures.numbers import readable
from core.figures.style import colour, overlaid


def over_tokens(tokens: Sequence[int], lines: Sequence[tuple[str, Sequence[float]]], titles: tuple[str, str],
                theme: str, scale: float, height: int) -> alt.LayerChart:
    """One line for each (name, values) over the number of tokens, with its name at the end: the first solid and dark,
    the second dashed and grey.

    titles: of the two axes, with their units.
    """
    frame = pd.DataFrame([{"line": name, "n": n, "value": value, "shown": readable(value, 4)} for name, values in lines
                          for n, value in zip(tokens, values)])
    names = [name for name, _ in lines]
    inks = (colour(meaning, theme, "ink") for meaning in ("kept", "excluded"))
    base = alt.Chart(frame).encode(
        x=quantity(alt.X, "n", titles[0], [0, max(tokens)], tickCount=6),
        y=quantity(alt.Y, "value", titles[1], grid=True, tickCount=5, format="~s"),
        color=kinds(alt.Color, "line", dict(zip(names, inks))))
    line = base.mark_line(strokeWidth=2.2).encode(
        strokeDash=kinds(alt.StrokeDash, "line", dict(zip(names, ([1, 0], [6, 3])))))
    points = base.mark_point(filled=True, size=32, opacity=1).encode(
        tooltip=tips(line=" ", n=titles[0], shown=titles[1]))
    ends = base.transform_filter(alt.datum.n == max(tokens)).mark_text(align="right", dy=-10, dx=-2,
                                                                       fontSize=13 * scale, fontWeight="bold").encode(
                                                                           text=alt.Text("line:N"))
    return overlaid([line, points, ends], theme, scale, height)
