"""Pictures of embeddings: a ranked list of tokens, the spread of a similarity over the vocabulary, the map, paths and
arrows in a plane.

Arrays and labels in, an altair or plotly object out. A title that changes stands above the chart, so that a spec
stays and is updated in place. Looks that differ by row are scales of a column: altair takes some 20 ms to wrap a
single condition.
"""
from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import altair as alt
import numpy as np
import pandas as pd

from core.figures.heads import distinct
from core.figures.numbers import readable
from core.figures.style import FONT, MONO, colour, framed, haloed, template, untitled
from core.figures.thinning import thinned

if TYPE_CHECKING:
    import plotly.graph_objects as go

# begins a word, goes on within one, digits and punctuation, a byte that is no character
KINDS = ("word", "part", "sign", "byte")
_SYMBOLS = {"word": "circle", "part": "diamond", "sign": "square", "byte": "x"}
_MEANINGS = {"word": "residual", "part": "mlp", "sign": "value", "byte": "excluded"}
_BINS = 60
MOST_WRITTEN = 8       # depths that have room for a token each below a line
# Along axis 2, the shorter side, and a little from above: the names of all axes and neighbours are in sight, on a low
# projector too and on a telephone those of the word and its neighbours.
CAMERA = {"eye": {"x": 0.22, "y": -1.7, "z": 0.45}, "center": {"x": -0.1, "y": 0, "z": -0.1}}


def kind_of(visible: str) -> str:
    """Which of KINDS a token is, by its visible form.

    >>> [kind_of(token) for token in ("·the", "ing", "?", "‹E2›")]
    ['word', 'part', 'sign', 'byte']
    """
    letters = visible.removeprefix("·")
    if not letters.isascii():
        return "byte"
    return "sign" if not letters.isalpha() else "word" if visible.startswith("·") else "part"


# ---- lists -----------------------------------------------------------------------------------------------------------


def ranked_bars(tokens: Sequence[str], scores: np.ndarray, ranks: Sequence[int], marks: Sequence[str], axis_title: str,
                theme: str, scale: float, height: int) -> alt.LayerChart:
    """Tokens with their score, in the order given; marks: "" for most, "input" for one that is drawn hollow, "expected"
    for one drawn in green and bold.

    A click on a row is the altair selection "picked" of its field "place".
    """
    frame = pd.DataFrame({"place": range(len(tokens)), "token": distinct(tokens), "score": np.asarray(scores, float),
                          "rank": list(ranks), "mark": list(marks)})
    frame["shown"] = [readable(score) for score in frame["score"]]
    frame["zero"], frame["exact"] = 0.0, [f"{score:.6g}" for score in frame["score"]]
    text, muted = colour("text", theme), colour("muted", theme)
    low, high = min(0.0, frame["score"].min()), max(frame["score"].max(), 0.0)
    room = 0.2 * (high - low or 1.0)
    domain = [low - room if low < 0 else 0, high + room if high > 0 else 0]
    y = alt.Y("place:O", axis=None, scale=alt.Scale(paddingInner=0.22, paddingOuter=0.05))
    x = alt.X("score:Q", title=axis_title, scale=alt.Scale(domain=domain, nice=False),
              axis=alt.Axis(tickCount=4, format="~g"))
    base = alt.Chart(frame).encode(y=y)
    domain_of_marks = ["", "input", "expected"]
    fill = alt.Fill("mark:N", legend=None,
                    scale=alt.Scale(domain=domain_of_marks,
                                    range=[colour("residual", theme), colour("page", theme), colour("value", theme)]))
    stroke = alt.Stroke("mark:N", legend=None, scale=alt.Scale(
        domain=domain_of_marks, range=[colour(meaning, theme, "ink") for meaning in ("residual", "residual", "value")]))
    tooltip = [alt.Tooltip("token:N", title=" "), alt.Tooltip("rank:Q", title="#"),
               alt.Tooltip("exact:N", title=axis_title)]
    bars = base.mark_bar(strokeWidth=1.4).encode(
        x=x, x2=alt.X2("zero:Q"), fill=fill, stroke=stroke,
        strokeDash=alt.StrokeDash("mark:N", legend=None,
                                  scale=alt.Scale(domain=domain_of_marks, range=[[1, 0], [3, 2], [1, 0]])))
    names = base.mark_text(align="right", dx=-8, font=MONO, fontSize=13 * scale, limit=110 * scale).encode(
        x=alt.XValue(0), text=alt.Text("token:N"),
        color=alt.Color("mark:N", legend=None,
                        scale=alt.Scale(domain=domain_of_marks, range=[text, text, colour("value", theme, "ink")])))
    places = base.mark_text(align="right", dx=-122 * scale, fontSize=11 * scale, color=muted).encode(
        x=alt.XValue(0), text=alt.Text("rank:Q"))
    numbers = base.mark_text(align="left" if high > 0 else "right", dx=5 if high > 0 else -5, fontSize=12 * scale,
                             color=muted).encode(x=x, text=alt.Text("shown:N"))
    rows = (base.mark_rect(opacity=0, cursor="pointer")
            .encode(x=alt.XValue(-142 * scale), x2=alt.X2Value("width"), tooltip=tooltip).add_params(
                alt.selection_point(name="picked", fields=["place"], toggle=False)))
    return _finish(alt.layer(bars, names, places, numbers, rows), theme, scale, height)


