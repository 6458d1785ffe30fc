"""Optimisation: learning rates over the steps, paths over a loss surface, errors and growth factors.

Rows as a DataFrame, and Vega-Lite specs that fit them.
"""
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from core.figures.lines import DASHES, spread
from core.figures.style import POWER_OF_TEN, altair_theme, colour

NAME_HEIGHT = 15         # px that the name of a line takes


@dataclass(frozen=True)
class Axis:
    """title; domain; whether it is logarithmic; the d3 format of its labels."""

    title: str
    domain: tuple[float, float]
    log: bool = False
    format: str = "~g"

    def encoding(self, field: str, grid: bool) -> dict:
        """As Vega-Lite has it; what is beyond the domain is cut off."""
        labels = {"labelExpr": POWER_OF_TEN} if self.log else {"format": self.format}
        return {"field": field, "type": "quantitative", "title": self.title or None,
                "scale": {"type": "log" if self.log else "linear", "domain": list(self.domain), "nice": False},
                "axis": {"tickCount": 5, "grid": grid, **labels}}


def curve_rows(curves: Mapping[str, tuple[np.ndarray, np.ndarray]], y: Axis, height: float,
               scale: float = 1.0) -> pd.DataFrame:
    """What `curves` draws of name -> (x, y): the points that are within the axis, and for each line the height at which
    its name stands at the right edge.
    """
    rows, to = [], np.log10 if y.log else np.asarray
    low, high = (float(to(bound)) for bound in y.domain)
    for name, (xs, ys) in curves.items():
        inside = np.isfinite(ys) & ((ys > 0) | (not y.log))
        rows += [(name, "line", float(x), float(value), 0.0)
                 for x, value in zip(np.asarray(xs)[inside], np.asarray(ys)[inside])]
    ends = [float(np.clip(to(max(ys[-1], 1e-300) if y.log else ys[-1]), low, high)) if np.isfinite(ys[-1]) else high
            for _, ys in curves.values()]
    at = _within(spread(ends, gap := NAME_HEIGHT * scale / height * (high - low)), gap, high)
    rows += [(name, "end", 0.0, 0.0, float(10 ** place if y.log else place)) for name, place in zip(curves, at)]
    return pd.DataFrame(rows, columns=["line", "role", "x", "y", "at"])


def _within(places: np.ndarray, gap: float, high: float) -> np.ndarray:
    """The places, moved down where the highest ones are beyond `high`."""
    moved, room = places.copy(), high
    for i in np.argsort(-places, kind="stable"):
        moved[i] = min(moved[i], room)
        room = moved[i] - gap
    return moved


def curves(names: Sequence[str], meanings: Sequence[str], x: Axis, y: Axis, theme: str, *, solid: str | None = None,
           across: Mapping[float, str] | None = None, upright: Mapping[float, str] | None = None,
           scale: float = 1.0, height: int = 300) -> dict:
    """The spec of lines over `curve_rows`, each with its name beside it. solid: the line that is meant; else the first.
    across, upright: values that are ruled, with what stands there.
    """
    order = list(names)
    colours = {"field": "line", "type": "nominal", "legend": None,
               "scale": {"domain": order, "range": [colour(meaning, theme, "ink") for meaning in meanings]}}
    strokes = sorted(order, key=lambda name: name != solid)
    dashes = {"field": "line", "type": "nominal", "legend": None,
              "scale": {"domain": strokes, "range": [list(dash) for dash in DASHES[:len(order)]]}}
    sideways, up = x.encoding("x", False), y.encoding("y", True)
    tooltip = [{"field": "line", "title": " "},
               {"field": "x", "type": "quantitative", "title": x.title, "format": ".4~g"},
               {"field": "y", "type": "quantitative", "title": y.title or " ", "format": ".4~g"}]
    lined, ended = [{"filter": "datum.role == 'line'"}], [{"filter": "datum.role == 'end'"}]
    layers = [*_ruled(across or {}, "y", up, theme, scale), *_ruled(upright or {}, "x", sideways, theme, scale),
              {"transform": lined, "mark": {"type": "line", "clip": True, "strokeWidth": 2.2 * scale},
               "encoding": {"x": sideways, "y": up, "color": colours, "strokeDash": dashes}},
              {"transform": lined, "mark": {"type": "point", "size": 50, "opacity": 0, "clip": True},
               "encoding": {"x": sideways, "y": up, "tooltip": tooltip}},
              {"transform": ended,
               "mark": {"type": "text", "align": "left", "dx": 6, "fontSize": 12 * scale, "fontWeight": 600},
               "encoding": {"x": {"value": "width"}, "y": up | {"field": "at"}, "color": colours,
                            "text": {"field": "line"}}}]
    return {"height": height, "padding": {"right": max(map(len, order)) * 6.6 * scale + 12, "left": 5, "top": 5,
                                          "bottom": 5}, "config": altair_theme(theme, scale), "layer": layers}


