"""Pictures of what models cost: how work grows with the length, models over time, scores against cost, losses against size."""
from __future__ import annotations

import math
from collections.abc import Mapping

import altair as alt
import pandas as pd

from core.figures.style import altair_theme, colour

MEANINGS = {"attention": "attention", "window": "key", "recurrent": "residual"}
DASHES = {"attention": [1, 0], "window": [6, 3], "recurrent": [2, 2]}


def finish(chart: alt.TopLevelMixin, theme: str, height: int, scale: float) -> alt.TopLevelMixin:
    """The chart in the house's look, its type `scale` times larger than usual (present mode)."""
    return chart.properties(height=height).properties(config=altair_theme(theme, scale))


def growth(rows: pd.DataFrame, names: Mapping[str, str], axis_titles: tuple[str, str], theme: str, value_format: str = "~s", scale: float = 1.0, height: int = 300) -> alt.TopLevelMixin:
    """Work against length on two logarithmic axes, a labelled line a method, told apart by dash and colour. rows: method, n, value, shown (the value as it is written)."""
    methods = list(names)
    frame = rows.assign(name=[names[method] for method in rows["method"]])
    x = alt.X("n:Q", title=axis_titles[0], scale=alt.Scale(type="log", base=2, nice=False), axis=alt.Axis(values=sorted(frame["n"].unique().tolist()), format="d", labelFlush=False))
    base = alt.Chart(frame).encode(x=x, y=alt.Y("value:Q", title=axis_titles[1], scale=alt.Scale(type="log"), axis=alt.Axis(grid=True, values=_powers(frame["value"]), format=value_format)),
                                   color=alt.Color("method:N", scale=alt.Scale(domain=methods, range=[colour(MEANINGS[m], theme, "ink") for m in methods]), legend=None))
    lines = base.mark_line(strokeWidth=2.6 * scale).encode(strokeDash=alt.StrokeDash("method:N", scale=alt.Scale(domain=methods, range=[DASHES[m] for m in methods]), legend=None))
    points = base.mark_point(filled=True, size=42 * scale, opacity=1).encode(tooltip=[alt.Tooltip("name:N", title=" "), alt.Tooltip("n:Q", title="N"), alt.Tooltip("shown:N", title=axis_titles[1])])
    labels = base.properties(data=_ends(frame)).mark_text(align="left", dx=8, fontSize=13 * scale, fontWeight=600).encode(text="name:N")
    return finish(lines + points + labels, theme, height, scale)


def _powers(values: pd.Series) -> list[float]:
    """The powers of ten around some positive values."""
    return [10.0 ** power for power in range(math.floor(math.log10(values.min())), math.ceil(math.log10(values.max())) + 1)]


def _ends(frame: pd.DataFrame) -> pd.DataFrame:
    """Where each line's name stands: at its end, and clear of the one below it."""
    last = frame[frame["n"] == frame["n"].max()].sort_values("value").to_dict("records")
    apart = (frame["value"].max() / frame["value"].min()) ** 0.08
    for below, row in zip(last, last[1:]):
        row["value"] = max(row["value"], below["value"] * apart)
    return pd.DataFrame(last)
