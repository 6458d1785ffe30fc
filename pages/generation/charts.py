"""An altair chart of generation: lines over the number of tokens, with the KV cache and without it."""
from collections.abc import Sequence

import altair as alt
import pandas as pd

from core.figures.style import colour, framed, layered


def over_tokens(tokens: Sequence[int], lines: Sequence[tuple[str, Sequence[float]]], titles: tuple[str, str],
                theme: str, scale: float, height: int) -> alt.LayerChart:
    """One line for each (name, values) over the number of tokens, with its name at the end: the first solid and dark,
    the second dashed and grey.

    titles: of the two axes, with their units.
    """
    frame = pd.DataFrame([{"line": name, "n": n, "value": value, "shown": f"{value:,.4g}"} for name, values in lines
                          for n, value in zip(tokens, values)])
    names = [name for name, _ in lines]
    inks = [colour("kept", theme, "ink"), colour("excluded", theme, "ink")][:len(names)]
    base = alt.Chart(frame).encode(
        x=alt.X("n:Q", title=titles[0], scale=alt.Scale(domain=[0, max(tokens)], nice=False),
                axis=alt.Axis(tickCount=6)),
        y=alt.Y("value:Q", title=titles[1], axis=alt.Axis(grid=True, tickCount=5, format="~s")),
        color=alt.Color("line:N", legend=None, scale=alt.Scale(domain=names, range=inks)))
    line = base.mark_line(strokeWidth=2.2).encode(
        strokeDash=alt.StrokeDash("line:N", legend=None,
                                  scale=alt.Scale(domain=names, range=[[1, 0], [6, 3]][:len(names)])))
    points = base.mark_point(filled=True, size=32, opacity=1).encode(
        tooltip=[alt.Tooltip("line:N", title=" "), alt.Tooltip("n:Q", title=titles[0]),
                 alt.Tooltip("shown:N", title=titles[1])])
    ends = base.transform_filter(alt.datum.n == max(tokens)).mark_text(align="right", dy=-10, dx=-2,
                                                                       fontSize=13 * scale, fontWeight="bold").encode(
                                                                           text=alt.Text("line:N"))
    return framed(layered(line, points, ends), theme, scale, height=height, width="container")