def _ruled(values: Mapping[float, str], field: str, axis: dict, theme: str, scale: float) -> list[dict]:
    """Dashed lines at some values of one axis, each with its name."""
    if not values:
        return []
    data, place = ({"values": [{field: value, "name": name} for value, name in values.items()]},
                   {"field": field, "type": "quantitative", "scale": axis["scale"]})
    stand = {"x": {"value": 0}, "y": place} if field == "y" else {"x": place, "y": {"value": 0}}
    words = {"type": "text", "align": "left", "baseline": "bottom" if field == "y" else "top", "dx": 4,
             "dy": -2 if field == "y" else 2, "fontSize": 12 * scale, "color": colour("text", theme), "clip": True}
    return [{"data": data, "mark": {"type": "rule", "color": colour("excluded", theme, "ink"), "strokeDash": [5, 3],
                                    "clip": True}, "encoding": {field: place}},
            {"data": data, "mark": words, "encoding": stand | {"text": {"field": "name", "type": "nominal"}}}]


def surface_rows(contours: Sequence[np.ndarray], paths: Mapping[str, np.ndarray],
                 furthest: float = 1e3) -> pd.DataFrame:
    """What `surface` draws: level lines (k, 2), and the paths (n, 2) by name as far as `furthest`."""
    rows = [("contour", str(i), x, y, k) for i, line in enumerate(contours) for k, (x, y) in enumerate(line.tolist())]
    rows += [("path", name, x, y, k) for name, line in paths.items()
             for k, (x, y) in enumerate(np.clip(line, -furthest, furthest).tolist())]
    return pd.DataFrame(rows, columns=["role", "line", "x", "y", "step"])


def surface(names: Sequence[str], meanings: Sequence[str], x: Axis, y: Axis, start: tuple[float, float],
            minimum: tuple[float, float], words: tuple[str, str], theme: str, scale: float = 1.0,
            height: int = 300) -> dict:
    """The spec of `surface_rows`: level lines of a loss, the ways over them, and where they start and should end.
    words: of start and minimum.
    """
    order = list(names)
    legend = {"title": None, "orient": "top", "offset": 2, "padding": 0}
    colours = {"field": "line", "type": "nominal",
               "scale": {"domain": order, "range": [colour(meaning, theme, "ink") for meaning in meanings]},
               "legend": legend}
    dashes = {"field": "line", "type": "nominal",
              "scale": {"domain": order, "range": [list(dash) for dash in DASHES[:len(order)]]}, "legend": None}
    shapes = {"field": "line", "type": "nominal",
              "scale": {"domain": order, "range": ["circle", "square", "triangle-up"][:len(order)]}, "legend": legend}
    sideways, up, step = x.encoding("x", False), y.encoding("y", False), {"field": "step", "type": "quantitative"}
    place = {"values": [{"x": start[0], "y": start[1], "name": words[0]},
                        {"x": minimum[0], "y": minimum[1], "name": words[1]}]}
    went, tooltip = ([{"filter": "datum.role == 'path'"}],
                     [{"field": "line", "title": " "}, step | {"title": "t"},
                      *({"field": axis, "type": "quantitative", "format": ".4~g"} for axis in "xy")])
    layers = [
        {"transform": [{"filter": "datum.role == 'contour'"}],
         "mark": {"type": "line", "clip": True, "color": colour("grid", theme, "ink"),
                  "strokeWidth": 1, "opacity": 0.7},
         "encoding": {"x": sideways, "y": up, "detail": {"field": "line"}, "order": step}},
        {"transform": went, "mark": {"type": "line", "clip": True, "strokeWidth": 2 * scale},
         "encoding": {"x": sideways, "y": up, "color": colours, "strokeDash": dashes, "order": step}},
        {"transform": went, "mark": {"type": "point", "clip": True, "filled": True, "opacity": 1, "size": 22 * scale},
         "encoding": {"x": sideways, "y": up, "color": colours, "shape": shapes, "tooltip": tooltip}},
        {"data": place, "mark": {"type": "point", "shape": "cross", "size": 110 * scale, "color": colour("text", theme),
                                 "strokeWidth": 2}, "encoding": {"x": sideways, "y": up}},
        {"data": place,
         "mark": {"type": "text", "dy": -14, "fontSize": 12 * scale, "fontWeight": 600, "color": colour("text", theme)},
         "encoding": {"x": sideways, "y": up, "text": {"field": "name"}}}]
    return {"height": height, "padding": {"left": 5, "right": 8, "top": 5, "bottom": 5},
            "config": altair_theme(theme, scale), "layer": layers}
