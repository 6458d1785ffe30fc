"""Pictures of what models cost: how work grows with the length, models over time, scores against cost,
losses against size.
"""
import functools
import math
from collections.abc import Mapping

import altair as alt
import numpy as np
import pandas as pd

from core.figures.style import POWER_OF_TEN, TIMES_POWER_OF_TEN, colour, framed, haloed, untitled

MEANINGS = {"attention": "attention", "window": "key", "recurrent": "residual"}
DASHES = {"attention": [1, 0], "window": [6, 3], "recurrent": [2, 2]}
# pixels, width and height: a telephone's plot, and a small laptop's
PLOTS = {"narrow": (290, 210), "wide": (900, 210)}
ROOMY = 620             # pixels of width from which a plot is wide
NAME = (6.4, 15)        # pixels of a letter and of a line at the size of the names
MARK = 11               # pixels from the middle of a line to that of a point that it does not touch
SIDES = {"over": -12, "under": 19}      # pixels from a point to its name


def finish(chart: alt.TopLevelMixin, theme: str, height: int, scale: float) -> alt.TopLevelMixin:
    """The chart in the house's look, its type `scale` times larger than usual (present mode)."""
    return framed(chart, theme, scale, height=height)


def growth(rows: pd.DataFrame, names: Mapping[str, str], axis_titles: tuple[str, str], theme: str,
           value_format: str = "~s", scale: float = 1.0, height: int = 300) -> alt.TopLevelMixin:
    """Work against length on two logarithmic axes, a labelled line a method, told apart by dash and colour. rows:
    method, n, value, shown (the value as it is written).
    """
    methods = list(names)
    frame = rows.assign(name=[names[method] for method in rows["method"]])
    x = alt.X("n:Q", title=axis_titles[0], scale=alt.Scale(type="log", base=2, nice=False),
              axis=alt.Axis(values=sorted(frame["n"].unique().tolist()), format="d", labelFlush=False))
    base = (alt.Chart(frame).encode(
        x=x, y=alt.Y("value:Q", title=axis_titles[1], scale=alt.Scale(type="log"),
                     axis=alt.Axis(grid=True, values=_powers(frame["value"]), format=value_format)),
        color=alt.Color("method:N", scale=alt.Scale(domain=methods, range=[colour(MEANINGS[m], theme, "ink")
                                                                           for m in methods]), legend=None)))
    lines = base.mark_line(strokeWidth=2.6 * scale).encode(
        strokeDash=alt.StrokeDash("method:N",
                                  scale=alt.Scale(domain=methods, range=[DASHES[m] for m in methods]), legend=None))
    points = base.mark_point(filled=True, size=42 * scale, opacity=1).encode(
        tooltip=[alt.Tooltip("name:N", title=" "), alt.Tooltip("n:Q", title="N"),
                 alt.Tooltip("shown:N", title=axis_titles[1])])
    labels = base.properties(data=_ends(frame)).mark_text(align="left", dx=8, fontSize=13 * scale,
                                                          fontWeight=600).encode(text=alt.Text("name:N"))
    return finish(alt.layer(lines, points, labels), theme, height, scale)


def _powers(values: pd.Series) -> list[float]:
    """The powers of ten around some positive values."""
    return [10.0 ** power
            for power in range(math.floor(math.log10(values.min())), math.ceil(math.log10(values.max())) + 1)]


def _ends(frame: pd.DataFrame) -> pd.DataFrame:
    """Where each line's name stands: at its end, and clear of the one below it."""
    last = frame[frame["n"] == frame["n"].max()].sort_values("value").to_dict("records")
    apart = (frame["value"].max() / frame["value"].min()) ** 0.08
    for below, row in zip(last, last[1:]):
        row["value"] = max(row["value"], below["value"] * apart)
    return pd.DataFrame(last)


