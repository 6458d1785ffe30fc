"""Pictures of the residual stream: lengths by layer, cosines, the logit lens's predictions, a logit as a waterfall,
and the effect of cutting the path.

Each function takes arrays and labels and returns an altair chart. Its spec depends only on the theme and the labels,
so a chart with a `key` is updated in place; a title that changes stands above the chart, not in it.
"""
import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

import altair as alt
import numpy as np
import pandas as pd

from core.figures.channels import by_index, kinds, quantity, tips
from core.figures.lines import Axis, Lines, Look, line_rows, tooltip
from core.figures.numbers import percent, readable
from core.figures.style import MONO, colour, diverging, framed, layered, untitled
from core.figures.thinning import thinned

LONGEST_TOKEN = 130       # px of a token beside its bar; a longer one ends in an ellipsis, its tooltip has it whole
MOST_GROUPS = 15          # names below a waterfall
LEAST_WRITTEN = 0.001     # probability beside a bar; a smaller one is "< 0.1 %"
MOST_WRITTEN = 14         # rows of a matrix whose cells still have room for a number each


def cosine_matrix(cosines: np.ndarray, layer_labels: Sequence[str], axis_title: str, theme: str, scale: float = 1.0,
                  height: int = 300) -> alt.LayerChart:
    """The cosines of one token's stream at every pair of depths, (L + 1, L + 1) in [-1, 1]: cells with their numbers if
    there is room, and tooltips.
    """
    n = len(cosines)
    rows, columns = np.divmod(np.arange(n * n), n)
    frame = pd.DataFrame({"row": rows, "column": columns, "cosine": cosines.reshape(-1).astype(float)})
    frame["shown"] = [readable(value, 2) for value in frame["cosine"]]
    frame["exact"] = [readable(value, 5) for value in frame["cosine"]]
    frame["deep"] = frame["cosine"].abs() > 0.6
    frame["between"] = [f"{layer_labels[row]} · {layer_labels[column]}" for row, column in zip(rows, columns)]
    look = dict(labelExpr=by_index(layer_labels), values=thinned(n, MOST_WRITTEN))
    base = alt.Chart(frame).encode(x=alt.X("column:O", title=axis_title, axis=alt.Axis(labelAngle=-40, **look)),
                                   y=alt.Y("row:O", title=None, axis=alt.Axis(labelAngle=0, **look)))
    cells = base.mark_rect().encode(
        color=alt.Color("cosine:Q", scale=alt.Scale(domain=[-1, 1], range=[stop for _, stop in diverging(theme)],
                                                    interpolate="rgb"), legend=None),
        tooltip=tips(between=axis_title, exact="cos"))
    if n > MOST_WRITTEN:
        return framed(cells, theme, scale, height=height)
    numbers = base.mark_text(fontSize=(12 if n <= 8 else 9) * scale).encode(
        text=alt.Text("shown:N"), color=alt.ColorValue(
            colour("text", theme), condition={"test": "datum.deep", "value": colour("page", theme)}))
    return framed(layered(cells, numbers), theme, scale, height=height)


# ---- the lens --------------------------------------------------------------------------------------------------------


def _token_names(frame: pd.DataFrame, theme: str, scale: float) -> alt.Chart:
    """The column "token" left of the bars, each at its "place"."""
    return alt.Chart(frame).mark_text(align="right", dx=-8, font="monospace", fontSize=13 * scale,
                                      limit=LONGEST_TOKEN * scale, color=colour("text", theme)).encode(
        y=alt.Y("place:O", axis=None), x=alt.XValue(0), text=alt.Text("token:N"),
        tooltip=alt.Tooltip("token:N", title=" "))


def _numbers(base: alt.Chart, theme: str, size: float) -> alt.Chart:
    """The column "shown" at the ends of the bars."""
    return base.mark_text(align="left", dx=5, fontSize=size, color=colour("muted", theme)).encode(
        text=alt.Text("shown:N"))


