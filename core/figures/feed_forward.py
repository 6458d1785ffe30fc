"""Pictures of one vector in a block: before and after a norm, and through the feed-forward part's curve and neurons."""
from __future__ import annotations

from collections.abc import Sequence

import altair as alt
import numpy as np
import pandas as pd

from core.figures.residual_stream import finish, readable
from core.figures.style import colour


def norm_stages(stages: Sequence[tuple[str, np.ndarray]], axis_title: str, theme: str, scale: float = 1.0, height: int = 330) -> alt.TopLevelMixin:
    """A vector's values as bars, once for each stage of a norm, below each other with an axis of its own: its mean as a line, ± σ as a band.

    stages: (title, values (d,)) pairs. The band and the line come from the values themselves.
    """
    if len({len(values) for _, values in stages}) != 1:
        raise ValueError("Every stage has the same number of features.")
    rows, lines = [], []
    for place, (_, values) in enumerate(stages):
        values = np.asarray(values, dtype=float)
        rows += [{"stage": place, "feature": i, "value": value, "shown": readable(value, 5)} for i, value in enumerate(values)]
        mean, std = values.mean(), values.std()
        lines.append({"stage": place, "mean": mean, "low": mean - std, "high": mean + std})
    bars, bands = pd.DataFrame(rows), pd.DataFrame(lines)
    d = len(stages[0][1])
    panels = []
    for place, (title, _) in enumerate(stages):
        last = place == len(stages) - 1
        keep = f"datum.stage == {place}"
        x = alt.X("feature:Q", title=axis_title if last else None, scale=alt.Scale(domain=[-1, d], nice=False), axis=alt.Axis(labels=last, format="d"))
        y = alt.Y("value:Q", title=title, axis=alt.Axis(tickCount=3, format="~g", titleAngle=0, titleAlign="left", titleX=2, titleY=-8, titleAnchor="start",
                                                        titleColor=colour("text", theme)))
        band = alt.Chart(bands).transform_filter(keep).mark_rect(color=colour("residual", theme), opacity=0.16).encode(y=alt.Y("low:Q"), y2="high:Q")
        line = alt.Chart(bands).transform_filter(keep).mark_rule(color=colour("text", theme), strokeWidth=1.5, strokeDash=[5, 3]).encode(y="mean:Q")
        values = alt.Chart(bars).transform_filter(keep).mark_bar(color=colour("residual", theme), size=max(1.0, 700 / d)).encode(
            x=x, y=y, tooltip=[alt.Tooltip("feature:Q", title=axis_title), alt.Tooltip("shown:N", title=" ")])
        panels.append(alt.layer(band, values, line).properties(width="container", height=max(48, (height - 40) // len(stages) - 26)))
    return finish(alt.vconcat(*panels, spacing=22).resolve_scale(y="independent"), theme, None, scale)


def activation_curves(curves: dict[str, np.ndarray], inputs: np.ndarray, own: str, at: np.ndarray, names: dict[str, str], axis_titles: tuple[str, str],
                      theme: str, scale: float = 1.0, height: int = 300) -> alt.TopLevelMixin:
    """The activations over their input; the model's `own` thick, with a point on it for each neuron's input of `at` (d_ff,)."""
    rows = [{"which": which, "name": names[which], "x": float(x), "y": float(y)} for which, line in curves.items() for x, y in zip(inputs, line)]
    domain = list(curves)
    dashes = [[1, 0] if which == own else [[6, 4], [2, 3], [9, 3, 2, 3], [1, 4]][i % 4] for i, which in enumerate(domain)]
    x = alt.X("x:Q", title=axis_titles[0], scale=alt.Scale(domain=[float(inputs[0]), float(inputs[-1])], nice=False), axis=alt.Axis(grid=True, tickCount=6))
    y = alt.Y("y:Q", title=axis_titles[1], axis=alt.Axis(grid=True, tickCount=5))
    lines = alt.Chart(pd.DataFrame(rows)).mark_line().encode(
        x=x, y=y, detail="which:N", strokeDash=alt.StrokeDash("which:N", scale=alt.Scale(domain=domain, range=dashes), legend=None),
        color=alt.Color("which:N", scale=alt.Scale(domain=domain, range=[colour("mlp" if which == own else "muted", theme, "ink") for which in domain]), legend=None),
        strokeWidth=alt.StrokeWidth("which:N", scale=alt.Scale(domain=domain, range=[(3.5 if which == own else 1.6) * scale for which in domain]), legend=None),
        tooltip=[alt.Tooltip("name:N", title=" ")])
    inside = at[(at >= inputs[0]) & (at <= inputs[-1])]
    points = alt.Chart(pd.DataFrame({"x": inside.astype(float), "y": np.interp(inside, inputs, curves[own])})).mark_tick(
        orient="vertical", thickness=1, size=14 * scale, opacity=0.35, color=colour("mlp", theme, "ink")).encode(x="x:Q", y=alt.value(height - 8))
    names_at = pd.DataFrame([{"which": which, "name": names[which], "x": float(inputs[i]), "y": float(line[i])}
                             for (which, line), i in zip(curves.items(), np.linspace(0.92, 0.70, len(curves)) * (len(inputs) - 1) // 1)
                             for i in [int(i)]])
    labels = alt.Chart(names_at).mark_text(align="right", dx=-7, dy=-4, fontSize=12 * scale, fontWeight=600).encode(
        x="x:Q", y="y:Q", text="name:N", color=alt.Color("which:N", scale=alt.Scale(domain=domain, range=[colour("mlp" if w == own else "muted", theme, "ink") for w in domain]), legend=None))
    return finish(alt.layer(lines, points, labels), theme, height, scale)


def neuron_bars(activations: np.ndarray, picked: Sequence[int], axis_titles: tuple[str, str], theme: str, scale: float = 1.0, height: int = 160) -> alt.TopLevelMixin:
    """Every neuron's activation for one token, (d_ff,); the `picked` ones named."""
    frame = pd.DataFrame({"neuron": range(len(activations)), "activation": np.asarray(activations, dtype=float)})
    frame["label"] = ""
    frame.loc[list(picked), "label"] = [str(neuron) for neuron in picked]
    frame["shown"] = [readable(value, 4) for value in frame["activation"]]
    base = alt.Chart(frame).encode(x=alt.X("neuron:Q", title=axis_titles[0], scale=alt.Scale(domain=[-4, len(activations) + 4], nice=False), axis=alt.Axis(tickCount=8, format="d")),
                                   y=alt.Y("activation:Q", title=axis_titles[1], axis=alt.Axis(tickCount=4, grid=True, format="~g")))
    bars = base.mark_bar(size=max(1.0, 900 / len(activations)), color=colour("mlp", theme, "ink")).encode(
        tooltip=[alt.Tooltip("neuron:Q", title=axis_titles[0]), alt.Tooltip("shown:N", title=axis_titles[1])])
    names = base.mark_text(dy=-8, fontSize=12 * scale, fontWeight=600).encode(text="label:N")
    return finish(bars + names, theme, height, scale)
