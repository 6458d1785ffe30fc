"""Pictures of what one changed word does: tokens that gain and lose, log-ratios of all tokens, and log-ratios over many
sentences. Arrays and labels in, an altair object out.
"""
import json
from collections.abc import Sequence

import altair as alt
import numpy as np
import pandas as pd

from core.figures.numbers import probability, readable
from core.figures.style import MONO, POWER_OF_TEN, colour, diverging, framed, haloed, untitled


def _signed(field: str, theme: str) -> alt.ColorValue:
    """Gains and losses in the two hues of the diverging scale; which way a bar points says the same."""
    stops = [stop for _, stop in diverging(theme)]
    return alt.ColorValue(stops[1], condition={"test": f"datum.{field} > 0", "value": stops[7]})


def movers(tokens: Sequence[str], p: np.ndarray, q: np.ndarray, values: np.ndarray, titles: tuple[str, str, str],
           theme: str, scale: float, height: int) -> alt.LayerChart:
    """A bar for each token, from 0, in the order given; p → q stands on the other side of 0. titles: of the values'
    axis, of p and of q.
    """
    frame = pd.DataFrame({"place": range(len(tokens)), "token": list(tokens), "value": np.asarray(values, float)})
    frame["shown"] = [f"{probability(a, 2)} → {probability(b, 2)}" for a, b in zip(p, q)]
    frame["p"], frame["q"], frame["exact"] = ([probability(a, 4) for a in p], [probability(b, 4) for b in q],
                                              [readable(value, 4) for value in values])
    most = float(frame["value"].abs().max()) if len(frame) else 1.0
    names = json.dumps(list(tokens), ensure_ascii=False)
    axis = alt.Axis(labelExpr=f"{names}[toNumber(datum.value)]", labelFont=MONO, labelFontSize=12.5 * scale,
                    labelColor=colour("text", theme), labelLimit=110 * scale)
    y = alt.Y("place:O", title=None, axis=axis, scale=alt.Scale(paddingInner=0.25))
    tooltip = [alt.Tooltip("token:N", title=" "), alt.Tooltip("p:N", title=titles[1]),
               alt.Tooltip("q:N", title=titles[2]), alt.Tooltip("exact:N", title=titles[0])]
    base = alt.Chart(frame).encode(y=y)
    x = alt.X("value:Q", title=titles[0], scale=alt.Scale(domain=[-most, most], nice=False),
              axis=alt.Axis(grid=True, tickCount=4, format="~g"))
    bars = base.mark_bar().encode(x=x, color=_signed("value", theme), tooltip=tooltip)
    sides = [base.transform_filter(where).mark_text(fontSize=11.5 * scale, align=align, baseline="middle", dx=dx,
                                                    color=colour("muted", theme)).encode(x=alt.datum(0),
                                                                                         text=alt.Text("shown:N"))
             for where, align, dx in (("datum.value > 0", "right", -6), ("datum.value <= 0", "left", 6))]
    return framed(alt.layer(bars, *sides), theme, scale, height=height, width="container")