def guesses(tokens: Sequence[str], probs: np.ndarray, axis_title: str, theme: str, scale: float = 1.0,
            height: int = 300) -> alt.LayerChart:
    """The likeliest next tokens as bars, most probable on top."""
    frame = pd.DataFrame({"place": range(len(tokens)), "token": list(tokens), "p": np.asarray(probs, dtype=float)})
    frame["shown"] = [percent(p) for p in frame["p"]]
    base = alt.Chart(frame).encode(y=alt.Y("place:O", axis=None, scale=alt.Scale(paddingInner=0.25)))
    bars = base.mark_bar(color=colour("kept", theme)).encode(
        x=quantity(alt.X, "p", axis_title, [0, 1], tickCount=3),
        tooltip=tips(token=" ", shown="p"))
    numbers = _numbers(base.encode(x=alt.X("p:Q")), theme, 12 * scale)
    return framed(layered(bars, _token_names(frame, theme, scale), numbers), theme, scale, height=height)


def probability_by_layer(probs: np.ndarray, ranks: np.ndarray,
                         layer_labels: Sequence[str], axis_titles: tuple[str, str], theme: str,
                         scale: float = 1.0, height: int = 140) -> alt.LayerChart:
    """The probability of one token by depth; the tooltip gives its rank (1 is first)."""
    frame = pd.DataFrame({"depth": range(len(probs)), "p": np.asarray(probs, dtype=float),
                          "rank": np.asarray(ranks) + 1})
    frame["shown"] = [percent(p) for p in frame["p"]]
    x = alt.X("depth:Q", title=None, scale=alt.Scale(domain=[0, len(probs) - 1], padding=8),
              axis=alt.Axis(values=thinned(len(probs), 8), labelExpr=by_index(layer_labels), labelAngle=0,
                            labelFlush=False, labelOverlap=True))
    base = alt.Chart(frame).encode(x=x, y=quantity(alt.Y, "p", axis_titles[0], [0, 1], tickCount=3, grid=True,
                                                    titleAngle=0, titlePadding=14))
    ink = colour("residual", theme, "ink")
    line = base.mark_line(color=ink, strokeWidth=2.5 * scale)
    points = base.mark_point(filled=True, size=45 * scale, opacity=1, color=ink).encode(
        tooltip=tips(shown=axis_titles[0], rank=axis_titles[1]))
    return framed(layered(line, points), theme, scale, height=height)


# ---- a logit as a sum ------------------------------------------------------------------------------------------------


