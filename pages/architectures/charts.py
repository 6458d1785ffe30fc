"""Charts of the cost of models: work over the length, models over time, scores over cost, losses over size."""
import math
from collections.abc import Mapping
from dataclasses import replace

import altair as alt
import numpy as np
import pandas as pd

from core.figures.channels import kinds, tips
from core.figures.lines import Axis, Lines, Look, tooltip
from core.figures.point_names import names_of, placed, plots_of
from core.figures.style import POWER_OF_TEN, TIMES_POWER_OF_TEN, colour, framed, untitled

MEANINGS = {"whole": "attention", "attention": "attention", "window": "key", "recurrent": "residual"}
LEGEND = 3      # columns of a legend that would be too wide for a phone in one row
LANE = 5        # ratio on the axis from its end to the middle of a lane below it, and from there to the lane's end
DASHES = {"whole": [10, 2], "attention": [1, 0], "window": [6, 3], "recurrent": [2, 2]}


def growth(rows: pd.DataFrame, names: Mapping[str, str], axis_titles: tuple[str, str], labels: Mapping[str, str],
           look: Look, height: int, mark: tuple[float, float, str] | None = None) -> tuple[pd.DataFrame, dict]:
    """Work over the length on two logarithmic axes: the table and the spec of a labelled line with its own dash and
    colour for each method. rows: method, n, value, shown (the value as text). labels: how the axis writes values,
    options of Vega-Lite's. mark: (n, value, name) of a point of the reader's.
    """
    frame = rows.rename(columns={"n": "x", "value": "y"}).assign(name=rows["method"].map(names), role="line")
    x = Axis(axis_titles[0], log=True, ticks=None, scale={"base": 2},
             labels={"values": sorted(rows["n"].unique().tolist()), "format": ",d", "labelFlush": False})
    y = Axis(axis_titles[1], log=True, ticks=None, labels={"values": _powers(rows["value"]), **labels})
    drawn = Lines({name: look.ink(MEANINGS[method]) for method, name in names.items()}, x, y, look,
                  [DASHES[method] for method in names], clip=False)
    told = tooltip(replace(x, title="N"), y, "shown")
    own = pd.DataFrame([] if mark is None else [(*mark, "own")], columns=["x", "y", "name", "role"])
    hollow = {"type": "point", "size": 150 * look.scale, "strokeWidth": 2.4, "strokeDash": [4, 3],
              "color": look.ink("text")}
    layers = [drawn.strokes(2.6), drawn.points(42 * look.scale, color=drawn.colours(), tooltip=told),
              drawn.names(13, 8), drawn.layer("own", hollow),
              drawn.layer("own", look.words(13, "text", align="right", dx=-12, fontWeight=600), text={"field": "name"})]
    return pd.concat([frame, _ends(frame), own], ignore_index=True), look.spec(layers, height, None)


def _logarithmic(channel: type, field: str, title: str, axis: alt.Axis, **scale):
    """An altair channel of a quantity on a logarithmic scale."""
    return channel(f"{field}:Q", title=title, scale=alt.Scale(type="log", **scale), axis=axis)


def _powers(values: pd.Series) -> list[float]:
    """The powers of ten around some positive values."""
    return [10.0 ** power
            for power in range(math.floor(math.log10(values.min())), math.ceil(math.log10(values.max())) + 1)]


def _ends(frame: pd.DataFrame) -> pd.DataFrame:
    """The rows of the lines' names, each at the end of its line, and above the name below it."""
    last = frame[frame["x"] == frame["x"].max()].sort_values("y").to_dict("records")
    apart = (frame["y"].max() / frame["y"].min()) ** 0.08
    least = 0.0
    for row in last:
        row["at"] = max(row["y"], least)
        least = row["at"] * apart
    return pd.DataFrame(last).assign(role="end")


