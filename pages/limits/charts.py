"""Charts of the lesson Limits: recited passages, calibration, the effect of one changed word, shares of right answers.

Each function takes arrays and labels, and returns an altair chart.
"""
from collections.abc import Mapping, Sequence

import altair as alt
import numpy as np
import pandas as pd

from core.analysis.statistics import Bin, Calibration, Proportion
from core.figures.channels import by_index, kinds, quantity, tips
from core.figures.numbers import percent, readable
from core.figures.point_names import names_of, placed, plots_of
from core.figures.style import (
    MONO,
    POWER_OF_TEN,
    colour,
    diverging,
    framed,
    haloed,
    overlaid,
    sequential,
    untitled,
)

TICKS = [0, 0.2, 0.4, 0.6, 0.8, 1]
QUARTERS = {"grid": True, "format": "%", "values": [0, 0.25, 0.5, 0.75, 1]}
DASHES = ([1, 0], [6, 3], [2, 2])


# ---- memory ----------------------------------------------------------------------------------------------------------


def passages(frame: pd.DataFrame, groups: Sequence[str], titles: tuple[str | None, str], names: tuple[str, str],
             is_share: bool, theme: str, scale: float, height: int) -> alt.LayerChart:
    """A disc for each passage, a diamond for each twin, and a line at the mean of each kind in each group.

    frame: columns group, x (the group with a small offset), y, kind, name, shown and picked. groups: the tick labels at
    x = 0, 1, …; titles: of the two axes; names: of the two kinds, passages first; is_share: y lies in [0, 1], and the
    legend is above the chart.
    """
    x_title, y_title = titles
    x = quantity(alt.X, "x", x_title, [-0.5, len(groups) - 0.5], values=list(range(len(groups))),
                 labelExpr=by_index(groups), labelAngle=0)
    y = quantity(alt.Y, "y", y_title, [-0.06, 1.08] if is_share else None, grid=True, minExtent=34 * scale,
                 maxExtent=34 * scale, **({"values": [0, 0.5, 1], "format": "%"} if is_share else {"tickCount": 4}))
    legend = alt.Legend(title=None, orient="top", offset=2, padding=0, symbolOpacity=1) if is_share else None
    inks = (colour(meaning, theme, "ink") for meaning in ("kept", "key"))
    tone, shape = (kinds(channel, "kind", dict(zip(names, looks)), legend=legend)
                   for channel, looks in ((alt.Color, inks), (alt.Shape, ("circle", "diamond"))))
    base = alt.Chart(frame).encode(x=x, y=y)
    dots = base.mark_point(filled=True, opacity=0.9, size=70 * scale).encode(
        color=tone, shape=shape, tooltip=[*untitled("name", "kind"), *tips(shown=y_title)])
    ring = base.transform_filter("datum.picked").mark_point(filled=False, size=200 * scale, strokeWidth=2, opacity=1,
                                                            color=colour("text", theme))
    means = (alt.Chart(frame).transform_aggregate(y="mean(y)", left="min(x)", right="max(x)", groupby=["group", "kind"])
             .transform_calculate(from_="datum.left - 0.06", to="datum.right + 0.06").mark_rule(strokeWidth=2)
             .encode(x=alt.X("from_:Q", title=x_title), x2=alt.X2("to:Q"), y=y, color=tone))
    return overlaid([means, dots, ring], theme, scale, height)


# ---- calibration -----------------------------------------------------------------------------------------------------