def waterfall(names: Sequence[str], meanings: Sequence[str], groups: Sequence[str], values: np.ndarray,
              total_label: str, axis_title: str, theme: str, n_named: int = 6, picked: str | None = None,
              scale: float = 1.0, height: int = 330) -> alt.LayerChart:
    """A logit built up part by part from 0: each bar starts where the one before ended, and the last reaches from 0 to
    their sum.

    meanings: a colour meaning for each part. groups: the group of each part ("" for none), named below the axis; a
    faint band separates neighbouring groups. The n_named largest parts carry their name and value, as does the `picked`
    one, which is outlined. A click anywhere above or below a bar is the altair selection "picked" of its field "name".
    """
    values, n = np.asarray(values, dtype=float), len(values)
    ends, places = np.cumsum(values), np.arange(n + 1)
    frame = pd.DataFrame({"place": places, "next": places + 0.82, "after": places + 1.0, "name": [*names, total_label],
                          "meaning": [*meanings, "residual"], "start": [*(ends - values), 0.0],
                          "end": [*ends, ends[-1]], "value": [*values, ends[-1]]})
    frame["shown"] = [_signed(value) for value in frame["value"]]
    frame["top"], frame["middle"] = frame[["start", "end"]].max(axis=1), frame["place"] + 0.41
    frame["chosen"] = frame["name"] == picked
    frame["label"], frame["label_x"], frame["label_y"] = _labels(frame, n_named)
    bands = _bands(groups)
    axis = _group_axis(bands)
    x = alt.X("place:Q", title=None, scale=alt.Scale(domain=[-0.5, n + 1.2], nice=False), axis=axis)
    band = alt.Chart(bands).transform_filter("datum.odd").mark_rect(color=colour("panel", theme)).encode(
        x=alt.X("from:Q", axis=axis), x2=alt.X2("to:Q"))
    zero = alt.Chart(pd.DataFrame({"zero": [0]})).mark_rule(color=colour("muted", theme)).encode(
        y=alt.Y("zero:Q", title=axis_title))
    base = alt.Chart(frame).encode(x=x)
    bars = _waterfall_bars(base, axis_title, theme, scale)
    ring = (base.transform_filter("datum.chosen")
            .mark_bar(fillOpacity=0, stroke=colour("text", theme), strokeWidth=2.5 * scale)
            .encode(x2=alt.X2("next:Q"), y=alt.Y("start:Q", title=axis_title), y2=alt.Y2("end:Q")))
    columns = base.mark_rect(opacity=0, cursor="pointer").encode(
        x2=alt.X2("after:Q"), y=alt.YValue(0), y2=alt.Y2Value("height"),
        tooltip=tips(name=" ", shown=axis_title)
    ).add_params(alt.selection_point(name="picked", fields=["name"], toggle=False))
    steps = base.mark_rule(strokeWidth=1, color=colour("grid", theme, "ink"), opacity=0.7).encode(
        x2=alt.X2("after:Q"), y=alt.Y("end:Q", title=axis_title))
    labels = base.mark_text(dy=-8, fontSize=12 * scale, fontWeight=600, color=colour("text", theme),
                            opacity=alt.ExprRef("width < 560 ? 0 : 1")).encode(
        x=alt.X("label_x:Q", axis=axis), y=alt.Y("label_y:Q", title=axis_title), text=alt.Text("label:N"))
    return framed(layered(band, zero, steps, bars, ring, labels, columns), theme, scale, height=height)


def _waterfall_bars(base: alt.Chart, axis_title: str, theme: str, scale: float) -> alt.Chart:
    """The bars, coloured by meaning. A dashed outline also marks the feed-forward layers: to a reader who sees no
    blue, their amber and the heads' rose look alike.
    """
    meanings = ("residual", "position", "attention", "mlp", "excluded")
    fed_forward = "datum.meaning === 'mlp'"
    return base.mark_bar().encode(
        strokeWidth=alt.StrokeWidthValue(1, condition={"test": fed_forward, "value": 2.2 * scale}),
        strokeDash=alt.StrokeDashValue([1, 0], condition={"test": fed_forward, "value": [2, 2]}), x2=alt.X2("next:Q"),
        y=quantity(alt.Y, "start", axis_title, grid=True, tickCount=5, format=".3~g"), y2=alt.Y2("end:Q"),
        fill=kinds(alt.Fill, "meaning", {meaning: colour(meaning, theme) for meaning in meanings}),
        stroke=kinds(alt.Stroke, "meaning", {meaning: colour(meaning, theme, "ink") for meaning in meanings}))


def _labels(frame: pd.DataFrame, n_named: int) -> tuple[list[str], np.ndarray, list[float]]:
    """The label over each bar ("" for most), its x and its y. The sum, the chosen part and the largest parts have
    labels, clear of the bars near them and of each other.

    A part beside a larger one without a label has none either, since its label would be read as the larger one's.
    """
    n, reach = len(frame) - 1, max(2, round(0.055 * len(frame)))      # a label is about 11 % of the picture wide
    tops, span = frame["top"].to_numpy(), float(np.ptp(frame[["start", "end"]].to_numpy()))
    middles = np.clip(frame["middle"].to_numpy(), reach - 0.5, n + 1.2 - 0.6 * reach)
    texts, heights, placed, omitted = [""] * (n + 1), list(tops), [], []
    for place in dict.fromkeys([n, *np.flatnonzero(frame["chosen"]),
                                *np.argsort(-np.abs(frame["value"].to_numpy()[:n]), kind="stable")]):
        middle = middles[place]
        height = float(tops[max(0, int(middle - reach)):int(middle + reach) + 1].max())
        room = all(abs(middle - x) > 2 * reach or abs(height - at) > 0.07 * span for x, at in placed)
        if room and all(abs(middle - x) > reach for x in omitted):
            texts[place], heights[place] = f"{frame['name'][place]} {frame['shown'][place]}", height
            placed.append((middle, height))
        else:
            omitted.append(middle)
        if len(placed) > n_named:
            break
    return texts, middles, heights