def spread(scores: np.ndarray, marked: Sequence[tuple[str, float]], axis_titles: tuple[str, str], theme: str,
           scale: float, height: int) -> alt.LayerChart:
    """How a score is spread over the vocabulary, as a histogram, with some values (name, score) marked by a line from
    the axis up, the highest named first.
    """
    counts, edges = np.histogram(scores, bins=_BINS)
    frame = pd.DataFrame({"from": edges[:-1], "to": edges[1:], "zero": 0, "count": counts,
                          "range": [f"{readable(a)} … {readable(b)}" for a, b in zip(edges, edges[1:])]})
    lines = pd.DataFrame([{"name": name, "score": value, "level": (k + 0.6) / (len(marked) + 0.6)}
                          for k, (name, value) in enumerate(marked)], columns=["name", "score", "level"])
    lines["level"], lines["zero"] = lines["level"] * counts.max(), 0.0
    x = alt.X("from:Q", title=axis_titles[0], scale=alt.Scale(nice=False, zero=False),
              axis=alt.Axis(tickCount=6, format="~g"))
    bars = alt.Chart(frame).mark_bar(color=colour("excluded", theme), binSpacing=0).encode(
        x=x, x2=alt.X2("to:Q"),
        y=alt.Y("count:Q", title=axis_titles[1], axis=alt.Axis(tickCount=4, grid=True)), y2=alt.Y2("zero:Q"),
        tooltip=[alt.Tooltip("range:N", title=axis_titles[0]), alt.Tooltip("count:Q", title=axis_titles[1])])
    base = alt.Chart(lines)
    ink = colour("residual", theme, "ink")
    rules = base.mark_rule(color=ink, strokeWidth=1.6).encode(x=alt.X("score:Q", title=axis_titles[0]),
                                                              y=alt.Y("zero:Q"), y2=alt.Y2("level:Q"))
    names = base.mark_text(align="right", dx=-5, font=MONO, fontSize=12 * scale, limit=130 * scale, color=ink).encode(
        x=alt.X("score:Q"), y=alt.Y("level:Q"), text=alt.Text("name:N"))
    return _finish(alt.layer(bars, rules, names), theme, scale, height)


