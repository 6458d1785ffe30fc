"""The lesson's own charts: the gradient at the logits, lines over the steps of a training, paths over a loss surface.

The functions take arrays, labels and a Look, and return a table or a Vega-Lite spec, which depends on nothing that
changes during a training, so that the browser updates the chart in place. The specs are written out: altair's checks of
a chart take longer than ten steps of a training.
"""
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import altair as alt
import numpy as np
import pandas as pd

from core.figures.channels import kinds, quantity
from core.figures.lines import (
    DASHES,
    NAME_HEIGHT,
    Axis,
    Lines,
    Look,
    by_name,
    channel,
    dashed,
    of_role,
    ruled,
    spread,
    tooltip,
)
from core.figures.numbers import readable
from core.figures.style import POWER_OF_TEN, colour, framed, layered

NAME_WIDTH = 0.5         # share of the width that a name at the end of a line may take
AXIS_HEIGHT = 65         # px of a chart's height that the axis below takes
SMALL_TYPE = 9.5         # px, in a chart of many rows
AT_THE_RIGHT = {"value": "width"}     # of the plot, the place of a name
FURTHEST = 1e3           # coordinates of a path are clipped to this size
MEANINGS = {"held_out": "query", "held_out_text": "query", "loss": "excluded", "accuracy": "value",
            "gradient_norm": "key", "old": "key", "kl": "attention", "margin": "value", "reward": "query",
            "value": "value", "scratch": "attention",
            "induction_score": "attention", "previous_token_score": "mlp"}      # of the lines over the steps


def pushes(tokens: Sequence[str], gradient: np.ndarray, axis_title: str, look: Look, height: int) -> alt.TopLevelMixin:
    """∂(−ln p)/∂u of some tokens as bars from 0, the true token first; a bar to the left means that a step raises the
    logit. Raises ValueError for lengths that differ.
    """
    if len(tokens) != len(gradient):
        raise ValueError(f"{len(tokens)} tokens, but {len(gradient)} entries of the gradient.")
    frame = pd.DataFrame({"place": range(len(tokens)), "token": list(tokens), "g": np.asarray(gradient, dtype=float)})
    frame["true"], frame["shown"] = frame["place"] == 0, [readable(g) for g in frame["g"]]
    frame["end"] = frame["g"].where(~frame["true"], 0)          # the number stands to the right of its bar
    base = alt.Chart(frame).encode(y=alt.Y("place:O", axis=None, scale=alt.Scale(paddingInner=0.3)))
    x = quantity(alt.X, "g", axis_title, [-1, 1], values=[-1, -0.5, 0, 0.5, 1], grid=True)
    fills = kinds(alt.Color, "true", {True: colour("value", look.theme), False: colour("key", look.theme)})
    bars = base.mark_bar().encode(x=x, color=fills, tooltip=[alt.Tooltip("token:N", title=" "),
                                                             alt.Tooltip("g:Q", title="∂(−ln p)/∂u", format=".6g")])
    names = base.mark_text(font="monospace", fontSize=13 * look.scale, baseline="middle", align="right", dx=-6,
                           limit=120 * look.scale).encode(x=alt.XValue(0), text=alt.Text("token:N"))
    numbers = base.mark_text(align="left", dx=5, fontSize=12 * look.scale, color=look.ink("muted")).encode(
        x=alt.X("end:Q", title=axis_title), text=alt.Text("shown:N"))
    return framed(layered(bars, names, numbers), look.theme, look.scale, height=height,
                  padding={"left": 5, "right": 8, "top": 5, "bottom": 5})


def _apart(levels: Mapping[str, float], y: Axis, height: float) -> tuple[list[tuple[float, str]], ...]:
    """The levels, (value, name) each, whose names stand above their lines, and those whose names stand below: the
    lowest, where the next one leaves no room above it and the axis goes on below.
    """
    low, high = y.domain
    rows, room = [(level, name) for name, level in levels.items()], 1.3 * NAME_HEIGHT / height * (high - low)
    lowest, *others = sorted(rows) or [None]
    crowded = others and others[0][0] - lowest[0] < room < lowest[0] - low
    return ([row for row in rows if row != lowest], [lowest]) if crowded else (rows, [])


def end_places(rows: pd.DataFrame, y: Axis, height: float, scale: float = 1.0) -> dict[str, float]:
    """The place on y's axis of what stands at the end of each line, from the columns name, x and y: above the last part
    of the line, and above the other lines that would run through it.
    """
    late = rows[rows["x"] >= (1 - NAME_WIDTH) * rows.groupby("name")["x"].transform("max")]
    ends = sorted(((name, line["y"]) for name, line in late.groupby("name")), key=lambda end: end[1].max())
    room = NAME_HEIGHT * scale / (height - AXIS_HEIGHT) * (y.domain[1] - y.domain[0])
    places, least = {}, -math.inf
    for name, line in ends:
        place = max(line.max(), least)
        for _, other in ends:
            place = max(place, other.max()) if other.between(place, place + room).any() else place
        places[name], least = place, place + room
    return places