def _group_axis(bands: pd.DataFrame) -> alt.Axis:
    """The axis with each band's name below its middle, thinned to MOST_GROUPS names."""
    named = [row for row in bands.itertuples() if row.group]
    names = {f"{named[place].middle:.2f}": named[place].group
             for place in (thinned(len(named), MOST_GROUPS) if named else [])}
    return alt.Axis(values=[float(middle) for middle in names],
                    labelExpr=f"({json.dumps(names)})[format(datum.value, '.2f')]", labelOverlap=True)


def _signed(value: float) -> str:
    return ("+" if value > 0 else "") + readable(value)


def _bands(groups: Sequence[str]) -> pd.DataFrame:
    """One row for each run of equal group names, with its start and end on the axis of a waterfall."""
    rows, start = [], 0
    for group, members in itertools.groupby(groups):
        end = start + len(list(members))
        rows.append({"group": group, "from": start - 0.09, "to": end - 0.09, "odd": bool(len(rows) % 2),
                     "middle": (start + end) / 2 - 0.09})
        start = end
    return pd.DataFrame(rows)


# ---- the path cut; norms before and after ----------------------------------------------------------------------------


def two_distributions(tokens: Sequence[str], before: np.ndarray, after: np.ndarray, names: tuple[str, str],
                      axis_title: str, theme: str, scale: float = 1.0, height: int = 320) -> alt.LayerChart:
    """Next-token probabilities before and after a change, a pair of bars for each token: filled before, outlined and
    dashed after. A value too small for a bar has its exact number only in the tooltip.
    """
    if not len(tokens) == len(before) == len(after):
        raise ValueError(f"{len(tokens)} tokens have {len(before)} probabilities before and {len(after)} after.")
    frame = pd.DataFrame([
        {"place": place, "token": token, "which": which, "p": float(p), "shown": _written(float(p)),
         "exact": percent(float(p)), "name": name}
        for place, (token, *pair) in enumerate(zip(tokens, before, after))
        for which, name, p in zip(("before", "after"), names, pair)])
    base = alt.Chart(frame).encode(
        y=alt.Y("place:O", axis=None, scale=alt.Scale(paddingInner=0.12)),
        yOffset=alt.YOffset("which:N", sort=["before", "after"],
                            scale=alt.Scale(domain=["before", "after"], paddingInner=0)),
        x=quantity(alt.X, "p", axis_title, [0, 1], tickCount=5 if scale == 1.0 else 2, labelFlush=False))
    bars = base.mark_bar(strokeWidth=1.4, stroke=colour("residual", theme, "ink")).encode(
        fill=kinds(alt.Fill, "which", {"before": colour("residual", theme), "after": colour("page", theme)}),
        strokeDash=kinds(alt.StrokeDash, "which", {"before": [1, 0], "after": [4, 3]}),
        tooltip=[*untitled("token", "name"), *tips(exact="p")])
    labels = _token_names(frame[frame["which"] == "before"], theme, scale)
    return framed(layered(bars, _numbers(base, theme, 11 * scale), labels), theme, scale, height=height)


def _written(p: float) -> str:
    return percent(p) if p >= LEAST_WRITTEN else f"< {percent(LEAST_WRITTEN, 0)}"


