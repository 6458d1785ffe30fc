"""Charts of one vector in a block, before and after a norm; and of what transformers that differ in their norms do."""
import math
from collections.abc import Mapping, Sequence

import altair as alt
import numpy as np
import pandas as pd

from core.figures.channels import quantity, tips
from core.figures.lines import Axis, Lines, Look, channel, line_rows, ruled, tooltip
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
LOOKS = {"pre": ("residual", (1, 0)), "post": ("accent", (7, 4)), "sandwich": ("value", (2, 3)),
         "deepnorm": ("query", (10, 3, 2, 3)), "none": ("key", (1, 2))}


def lines_of(curves: Mapping[str, tuple[Sequence, Sequence]], names: Mapping[str, str], titles: tuple[str, str],
             look: Look, height: int, *, log: bool, most: float | None = None,
             level: tuple[float, str] | None = None) -> tuple[pd.DataFrame, dict]:
    """The table and the spec of a line for each of LOOKS, from x and y by name, with its name at its end. Values that
    are not finite, or above `most`, have no point: the line leaves the chart there. level: a dashed line across, with
    its name.
    """
    def seen(y: float) -> float:
        return float(y) if np.isfinite(y) and (most is None or y <= most) and (y > 0 or not log) else math.nan

    rows = pd.DataFrame([(names[which], x, seen(y), readable(float(y)))
                         for which, (xs, ys) in curves.items() for x, y in zip(xs, ys)],
                        columns=["name", "x", "y", "shown"])
    x = Axis(titles[0], (0, int(rows["x"].max()) if len(rows) else 1), ticks=6,
             labels={"tickMinStep": 1, "format": "d", "labelFlush": False})
    y = _powers(titles[1], rows["y"]) if log else Axis(titles[1], (0.0, most), ticks=4, format=".3~g")
    drawn = Lines({names[which]: look.ink(meaning) for which, (meaning, _) in LOOKS.items() if which in names}, x, y,
                  look, [dash for which, (_, dash) in LOOKS.items() if which in names], clip=False)
    across = [] if level is None else ruled(
        [level], {"y": channel("value")}, {"x": {"value": "width"}},
        {"color": look.ink("excluded"), "strokeDash": [5, 3]},
        look.words(12, "text", align="right", baseline="bottom", dx=-4, dy=-3))
    return line_rows(rows, y, NAME * look.scale / height), look.spec(
        [*across, drawn.strokes(2.6),
         drawn.points(22 * look.scale, color=drawn.colours(), tooltip=tooltip(x, y, "shown")), drawn.names(12.5, 8)],
        height, None)


def _powers(title: str, values: pd.Series) -> Axis:
    """A logarithmic axis over the powers of ten between which the values lie."""
    logs = np.log10(values.dropna()) if values.notna().any() else np.array([0.0])
    low, high = math.floor(logs.min()), max(math.ceil(logs.max()), math.floor(logs.min()) + 1)
    return Axis(title, (10.0 ** low, 10.0 ** high), log=True, ticks=None, labels={
        "values": [10.0 ** k for k in range(low, high + 1)], "labelExpr": POWER_OF_TEN})