def curve(names: Mapping[str, str], x: Axis, y: Axis, look: Look, height: int, *,
          levels: Mapping[str, float] | None = None, changes: Mapping[float, str] | None = None,
          points: bool = False, ends: bool = False) -> dict:
    """The spec of lines over the steps of a training, for data with the columns name, role, x and y. names: by line of
    MEANINGS.

    levels: horizontal rules, name -> value. changes: vertical rules, step -> text. points: also draw every value as a
    point. ends: texts of the column end, each at the right edge and at the height of the column at, are in the place of
    a legend. A line that leaves y's domain leaves the picture.
    """
    legend = {"title": None, "orient": "top", "symbolType": "stroke", "offset": 2, "padding": 0}
    legend = legend if len(names) > 1 and not ends else None
    drawn = Lines({name: look.ink(MEANINGS[line]) for line, name in names.items()}, replace(x, ticks=4),
                  replace(y, ticks=5 if height > 150 else 2), look)
    value = channel("value", scale={"zero": False})
    above, below = _apart(levels or {}, y, height)
    level_rule = {"color": look.ink("excluded"), "strokeDash": [4, 3]}
    return look.spec([
        *ruled(above, {"y": value}, {"x": {"value": "width"}}, level_rule,
               look.words(11.5, "muted", align="right", baseline="bottom", dx=-4, dy=-2)),
        *ruled(below, {"y": value}, {"x": {"value": "width"}}, level_rule,
               look.words(11.5, "muted", align="right", baseline="top", dx=-4, dy=2)),
        *ruled((changes or {}).items(), {"x": value}, {"y": {"value": 34}},
               {"color": look.ink("mlp"), "strokeWidth": 1.5},
               look.words(11, "mlp", align="left", baseline="top", dx=3, dy=2)),
        drawn.strokes(2.2, legend, point=points), drawn.points(60, 0, tooltip=tooltip(x, y)),
        *[drawn.names(dx=0, text="end", x=AT_THE_RIGHT, align="right", baseline="bottom", dy=-3, aria=False)] * ends],
        height)


def curve_rows(curves: Mapping[str, tuple[np.ndarray, np.ndarray]], y: Axis, height: float,
               scale: float = 1.0) -> pd.DataFrame:
    """The rows that `curves` draws for name -> (x, y): the finite points, and for each line the height of its name at
    the right edge.
    """
    to = np.log10 if y.log else np.asarray
    low, high = map(float, to(y.domain))
    rows = [(name, "line", float(x), float(value), 0.0) for name, (xs, ys) in curves.items()
            for x, value in zip(xs, ys) if np.isfinite(value) and (value > 0 or not y.log)]
    ends = [np.clip(to(max(ys[-1], 1e-300) if y.log else ys[-1]), low, high) if np.isfinite(ys[-1]) else high
            for _, ys in curves.values()]
    at = _within(spread(ends, gap := NAME_HEIGHT * scale / height * (high - low)), gap, high)
    rows += [(name, "end", 0.0, 0.0, float(10 ** place if y.log else place)) for name, place in zip(curves, at)]
    return pd.DataFrame(rows, columns=["name", "role", "x", "y", "at"])


def _within(places: np.ndarray, gap: float, high: float) -> np.ndarray:
    """The places, moved down so that none is beyond `high`."""
    moved, room = places.copy(), high
    for i in np.argsort(-places, kind="stable"):
        moved[i] = min(moved[i], room)
        room = moved[i] - gap
    return moved


def curves(meanings: Mapping[str, str], x: Axis, y: Axis, look: Look, height: int, *, solid: str = "",
           across: Mapping[float, str] | None = None, upright: Mapping[float, str] | None = None) -> dict:
    """The spec of lines over `curve_rows`, each with its name at its end. meanings: of their colours, by name. solid:
    the line that is not dashed, else the first. across, upright: rules, value -> text.
    """
    order = sorted(meanings, key=lambda name: name != solid)
    drawn = Lines({name: look.ink(meaning) for name, meaning in meanings.items()}, x, y, look,
                  [DASHES[order.index(name) % len(DASHES)] for name in meanings])
    rule = {"color": look.ink("excluded"), "strokeDash": [5, 3], "clip": True}
    words = look.words(12, "text", align="left", dx=4, clip=True)
    return look.spec([
        *ruled((across or {}).items(), {"y": channel("value", scale=y.encoding("y")["scale"])}, {"x": {"value": 0}},
               rule, words | {"baseline": "bottom", "dy": -2}),
        *ruled((upright or {}).items(), {"x": channel("value", scale=x.encoding("x")["scale"])}, {"y": {"value": 0}},
               rule, words | {"baseline": "top", "dy": 2}),
        drawn.strokes(2.2), drawn.points(50, 0, tooltip=tooltip(x, y)), drawn.names(x=AT_THE_RIGHT)],
        height, max(map(len, order)) * 6.6 * look.scale + 12)