def rank_dots(names: Sequence[str], ranks: np.ndarray, baseline: np.ndarray, chosen: int | None,
              titles: tuple[str, str, str], most: int, theme: str, scale: float, height: int) -> alt.LayerChart:
    """A rank for each of some questions on a logarithmic axis from 1 to `most`: with the arithmetic a filled point,
    without it a hollow one, a line between.

    titles: of the axis, of the filled and of the hollow points. A click is the altair selection "picked" of its
    field "place".
    """
    frame = pd.DataFrame({"place": range(len(names)), "name": list(names), "rank": ranks, "baseline": baseline,
                          "chosen": [k == chosen for k in range(len(names))]})
    ink, text, muted = colour("value", theme, "ink"), colour("text", theme), colour("muted", theme)
    y = alt.Y("place:O", axis=None)
    x = alt.X("rank:Q", title=titles[0], scale=alt.Scale(type="log", domain=[0.9, most], nice=False),
              axis=alt.Axis(values=[10 ** k for k in range(int(math.log10(most)) + 1)], format="~d", grid=True))
    base = alt.Chart(frame).encode(y=y)
    tooltip = [alt.Tooltip("name:N", title=" "), alt.Tooltip("rank:Q", title=titles[1]),
               alt.Tooltip("baseline:Q", title=titles[2])]
    lines = base.mark_rule(color=muted, strokeWidth=1).encode(x=x, x2=alt.X2("baseline:Q"))
    hollow = base.mark_point(filled=True, size=50 * scale, opacity=1, fill=colour("page", theme), stroke=muted,
                             strokeWidth=1.4).encode(x=alt.X("baseline:Q", title=titles[0]))
    full = base.mark_point(filled=True, size=65 * scale, opacity=1, color=ink).encode(x=x)
    labels = base.mark_text(align="right", dx=-8, fontSize=min(11 * scale, 0.8 * (height - 45) / max(len(names), 1)),
                            limit=172 * scale).encode(
                                x=alt.XValue(0), text=alt.Text("name:N"),
                                color=alt.Color("chosen:N", legend=None,
                                                scale=alt.Scale(domain=[False, True], range=[text, ink])))
    rows = (base.mark_rect(opacity=0, cursor="pointer")
            .encode(x=alt.XValue(-180 * scale), x2=alt.X2Value("width"), tooltip=tooltip).add_params(
                alt.selection_point(name="picked", fields=["place"], toggle=False)))
    return _finish(alt.layer(lines, hollow, full, labels, rows), theme, scale, height)


# ---- planes ----------------------------------------------------------------------------------------------------------


def arrows(points: pd.DataFrame, segments: pd.DataFrame, axis_titles: tuple[str, str], theme: str, scale: float,
           height: int) -> alt.LayerChart:
    """Named points (x, y, name, mark: "", "expected" or "sum") and straight ways between them
    (x, y, x2, y2, dashed) in a plane.
    """
    ink = {"": colour("text", theme), "expected": colour("value", theme, "ink"),
           "sum": colour("residual", theme, "ink")}
    everywhere = np.array([points["x"], points["y"]], float)
    low, high = everywhere.min(1), everywhere.max(1)
    pad = 0.16 * np.maximum(high - low, 1e-9)
    x = alt.X("x:Q", title=axis_titles[0],
              scale=alt.Scale(domain=[low[0] - pad[0], high[0] + 1.6 * pad[0]], nice=False), axis=alt.Axis(tickCount=5))
    y = alt.Y("y:Q", title=axis_titles[1], scale=alt.Scale(domain=[low[1] - pad[1], high[1] + pad[1]], nice=False),
              axis=alt.Axis(tickCount=5))
    ways = alt.Chart(segments).mark_rule(strokeWidth=1.8, color=colour("residual", theme, "ink")).encode(
        x=x, y=y, x2=alt.X2("x2:Q"), y2=alt.Y2("y2:Q"),
        strokeDash=alt.StrokeDash("dashed:N", legend=None,
                                  scale=alt.Scale(domain=[False, True], range=[[1, 0], [5, 4]])))
    tone = alt.Color("mark:N", scale=alt.Scale(domain=list(ink), range=list(ink.values())), legend=None)
    shape = alt.Shape("mark:N", scale=alt.Scale(domain=list(ink), range=["circle", "diamond", "cross"]), legend=None)
    base = alt.Chart(points).encode(x=x, y=y)
    dots = base.mark_point(filled=True, opacity=1, size=90 * scale).encode(
        color=tone, shape=shape, tooltip=[alt.Tooltip("name:N", title=" "), alt.Tooltip("x:Q", format=".4~g"),
                                          alt.Tooltip("y:Q", format=".4~g")])
    names = []
    for side, dy in (("datum.mark !== ''", -11), ("datum.mark === ''", 13)):
        halo, name = haloed(base.transform_filter(side).encode(text=alt.Text("name:N")), theme, align="left", dx=7,
                            dy=dy, font=MONO, fontSize=13 * scale, limit=150 * scale)
        names += [halo, name.encode(color=tone)]
    return _finish(alt.layer(ways, dots, *names), theme, scale, height)