def reliability(calibration: Calibration, titles: Mapping[str, str], theme: str, scale: float,
                height: int, said: str = "") -> alt.LayerChart:
    """A reliability diagram: the share of predictions that came true against their mean probability, a dot with
    Wilson's interval for each bin.

    titles: of the axes "said" and "came", of the "diagonal", and of the counts "right" in the tooltip; said: the title
    of the axis where no counts stand below.
    """
    rows = pd.DataFrame([_dot(b) for b in calibration.bins if b.count])
    x = quantity(alt.X, "said", said or None, [0, 1], labels=bool(said), format="%", values=TICKS, grid=True)
    y, low = (quantity(alt.Y, field, titles["came"], [0, 1], **QUARTERS, minExtent=40 * scale, maxExtent=40 * scale)
              for field in ("came", "low"))
    tooltip = tips(bin=" ", said_shown=titles["said"], came_shown=titles["came"], reading=titles["right"])
    ink = colour("kept", theme, "ink")
    diagonal = (alt.Chart(pd.DataFrame({"said": [0.0, 1.0], "came": [0.0, 1.0]})).encode(x=x, y=y)
                .mark_line(color=colour("excluded", theme, "ink"), strokeDash=[5, 4], strokeWidth=1.5))
    word = (alt.Chart(pd.DataFrame({"said": [0.02], "came": [0.93], "text": [titles["diagonal"]]}))
            .mark_text(align="left", baseline="middle", fontSize=12 * scale, color=colour("muted", theme))
            .encode(x=x, y=y, text=alt.Text("text:N")))
    base = alt.Chart(rows).encode(x=x, tooltip=tooltip)
    intervals = base.mark_rule(color=ink, strokeWidth=2 * scale).encode(y=low, y2=alt.Y2("high:Q"))
    dots = base.mark_point(filled=True, opacity=1, size=70 * scale, color=ink).encode(y=y)
    return overlaid([diagonal, word, intervals, dots], theme, scale, height)


def _dot(b: Bin) -> dict:
    right = round(b.share_right * b.count)
    low, high = Proportion(right, b.count).interval
    return {"said": b.confidence, "came": b.share_right, "low": low, "high": high, "bin": bin_name(b),
            "reading": f"{right} / {b.count}", "said_shown": percent(b.confidence),
            "came_shown": percent(b.share_right)}


def counts(calibration: Calibration, titles: Mapping[str, str], theme: str, scale: float, height: int) -> alt.Chart:
    """The number of predictions in each bin, as bars aligned with `reliability`.

    titles: of the axes "said" and "count".
    """
    frame = pd.DataFrame([{"left": b.low, "right": b.high, "count": b.count, "bin": bin_name(b)}
                          for b in calibration.bins])
    bars = alt.Chart(frame).mark_rect(color=colour("kept", theme), stroke=colour("page", theme)).encode(
        x=quantity(alt.X, "left", titles["said"], [0, 1], format="%", values=TICKS), x2=alt.X2("right:Q"),
        y2=alt.Y2Datum(0),
        y=quantity(alt.Y, "count", titles["count"], grid=False, tickCount=2, format=",d", minExtent=40 * scale,
                   maxExtent=40 * scale),
        tooltip=tips(bin=" ", count=titles["count"]))
    return framed(bars, theme, scale, height=height, width="container")


def bin_name(b: Bin) -> str:
    """The limits of a bin."""
    return f"{b.low:.1f} – {b.high:.1f}"


# ---- one word changed ------------------------------------------------------------------------------------------------


def _gains(theme: str) -> alt.Color:
    """Gains and losses in the two hues of the diverging scale; the direction of a bar says the same."""
    stops = [stop for _, stop in diverging(theme)]
    return kinds(alt.Color, "gains", {False: stops[1], True: stops[7]})


def movers(tokens: Sequence[str], p: np.ndarray, q: np.ndarray, values: np.ndarray, titles: tuple[str, str, str],
           theme: str, scale: float, height: int) -> alt.LayerChart:
    """A bar from 0 for each token, in the given order, with p → q written on the other side of 0.

    titles: of the values' axis, of p and of q.
    """
    frame = pd.DataFrame({"place": range(len(tokens)), "token": list(tokens), "value": np.asarray(values, float),
                          "gains": values > 0, "p": [percent(a) for a in p],
                          "q": [percent(b) for b in q], "exact": [readable(value, 4) for value in values],
                          "shown": [f"{percent(a)} → {percent(b)}" for a, b in zip(p, q)]})
    most = float(frame["value"].abs().max()) if len(frame) else 1.0
    axis = alt.Axis(labelExpr=by_index(tokens), labelFont=MONO, labelFontSize=12.5 * scale,
                    labelColor=colour("text", theme), labelLimit=110 * scale)
    base = alt.Chart(frame).encode(y=alt.Y("place:O", title=None, axis=axis, scale=alt.Scale(paddingInner=0.25)))
    bars = base.mark_bar().encode(
        x=quantity(alt.X, "value", titles[0], [-most, most], grid=True, tickCount=4, format="~g"),
        color=_gains(theme), tooltip=tips(token=" ", p=titles[1], q=titles[2], exact=titles[0]))
    look = dict(fontSize=11.5 * scale, baseline="middle", color=colour("muted", theme))
    sides = [base.transform_filter(side).mark_text(align=align, dx=dx, **look).encode(
        x=alt.XDatum(0), text=alt.Text("shown:N"))
             for side, align, dx in (("datum.gains", "right", -6), ("!datum.gains", "left", 6))]
    return overlaid([bars, *sides], theme, scale, height)