def among(picked: str, x: Axis, y: Axis, look: Look, height: int) -> dict:
    """The spec of many thin lines and the picked one over them, on a logarithmic y, for data with the columns name, x
    and y. The pointer names a line, and makes it darker.
    """
    along, up, line = x.encoding("x"), y.encoding("y", True), {"field": "name", "type": "nominal"}
    up["axis"]["values"] = [10.0 ** k for k in range(*np.ceil(np.log10(y.domain)).astype(int))]
    is_lit = {"param": "pointed", "empty": False}
    bold = {"type": "line", "clip": True, "color": look.ink("query"), "strokeWidth": 2.6 * look.scale}
    return look.spec([
        {"mark": {"type": "line", "clip": True, "color": look.ink("excluded")},
         "encoding": {"x": along, "y": up, "detail": line,
                      "strokeWidth": {"condition": is_lit | {"value": 2 * look.scale}, "value": 1},
                      "opacity": {"condition": is_lit | {"value": 1}, "value": 0.55}}},
        {"transform": [{"filter": {"field": "name", "equal": picked}}], "mark": bold,
         "encoding": {"x": along, "y": up}},
        {"params": [{"name": "pointed", "select": {"type": "point", "on": "pointerover", "clear": "pointerout",
                                                   "fields": ["name"]}}],
         "mark": {"type": "point", "size": 90, "opacity": 0, "clip": True},
         "encoding": {"x": along, "y": up, "detail": line, "tooltip": tooltip(x, y)}}], height)


def ends(columns: Mapping[str, Mapping[str, float]], names: Mapping[str, str], axis: str, look: Look,
         height: int) -> alt.TopLevelMixin:
    """Several values of each column as marks that a line joins. columns: name -> value by line of MEANINGS; names: what
    the lines are called.
    """
    rows = pd.DataFrame([(column, line, value, readable(value), names[line]) for column, values in columns.items()
                         for line, value in values.items()], columns=["column", "line", "y", "shown", "name"])
    low, high = min(0.0, rows["y"].min()), max(0.0, rows["y"].max())
    room = 0.1 * (high - low)
    base = alt.Chart(rows).encode(
        x=alt.X("column:N", sort=list(columns), title=axis, axis=alt.Axis(labelAngle=0)),
        y=quantity(alt.Y, "y", None, [low - room, high + room], tickCount=5, format=".3~g", grid=True))
    joined = base.mark_line(color=look.ink("muted"), strokeWidth=1.2).encode(detail="column:N")
    marks = base.mark_point(filled=True, size=80 * look.scale, opacity=1).encode(
        color=kinds(alt.Color, "line", {line: look.ink(MEANINGS[line]) for line in names}),
        shape=kinds(alt.Shape, "line", dict(zip(names, ("triangle-up", "circle")))),
        tooltip=[alt.Tooltip("column:N", title=axis), alt.Tooltip("name:N", title=" "),
                 alt.Tooltip("shown:N", title="  ")])
    return framed(layered(joined, marks), look.theme, look.scale, height=height)


def sizes(rows: Sequence[tuple[str, str, int, str]], names: Mapping[str, str], axis: str, look: Look,
          height: int) -> alt.TopLevelMixin:
    """Sizes on a logarithmic axis, a mark for each row (name, kind, size, what is written beside), top down. names:
    what the kinds are called, in the legend.
    """
    frame = pd.DataFrame(rows, columns=["name", "kind", "size", "shown"])
    frame["kind"] = frame["kind"].map(names)
    low, high = 10.0 ** np.floor(np.log10(frame["size"].min())), 10.0 ** np.ceil(np.log10(frame["size"].max()))
    legend = alt.Legend(title=None, orient="top", offset=2, padding=0)
    base = alt.Chart(frame).encode(
        x=alt.X("size:Q", title=None if look.scale > 1 else axis,
                scale=alt.Scale(type="log", domain=[low, 2 * high], nice=False),
                axis=alt.Axis(grid=True, labelExpr=POWER_OF_TEN, values=[float(10 ** k) for k in range(
                    round(np.log10(low)), round(np.log10(high)) + 1)])),
        y=alt.Y("name:N", sort=list(frame["name"]), title=None,
                axis=alt.Axis(labelOverlap=False, labelFontSize=SMALL_TYPE * look.scale, labelLimit=200 * look.scale)))
    order = list(names.values())
    marks = base.mark_point(filled=True, size=55 * look.scale, opacity=1).encode(
        color=kinds(alt.Color, "kind", dict(zip(order, map(look.ink, ("query", "value", "key")))), legend=legend),
        shape=kinds(alt.Shape, "kind", dict(zip(order, ("circle", "square", "triangle-up"))), legend=legend),
        tooltip=[alt.Tooltip("name:N", title=" "), alt.Tooltip("kind:N", title="  "),
                 alt.Tooltip("shown:N", title="   ")])
    # beside the mark, where the axis has more room
    beside = [base.mark_text(align=align, dx=dx * look.scale, fontSize=SMALL_TYPE * look.scale,
                             color=look.ink("muted")).encode(text="shown:N").transform_filter(
                                 f"datum.size {side} {(low * high) ** 0.5}")
              for align, dx, side in (("left", 8, "<"), ("right", -8, ">="))]
    return framed(layered(marks, *beside), look.theme, look.scale, height=height)