def two_paths(points: pd.DataFrame, axis_titles: tuple[str, str], theme: str, scale: float,
              height: int) -> alt.LayerChart:
    """Two ways through one plane: x, y, path ("A" or "B"), depth, name of the depth, nearest, and label
    ("" for most points). A solid and round, B dashed and square.

    The titles of the axes are other ones with every two texts. They are written from a table: a chart whose tables
    alone change stays as it stands.
    """
    domain, inks = ["A", "B"], [colour("residual", theme, "ink"), colour("text", theme)]
    tone = alt.Color("path:N", scale=alt.Scale(domain=domain, range=inks), legend=None)
    x = alt.X("x:Q", title=None, scale=alt.Scale(zero=False, padding=34), axis=alt.Axis(tickCount=6))
    y = alt.Y("y:Q", title=None, scale=alt.Scale(zero=False, padding=24),
              axis=alt.Axis(tickCount=5, minExtent=30 * scale))
    base = alt.Chart(points).encode(x=x, y=y)
    lines = base.mark_line(strokeWidth=2.4 * scale).encode(
        color=tone, order=alt.Order("depth:Q"),
        strokeDash=alt.StrokeDash("path:N", scale=alt.Scale(domain=domain, range=[[1, 0], [6, 4]]), legend=None))
    dots = base.mark_point(filled=True, opacity=1, size=70 * scale).encode(
        color=tone, shape=alt.Shape("path:N", scale=alt.Scale(domain=domain, range=["circle", "square"]), legend=None),
        tooltip=[*untitled("path", "name"), alt.Tooltip("nearest:N", title="≈"), alt.Tooltip("x:Q", format=".4~g"),
                 alt.Tooltip("y:Q", format=".4~g")])
    above = (base.transform_filter("datum.path === 'A'").mark_text(dy=-13 * scale, fontSize=12 * scale, fontWeight=600)
             .encode(text=alt.Text("label:N"), color=tone))
    below = (base.transform_filter("datum.path === 'B'").mark_text(dy=15 * scale, fontSize=12 * scale, fontWeight=600)
             .encode(text=alt.Text("label:N"), color=tone))
    titles = alt.Chart(pd.DataFrame({"x_title": axis_titles[:1], "y_title": axis_titles[1:]}))
    look = dict(color=colour("muted", theme), fontSize=13 * scale, align="center")
    of_x = titles.mark_text(**look, baseline="top").encode(x=alt.value(alt.ExprRef("width / 2")),
                                                           y=alt.value(alt.ExprRef(f"height + {26 * scale}")),
                                                           text=alt.Text("x_title:N"))
    of_y = titles.mark_text(**look, baseline="bottom", angle=270).encode(
        x=alt.value(-44 * scale), y=alt.value(alt.ExprRef("height / 2")), text=alt.Text("y_title:N"))
    return _finish(alt.layer(lines, dots, above, below, of_x, of_y), theme, scale, height)


