"""Training: what the loss pushes at, curves over the steps, an attention pattern.

Arrays and labels in, an altair chart out.
"""
import json
from collections.abc import Mapping, Sequence

import altair as alt
import numpy as np
import pandas as pd

from core.figures.numbers import readable
from core.figures.style import altair_theme, colour, framed


def pushes(tokens: Sequence[str], gradient: np.ndarray, axis_title: str, theme: str, scale: float = 1.0,
           height: int = 300) -> alt.TopLevelMixin:
    """∂(−ln p)/∂u of some tokens as bars from 0, the first one being the true token: left means that a step
    raises its logit.
    """
    if len(tokens) != len(gradient):
        raise ValueError(f"{len(tokens)} tokens, but {len(gradient)} entries of the gradient.")
    frame = pd.DataFrame({"place": range(len(tokens)), "token": list(tokens), "g": np.asarray(gradient, dtype=float)})
    frame["true"], frame["shown"] = frame["place"] == 0, [readable(g) for g in frame["g"]]
    base = alt.Chart(frame).encode(y=alt.Y("place:O", axis=None, scale=alt.Scale(paddingInner=0.3)))
    x = alt.X("g:Q", title=axis_title, scale=alt.Scale(domain=[-1, 1]),
              axis=alt.Axis(values=[-1, -0.5, 0, 0.5, 1], grid=True))
    tone = alt.Color("true:N", scale=alt.Scale(domain=[True, False],
                                               range=[colour("value", theme), colour("key", theme)]), legend=None)
    bars = base.mark_bar().encode(x=x, color=tone, tooltip=[alt.Tooltip("token:N", title=" "),
                                                            alt.Tooltip("g:Q", title="∂(−ln p)/∂u", format=".6g")])
    names = base.mark_text(font="monospace", fontSize=13 * scale, baseline="middle", align="right", dx=-6,
                           limit=120 * scale).encode(x=alt.XValue(0), text=alt.Text("token:N"))
    right = base.transform_filter("!datum.true").mark_text(align="left", dx=5, fontSize=12 * scale,
                                                           color=colour("muted", theme)).encode(
                                                               x=x, text=alt.Text("shown:N"))
    left = base.transform_filter("datum.true").mark_text(align="left", dx=5, fontSize=12 * scale,
                                                         color=colour("muted", theme)).encode(
                                                             x=alt.datum(0), text=alt.Text("shown:N"))
    return framed(alt.layer(bars, names, right, left), theme, scale, height=height,
                  padding={"left": 90 * scale, "right": 8, "top": 5, "bottom": 5})


def curve(names: Mapping[str, str], meanings: Mapping[str, str], x_title: str, y_title: str, theme: str, *,
          x_domain: tuple[float, float], y_domain: tuple[float, float], levels: Mapping[str, float] | None = None,
          changes: Mapping[float, str] | None = None, marked: float | None = None, ticks: Sequence[str] = (),
          points: bool = False, y_format: str = "~g", scale: float = 1.0, height: int = 240) -> dict:
    """The Vega-Lite spec of lines over the steps of a training, for data with the columns line (its name), x and y;
    names and colour meanings by line.

    levels: values that are drawn across, by their names. changes: steps at which something was turned, with what stands
    there. marked: the step that is looked at.
    ticks: the names of x = 0, 1, 2, …, where x counts and does not measure. points: every value is a point too, as
    where there is but one. A value beyond y_domain is drawn at its edge. Written out and without altair, whose checks
    of a chart take longer than ten steps of a training: nothing but the data changes while one runs.
    """
    order, inks = [names[line] for line in names], [colour(meanings[line], theme, "ink") for line in names]
    axis = {"values": list(range(len(ticks))), "labelExpr": f"{json.dumps(list(ticks))}[datum.value]",
            "labelOverlap": True, "labelAngle": 0} if ticks else {"tickCount": 4, "format": "~s"}
    x = {"field": "x", "type": "quantitative", "title": x_title,
         "scale": {"domain": list(x_domain), "nice": False}, "axis": axis}
    y = {"field": "y", "type": "quantitative", "title": y_title or None,
         "scale": {"domain": list(y_domain), "nice": False, "clamp": True},
         "axis": {"tickCount": 5 if height > 150 else 2, "grid": True, "format": y_format}}
    legend = (None if len(order) == 1
              else {"title": None, "orient": "top", "symbolType": "stroke", "offset": 2, "padding": 0})
    colours = {"field": "line", "type": "nominal", "scale": {"domain": order, "range": inks}, "legend": legend}
    dashes = {"field": "line", "type": "nominal",
              "scale": {"domain": order, "range": [[1, 0], [3, 3], [8, 3]][:len(order)]}, "legend": legend}
    tooltip = [{"field": "line", "type": "nominal", "title": " "},
               {"field": "x", "type": "quantitative", "title": x_title},
               {"field": "y", "type": "quantitative", "title": y_title or " ", "format": ".4~g"}]
    layers = (_across(levels or {}, theme, scale) + _turned(changes or {}, theme, scale)
              + ([] if marked is None else _turned({marked: ""}, theme, scale)))
    layers.append({"mark": {"type": "line", "strokeWidth": 2.2 * scale, "clip": True, "point": points},
                   "encoding": {"x": x, "y": y, "color": colours, "strokeDash": dashes}})
    layers.append({"mark": {"type": "point", "size": 60, "opacity": 0, "clip": True},
                   "encoding": {"x": x, "y": y, "tooltip": tooltip}})
    return {"layer": layers, "height": height, "padding": {"left": 5, "right": 5, "top": 5, "bottom": 5},
            "autosize": {"type": "fit", "contains": "padding"}, "config": altair_theme(theme, scale)}


def _across(levels: Mapping[str, float], theme: str, scale: float) -> list[dict]:
    data, y = ({"values": [{"level": value, "name": name} for name, value in levels.items()]},
               {"field": "level", "type": "quantitative", "scale": {"zero": False}})
    words = {"type": "text", "align": "right", "baseline": "bottom", "dx": -4, "dy": -2, "fontSize": 11.5 * scale,
             "color": colour("muted", theme)}
    return [{"data": data, "mark": {"type": "rule", "color": colour("excluded", theme, "ink"), "strokeDash": [4, 3]},
             "encoding": {"y": y}},
            {"data": data, "mark": words, "encoding": {"x": {"value": "width"}, "y": y,
                                                       "text": {"field": "name", "type": "nominal"}}}] if levels else []


def _turned(changes: Mapping[float, str], theme: str, scale: float) -> list[dict]:
    data, x = ({"values": [{"at": at, "name": name} for at, name in changes.items()]},
               {"field": "at", "type": "quantitative", "scale": {"zero": False}})
    words = {"type": "text", "align": "left", "baseline": "top", "dx": 3, "dy": 2, "fontSize": 11 * scale,
             "color": colour("mlp", theme, "ink")}
    return [{"data": data,
             "mark": {"type": "rule", "color": colour("mlp", theme, "ink"), "strokeWidth": 1.5}, "encoding": {"x": x}},
            {"data": data, "mark": words,
             "encoding": {"x": x, "y": {"value": 34}, "text": {"field": "name", "type": "nominal"}}}] if changes else []
