"""Pictures of one vector in a block: before and after a norm, and through the feed-forward part's curve and neurons."""
from __future__ import annotations

from collections.abc import Sequence

import altair as alt
import numpy as np
import pandas as pd

from core.figures.numbers import readable
from core.figures.residual_stream import finish
from core.figures.style import colour, framed

READ_EVERY = 10     # of the places of a curve, those that hover reads
# Of hundreds of marks none says what it is to a screen reader, which would go through all of them: the chart's keys read them. To write it out takes a sixth of the time of a new prompt.
UNTOLD = {"aria": False}


def vector_bars(values: np.ndarray, title: str, axis_title: str, theme: str, last: bool, scale: float = 1.0, height: int = 110) -> alt.TopLevelMixin:
    """A vector's components (d,) as bars, with their mean as a dashed line and mean ± deviation as a band. Only the `last` of a column of such
    charts has its features named."""
    values = np.asarray(values, dtype=float)
    frame = pd.DataFrame({"feature": range(len(values)), "value": values, "shown": [readable(value, 5) for value in values]})
    mean, std = values.mean(), values.std()
    x = alt.X("feature:Q", title=axis_title if last else None, scale=alt.Scale(domain=[-1, len(values)], nice=False), axis=alt.Axis(labels=last, format="d"))
    y = alt.Y("value:Q", title=None, axis=alt.Axis(tickCount=3, format=".3~g", minExtent=52))
    band = alt.Chart(pd.DataFrame({"low": [mean - std], "high": [mean + std]})).mark_rect(color=colour("residual", theme), opacity=0.16).encode(
        y=alt.Y("low:Q", title=None), y2=alt.Y2("high:Q"))
    line = alt.Chart(pd.DataFrame({"mean": [mean]})).mark_rule(color=colour("text", theme), strokeWidth=1.5 * scale, strokeDash=[5, 3]).encode(y=alt.Y("mean:Q", title=None))
    bars = alt.Chart(frame).mark_bar(**UNTOLD, color=colour("residual", theme, "ink"), size=max(1.0, 700 / len(values))).encode(
        x=x, y=y, tooltip=[alt.Tooltip("feature:Q", title=axis_title), alt.Tooltip("shown:N", title=" ")])
    return framed(alt.layer(band, bars, line), theme, scale, height=height, title=alt.Title(title, fontSize=13 * scale, offset=2))


def activation_curves(curves: dict[str, np.ndarray], inputs: np.ndarray, own: str, at: np.ndarray, names: dict[str, str], axis_titles: tuple[str, str],
                      theme: str, scale: float = 1.0, height: int = 300) -> alt.TopLevelMixin:
    """The activations over their input; the model's `own` thick. Below them a tick for each neuron's input of `at` (d_ff,), as far as it lies on the axis."""
    rows = [{"which": which, "name": names[which], "x": float(x), "y": float(y)} for which, line in curves.items() for x, y in zip(inputs, line)]
    domain = [names[which] for which in curves]
    dashes = [[1, 0] if which == own else [[6, 4], [2, 3], [9, 3, 2, 3], [1, 4]][i % 4] for i, which in enumerate(curves)]
    colours = [colour("mlp" if which == own else "muted", theme, "ink") for which in curves]
    x = alt.X("x:Q", title=axis_titles[0], scale=alt.Scale(domain=[float(inputs[0]), float(inputs[-1])], nice=False), axis=alt.Axis(grid=True, tickCount=6))
    y = alt.Y("y:Q", title=axis_titles[1], scale=alt.Scale(domain=[-0.9, float(inputs[-1])], nice=False), axis=alt.Axis(grid=True, values=list(range(int(inputs[-1]) + 1))))
    legend = alt.Legend(orient="top-left", title=None, symbolStrokeWidth=3, symbolSize=500, labelFontSize=13 * scale)
    base = alt.Chart(pd.DataFrame(rows)).encode(
        x=x, y=y, color=alt.Color("name:N", scale=alt.Scale(domain=domain, range=colours), legend=legend),
        strokeDash=alt.StrokeDash("name:N", scale=alt.Scale(domain=domain, range=dashes), legend=legend))
    of_own = f"datum.which == '{own}'"
    lines = base.transform_filter("!(" + of_own + ")").mark_line(strokeWidth=2.2 * scale) + base.transform_filter(of_own).mark_line(strokeWidth=3.5 * scale)
    read = alt.Chart(pd.DataFrame([row for i, row in enumerate(rows) if i % len(inputs) % READ_EVERY == 0])).mark_point(opacity=0, size=60).encode(
        x=x, y=y, tooltip=[alt.Tooltip("name:N", title=" "), alt.Tooltip("x:Q", title=axis_titles[0], format=".2f"), alt.Tooltip("y:Q", title=axis_titles[1], format=".4f")])
    inside = at[(at >= inputs[0]) & (at <= inputs[-1])].astype(float)
    rug = alt.Chart(pd.DataFrame({"x": inside, "y": np.full(len(inside), -0.65)})).mark_tick(
        **UNTOLD, orient="vertical", thickness=1, size=18 * scale, opacity=0.3, color=colour("mlp", theme, "ink")).encode(x=x, y=y)
    return finish(alt.layer(lines, read, rug), theme, height, scale)


def neuron_bars(activations: np.ndarray, picked: Sequence[int], axis_titles: tuple[str, str], theme: str, scale: float = 1.0, height: int = 160) -> alt.TopLevelMixin:
    """Every neuron's activation for one token, (d_ff,); the `picked` ones named, the first of them where names would overlap."""
    frame = pd.DataFrame({"neuron": range(len(activations)), "activation": np.asarray(activations, dtype=float)})
    frame["label"] = ""
    apart, named = len(activations) / 20, []
    for neuron in picked:
        if all(abs(neuron - other) > apart for other in named):
            named.append(neuron)
    frame.loc[named, "label"] = [str(neuron) for neuron in named]
    frame["shown"] = [readable(value, 4) for value in frame["activation"]]
    base = alt.Chart(frame).encode(x=alt.X("neuron:Q", title=axis_titles[0], scale=alt.Scale(domain=[-4, len(activations) + 4], nice=False), axis=alt.Axis(tickCount=8, format="d")),
                                   y=alt.Y("activation:Q", title=axis_titles[1], axis=alt.Axis(tickCount=4, grid=True, format=".3~g")))
    bars = base.mark_bar(**UNTOLD, size=max(1.0, 900 / len(activations)), color=colour("mlp", theme, "ink")).encode(
        tooltip=[alt.Tooltip("neuron:Q", title=axis_titles[0]), alt.Tooltip("shown:N", title=axis_titles[1])])
    names = base.transform_filter("datum.label").mark_text(dy=-8, fontSize=12 * scale, fontWeight=600).encode(text=alt.Text("label:N"))
    return finish(alt.layer(bars, names), theme, height, scale)