def alike_by_depth(cosines: np.ndarray, names: Sequence[str], nearest: Sequence[Sequence[str]], axis_title: str,
                   theme: str, scale: float, height: int) -> alt.LayerChart:
    """How alike two vectors A and B are at every depth, a cosine in [−1, 1] with its number; in two rows below, the
    tokens nearest to A and to B there.

    Of many depths only some are written out, the first and the last among them; hover says each.
    """
    low = min(0.0, float(np.nanmin(cosines)) - 0.1)
    frame = pd.DataFrame({"depth": range(len(cosines)), "cosine": np.asarray(cosines, float), "name": list(names),
                          "shown": [readable(value, 2) for value in cosines],
                          "exact": [f"{value:.6g}" for value in cosines], "near_a": list(nearest[0]),
                          "near_b": list(nearest[1]), "y_a": low - 0.22, "y_b": low - 0.42})
    written = thinned(len(cosines), MOST_WRITTEN)
    frame["written"] = [depth in written for depth in range(len(cosines))]
    x = alt.X("depth:O", title=None, scale=alt.Scale(padding=max(0.5, len(cosines) / 16)),
              axis=alt.Axis(values=written, labelExpr=f"{json.dumps(list(names))}[datum.value]", labelAngle=0,
                            labelFontWeight=600, orient="top"))
    y = alt.Y("cosine:Q", title=axis_title, scale=alt.Scale(domain=[low - 0.5, 1.18], nice=False),
              axis=alt.Axis(values=[0, 0.5, 1], grid=True))
    base = alt.Chart(frame).encode(x=x)
    ink, text = colour("residual", theme, "ink"), colour("text", theme)
    line = base.mark_line(color=ink, strokeWidth=2.4 * scale).encode(y=y)
    dots = base.mark_point(filled=True, opacity=1, size=50 * scale, color=ink).encode(
        y=y, tooltip=[alt.Tooltip("name:N", title=" "), alt.Tooltip("exact:N", title=axis_title),
                      alt.Tooltip("near_a:N", title="A ≈"), alt.Tooltip("near_b:N", title="B ≈")])
    told = base.transform_filter("datum.written")
    numbers = told.mark_text(dy=-11 * scale, fontSize=12 * scale, color=text).encode(y=y, text=alt.Text("shown:N"))
    rows = []
    for which, tone in (("a", ink), ("b", text)):
        rows.append(told.mark_text(font=MONO, fontSize=11.5 * scale, color=tone, limit=60 * scale)
                    .encode(y=alt.Y(f"y_{which}:Q", title=axis_title), text=alt.Text(f"near_{which}:N")))
        name = alt.Chart(pd.DataFrame({"name": [f"{which.upper()} ≈"], "y": [frame[f"y_{which}"][0]]}))
        rows.append(name.mark_text(align="right", dx=-4, fontSize=12 * scale, fontWeight=600, color=tone)
                    .encode(x=alt.XValue(0), y=alt.Y("y:Q", title=axis_title), text=alt.Text("name:N")))
    return _finish(alt.layer(line, dots, numbers, *rows), theme, scale, height)


# ---- the map ---------------------------------------------------------------------------------------------------------