def bars(values: Mapping[str, float], axis_x: str, axis_y: str, picked: str, look: Look,
         height: int) -> alt.TopLevelMixin:
    """A bar for each name, the picked one filled."""
    frame = pd.DataFrame([(name, value, readable(value), name == picked) for name, value in values.items()],
                         columns=["name", "value", "shown", "picked"])
    base = alt.Chart(frame).encode(y=alt.Y("name:N", title=axis_x, axis=alt.Axis(titleAngle=0, titleAlign="right")),
                                   x=quantity(alt.X, "value", None if look.scale > 1 else axis_y,
                                              [0, 1.15 * max(0.1, frame["value"].max())], tickCount=6))
    drawn = base.mark_bar(stroke=look.ink("value"), strokeWidth=1.5).encode(
        color=kinds(alt.Color, "picked", {True: look.ink("value"), False: look.ink("page")}),
        tooltip=[alt.Tooltip("name:N", title=axis_x), alt.Tooltip("shown:N", title=axis_y)])
    words = base.mark_text(align="left", dx=6, fontSize=12 * look.scale, color=look.ink("text")).encode(text="shown:N")
    return framed(layered(drawn, words), look.theme, look.scale, height=height)


def surface_rows(contours: Sequence[np.ndarray], paths: Mapping[str, np.ndarray]) -> pd.DataFrame:
    """The rows that `surface` draws: level lines (k, 2), and the paths (n, 2) by name."""
    lines = [("contour", str(i), line) for i, line in enumerate(contours)]
    lines += [("path", name, np.clip(line, -FURTHEST, FURTHEST)) for name, line in paths.items()]
    return pd.DataFrame([(role, name, x, y, k) for role, name, line in lines for k, (x, y) in enumerate(line.tolist())],
                        columns=["role", "name", "x", "y", "step"])


def surface(meanings: Mapping[str, str], x: Axis, y: Axis, places: Mapping[str, tuple[float, float]], look: Look,
            height: int) -> dict:
    """The spec of `surface_rows`: level lines of a loss, the paths over them, and crosses. meanings: of the colours, by
    name of the path. places: the crosses, name -> (x, y).
    """
    order, legend = list(meanings), {"title": None, "orient": "top", "offset": 2, "padding": 0}
    colours = by_name(order, map(look.ink, meanings.values()), legend)
    shapes = by_name(order, ["circle", "square", "triangle-up"][:len(order)], legend)
    along, up, step = x.encoding("x"), y.encoding("y"), {"field": "step", "type": "quantitative"}
    crosses = {"values": [{"x": at[0], "y": at[1], "name": name} for name, at in places.items()]}
    tooltip = [{"field": "name", "title": " "}, step | {"title": "t"},
               *({"field": axis, "type": "quantitative", "format": ".4~g"} for axis in "xy")]
    return look.spec([
        of_role("contour", {"type": "line", "clip": True, "color": look.ink("grid"), "strokeWidth": 1, "opacity": 0.7},
               x=along, y=up, detail={"field": "name"}, order=step),
        of_role("path", {"type": "line", "clip": True, "strokeWidth": 2 * look.scale}, x=along, y=up, color=colours,
               strokeDash=dashed(order), order=step),
        of_role("path", {"type": "point", "clip": True, "filled": True, "opacity": 1, "size": 22 * look.scale},
               x=along, y=up, color=colours, shape=shapes, tooltip=tooltip),
        {"data": crosses, "encoding": {"x": along, "y": up},
         "mark": {"type": "point", "shape": "cross", "size": 110 * look.scale, "color": look.ink("text"),
                  "strokeWidth": 2}},
        {"data": crosses, "mark": look.words(12, "text", dy=-14, fontWeight=600),
         "encoding": {"x": along, "y": up, "text": {"field": "name"}}}], height, 8)
