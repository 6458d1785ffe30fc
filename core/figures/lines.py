"""Line charts with the lines' names at their ends, rows of answers, and an alignment, for several lessons.

Each picture is a DataFrame of rows and a Vega-Lite spec. The spec does not change while a training runs or a slider
moves, so a chart with a `key` is updated in place. (The specs are dicts: altair takes 80 ms to check one, and these
are drawn every second.)
"""
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from core.figures.style import POWER_OF_TEN, altair_theme, colour, sequential

# a dash pattern for each network, so that colour is not their only difference
DASHES = ((1, 0), (7, 4), (2, 3), (9, 3, 2, 3), (4, 2), (14, 2))
NAME_HEIGHT = 15         # px that the name of a line takes


@dataclass(frozen=True)
class Axis:
    """One axis of `lines`. domain None: the range of the data. values: places of its labels. kind: "number", "percent"
    or "log".
    """

    title: str
    kind: str = "number"
    domain: tuple[float, float] | None = None
    values: tuple[float, ...] | None = None


def spread(values: Sequence[float], gap: float) -> np.ndarray:
    """The values, moved apart as little as possible until neighbours are at least `gap` apart, in the same order: the
    places of names beside the ends of lines.

    >>> spread([0.0, 0.1, 5.0], gap=1.0).round(2).tolist()
    [-0.45, 0.55, 5.0]
    """
    values = np.asarray(values, dtype=float)
    order = np.argsort(values, kind="stable")
    # (centre, number of members) of neighbours that touch
    groups: list[tuple[float, int]] = []
    for value in values[order]:
        groups.append((float(value), 1))
        while len(groups) > 1 and groups[-1][0] - groups[-2][0] < gap * (groups[-1][1] + groups[-2][1]) / 2:
            (a, n), (b, m) = groups[-2:]
            groups[-2:] = [((a * n + b * m) / (n + m), n + m)]
    result = np.empty_like(values)
    result[order] = [centre + gap * (i - (n - 1) / 2) for centre, n in groups for i in range(n)]
    return result


def line_rows(frame: pd.DataFrame, names: Mapping[str, str], y: Axis, height: float, scale: float = 1.0,
              picked: float | None = None) -> pd.DataFrame:
    """Return the rows that `lines` draws, from the columns network, x and y: the points; the last point of each line
    again, for the name, if there is room for it; and the points at the x that the reader has picked, if any.
    """
    # one table is built, at the end: for a few hundred rows, building tables takes most of the time
    network, x, values = (frame[name].to_numpy() for name in ("network", "x", "y"))
    points = np.flatnonzero(values > 0) if y.kind == "log" else np.arange(len(frame))
    by_x = points[np.argsort(x[points], kind="stable")]
    ends = by_x[sorted({names[network[row]]: place for place, row in enumerate(by_x)}.values())]
    marked = points[x[points] == picked]
    rows = np.concatenate([points, ends, marked])
    at = values[rows].astype(float)
    if len(points):
        to, back = (np.log10, lambda v: 10.0 ** v) if y.kind == "log" else (np.asarray, np.asarray)
        low, high = y.domain or (values[points].min(), values[points].max())
        gap = NAME_HEIGHT * scale / height * max(float(to(high)) - float(to(low)), 1e-9)
        at[len(points):len(points) + len(ends)] = back(spread(to(values[ends].clip(low, high)), gap))
    return pd.DataFrame({"network": network[rows], "x": x[rows], "y": values[rows],
                         "name": [names[name] for name in network[rows]],
                         "role": np.repeat(["line", "end", "picked"], [len(points), len(ends), len(marked)]),
                         "at": at})