@functools.lru_cache(maxsize=64)        # of the same points in every rerun
def name_sides(x: tuple[float, ...], y: tuple[float, ...], names: tuple[str, ...],
               plot: tuple[float, float] = PLOTS["narrow"]) -> list[str]:
    """Where the names of points, given in their order of rank and in any units, stand in a plot of so many pixels.

    Over or under their point, where fewer points lie, or nowhere ("") where both meet another name or the axis.

    >>> name_sides((0, 1, 1.1, 1.15), (0, 1, 1.02, 1.01), ("first", "second", "third", "fourth"))
    ['over', 'over', 'under', '']
    """
    right, up = ((np.asarray(values, float) - min(values)) / max(np.ptp(values), 1e-9) * pixels
                 for values, pixels in zip((x, y), plot))
    sides, taken = [], []
    for i, name in enumerate(names):
        half, heights = NAME[0] * len(name) / 2, {side: up[i] - dy for side, dy in SIDES.items()}
        free = [side for side, height in heights.items()
                if name and height > 0 and not any(abs(right[i] - at) < half + other and abs(height - level) < NAME[1]
                                                   for at, level, other in taken)]
        sides.append(min(free, key=lambda side: int(((np.abs(right - right[i]) < half)
                                                     & (np.abs(up - heights[side]) < MARK)).sum()), default=""))
        taken += [(right[i], heights[side], half) for side in sides[-1:] if side]
    return sides


def _placed(rows: pd.DataFrame, x: pd.Series, y: pd.Series) -> pd.DataFrame:
    """The rows with the sides of each name in either plot, the highest ones first in rank."""
    ranked = y.sort_values(ascending=False).index
    points = tuple(tuple(values[ranked]) for values in (x, y, rows["name"].where(rows["named"], "")))
    return rows.assign(**{kind: pd.Series(name_sides(*points, plot), ranked) for kind, plot in PLOTS.items()})


def _names(base: alt.Chart, theme: str, scale: float) -> list:
    """The names of `_placed` rows beside their points, and the halo below them."""
    side = f"(width < {ROOMY} ? datum.narrow : datum.wide)"
    look = dict(dy=alt.ExprRef(f"{side} == 'under' ? {SIDES['under']} : {SIDES['over']}"),
                opacity=alt.ExprRef(f"{side} ? 1 : 0"), fontSize=12 * scale)
    return haloed(base.transform_filter("datum.named").encode(text=alt.Text("name:N")), theme, **look)


def timeline(rows: pd.DataFrame, names: Mapping[str, str], axis_title: str, theme: str, scale: float = 1.0,
             height: int = 330) -> alt.TopLevelMixin:
    """Models by month and a quantity, on a logarithmic axis: filled circles for weights that anyone can have, hollow
    ones else. rows: name, date, value, access, shown, more; `named` ones have their name.
    """
    access = list(names)
    placed = _placed(rows, pd.to_datetime(rows["date"]).astype("int64"), np.log(rows["value"]))
    base = alt.Chart(placed).encode(
        x=alt.X("date:T", title=None, scale=alt.Scale(padding=36), axis=alt.Axis(format="%Y", tickCount="year")),
        y=alt.Y("value:Q", title=axis_title, scale=alt.Scale(type="log", nice=True),
                axis=alt.Axis(grid=True, values=_powers(rows["value"]), labelExpr=POWER_OF_TEN)))
    kinds = alt.Scale(domain=access, range=[colour("value", theme), colour("page", theme)])
    points = base.mark_point(size=80 * scale, opacity=1, filled=True, strokeWidth=1.8).encode(
        fill=alt.Fill("access:N", scale=kinds, legend=None),
        stroke=alt.Stroke("access:N", scale=alt.Scale(domain=access, range=[colour("value", theme, "ink"),
                                                                            colour("text", theme)]), legend=None),
        tooltip=untitled("name", "shown", "more"))
    halo, name = _names(base, theme, scale)
    return finish(halo + points + name, theme, height, scale)