def timeline(rows: pd.DataFrame, axis_title: str, *, theme: str, scale: float, height: int,
             lane: str = "", ticks: list[int] | None = None) -> alt.TopLevelMixin:
    """A quantity of models over the month, on a logarithmic axis: filled circles for open weights, hollow ones for
    closed. rows: name, date, value (NaN: not published, in a lane below the axis, named `lane`), access, shown, more,
    named (whether the name is drawn). ticks: of the axis, by default the powers of ten.
    """
    known = rows["value"].dropna()
    values = ticks or _powers(known)
    axis = alt.Axis(grid=True, values=values, **({"format": ",d"} if ticks else {"labelExpr": POWER_OF_TEN}))
    bottom = values[0] / LANE
    domain = {"domain": [values[0] / 1.5, values[-1] * 1.5], "nice": False} if ticks else {}
    if lane:
        rows = rows.assign(value=rows["value"].fillna(bottom))
        domain = {"domain": [bottom / LANE, values[-1]], "nice": False}
    edge = rows[:1].assign(name="", value=bottom / LANE, rank=-math.inf)       # the plot's lower edge, for the names
    rows = pd.concat([rows, edge] if lane else [rows], ignore_index=True)
    rows = placed(rows, pd.to_datetime(rows["date"]).astype("int64"), np.log(rows["value"]), rows["rank"],
                  plots_of(scale=scale))
    rows["said"] = rows["name"] + ": " + rows["shown"] + ", " + rows["more"]
    base = alt.Chart(rows[rows["name"] != ""]).encode(
        description="said:N",
        x=alt.X("date:T", title=None, scale=alt.Scale(padding=36 * scale),
                axis=alt.Axis(format="%Y", tickCount="year")),
        y=_logarithmic(alt.Y, "value", axis_title, axis=axis, **domain))
    points = base.mark_point(size=80 * scale, opacity=1, filled=True, strokeWidth=1.8).encode(
        fill=kinds(alt.Fill, "access", {"open": colour("value", theme), "closed": colour("page", theme)}),
        stroke=kinds(alt.Stroke, "access", {"open": colour("value", theme, "ink"), "closed": colour("text", theme)}),
        tooltip=untitled("name", "shown", "more"))
    halo, name = names_of(base, theme, scale)
    below = _lane(values[0], lane, axis_title, theme, scale) if lane else []
    return framed(alt.layer(halo, points, name, *below), theme, scale, height=height)


def _lane(edge: float, name: str, axis_title: str, theme: str, scale: float) -> list[alt.Chart]:
    """A lane across below `edge` on the axis, with its name at the left of its middle."""
    base = alt.Chart(pd.DataFrame([(edge / LANE ** 0.2, edge / LANE, name)], columns=["edge", "value", "name"]))
    return [base.mark_rule(aria=False, strokeDash=[2, 4], strokeWidth=1.5, color=colour("muted", theme)).encode(
                y=alt.Y("edge:Q", title=axis_title)),
            base.mark_text(aria=False, align="left", x=6, fontSize=12 * scale, color=colour("muted", theme)).encode(
                y=alt.Y("value:Q", title=axis_title), text="name:N")]


def scores(rows: pd.DataFrame, axis_titles: tuple[str, str], *, theme: str, scale: float,
           height: int) -> alt.TopLevelMixin:
    """BLEU over the operations of the training, a point for each system, a diamond for a Transformer. rows: name,
    flops, bleu, ours, shown.
    """
    base = alt.Chart(placed(rows.assign(named=True), np.log(rows["flops"]), rows["bleu"])).encode(
        x=_logarithmic(alt.X, "flops", axis_titles[0], nice=False, padding=30,
                       axis=alt.Axis(values=[3e18, 1e19, 3e19, 1e20, 3e20, 1e21], labelExpr=TIMES_POWER_OF_TEN)),
        y=alt.Y("bleu:Q", title=axis_titles[1], scale=alt.Scale(zero=False, padding=14),
                axis=alt.Axis(grid=True, tickCount=5)))
    points = base.mark_point(size=95 * scale, filled=True, opacity=1).encode(
        shape=kinds(alt.Shape, "ours", {True: "diamond", False: "circle"}),
        color=kinds(alt.Color, "ours", {True: colour("attention", theme, "ink"),
                                        False: colour("excluded", theme, "ink")}),
        tooltip=untitled("name", "shown"))
    halo, name = names_of(base, theme, scale)
    return framed(halo + points + name, theme, scale, height=height)


def power_law(curve: pd.DataFrame, point: tuple[float, float], axis_titles: tuple[str, str], *, theme: str,
              scale: float, height: int) -> alt.TopLevelMixin:
    """A loss over a scale on logarithmic axes, with the reader's point. curve: scale, loss."""
    base = alt.Chart(curve).encode(
        x=_logarithmic(alt.X, "scale", axis_titles[0], nice=False,
                       axis=alt.Axis(values=[10.0 ** power for power in range(-12, 18, 3)], labelExpr=POWER_OF_TEN,
                                     labelOverlap=True)),
        y=_logarithmic(alt.Y, "loss", axis_titles[1], domain=[0.7, 13],
                       axis=alt.Axis(grid=True, values=[1, 2, 4, 8])))
    line = base.mark_line(color=colour("residual", theme, "ink"), strokeWidth=2.4 * scale)
    mark = base.properties(data=pd.DataFrame([point], columns=["scale", "loss"])).mark_point(
        size=130 * scale, filled=True, opacity=1, color=colour("drawn", theme), stroke=colour("text", theme),
        strokeWidth=1.5).encode(tooltip=[alt.Tooltip("scale:Q", title=axis_titles[0], format=".3g"),
                                         alt.Tooltip("loss:Q", title=axis_titles[1], format=".4f")])
    return framed(line + mark, theme, scale, height=height)