def log_ratios(tokens: Sequence[str], p: np.ndarray, q: np.ndarray, named: Sequence[bool], titles: tuple[str, str],
               theme: str, scale: float, height: int) -> alt.LayerChart:
    """ln(q / p) of each token over the geometric mean of p and q; the size of a mark is |q − p|; some are named.

    titles: of the two axes.
    """
    frame = pd.DataFrame({"name": list(tokens), "mean": np.sqrt(p * q), "ratio": np.log(q / p), "moved": np.abs(q - p),
                          "gains": q > p, "named": list(named), "p": [percent(a) for a in p],
                          "q": [percent(b) for b in q]})
    frame = placed(frame, np.log(frame["mean"]), frame["ratio"], frame["moved"])
    # room for a name at either end
    x = alt.X("mean:Q", title=titles[0], scale=alt.Scale(type="log", nice=False, padding=26 * scale),
              axis=alt.Axis(labelExpr=POWER_OF_TEN, tickCount=6))
    y = quantity(alt.Y, "ratio", titles[1], grid=True, tickCount=6)
    points = alt.Chart(frame).mark_point(filled=True, opacity=0.75).encode(
        x=x, y=y, color=_gains(theme),
        size=alt.Size("moved:Q", legend=None, scale=alt.Scale(range=[14 * scale, 320 * scale])),
        tooltip=[*tips(name=" ", p="p", q="q"), alt.Tooltip("ratio:Q", title="ln(q/p)", format=".4f")])
    names = names_of(alt.Chart(frame).encode(x=x, y=y), theme, scale, font=MONO, limit=130 * scale)
    return overlaid([_zero(alt.Y, titles[1], theme), points, *names], theme, scale, height)


def _zero(channel: type, title: str, theme: str) -> alt.Chart:
    """A line at 0 of the channel x or y."""
    rule = alt.Chart(pd.DataFrame({"zero": [0.0]})).mark_rule(color=colour("text", theme))
    return rule.encode(channel("zero:Q", title=title))


def spreads(rows: Sequence[str], values: Sequence[tuple[str, np.ndarray]], title: str, theme: str, scale: float,
            height: int) -> alt.LayerChart:
    """A group of lanes for each row, a lane for each (name, values (rows, texts)): a dot for each text, a tick at the
    mean, a line of one standard deviation to each side.

    The first of `values` is the pair in question, the others are controls.
    """
    names = [name for name, _ in values]
    sets = [(row, name, line, line.mean(), line.std(ddof=1))
            for name, table in values for row, line in zip(rows, table)]
    dots = pd.DataFrame([{"row": row, "lane": name, "value": value} for row, name, line, *_ in sets for value in line])
    sums = pd.DataFrame([{"row": row, "lane": name, "mean": mean, "low": mean - deviation, "high": mean + deviation,
                          "shown": f"{readable(mean)} ± {readable(deviation)}"}
                         for row, name, _, mean, deviation in sets])
    legend = dict(title=None, orient="top", columns=2, labelLimit=400)
    lanes = _lanes(rows, names, ("kept", "mlp", "attention"), theme,
                   alt.Legend(**legend, symbolType="stroke", symbolStrokeWidth=3), 0.28, labelFont=MONO,
                   labelFontSize=12 * scale)
    dash = kinds(alt.StrokeDash, "lane", dict(zip(names, DASHES)), sort=names, legend=alt.Legend(**legend))
    dotted = alt.Chart(dots).mark_point(filled=True, size=13 * scale, opacity=0.55).encode(
        quantity(alt.X, "value", title, grid=True, tickCount=7, format="~g", labelSeparation=6), **lanes)
    base = alt.Chart(sums).encode(**lanes)
    lines = base.mark_rule(strokeWidth=1.6 * scale).encode(
        x=alt.X("low:Q", title=title), x2=alt.X2("high:Q"), strokeDash=dash)
    means = base.mark_tick(thickness=4 * scale, size=8 * scale, opacity=1).encode(
        x=alt.X("mean:Q", title=title), tooltip=[*untitled("row", "lane"), *tips(shown=title)])
    return overlaid([_zero(alt.X, title, theme), dotted, lines, means], theme, scale, height)


