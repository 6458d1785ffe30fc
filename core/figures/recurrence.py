"""Recurrence against attention: gradients by distance, times by length, accuracies by delay, an alignment.

Arrays and labels in, an altair chart out. Each spec depends on the theme, the labels and nothing that moves while a training runs or a
slider turns, so that a chart with a `key` is updated in place.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence

import altair as alt
import numpy as np
import pandas as pd

from core.figures.style import altair_theme, colour, sequential

DASHES = ((1, 0), (7, 4), (2, 3), (9, 3, 2, 3), (4, 2), (1, 0))      # a line of its own for each network, so that colour is not all that tells them apart


def _names(frame: pd.DataFrame, x: str, scale: float, encoding: dict) -> alt.Chart:
    """The name of each line at its last point."""
    return alt.Chart(frame).transform_window(place="rank()", sort=[alt.SortField(x, order="descending")], groupby=["name"]).transform_filter("datum.place == 1").mark_text(
        align="left", dx=6, fontSize=12 * scale, fontWeight=600).encode(**encoding, text="name:N")


def lines(frame: pd.DataFrame, names: Mapping[str, str], meanings: Mapping[str, str], x_title: str, y_title: str, theme: str, *, logarithmic: tuple[bool, bool] = (False, False),
          x_domain: Sequence[float] | None = None, y_domain: Sequence[float] | None = None, level: tuple[float, str] | None = None, percent: bool = False, points: bool = False,
          scale: float = 1.0, height: int = 320) -> alt.TopLevelMixin:
    """One line for each network over `frame` (columns network, x, y): names and colour meanings by network, in their order.

    level: a value of y that is drawn across, and what it is called. Without domains the axes follow the data.
    """
    missing = {"network", "x", "y"} - set(frame.columns)
    if missing:
        raise ValueError(f"The lines need the columns {', '.join(sorted(missing))}.")
    frame = frame.assign(name=[names[network] for network in frame["network"]])
    order = [names[network] for network in names]
    colours = alt.Color("name:N", scale=alt.Scale(domain=order, range=[colour(meanings[network], theme, "ink") for network in names]), legend=None)
    dashes = alt.StrokeDash("name:N", scale=alt.Scale(domain=order, range=[list(DASHES[i]) for i in range(len(order))]), legend=None)
    x_scale = alt.Scale(type="log" if logarithmic[0] else "linear", nice=False, **({} if x_domain is None else {"domain": list(x_domain)}))
    y_scale = alt.Scale(type="log" if logarithmic[1] else "linear", **({} if y_domain is None else {"domain": list(y_domain), "nice": False, "clamp": True}))
    x = alt.X("x:Q", title=x_title, scale=x_scale, axis=alt.Axis(tickCount=6, format="~s" if logarithmic[0] else "~g"))
    y = alt.Y("y:Q", title=y_title, scale=y_scale, axis=alt.Axis(tickCount=6, grid=True, format="%" if percent else "~g" if not logarithmic[1] else ".0e"))
    tooltip = [alt.Tooltip("name:N", title=" "), alt.Tooltip("x:Q", title=x_title, format="~g"), alt.Tooltip("y:Q", title=y_title, format=".1%" if percent else ".4~g")]
    layers = [alt.Chart(frame).mark_line(strokeWidth=2.5 * scale).encode(x=x, y=y, color=colours, strokeDash=dashes)]
    layers.append(alt.Chart(frame).mark_point(filled=True, size=(30 if points else 60) * scale, opacity=1 if points else 0).encode(x=x, y=y, color=colours, tooltip=tooltip))
    layers.append(_names(frame, "x", scale, {"x": x, "y": y, "color": colours}))
    if level is not None:
        layers += _level(*level, theme, scale)
    return alt.layer(*layers).properties(height=height, padding={"right": 96 * scale, "left": 5, "top": 5, "bottom": 5}, config=altair_theme(theme, scale))


def _level(value: float, name: str, theme: str, scale: float) -> list[alt.Chart]:
    frame = pd.DataFrame({"y": [value], "name": [name]})
    rule = alt.Chart(frame).mark_rule(color=colour("excluded", theme, "ink"), strokeDash=[3, 3]).encode(y="y:Q")
    return [rule, alt.Chart(frame).mark_text(align="left", baseline="top", dx=4, dy=4, fontSize=12 * scale, color=colour("muted", theme)).encode(x=alt.value(0), y="y:Q", text="name:N")]


def answers(rows: Sequence[str], cells: Sequence[Sequence[str]], right: Sequence[Sequence[bool | None]], first: int, theme: str, scale: float = 1.0) -> alt.TopLevelMixin:
    """Rows of symbols under each other, place by place: what was read, what was asked, what each network answered. right: None for what is no answer;
    a wrong answer stands in brackets on an empty field. `first`: the number of the first place."""
    frame = pd.DataFrame([{"row": i, "name": name, "place": first + j, "symbol": symbol, "kind": "given" if ok is None else "right" if ok else "wrong",
                           "shown": f"({symbol})" if ok is False else symbol} for i, name in enumerate(rows) for j, (symbol, ok) in enumerate(zip(cells[i], right[i])) if symbol])
    base = alt.Chart(frame).encode(x=alt.X("place:O", axis=None, scale=alt.Scale(paddingInner=0.12)), y=alt.Y("name:N", sort=list(rows), title=None, scale=alt.Scale(paddingInner=0.18)))
    fill = alt.Color("kind:N", scale=alt.Scale(domain=["given", "right", "wrong"], range=[colour("panel", theme), colour("value", theme), colour("page", theme)]), legend=None)
    edge = alt.Stroke("kind:N", scale=alt.Scale(domain=["given", "right", "wrong"], range=[colour("grid", theme), colour("value", theme, "ink"), colour("excluded", theme, "ink")]), legend=None)
    boxes = base.mark_rect(cornerRadius=3, strokeWidth=1.2).encode(color=fill, stroke=edge)
    words = base.mark_text(fontSize=12 * scale, font="monospace").encode(text="shown:N", color=alt.condition("datum.kind == 'right'", alt.value(colour("page", theme)), alt.value(colour("text", theme))))
    return (boxes + words).properties(height=alt.Step(22 * scale), config=altair_theme(theme, scale))


def alignment(weights: np.ndarray, sources: Sequence[str], outputs: Sequence[str], x_title: str, y_title: str, theme: str, scale: float = 1.0, height: int = 300) -> alt.TopLevelMixin:
    """Weights (n_out, n_source) of each written symbol over the source, rows top down."""
    if weights.shape != (len(outputs), len(sources)):
        raise ValueError(f"{weights.shape} weights, but {len(outputs)} outputs and {len(sources)} sources.")
    rows, columns = np.divmod(np.arange(weights.size), weights.shape[1])
    frame = pd.DataFrame({"row": rows, "column": columns, "weight": weights.reshape(-1), "output": [outputs[i] for i in rows], "source": [sources[j] for j in columns]})
    frame["x"], frame["y"] = [f"{j} {sources[j]}" for j in columns], [f"{i} {outputs[i]}" for i in rows]
    x = alt.X("column:O", title=x_title, axis=alt.Axis(labels=False, orient="top"))
    y = alt.Y("row:O", title=y_title, axis=alt.Axis(labels=False))
    base = alt.Chart(frame).encode(x=x, y=y)
    cells = base.mark_rect().encode(color=alt.Color("weight:Q", scale=alt.Scale(domain=[0, 1], range=[stop for _, stop in sequential(theme)], interpolate="rgb"), legend=None),
                                    tooltip=[alt.Tooltip("output:N", title=y_title), alt.Tooltip("source:N", title=x_title), alt.Tooltip("weight:Q", title="α", format=".4f")])
    numbers = base.transform_filter("datum.weight >= 0.05").mark_text(fontSize=11 * scale).encode(
        text=alt.Text("weight:Q", format=".2f"), color=alt.condition("datum.weight > 0.5", alt.value(colour("page", theme)), alt.value(colour("text", theme))))
    top = alt.Chart(frame).transform_filter("datum.row == 0").mark_text(dy=-9, font="monospace", fontSize=12 * scale, color=colour("key", theme, "ink")).encode(x=x, y=alt.value(0), text="source:N")
    left = alt.Chart(frame).transform_filter("datum.column == 0").mark_text(dx=-9, font="monospace", fontSize=12 * scale, color=colour("query", theme, "ink")).encode(x=alt.value(0), y=y, text="output:N")
    return (cells + numbers + top + left).properties(height=height, config=altair_theme(theme, scale))
