"""Training: what the loss pushes at, curves over the steps, an attention pattern. Arrays and labels in, an altair chart out."""
from __future__ import annotations

from collections.abc import Mapping, Sequence

import altair as alt
import numpy as np
import pandas as pd

from core.figures.numbers import readable
from core.figures.style import altair_theme, colour


def pushes(tokens: Sequence[str], gradient: np.ndarray, axis_title: str, theme: str, scale: float = 1.0, height: int = 300) -> alt.TopLevelMixin:
    """∂(−ln p)/∂u of some tokens as bars from 0, the first one being the true token: left means that a step raises its logit."""
    if len(tokens) != len(gradient):
        raise ValueError(f"{len(tokens)} tokens, but {len(gradient)} entries of the gradient.")
    frame = pd.DataFrame({"place": range(len(tokens)), "token": list(tokens), "g": np.asarray(gradient, dtype=float)})
    frame["true"], frame["shown"] = frame["place"] == 0, [readable(g) for g in frame["g"]]
    base = alt.Chart(frame).encode(y=alt.Y("place:O", axis=None, scale=alt.Scale(paddingInner=0.3)))
    x = alt.X("g:Q", title=axis_title, scale=alt.Scale(domain=[-1, 1]), axis=alt.Axis(values=[-1, -0.5, 0, 0.5, 1], grid=True))
    tone = alt.Color("true:N", scale=alt.Scale(domain=[True, False], range=[colour("value", theme), colour("key", theme)]), legend=None)
    bars = base.mark_bar().encode(x=x, color=tone, tooltip=[alt.Tooltip("token:N", title=" "), alt.Tooltip("g:Q", title="∂(−ln p)/∂u", format=".6g")])
    names = base.mark_text(font="monospace", fontSize=13 * scale, baseline="middle", align="right", dx=-6, limit=120 * scale).encode(x=alt.value(0), text="token:N")
    right = base.transform_filter("!datum.true").mark_text(align="left", dx=5, fontSize=12 * scale, color=colour("muted", theme)).encode(x=x, text="shown:N")
    left = base.transform_filter("datum.true").mark_text(align="left", dx=5, fontSize=12 * scale, color=colour("muted", theme)).encode(x=alt.datum(0), text="shown:N")
    return (bars + names + right + left).properties(height=height, padding={"left": 90 * scale, "right": 8, "top": 5, "bottom": 5}, config=altair_theme(theme, scale))


def curve(frame: pd.DataFrame, names: Mapping[str, str], meanings: Mapping[str, str], x_title: str, y_title: str, theme: str, *, x_domain: tuple[float, float], y_domain: tuple[float, float],
          levels: Mapping[str, float] | None = None, changes: Mapping[float, str] | None = None, y_format: str = "~g", scale: float = 1.0, height: int = 240) -> alt.TopLevelMixin:
    """Lines over the steps of a training: `frame` has the columns line, x, y; names and colour meanings by line.

    levels: values that are drawn across, by their names. changes: steps at which something was turned, with what stands there. A value beyond y_domain is
    drawn at its edge. The spec depends on the domains and the labels alone, so that a chart with a key is updated in place while the data grow.
    """
    if missing := {"line", "x", "y"} - set(frame.columns):
        raise ValueError(f"The lines need the columns {', '.join(sorted(missing))}.")
    frame = frame.assign(name=[names[line] for line in frame["line"]])
    order = [names[line] for line in names]
    x = alt.X("x:Q", title=x_title, scale=alt.Scale(domain=list(x_domain), nice=False), axis=alt.Axis(tickCount=5, format="~s"))
    y = alt.Y("y:Q", title=y_title, scale=alt.Scale(domain=list(y_domain), nice=False, clamp=True), axis=alt.Axis(tickCount=5, grid=True, format=y_format))
    tones = alt.Color("name:N", scale=alt.Scale(domain=order, range=[colour(meanings[line], theme, "ink") for line in names]),
                      legend=None if len(names) == 1 else alt.Legend(title=None, orient="top-right", symbolType="stroke"))
    dashes = alt.StrokeDash("name:N", scale=alt.Scale(domain=order, range=[[1, 0], [3, 3], [8, 3]][:len(order)]), legend=None)
    layers = _across(levels or {}, theme, scale) + _turned(changes or {}, theme, scale)
    layers.append(alt.Chart(frame).mark_line(strokeWidth=2.2 * scale, clip=True).encode(x=x, y=y, color=tones, strokeDash=dashes))
    layers.append(alt.Chart(frame).mark_point(size=50, opacity=0, clip=True).encode(
        x=x, y=y, tooltip=[alt.Tooltip("name:N", title=" "), alt.Tooltip("x:Q", title=x_title), alt.Tooltip("y:Q", title=y_title, format=".4~g")]))
    return alt.layer(*layers).properties(height=height, padding=5, config=altair_theme(theme, scale))


def _across(levels: Mapping[str, float], theme: str, scale: float) -> list[alt.Chart]:
    frame = pd.DataFrame({"y": list(levels.values()), "name": list(levels)}, columns=["y", "name"])
    rule = alt.Chart(frame).mark_rule(color=colour("excluded", theme, "ink"), strokeDash=[4, 3]).encode(y="y:Q")
    return [rule, alt.Chart(frame).mark_text(align="right", baseline="bottom", dx=-4, dy=-2, fontSize=11.5 * scale, color=colour("muted", theme)).encode(x=alt.value("width"), y="y:Q", text="name:N")]


def _turned(changes: Mapping[float, str], theme: str, scale: float) -> list[alt.Chart]:
    frame = pd.DataFrame({"x": list(changes), "name": list(changes.values())}, columns=["x", "name"])
    rule = alt.Chart(frame).mark_rule(color=colour("mlp", theme, "ink")).encode(x="x:Q")
    return [rule, alt.Chart(frame).mark_text(align="left", baseline="top", dx=3, dy=2, angle=0, fontSize=11 * scale, color=colour("mlp", theme, "ink")).encode(x="x:Q", y=alt.value(0), text="name:N")]