def _lanes(rows: Sequence[str], names: Sequence[str], meanings: Sequence[str], theme: str, legend: alt.Legend,
           padding: float, **axis) -> dict:
    """The channels y, yOffset and color of a group of lanes for each of `rows`, a lane for each of `names` in the inks
    of `meanings`; axis: arguments of alt.Axis.
    """
    inks = {name: colour(meaning, theme, "ink") for name, meaning in zip(names, meanings)}
    return {"y": alt.Y("row:N", sort=list(rows), title=None, axis=alt.Axis(**axis),
                       scale=alt.Scale(paddingInner=padding)),
            "yOffset": alt.YOffset("lane:N", sort=list(names)),
            "color": kinds(alt.Color, "lane", inks, sort=list(names), legend=legend)}


# ---- parrot or meaning -----------------------------------------------------------------------------------------------


def shares(tests: Sequence[str], scores: Mapping[str, Sequence[Proportion]], chance: Sequence[float],
           titles: tuple[str, str], picked: int, theme: str, scale: float, height: int) -> alt.LayerChart:
    """A group of lanes for each test, a lane for each reading: the share as a mark, its 95 % interval as a line, chance
    as a short vertical stroke.

    scores: reading -> one score for each test. titles: of the axis and of chance. picked: the index of the highlighted
    test.
    """
    names = list(scores)
    frame = pd.DataFrame([{"row": test, "lane": name, "share": score.share, "low": score.interval[0],
                           "high": score.interval[1], "shown": f"{score.right} / {score.n} = {readable(score.share)}"}
                          for name, line in scores.items() for test, score in zip(tests, line)])
    floor = pd.DataFrame({"row": list(tests), "share": list(chance), "shown": [readable(value) for value in chance]})
    legend = alt.Legend(title=None, orient="top", columns=2, labelLimit=300)
    lanes = _lanes(tests, names, ("kept", "attention", "mlp"), theme, legend, 0.2, labelLimit=260,
                   labelFontSize=12.5 * scale, labelColor=colour("text", theme))
    x, y = quantity(alt.X, "share", titles[0], [0, 1], **QUARTERS), lanes["y"]
    shape = kinds(alt.Shape, "lane", dict(zip(names, ("circle", "diamond", "triangle-up"))), sort=names, legend=legend)
    ground = (alt.Chart(pd.DataFrame({"row": [tests[picked]]})).mark_bar(color=colour("panel", theme))
              .encode(y=y, x=alt.XDatum(0), x2=alt.X2Datum(1)))
    base = alt.Chart(frame).encode(**lanes)
    lines = base.mark_rule(strokeWidth=2 * scale).encode(x=alt.X("low:Q", title=titles[0]), x2=alt.X2("high:Q"))
    marks = base.mark_point(filled=True, size=75 * scale, opacity=1).encode(
        x=x, shape=shape, tooltip=[*untitled("row", "lane"), *tips(shown=titles[0])])
    strokes = alt.Chart(floor).mark_tick(thickness=2.5 * scale, color=colour("text", theme), opacity=1).encode(
        x=x, y=y, tooltip=tips(row=" ", shown=titles[1]))
    return overlaid([ground, strokes, lines, marks], theme, scale, height)