def vocabulary_map(coordinates: np.ndarray, ids: Sequence[int], tokens: Sequence[str], kinds: Sequence[str],
                   named: Sequence[int], picked: int | None, axis_titles: Sequence[str],
                   theme: str, scale: float, height: int) -> go.Figure:
    """n tokens as points, coordinates (n, 2 or 3), in a WebGL trace for each kind: points that all look alike are drawn
    sooner than such as say it one by one. Hover names one and its id, which is its customdata. An axis without a title
    has no numbers either.

    named: rows whose name stands on the map beside that of row `picked` (None: it is not on the map), which is framed.
    """
    import plotly.graph_objects as go  # takes half a second: only a reader who opens the map pays

    # plotly holds each colour and sign against its rules, twice, which takes most of the time of a press; the
    # tests have it do so
    unchecked = dict(_validate=False)
    solid, of_kind, ids = coordinates.shape[1] == 3, np.array(kinds), np.asarray(ids)
    hover = np.array([f"{token}<br>{i}" for i, token in zip(ids, map(_plain, tokens))])
    traces = []
    for kind in (kind for kind in KINDS if kind in kinds):
        rows = of_kind == kind
        marker = dict(color=colour(_MEANINGS[kind], theme, "ink"), symbol=_SYMBOLS[kind], opacity=0.55,
                      size=(1.4 if solid else 5) * scale)
        traces.append((go.Scatter3d if solid else go.Scattergl)(**dict(zip("xyz", coordinates[rows].T)), mode="markers",
                                                                marker=marker, text=hover[rows].tolist(),
                                                                hovertemplate="%{text}<extra></extra>",
                                                                customdata=ids[rows], **unchecked))
    labelled = [*named] if picked is None else [picked, *named]
    names = [_name_on_map(coordinates[i], _plain(tokens[i]), offset, i == picked, theme, scale)
             for i, offset in zip(labelled, _ring(coordinates[labelled, :2], scale))]
    axes = {f"{axis}axis": dict(title=dict(text=title), showticklabels=bool(title), showgrid=bool(title))
            for axis, title in zip("xyz", axis_titles)}
    figure = go.Figure(traces, **unchecked).update_layout(template=template(theme, scale), height=height,
                                                          margin=dict(l=0, r=0, t=4, b=0),
                                                          dragmode="orbit" if solid else "pan",
                                                          showlegend=False, hovermode="closest", font=dict(family=FONT))
    if solid:
        look = dict(showbackground=False, gridcolor=colour("grid", theme), color=colour("muted", theme),
                    showspikes=False)
        return figure.update_layout(scene={name: look | axis for name, axis in axes.items()}
                                          | {"annotations": names, "aspectmode": "data", "camera": CAMERA})
    return figure.update_layout(annotations=names, **axes)


def _ring(places: np.ndarray, scale: float) -> list[tuple[float, float]]:
    """Where the names of some near points (n, 2) stand, in pixels right of and below each: on a ring about them, evenly
    spread in the order of their angles.
    """
    if not len(places):
        return []
    spread = (places - places.mean(0)) / np.maximum(places.std(0), 1e-9)
    order = np.argsort(np.argsort(np.arctan2(spread[:, 1], spread[:, 0]), kind="stable"), kind="stable")
    angles = -np.pi + 2 * np.pi * (order + 0.5) / len(places)
    return [(105 * scale * float(np.cos(angle)), -80 * scale * float(np.sin(angle))) for angle in angles]


def _name_on_map(place: np.ndarray, token: str, offset: tuple[float, float], picked: bool, theme: str,
                 scale: float) -> dict:
    """A plotly annotation: the name at the end of a thin line from its point."""
    return dict(zip("xyz", map(float, place)), text=token, showarrow=True, arrowhead=6, arrowsize=0.9, arrowwidth=1.2,
                arrowcolor=colour("text", theme), ax=offset[0], ay=offset[1],
                bgcolor=colour("page", theme), borderpad=2, borderwidth=2 if picked else 1,
                bordercolor=colour("text" if picked else "grid", theme), captureevents=False,
                font=dict(family=MONO, size=(14 if picked else 12) * scale, color=colour("text", theme)))


def _plain(token: str) -> str:
    """A token in plotly's text, which reads HTML: no sign of it can start a tag or an entity."""
    return token.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _finish(chart: alt.LayerChart, theme: str, scale: float, height: int) -> alt.LayerChart:
    return framed(chart, theme, scale, height=height, width="container")