def amounts(rows: pd.DataFrame, axis_title: str, *, theme: str, scale: float, height: int) -> alt.TopLevelMixin:
    """Amounts as bars on a logarithmic axis, in the given order, each with its value. rows: name, value, shown."""
    base = alt.Chart(rows.assign(**{"from": 1.0})).encode(
        y=alt.Y("name:N", title=None, sort=None, scale=alt.Scale(paddingInner=0.3)))
    bars = base.mark_bar(color=colour("kept", theme)).encode(
        x=_logarithmic(alt.X, "from", axis_title, nice=False, axis=alt.Axis(values=[1, 10, 100, 1000], format="~s")),
        x2=alt.X2("value:Q"), tooltip=untitled("name", "shown"))
    texts = base.mark_text(align="left", dx=5, fontSize=12 * scale, color=colour("muted", theme)).encode(
        x=alt.X("value:Q"), text=alt.Text("shown:N"))
    return framed(bars + texts, theme, scale, height=height)


def mixture(rows: pd.DataFrame, order: list[str], *, theme: str, scale: float, height: int) -> alt.TopLevelMixin:
    """Stacked bars of one length. rows: bar, part, order (of the parts), share, shown (the amount as text)."""
    inks = [colour(meaning, theme) for meaning in ("attention", "key", "mlp", "residual", "query", "position", "value")]
    base = alt.Chart(rows).encode(
        x=alt.X("share:Q", stack="zero", title=None, axis=alt.Axis(format="%"), scale=alt.Scale(domain=[0, 1])),
        y=alt.Y("bar:N", sort=None, title=None, scale=alt.Scale(paddingInner=0.25)), order=alt.Order("order:Q"),
        tooltip=tips(part=" ", shown="  "))
    bars = base.mark_bar().encode(color=alt.Color(
        "part:N", sort=order, scale=alt.Scale(domain=order, range=inks[:len(order)]),
        legend=alt.Legend(orient="top", title=None, symbolType="square",
                          **({"columns": LEGEND} if len(order) > LEGEND + 1 else {}))))
    return framed(bars, theme, scale, height=height)


def seeds(rows: pd.DataFrame, means: Mapping[str, float], band: tuple[float, float], first: str,
          titles: tuple[str, str], *, theme: str, scale: float, height: int) -> alt.TopLevelMixin:
    """The losses of several variants, each seed a dot, their means as ticks, and a band over all rows. rows: variant,
    loss, kind (recorded, or the reader's own), shown. first: the variant that stands at the top, the others follow by
    their means. titles: of the axis, and the band's name.
    """
    order = [first, *sorted((name for name in means if name != first), key=means.get)]
    type_size = min(12 * scale, (height - 50 * scale) / len(order))          # one line of type to a row
    y = alt.Y("variant:N", title=None, sort=order,
              axis=alt.Axis(grid=True, labelLimit=260, labelFontSize=type_size, domain=False))
    x = alt.X("loss:Q", title=titles[0], scale=alt.Scale(zero=False, padding=14), axis=alt.Axis(grid=False))
    strip = alt.Chart(pd.DataFrame([(*band, titles[1])], columns=["low", "high", "name"]))
    area = strip.mark_rect(color=colour("kept", theme), opacity=0.14).encode(x=alt.X("low:Q", title=titles[0]),
                                                                            x2="high:Q", tooltip=untitled("name"))
    dots = alt.Chart(rows).mark_point(size=70 * scale, strokeWidth=1.8, opacity=0.9).encode(
        x=x, y=y, fill=kinds(alt.Fill, "kind", {"recorded": colour("residual", theme), "own": colour("drawn", theme)}),
        stroke=kinds(alt.Stroke, "kind", {"recorded": colour("residual", theme, "ink"), "own": colour("text", theme)}),
        tooltip=untitled("variant", "shown"))
    ticks = alt.Chart(pd.DataFrame({"variant": list(means), "loss": list(means.values())})).mark_tick(
        color=colour("text", theme), thickness=2.5, size=16 * scale).encode(x=x, y=y)
    return framed(alt.layer(area, dots, ticks), theme, scale, height=height)