def log_ratios(tokens: Sequence[str], p: np.ndarray, q: np.ndarray, named: Sequence[bool], titles: tuple[str, str],
               theme: str, scale: float, height: int) -> alt.LayerChart:
    """ln(q / p) of each token over the geometric mean of p and q; larger marks move more probability; some are named.
    titles: of the two axes.
    """
    frame = pd.DataFrame({"token": list(tokens), "mean": np.sqrt(p * q), "ratio": np.log(q / p), "moved": np.abs(q - p),
                          "named": list(named)})
    frame["p"], frame["q"] = [probability(a, 3) for a in p], [probability(b, 3) for b in q]
    # room for a name at either end
    x = alt.X("mean:Q", title=titles[0], scale=alt.Scale(type="log", nice=False, padding=26 * scale),
              axis=alt.Axis(labelExpr=POWER_OF_TEN, tickCount=6))
    y = alt.Y("ratio:Q", title=titles[1], axis=alt.Axis(grid=True, tickCount=6))
    tooltip = [alt.Tooltip("token:N", title=" "), alt.Tooltip("p:N"), alt.Tooltip("q:N"),
               alt.Tooltip("ratio:Q", title="ln(q/p)", format=".4f")]
    zero = alt.Chart(pd.DataFrame({"zero": [0.0]})).mark_rule(color=colour("text", theme)).encode(
        y=alt.Y("zero:Q", title=titles[1]))
    points = alt.Chart(frame).mark_point(filled=True, opacity=0.75).encode(
        x=x, y=y, color=_signed("ratio", theme),
        size=alt.Size("moved:Q", legend=None, scale=alt.Scale(range=[14 * scale, 320 * scale])), tooltip=tooltip)
    names = haloed(alt.Chart(frame[frame["named"]]).encode(x=x, y=y, text=alt.Text("token:N")), theme, font=MONO,
                   fontSize=12 * scale, dy=-11 * scale, limit=130 * scale)
    return framed(alt.layer(zero, points, *names), theme, scale, height=height, width="container")


def spreads(rows: Sequence[str], values: Sequence[tuple[str, np.ndarray]], title: str, theme: str, scale: float,
            height: int) -> alt.LayerChart:
    """One group of lanes for each row: for each (name, (rows, texts) values) a dot a text, the mean as a tick, one
    standard deviation to each side as a line.

    The first of the values is the one that is asked about, the others are controls.
    """
    names = [name for name, _ in values]
    long = pd.DataFrame([{"row": row, "set": name, "value": float(value)} for name, table in values
                         for row, line in zip(rows, table) for value in line])
    sums = pd.DataFrame([{"row": row, "set": name, "mean": float(line.mean()),
                          "low": float(line.mean() - line.std(ddof=1)), "high": float(line.mean() + line.std(ddof=1)),
                          "shown": f"{readable(float(line.mean()))} ± {readable(float(line.std(ddof=1)))}"}
                         for name, table in values for row, line in zip(rows, table)])
    inks = [colour(meaning, theme, "ink") for meaning in ("kept", "mlp", "attention")][:len(names)]
    y, lane = alt.Y("row:N", sort=list(rows), title=None, axis=alt.Axis(labelFont=MONO, labelFontSize=12 * scale),
                    scale=alt.Scale(paddingInner=0.28)), alt.YOffset("set:N", sort=names)
    tone = alt.Color("set:N", sort=names, scale=alt.Scale(domain=names, range=inks),
                     legend=alt.Legend(title=None, orient="top", symbolType="stroke", symbolStrokeWidth=3,
                                       columns=2, labelLimit=400))
    dash = alt.StrokeDash("set:N", sort=names,
                          scale=alt.Scale(domain=names, range=[[1, 0], [6, 3], [2, 2]][:len(names)]),
                          legend=alt.Legend(title=None, orient="top", columns=2, labelLimit=400))
    zero = alt.Chart(pd.DataFrame({"zero": [0.0]})).mark_rule(color=colour("text", theme)).encode(
        x=alt.X("zero:Q", title=title))
    dots = alt.Chart(long).mark_point(filled=True, size=13 * scale, opacity=0.55).encode(
        x=alt.X("value:Q", title=title, axis=alt.Axis(grid=True, tickCount=7, format="~g", labelSeparation=6)), y=y,
        yOffset=lane, color=tone)
    lines = alt.Chart(sums).mark_rule(strokeWidth=1.6 * scale).encode(
        x=alt.X("low:Q", title=title), x2=alt.X2("high:Q"), y=y, yOffset=lane, color=tone, strokeDash=dash)
    means = alt.Chart(sums).mark_tick(thickness=4 * scale, size=8 * scale, opacity=1).encode(
        x=alt.X("mean:Q", title=title), y=y, yOffset=lane, color=tone,
        tooltip=[*untitled("row", "set"), alt.Tooltip("shown:N", title=title)])
    return framed(alt.layer(zero, dots, lines, means), theme, scale, height=height, width="container")