def scores(rows: pd.DataFrame, axis_titles: tuple[str, str], theme: str, scale: float = 1.0,
           height: int = 330) -> alt.TopLevelMixin:
    """BLEU against the operations of the training, one point a system, Transformers as filled diamonds. rows: name,
    flops, bleu, ours, shown.
    """
    placed = _placed(rows.assign(named=True), np.log(rows["flops"]), rows["bleu"])
    base = alt.Chart(placed).encode(
        x=alt.X("flops:Q", title=axis_titles[0], scale=alt.Scale(type="log", nice=False, padding=30),
                axis=alt.Axis(values=[3e18, 1e19, 3e19, 1e20, 3e20, 1e21], labelExpr=TIMES_POWER_OF_TEN)),
        y=alt.Y("bleu:Q", title=axis_titles[1], scale=alt.Scale(zero=False, padding=14),
                axis=alt.Axis(grid=True, tickCount=5)))
    points = base.mark_point(size=95 * scale, filled=True, opacity=1).encode(
        shape=alt.Shape("ours:N", scale=alt.Scale(domain=[True, False], range=["diamond", "circle"]), legend=None),
        color=alt.Color("ours:N", scale=alt.Scale(domain=[True, False], range=[colour("attention", theme, "ink"),
                                                                               colour("excluded", theme, "ink")]),
                        legend=None),
        tooltip=untitled("name", "shown"))
    halo, name = _names(base, theme, scale)
    return finish(halo + points + name, theme, height, scale)


def power_law(curve: pd.DataFrame, point: tuple[float, float], axis_titles: tuple[str, str], theme: str,
              scale: float = 1.0, height: int = 200) -> alt.TopLevelMixin:
    """A loss against a scale on logarithmic axes, with the reader's point on it. curve: scale, loss."""
    x = alt.X("scale:Q", title=axis_titles[0], scale=alt.Scale(type="log", nice=False),
              axis=alt.Axis(values=[10.0 ** power for power in range(-12, 18, 3)], labelExpr=POWER_OF_TEN,
                            labelOverlap=True))
    y = alt.Y("loss:Q", title=axis_titles[1], scale=alt.Scale(type="log", domain=[0.7, 13]),
              axis=alt.Axis(grid=True, values=[1, 2, 4, 8]))
    line = alt.Chart(curve).mark_line(color=colour("residual", theme, "ink"), strokeWidth=2.4 * scale).encode(x=x, y=y)
    mark = (alt.Chart(pd.DataFrame({"scale": [point[0]], "loss": [point[1]]}))
            .mark_point(size=130 * scale, filled=True, opacity=1, color=colour("drawn", theme),
                        stroke=colour("text", theme), strokeWidth=1.5).encode(
                            x=x, y=y, tooltip=[alt.Tooltip("scale:Q", title=axis_titles[0], format=".3g"),
                                               alt.Tooltip("loss:Q", title=axis_titles[1], format=".4f")]))
    return finish(alt.layer(line, mark), theme, height, scale)


def amounts(names: list[str], values: list[float], shown: list[str], axis_title: str, theme: str, scale: float = 1.0,
            height: int = 300) -> alt.TopLevelMixin:
    """Amounts as bars on a logarithmic axis, in the order given, each with its value."""
    frame = pd.DataFrame({"place": range(len(names)), "name": names, "value": values, "shown": shown, "from": 1.0})
    y = alt.Y("name:N", title=None, sort=names, scale=alt.Scale(paddingInner=0.3))
    base = alt.Chart(frame).encode(y=y)
    bars = base.mark_bar(color=colour("kept", theme)).encode(
        x=alt.X("from:Q", title=axis_title, scale=alt.Scale(type="log"),
                axis=alt.Axis(values=[1, 10, 100, 1000], format="~s")), x2=alt.X2("value:Q"),
                                                                       tooltip=untitled("name", "shown"))
    texts = base.mark_text(align="left", dx=5, fontSize=12 * scale, color=colour("muted", theme)).encode(
        x=alt.X("value:Q"), text=alt.Text("shown:N"))
    return finish(alt.layer(bars, texts), theme, height, scale)