def lines(names: Mapping[str, str], meanings: Mapping[str, str], x: Axis, y: Axis, theme: str, *,
          level: tuple[float, str] | None = None, points: bool = False, named: bool = True,
          scale: float = 1.0, height: int = 320) -> dict:
    """The spec of one line for each network over `line_rows`; names, meanings: each network's name and colour meaning.

    level: the value and the name of a horizontal line. points: draw each measurement as a point. named: write each
    line's name at its end.
    """
    order = list(names.values())
    by_name = _field("name", "nominal", legend=None)
    inks = [colour(meanings[network], theme, "ink") for network in names]
    colours = by_name | {"scale": {"domain": order, "range": inks}}
    dashes = by_name | {"scale": {"domain": order, "range": [list(dash) for dash in DASHES[:len(order)]]}}
    place = {"x": _encoding("x", x), "y": _encoding("y", y)}
    tooltip = [{"field": "name", "title": " "}, _field("x", title=x.title, format=",d"),
               _field("y", title=y.title, format=".1%" if y.kind == "percent" else ".4~g")]
    # a line that leaves the domain leaves the picture: no point stands where it is not
    inside = {"clip": True} if x.domain is not None or y.domain is not None else {}
    mark = {"type": "point", "filled": True} | inside
    drawn = {"type": "line", "strokeWidth": 2.5 * scale} | inside
    layers = [_layer("line", drawn, **place, color=colours, strokeDash=dashes),
              _layer("line", mark | {"size": (30 if points else 60) * scale, "opacity": 1 if points else 0},
                     **place, color=colours, tooltip=tooltip),
              _layer("picked", {"type": "rule", "color": colour("grid", theme, "ink"), "strokeDash": [2, 2]},
                     x=place["x"]),
              _layer("picked", mark | {"size": 70 * scale, "opacity": 1}, **place, color=colours)]
    if named:
        layers.append(_layer("end", {"type": "text", "align": "left", "dx": 6, "fontSize": 12 * scale,
                                     "fontWeight": 600},
                             x=place["x"], y=place["y"] | {"field": "at"}, color=colours, text={"field": "name"}))
    if level is not None:
        layers += _level(*level, below=y.domain is not None and level[0] < sum(y.domain) / 2, theme=theme, scale=scale)
    # the names at the ends need no padding: a chart that is fitted to its place keeps room for them
    return {"height": height, "padding": {"right": 5 if named else 12, "left": 5, "top": 5, "bottom": 5},
            "config": altair_theme(theme, scale), "layer": layers}


def _field(name: str, kind: str = "quantitative", **more) -> dict:
    """A field of the data in the form of a Vega-Lite encoding."""
    return {"field": name, "type": kind, **more}


def _layer(role: str, mark: dict, **encoding: dict) -> dict:
    """A layer of the rows of one role."""
    return {"transform": [{"filter": f"datum.role == '{role}'"}], "mark": mark, "encoding": encoding}


def _encoding(field: str, axis: Axis) -> dict:
    """The Vega-Lite encoding of one axis: whole numbers on x; percent, powers of ten or plain numbers on y."""
    up = field == "y"
    scale = ({"type": "log" if axis.kind == "log" else "linear", "nice": up and axis.domain is None}
             | ({} if axis.domain is None else {"domain": list(axis.domain)}))
    if axis.values is not None:
        labels = {"values": list(axis.values)} | ({"labelExpr": POWER_OF_TEN} if up else {"format": ",d"})
    else:
        labels = ({"labelExpr": POWER_OF_TEN} if axis.kind == "log" else {"format": "%"} if axis.kind == "percent"
                  else {} if up else {"format": ",d"})
    return _field(field, title=axis.title, scale=scale, axis={"tickCount": 6, "grid": up, **labels})


def _level(value: float, name: str, below: bool, theme: str, scale: float) -> list[dict]:
    """A horizontal line at `value` with its name below or above it."""
    data = {"values": [{"y": value, "name": name}]}
    y = _field("y")
    return [{"data": data, "mark": {"type": "rule", "color": colour("excluded", theme, "ink"), "strokeDash": [3, 3]},
             "encoding": {"y": y}},
            {"data": data, "mark": {"type": "text", "align": "left", "baseline": "top" if below else "bottom", "dx": 4,
                                    "dy": 4 if below else -3, "fontSize": 12 * scale, "color": colour("muted", theme)},
             "encoding": {"x": {"value": 0}, "y": y, "text": {"field": "name"}}}]


def answer_rows(rows: Sequence[str], cells: Sequence[Sequence[str]],
                right: Sequence[Sequence[bool | None]]) -> pd.DataFrame:
    """Return one table row a symbol, for rows such as input, targets and answers. right: None for a symbol that is no
    answer; wrong answers are put in brackets.
    """
    return pd.DataFrame([{"name": name, "place": place, "kind": "given" if ok is None else "right" if ok else "wrong",
                          "shown": f"({symbol})" if ok is False else symbol}
                         for i, name in enumerate(rows)
                         for place, (symbol, ok) in enumerate(zip(cells[i], right[i], strict=True))])


