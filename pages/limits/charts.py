"""Pictures of the lesson Limits: passages by how often they were read, and what was said against what came true.

Arrays and labels in, an altair chart out.
"""
import json
from collections.abc import Sequence

import altair as alt
import pandas as pd

from core.analysis.statistics import Bin, Calibration, Proportion
from core.figures.numbers import readable
from core.figures.style import colour, framed, untitled

SPAN = alt.Scale(domain=[0, 1], nice=False)
TICKS = [0, 0.2, 0.4, 0.6, 0.8, 1]


def passages(frame: pd.DataFrame, groups: Sequence[str], titles: tuple[str, str], kinds: tuple[str, str],
             is_share: bool, theme: str, scale: float = 1.0, height: int = 150,
             with_legend: bool = True) -> alt.LayerChart:
    """A dot for each passage (a disc) and each twin (a diamond), and a line at the mean of each kind in each group.

    frame: columns group, x (the group, and a little beside it), y, kind, name, shown and picked. groups: what stands
    under x = 0, 1, …; titles: of the two axes, that of x may be empty;
    kinds: the names of the two kinds, passages first; is_share: y lies in [0, 1].
    """
    axis = alt.Axis(values=list(range(len(groups))),
                    labelExpr=f"{json.dumps(list(groups), ensure_ascii=False)}[datum.value]", labelAngle=0)
    x = alt.X("x:Q", title=titles[0] or None, scale=alt.Scale(domain=[-0.5, len(groups) - 0.5], nice=False), axis=axis)
    shares = {"values": [0, 0.5, 1], "format": "%"} if is_share else {"tickCount": 4}
    y = alt.Y("y:Q", title=titles[1],
              scale=alt.Scale(domain=[-0.06, 1.08], nice=False) if is_share else alt.Scale(zero=True),
              axis=alt.Axis(grid=True, minExtent=34 * scale, maxExtent=34 * scale, **shares))
    legend = alt.Legend(title=None, orient="top", offset=2, padding=0, symbolOpacity=1) if with_legend else None
    tone = alt.Color("kind:N", scale=alt.Scale(domain=list(kinds), range=[colour("kept", theme, "ink"),
                                                                          colour("key", theme, "ink")]), legend=legend)
    shape = alt.Shape("kind:N", scale=alt.Scale(domain=list(kinds), range=["circle", "diamond"]), legend=legend)
    tooltip = [*untitled("name", "kind"), alt.Tooltip("shown:N", title=titles[1])]
    base = alt.Chart(frame).encode(x=x, y=y)
    dots = base.mark_point(filled=True, opacity=0.9, size=70 * scale).encode(color=tone, shape=shape, tooltip=tooltip)
    ring = base.transform_filter("datum.picked").mark_point(filled=False, size=200 * scale, strokeWidth=2, opacity=1,
                                                            color=colour("text", theme))
    means = (alt.Chart(frame).transform_aggregate(y="mean(y)", left="min(x)", right="max(x)", groupby=["group", "kind"])
             .transform_calculate(from_="datum.left - 0.06", to="datum.right + 0.06").mark_rule(
                 strokeWidth=2).encode(x=alt.X("from_:Q", title=titles[0] or None), x2=alt.X2("to:Q"), y=y, color=tone))
    return framed(alt.layer(means, dots, ring), theme, scale, height=height, width="container")


def reliability(found: Calibration, titles: tuple[str, str], names: tuple[str, str], theme: str, scale: float = 1.0,
                height: int = 200) -> alt.LayerChart:
    """The share of predictions that came true against the mean probability that they were given, a dot with Wilson's
    interval for each bin.

    titles: of x and of y; names: what stands at the diagonal, and of the counts in the tooltip.
    """
    rows = []
    for one in (one for one in found.bins if one.count):
        right = round(one.share_right * one.count)
        low, high = Proportion(right, one.count).interval
        rows.append({"said": one.confidence, "came": one.share_right, "low": low, "high": high, "bin": _bin(one),
                     "reading": f"{right} / {one.count}", "said_shown": readable(one.confidence),
                     "came_shown": readable(one.share_right)})
    y_axis = alt.Axis(grid=True, format="%", values=[0, 0.25, 0.5, 0.75, 1], minExtent=40 * scale, maxExtent=40 * scale)
    x, y = (alt.X("said:Q", title=None, scale=SPAN, axis=alt.Axis(labels=False, values=TICKS, grid=True)),
            alt.Y("came:Q", title=titles[1], scale=SPAN, axis=y_axis))
    tooltip = [alt.Tooltip("bin:N", title=" "), alt.Tooltip("said_shown:N", title=titles[0]),
               alt.Tooltip("came_shown:N", title=titles[1]), alt.Tooltip("reading:N", title=names[1])]
    ink, quiet = colour("kept", theme, "ink"), colour("excluded", theme, "ink")
    diagonal = (alt.Chart(pd.DataFrame({"said": [0.0, 1.0], "came": [0.0, 1.0]}))
                .mark_line(color=quiet, strokeDash=[5, 4], strokeWidth=1.5).encode(x=x, y=y))
    word = (alt.Chart(pd.DataFrame({"said": [0.02], "came": [0.93], "text": [names[0]]}))
            .mark_text(align="left", baseline="middle", fontSize=12 * scale, color=colour("muted", theme)).encode(
                x=x, y=y, text=alt.Text("text:N")))
    base = alt.Chart(pd.DataFrame(rows))
    intervals = base.mark_rule(color=ink, strokeWidth=2 * scale).encode(
        x=x, y=alt.Y("low:Q", title=titles[1], scale=SPAN), y2=alt.Y2("high:Q"), tooltip=tooltip)
    dots = base.mark_point(filled=True, opacity=1, size=70 * scale, color=ink).encode(x=x, y=y, tooltip=tooltip)
    return framed(alt.layer(diagonal, word, intervals, dots), theme, scale, height=height, width="container")


def counts(found: Calibration, titles: tuple[str, str], theme: str, scale: float = 1.0, height: int = 90) -> alt.Chart:
    """How many predictions lie in each bin: bars that stand under those of `reliability`. titles: of x and of y."""
    frame = pd.DataFrame([{"left": one.low, "right": one.high, "count": one.count, "bin": _bin(one)}
                          for one in found.bins])
    bars = alt.Chart(frame).mark_rect(color=colour("kept", theme), stroke=colour("page", theme)).encode(
        x=alt.X("left:Q", title=titles[0], scale=SPAN, axis=alt.Axis(format="%", values=TICKS)), x2=alt.X2("right:Q"),
        y=alt.Y("count:Q", title=titles[1], axis=alt.Axis(grid=False, tickCount=2, format="~s", minExtent=40 * scale,
                                                          maxExtent=40 * scale)), y2=alt.datum(0),
        tooltip=[alt.Tooltip("bin:N", title=" "), alt.Tooltip("count:Q", title=titles[1])])
    return framed(bars, theme, scale, height=height, width="container")


def _bin(one: Bin) -> str:
    return f"{one.low:.1f} – {one.high:.1f}"
