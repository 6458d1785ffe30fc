"""Charts of one vector in a block, before and after a norm; and of what transformers that differ in their norms do."""
import math
from collections.abc import Mapping, Sequence

import altair as alt
import numpy as np
import pandas as pd

from core.figures.channels import kinds, quantity, tips
from core.figures.lines import spread
from core.figures.numbers import readable
from core.figures.style import POWER_OF_TEN, colour, framed, layered

# No label for screen readers on each of hundreds of marks, which they would read one after the other: the chart's keys
# read the marks. Writing the labels takes a sixth of the time of a new prompt.
UNTOLD = {"aria": False}
NAME = 19               # px from the name of a line to the next


def vector_bars(values: np.ndarray, title: str, axis_title: str, last: bool, theme: str, scale: float,
                height: int) -> alt.LayerChart:
    """A vector's components (d,) as bars, with their mean as a dashed line and mean ± deviation as a band.

    last: the chart is the last of a column, which alone has the labels of the features.
    """
    n, mean, std = len(values), values.mean(), values.std()
    frame = pd.DataFrame({"feature": range(n), "value": values, "shown": [readable(value, 5) for value in values]})
    band = (alt.Chart(pd.DataFrame({"low": [mean - std], "high": [mean + std]}))
            .mark_rect(color=colour("residual", theme), opacity=0.16).encode(
                y=alt.Y("low:Q", title=None), y2=alt.Y2("high:Q")))
    line = alt.Chart(pd.DataFrame({"mean": [mean]})).mark_rule(color=colour("text", theme), strokeWidth=1.5 * scale,
                                                               strokeDash=[5, 3]).encode(y=alt.Y("mean:Q", title=None))
    bars = (alt.Chart(frame).mark_bar(**UNTOLD, color=colour("residual", theme, "ink"), size=max(1.0, 700 / n))
            .encode(x=quantity(alt.X, "feature", axis_title if last else None, [-1, n], labels=last, format="d"),
                    y=quantity(alt.Y, "value", None, tickCount=3, format=".3~g", minExtent=52),
                    tooltip=tips(feature=axis_title, shown=" ")))
    return framed(layered(band, bars, line), theme, scale, height=height,
                  title=alt.Title(title, fontSize=13 * scale, offset=2))


# where the norm stands: the meaning of the line's colour, and its dashes
LOOKS = {"pre": ("residual", ()), "post": ("accent", (7, 4)), "sandwich": ("value", (2, 3)),
         "deepnorm": ("query", (10, 3, 2, 3)), "none": ("key", (1, 2))}


def lines_of(curves: Mapping[str, tuple[Sequence, Sequence]], names: Mapping[str, str], titles: tuple[str, str], *,
             log: bool, theme: str, scale: float, height: int, most: float | None = None,
             level: tuple[float, str] | None = None) -> alt.LayerChart:
    """A line for each of LOOKS, from x and y by name, with its name at its end. Values that are not finite, or above
    `most`, have no point: the line leaves the chart there. level: a dashed line across, with its name.
    """
    def seen(y: float) -> float:
        return float(y) if np.isfinite(y) and (most is None or y <= most) and (y > 0 or not log) else math.nan

    rows = pd.DataFrame([(which, names[which], x, seen(y), readable(float(y)))
                         for which, (xs, ys) in curves.items() for x, y in zip(xs, ys)],
                        columns=["which", "name", "x", "y", "shown"])
    low, high = _powers(rows["y"]) if log else (0.0, most)
    axis = alt.Axis(grid=True, values=[10.0 ** k for k in range(low, high + 1)], labelExpr=POWER_OF_TEN) if log else (
        alt.Axis(grid=True, tickCount=4, format=".3~g"))
    scaling = alt.Scale(type="log", domain=[10.0 ** low, 10.0 ** high], nice=False) if log else (
        alt.Scale(domain=[low, high], nice=False))
    base = alt.Chart(rows).encode(
        x=quantity(alt.X, "x", titles[0], [0, int(rows["x"].max()) if len(rows) else 1], tickMinStep=1, tickCount=6,
                   format="d", labelFlush=False),
        y=alt.Y("y:Q", title=titles[1], scale=scaling, axis=axis),
        color=kinds(alt.Color, "which", {which: colour(meaning, theme, "ink")
                                         for which, (meaning, _) in LOOKS.items()}))
    lines = base.mark_line(strokeWidth=2.6 * scale).encode(
        strokeDash=kinds(alt.StrokeDash, "which", {which: list(dash) or [1, 0] for which, (_, dash) in LOOKS.items()}))
    points = base.mark_point(filled=True, size=22 * scale, opacity=1).encode(
        tooltip=tips(name=" ", x=titles[0], shown=titles[1]))
    named = base.properties(data=_ends(rows, log, NAME * scale / height * (high - low))).mark_text(
        align="left", dx=8, fontSize=12.5 * scale, fontWeight=600).encode(text=alt.Text("name:N"))
    across = [] if level is None else _across(*level, titles[1], theme, scale)
    return framed(layered(*across, lines, points, named), theme, scale, height=height)


def _powers(values: pd.Series) -> tuple[int, int]:
    """The powers of ten between which the values lie."""
    logs = np.log10(values.dropna()) if values.notna().any() else np.array([0.0])
    return math.floor(logs.min()), max(math.ceil(logs.max()), math.floor(logs.min()) + 1)


def _ends(rows: pd.DataFrame, log: bool, gap: float) -> pd.DataFrame:
    """The last point of each line, moved up or down so that their names stand apart."""
    ends = rows.dropna(subset=["y"]).groupby("which", sort=False).tail(1).copy()
    places = spread(np.log10(ends["y"]) if log else ends["y"], gap)
    ends["y"] = 10.0 ** np.asarray(places) if log else places
    return ends


def _across(value: float, name: str, title: str, theme: str, scale: float) -> list[alt.Chart]:
    """A dashed line across at a value, with its name above its right end."""
    base = alt.Chart(pd.DataFrame({"y": [value], "name": [name]})).encode(y=alt.Y("y:Q", title=title))
    return [base.mark_rule(color=colour("excluded", theme, "ink"), strokeDash=[5, 3]),
            base.mark_text(align="right", baseline="bottom", dx=-4, dy=-3, fontSize=12 * scale,
                           color=colour("text", theme)).encode(x=alt.XValue("width"), text="name:N")]