def answers(order: Sequence[str], theme: str, scale: float = 1.0) -> dict:
    """The spec of `answer_rows`, rows in that order: right answers on a filled cell, wrong ones on an empty one."""
    panel, page, edge = (colour(name, theme) for name in ("panel", "page", "grid"))
    looks = {"given": (panel, edge), "right": (colour("value", theme), colour("value", theme, "ink")),
             "wrong": (page, colour("excluded", theme, "ink"))}
    fill, stroke = (_field("kind", "nominal", legend=None, scale={"domain": list(looks), "range": list(colours)})
                    for colours in zip(*looks.values()))
    encoding = {"x": _field("place", "ordinal", axis=None, scale={"paddingInner": 0.12}),
                "y": _field("name", "nominal", sort=list(order), title=None, scale={"paddingInner": 0.18},
                            axis={"labelLimit": 90 * scale})}
    return {"height": {"step": 22 * scale}, "config": altair_theme(theme, scale), "encoding": encoding, "layer": [
        {"mark": {"type": "rect", "cornerRadius": 3, "strokeWidth": 1.2},
         "encoding": {"color": fill, "stroke": stroke,
                      "tooltip": [{"field": "name", "title": " "}, {"field": "shown", "title": "  "}]}},
        {"mark": {"type": "text", "fontSize": 12 * scale, "font": "monospace"},
         "encoding": {"text": {"field": "shown"}, "color": _inverted("datum.kind == 'right'", theme)}}]}


def _inverted(test: str, theme: str) -> dict:
    """The colour of text: the page's where the test holds and the background is dark, else the text's."""
    return {"condition": {"test": test, "value": colour("page", theme)}, "value": colour("text", theme)}


def alignment_rows(weights: np.ndarray, sources: Sequence[str], outputs: Sequence[str]) -> pd.DataFrame:
    """One table row a cell of the weights (n_out, n_source) of each output symbol over the source.

    Raises ValueError if their shape does not fit the outputs and sources.
    """
    if weights.shape != (len(outputs), len(sources)):
        raise ValueError(f"{weights.shape} weights, but {len(outputs)} outputs and {len(sources)} sources.")
    rows, columns = np.divmod(np.arange(weights.size), weights.shape[1])
    return pd.DataFrame({"row": rows, "column": columns, "weight": weights.reshape(-1),
                         "output": [outputs[i] for i in rows], "source": [sources[j] for j in columns]})


def alignment(x_title: str, y_title: str, theme: str, scale: float = 1.0, height: int = 300) -> dict:
    """The spec of `alignment_rows`: a row for each output symbol, top down, a column for each of the source."""
    title_at = {"labels": False, "titlePadding": 22 * scale}
    x = _field("column", "ordinal", title=x_title, axis=title_at | {"orient": "top"})
    y = _field("row", "ordinal", title=y_title, axis=title_at)
    shade = _field("weight", legend=None, scale={"domain": [0, 1], "range": [stop for _, stop in sequential(theme)],
                                                 "interpolate": "rgb"})
    tooltip = [{"field": "output", "title": y_title}, {"field": "source", "title": x_title},
               _field("weight", title="α", format=".4f")]
    symbol, edge = {"type": "text", "font": "monospace", "fontSize": 12 * scale}, {"value": 0}
    return {"height": height, "config": altair_theme(theme, scale), "layer": [
        {"mark": "rect", "encoding": {"x": x, "y": y, "color": shade, "tooltip": tooltip}},
        {"transform": [{"filter": "datum.weight >= 0.05"}], "mark": {"type": "text", "fontSize": 11 * scale},
         "encoding": {"x": x, "y": y, "text": _field("weight", format=".2f" if scale == 1 else ".1f"),
                      "color": _inverted("datum.weight > 0.5", theme)}},
        {"transform": [{"filter": "datum.row == 0"}], "mark": symbol | {"dy": -9, "color": colour("key", theme, "ink")},
         "encoding": {"x": x, "y": edge, "text": {"field": "source"}}},
        {"transform": [{"filter": "datum.column == 0"}],
         "mark": symbol | {"dx": -9, "color": colour("query", theme, "ink")},
         "encoding": {"x": edge, "y": y, "text": {"field": "output"}}}]}
