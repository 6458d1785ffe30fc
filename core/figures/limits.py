"""Pictures of the lesson Limits: passages by how often they were read, and what was said against what came true. Arrays and labels in, an altair chart out."""
from __future__ import annotations

import json
from collections.abc import Sequence

import altair as alt
import pandas as pd

from core.evaluation.statistics import Calibration, Proportion
from core.figures.numbers import readable
from core.figures.style import altair_theme, colour


def passages(frame: pd.DataFrame, groups: Sequence[str], titles: tuple[str, str], kinds: tuple[str, str], is_share: bool, theme: str, scale: float = 1.0, height: int = 300) -> alt.LayerChart:
    """A dot for each passage (filled) and each twin (a hollow diamond): columns x (place of the group, and a little beside it), y, kind, name, shown and picked.

    groups: what stands under x = 0, 1, …; titles: of the two axes; kinds: the names of the two kinds, passages first; is_share: y lies in [0, 1].
    """
    axis = alt.Axis(values=list(range(len(groups))), labelExpr=f"{json.dumps(list(groups), ensure_ascii=False)}[datum.value]", labelAngle=0)
    x = alt.X("x:Q", title=titles[0], scale=alt.Scale(domain=[-0.5, len(groups) - 0.5], nice=False), axis=axis)
    y = alt.Y("y:Q", title=titles[1], scale=alt.Scale(domain=[-0.03, 1.05], nice=False) if is_share else alt.Scale(zero=True), axis=alt.Axis(grid=True, tickCount=5, **({"values": [0, 0.25, 0.5, 0.75, 1], "format": "%"} if is_share else {})))
    legend = alt.Legend(title=None, orient="top", offset=2, padding=0, symbolOpacity=1)
    tone = alt.Color("kind:N", scale=alt.Scale(domain=list(kinds), range=[colour("kept", theme, "ink"), colour("key", theme, "ink")]), legend=legend)
    shape = alt.Shape("kind:N", scale=alt.Scale(domain=list(kinds), range=["circle", "diamond"]), legend=legend)
    tooltip = [alt.Tooltip("name:N", title=" "), alt.Tooltip("kind:N", title=" "), alt.Tooltip("shown:N", title=titles[1])]
    base = alt.Chart(frame).encode(x=x, y=y)
    dots = base.mark_point(filled=True, opacity=0.9, size=80 * scale).encode(color=tone, shape=shape, tooltip=tooltip)
    ring = base.transform_filter("datum.picked").mark_point(filled=False, size=220 * scale, strokeWidth=2, opacity=1, color=colour("text", theme))
    return alt.layer(dots, ring).properties(height=height, width="container", config=altair_theme(theme, scale))


def reliability(found: Calibration, titles: tuple[str, str, str], names: tuple[str, str], theme: str, scale: float = 1.0, height: int = 260) -> alt.VConcatChart:
    """The share of predictions that came true against the mean probability that they were given, a dot with Wilson's interval for each bin of predictions; below, how many.

    titles: of x, of y and of the counts; names: what stands at the diagonal, and of a count in the tooltip.
    """
    rows = []
    for one in found.bins:
        right = round(one.share_right * one.count) if one.count else 0
        low, high = Proportion(right, one.count).interval if one.count else (None, None)
        rows.append({"left": one.low, "right": one.high, "said": one.confidence if one.count else None, "came": one.share_right if one.count else None, "low": low, "high": high, "count": one.count,
                     "bin": f"{one.low:.1f} – {one.high:.1f}", "reading": f"{right} / {one.count}" if one.count else "0", "said_shown": readable(one.confidence), "came_shown": readable(one.share_right)})
    frame = pd.DataFrame(rows)
    span = alt.Scale(domain=[0, 1], nice=False)
    x, y = alt.X("said:Q", title=None, scale=span, axis=alt.Axis(labels=False, values=[0, 0.2, 0.4, 0.6, 0.8, 1], grid=True)), alt.Y("came:Q", title=titles[1], scale=span, axis=alt.Axis(grid=True, format="%", values=[0, 0.25, 0.5, 0.75, 1]))
    tooltip = [alt.Tooltip("bin:N", title=" "), alt.Tooltip("said_shown:N", title=titles[0]), alt.Tooltip("came_shown:N", title=titles[1]), alt.Tooltip("reading:N", title=names[1])]
    ends = pd.DataFrame({"said": [0.0, 1.0], "came": [0.0, 1.0]})
    ink, quiet = colour("kept", theme, "ink"), colour("excluded", theme, "ink")
    diagonal = alt.Chart(ends).mark_line(color=quiet, strokeDash=[5, 4], strokeWidth=1.5).encode(x=x, y=y)
    word = alt.Chart(pd.DataFrame({"said": [0.03], "came": [0.03], "text": [names[0]]})).mark_text(align="left", baseline="bottom", dx=24, dy=-2, fontSize=11.5 * scale, color=colour("muted", theme)).encode(
        x=x, y=alt.datum(0.0), text="text:N")
    base = alt.Chart(frame.dropna(subset=["said"]))
    bars = base.mark_rule(color=ink, strokeWidth=2 * scale).encode(x=x, y=alt.Y("low:Q", title=titles[1], scale=span), y2="high:Q", tooltip=tooltip)
    dots = base.mark_point(filled=True, opacity=1, size=70 * scale, color=ink).encode(x=x, y=y, tooltip=tooltip)
    counts = alt.Chart(frame).mark_bar(color=colour("kept", theme), stroke=colour("page", theme)).encode(
        x=alt.X("left:Q", title=titles[0], scale=span, axis=alt.Axis(format="%", values=[0, 0.2, 0.4, 0.6, 0.8, 1])), x2="right:Q", y=alt.Y("count:Q", title=titles[2], axis=alt.Axis(grid=False, tickCount=2, format="~s")), tooltip=tooltip)
    return alt.vconcat(alt.layer(diagonal, word, bars, dots).properties(height=height, width="container"), counts.properties(height=round(46 * scale), width="container"), spacing=6).properties(
        config=altair_theme(theme, scale))