# ---- structure or parameters -----------------------------------------------------------------------------------------

WIDEST = 48             # bits of input, and the exponent of the most bits of parameters


def plane(points: pd.DataFrame, picked: tuple[int, int], names: Mapping[str, str], theme: str, scale: float,
          height: int) -> alt.LayerChart:
    """The plane of n and log₂ p with the lines p = 2^n and p = ζ(n) = 2^(n−1), named points, and the picked one.

    points: columns n, log_p, name, label and p. names: of the axes "n" and "p", of the lines "all" and "zeta", and of
    the half-planes "parameters" and "structure".
    """
    ends = np.array([1.0, WIDEST])
    powers = [0, 12, 24, 36, 48]
    written = {0: "1", 12: "2¹²", 24: "2²⁴", 36: "2³⁶", 48: "2⁴⁸"}
    x = quantity(alt.X, "n", names["n"], [0, WIDEST], values=powers, grid=True)
    y = quantity(alt.Y, "log_p", names["p"], [0, WIDEST], values=powers, grid=True,
                 labelExpr=by_index([written.get(k, "") for k in range(WIDEST + 1)]))
    line = pd.DataFrame({"n": ends, "log_p": ends - 1, "floor": 0.0})
    tone = colour("attention", theme, "ink")
    below = (alt.Chart(line).mark_area(color=colour("attention", theme), opacity=0.16)
             .encode(x=x, y=y, y2=alt.Y2Datum(0)))
    zeta = alt.Chart(line).mark_line(color=tone, strokeWidth=2.5 * scale).encode(x=x, y=y)
    table = (alt.Chart(pd.DataFrame({"n": ends, "log_p": ends})).encode(x=x, y=y)
             .mark_line(color=colour("text", theme), strokeDash=[5, 4]))
    words = pd.DataFrame([(1, 36.5, names["parameters"]), (27, 6, names["structure"])], columns=["n", "log_p", "text"])
    said = alt.Chart(words).encode(x=x, y=y, text=alt.Text("text:N")).mark_text(
        align="left", fontSize=13 * scale, fontWeight=600, color=colour("text", theme))
    dots = alt.Chart(points).encode(x=x, y=y, tooltip=[*untitled("name"), *tips(n=names["n"], p=names["p"])])
    marks = dots.mark_point(filled=True, size=70 * scale, opacity=1, color=colour("kept", theme, "ink"))
    labels = haloed(alt.Chart(points[points["label"] != ""]).encode(x=x, y=y, text=alt.Text("label:N")), theme,
                    align="left", dx=8 * scale, dy=-9 * scale, fontSize=12 * scale)
    ring = (alt.Chart(pd.DataFrame({"n": [picked[0]], "log_p": [picked[1]]})).encode(x=x, y=y)
            .mark_point(filled=False, size=240 * scale, strokeWidth=3, opacity=1, color=colour("key", theme, "ink")))
    return overlaid([below, table, zeta, said, marks, *labels, ring], theme, scale, height)


# ---- context ---------------------------------------------------------------------------------------------------------