def growth_lines(lengths: Mapping[str, np.ndarray], meanings: Sequence[str], axis_titles: tuple[str, str],
                 look: Look, height: int) -> tuple[pd.DataFrame, dict]:
    """A quantity by depth for several models or runs, by name: the table and the spec of a labelled line each, the
    first solid, the second dashed. meanings: of their colours, in the same order.
    """
    rows = pd.DataFrame([(name, depth, float(value), readable(float(value)))
                         for name, line in lengths.items() for depth, value in enumerate(line)],
                        columns=["name", "x", "y", "shown"])
    seen = rows["y"].to_numpy()[np.isfinite(rows["y"])]
    x = Axis(axis_titles[0], (0, int(rows["x"].max())), ticks=None,
             labels={"tickMinStep": 1, "format": "d", "labelFlush": False})
    y = Axis(axis_titles[1], format=".3~g", scale={"zero": True})
    drawn = Lines({name: look.ink(meaning) for name, meaning in zip(lengths, meanings)}, x, y, look, ([1, 0], [4, 3]),
                  clip=False)
    reach = (float(np.min(seen, initial=0)), float(np.max(seen, initial=0)))
    return line_rows(rows, replace(y, domain=reach), 0.06), look.spec(
        [drawn.strokes(2.6), drawn.points(30 * look.scale, color=drawn.colours(), tooltip=tooltip(x, y, "shown")),
         drawn.names(13, 8)], height, None)


def left_line(points: np.ndarray, shares: np.ndarray, ends: tuple[str, str], names: dict[str, str],
              axis_titles: tuple[str, str], theme: str, scale: float, height: int) -> alt.LayerChart:
    """The straight line from (0, 0) to (1, 0), on which every average of two ends lies, and the points (T, 2) that have
    left it. shares (T,): the part of the second end in each. names: "average" for the line, "output" for the points.
    """
    looks = {"average": colour("attention", theme, "ink"), "output": colour("mlp", theme, "ink")}
    rows = pd.DataFrame([(which, names[which], float(t), float(x), float(y))
                         for which, places in (("average", np.stack([shares, 0 * shares], 1)), ("output", points))
                         for t, (x, y) in zip(shares, places)], columns=["which", "name", "share", "x", "y"])
    rows["shown"] = [readable(share) for share in rows.share]
    base = alt.Chart(rows).encode(
        x=alt.X("x:Q", title=axis_titles[0], axis=alt.Axis(grid=True, tickCount=5, format="~g")),
        y=alt.Y("y:Q", title=axis_titles[1], axis=alt.Axis(grid=True, tickCount=4, format="~g")),
        color=kinds(alt.Color, "which", looks), order="share:Q", tooltip=tips(name=" ", shown=ends[1]))
    middle = base.transform_filter(f"datum.share == {float(shares[len(shares) // 2])}")
    named = pd.DataFrame({"x": [0.0, 1.0], "y": [0.0, 0.0], "name": list(ends)})
    marks = alt.Chart(named).encode(x="x:Q", y="y:Q")
    room = alt.Chart(pd.DataFrame({"x": [0.5], "y": [-0.15 * float(points[:, 1].max())]})).encode(x="x:Q", y="y:Q")
    ink = colour("text", theme)
    return framed(layered(
        room.mark_point(opacity=0),       # for the names of the ends
        base.mark_line(strokeWidth=2.6 * scale), base.mark_point(filled=True, size=26 * scale, opacity=1),
        middle.mark_point(filled=True, size=150 * scale, opacity=1, stroke=ink, strokeWidth=1.5),
        middle.mark_text(dy=-14 * scale, fontSize=13 * scale, fontWeight=600).encode(text="name:N"),
        marks.mark_point(filled=True, size=110 * scale, color=ink, opacity=1),
        marks.mark_text(dy=16 * scale, fontSize=13 * scale, color=ink, font=MONO).encode(text="name:N")),
        theme, scale, height=height)