def by_distance(table: pd.DataFrame, quantity_: str, titles: tuple[str, str], theme: str, scale: float,
                height: int) -> alt.LayerChart:
    """A dot for each token by how far it stands from the end, the farthest at the left: "kl" on a logarithmic axis, or
    "cosine". Values of 0 have no place on the logarithmic one.

    table: columns back, token, kl, cosine, changed. titles: of the two axes.
    """
    rows = table[table["kl"] > 0] if quantity_ == "kl" else table
    rows = rows.assign(shown=[readable(value) for value in rows[quantity_]], name=rows["token"],
                       named=quantity_ == "kl")
    # of the height two thirds are the plot, the rest its axis
    rows = placed(rows, -rows["back"], np.log(rows[quantity_].clip(lower=1e-300)), plots=plots_of(2 * height / 3))
    x = alt.X("back:Q", title=titles[0], axis=alt.Axis(grid=False, tickMinStep=1),
              scale=alt.Scale(reverse=True, nice=False, padding=14 * scale))
    low, high = rows[quantity_].min(), rows[quantity_].max()
    if quantity_ == "kl":
        kind = alt.Scale(type="log", nice=False, domain=[low / 2, high * 4])
        marks = {"labelExpr": POWER_OF_TEN, "values": [10.0 ** k for k in range(-12, 3) if low / 2 <= 10.0 ** k]}
    else:
        kind, marks = alt.Scale(nice=False, domain=[low - 0.05 * (1.02 - low), 1.02]), {"tickCount": 4}
    y = alt.Y(f"{quantity_}:Q", title=titles[1], scale=kind,
              axis=alt.Axis(grid=True, minExtent=44 * scale, maxExtent=44 * scale, **marks))
    base = alt.Chart(rows).encode(x=x, y=y)
    line = base.mark_line(color=colour("excluded", theme), strokeWidth=1)
    dots = base.mark_point(filled=True, size=55 * scale, opacity=1, color=colour("kept", theme, "ink")).encode(
        tooltip=[*untitled("token"), *tips(back=titles[0], shown=titles[1])])
    return overlaid([line, dots, *names_of(base, theme, scale, font=MONO)], theme, scale, height)


def probed(frame: pd.DataFrame, picked: tuple[str, str], titles: tuple[str, str], theme: str, scale: float,
           height: int) -> alt.LayerChart:
    """Cells with the share of tokens that a probe names, in percent: a row for each probe, a column for each distance,
    the picked cell framed.

    frame: columns row, probe, back, share, shown, exact. picked: a probe's name and its distance.
    """
    names = list(dict.fromkeys(frame["probe"]))
    frame = frame.assign(deep=frame["share"] > 0.55,
                         picked=(frame["probe"] == picked[0]) & (frame["back"].astype(str) == picked[1]))
    base = alt.Chart(frame).encode(
        x=alt.X("back:O", title=titles[0], axis=alt.Axis(labelAngle=0, ticks=False, domain=False)),
        y=alt.Y("row:O", title=None, axis=alt.Axis(labelExpr=by_index(names), labelLimit=190 * scale, ticks=False,
                                                   domain=False)))
    cells = base.mark_rect().encode(
        color=alt.Color("share:Q", legend=None, scale=alt.Scale(
            domain=[0, 1], range=[stop for _, stop in sequential(theme)], interpolate="rgb")),
        tooltip=[*untitled("probe"), *tips(back=titles[0], exact=titles[1])])
    numbers = base.mark_text(fontSize=12 * scale).encode(text="shown:N", color=alt.ColorValue(
        colour("text", theme), condition={"test": "datum.deep", "value": colour("page", theme)}))
    frame_ = base.transform_filter("datum.picked").mark_rect(fillOpacity=0, stroke=colour("text", theme), strokeWidth=2)
    return overlaid([cells, numbers, frame_], theme, scale, height)


# ---- tone ------------------------------------------------------------------------------------------------------------


def tones(names: Sequence[str], found: Sequence[Proportion], title: str, theme: str, scale: float,
          height: int) -> alt.LayerChart:
    """The share of each tone as a mark on its own line, its 95 % interval as a line; title: of the axis."""
    frame = pd.DataFrame([{"row": name, "share": one.share, "low": one.interval[0], "high": one.interval[1],
                           "shown": f"{one.right} / {one.n} = {readable(one.share)}"}
                          for name, one in zip(names, found)])
    y = alt.Y("row:N", sort=list(names), title=None, axis=alt.Axis(labelLimit=260, labelFontSize=13 * scale))
    tone = kinds(alt.Color, "row", dict(zip(names, (colour(m, theme, "ink") for m in ("kept", "key")))))
    base = alt.Chart(frame).encode(y=y, color=tone)
    lines = base.mark_rule(strokeWidth=2 * scale).encode(x=alt.X("low:Q", title=title), x2=alt.X2("high:Q"))
    marks = base.mark_point(filled=True, size=110 * scale, opacity=1).encode(
        x=quantity(alt.X, "share", title, [0, 1], **QUARTERS), tooltip=[*untitled("row"), *tips(shown=title)])
    return overlaid([lines, marks], theme, scale, height)
