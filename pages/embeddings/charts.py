"""Charts of embeddings: a ranked list of tokens, the distribution of a similarity over the vocabulary, the map, paths
and arrows in a plane.

The functions take arrays and labels, and return an altair or plotly object. Titles that change are written above the
chart, so that its spec stays the same and is updated in place.
"""
from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import altair as alt
import numpy as np
import pandas as pd

from core.figures.channels import by_index, kinds, quantity, tips
from core.figures.names import distinct
from core.figures.numbers import readable
from core.figures.style import FONT, MONO, colour, haloed, overlaid, template, untitled
from core.figures.thinning import thinned

if TYPE_CHECKING:
    import plotly.graph_objects as go

# the beginning of a word, a later part of one, digits and punctuation, an incomplete character
KINDS = ("word", "part", "sign", "byte")
_SYMBOLS = {"word": "circle", "part": "diamond", "sign": "square", "byte": "x"}
_MEANINGS = {"word": "residual", "part": "mlp", "sign": "value", "byte": "excluded"}
_BINS = 60
MOST_WRITTEN = 8       # depths with a token written below the line
# Along axis 2, the shorter side, and a little from above: the names of all axes and neighbours are visible, also on a
# low projector, and on a phone those of the word and its neighbours.
CAMERA = {"eye": {"x": 0.22, "y": -1.7, "z": 0.45}, "center": {"x": -0.1, "y": 0, "z": -0.1}}


def kind_of(visible: str) -> str:
    """The kind, one of KINDS, of a token by its visible form.

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
    """Tokens with their scores, in the given order; marks: "" for most, "input" for a hollow bar, "expected" for a
    green one, "guess" for the reader's own.

    A click on a row is the altair selection "picked" of its field "place".
    """
    frame = pd.DataFrame({"place": range(len(tokens)), "token": distinct(tokens), "score": np.asarray(scores, float),
                          "rank": list(ranks), "mark": list(marks), "shown": [readable(score) for score in scores],
                          "zero": 0.0, "exact": [readable(score, 6) for score in scores]})
    text, muted = colour("text", theme), colour("muted", theme)
    low, high = min(0.0, frame["score"].min()), max(frame["score"].max(), 0.0)
    room = 0.2 * (high - low or 1.0)
    x = quantity(alt.X, "score", axis_title, [low - room if low < 0 else 0, high + room if high > 0 else 0],
                 tickCount=4, format="~g")
    base = alt.Chart(frame).encode(
        y=alt.Y("place:O", axis=None, scale=alt.Scale(paddingInner=0.22, paddingOuter=0.05)))

    def by_mark(channel: type, usual: object, hollow: object, expected: object, guess: object):
        return kinds(channel, "mark", {"": usual, "input": hollow, "expected": expected, "guess": guess})

    ink, green = colour("residual", theme, "ink"), colour("value", theme, "ink")
    bars = base.mark_bar(strokeWidth=1.4).encode(
        x=x, x2=alt.X2("zero:Q"), stroke=by_mark(alt.Stroke, ink, ink, green, text),
        fill=by_mark(alt.Fill, *(colour(meaning, theme) for meaning in ("residual", "page", "value", "excluded"))),
        strokeDash=by_mark(alt.StrokeDash, [1, 0], [3, 2], [1, 0], [6, 3]))
    names = base.mark_text(align="right", dx=-8, font=MONO, fontSize=13 * scale, limit=110 * scale).encode(
        x=alt.XValue(0), text=alt.Text("token:N"), color=by_mark(alt.Color, text, text, green, text))
    places = base.mark_text(align="right", dx=-122 * scale, fontSize=11 * scale, color=muted).encode(
        x=alt.XValue(0), text=alt.Text("rank:Q"))
    numbers = base.mark_text(align="left" if high > 0 else "right", dx=5 if high > 0 else -5, fontSize=12 * scale,
                             color=muted).encode(x=x, text=alt.Text("shown:N"))
    rows = _rows(base, -142 * scale, tips(token=" ", rank="#", exact=axis_title))
    return overlaid([bars, names, places, numbers, rows], theme, scale, height)


def _rows(base: alt.Chart, left: float, tooltip: Sequence[alt.Tooltip]) -> alt.Chart:
    """Transparent rows from `left` px of the axis on, with a tooltip, that a click picks by the field "place"."""
    picked = alt.selection_point(name="picked", fields=["place"], toggle=False)
    return base.mark_rect(opacity=0, cursor="pointer").encode(x=alt.XValue(left), x2=alt.X2Value("width"),
                                                              tooltip=tooltip).add_params(picked)


def spread(scores: np.ndarray, marked: Sequence[tuple[str, float]], axis_titles: tuple[str, str], theme: str,
           scale: float, height: int) -> alt.LayerChart:
    """A histogram of a score over the vocabulary, with a vertical line at each of some marked values (name, score)."""
    counts, edges = np.histogram(scores, bins=_BINS)
    frame = pd.DataFrame({"from": edges[:-1], "to": edges[1:], "zero": 0, "count": counts,
                          "range": [f"{readable(a)} … {readable(b)}" for a, b in zip(edges, edges[1:])]})
    lines = pd.DataFrame([{"name": name, "score": value, "zero": 0.0,
                           "level": counts.max() * (k + 0.6) / (len(marked) + 0.6)}
                          for k, (name, value) in enumerate(marked)], columns=["name", "score", "zero", "level"])
    score_title, count_title = axis_titles
    x = alt.X("from:Q", title=score_title, scale=alt.Scale(nice=False, zero=False),
              axis=alt.Axis(tickCount=6, format="~g"))
    bars = alt.Chart(frame).mark_bar(color=colour("excluded", theme), binSpacing=0).encode(
        x=x, x2=alt.X2("to:Q"), y=quantity(alt.Y, "count", count_title, tickCount=4, grid=True), y2=alt.Y2("zero:Q"),
        tooltip=tips(range=score_title, count=count_title))
    ink, base = colour("residual", theme, "ink"), alt.Chart(lines).encode(x=alt.X("score:Q", title=score_title))
    rules = base.mark_rule(color=ink, strokeWidth=1.6).encode(y=alt.Y("zero:Q"), y2=alt.Y2("level:Q"))
    names = base.mark_text(align="right", dx=-5, font=MONO, fontSize=12 * scale, limit=130 * scale, color=ink).encode(
        y=alt.Y("level:Q"), text=alt.Text("name:N"))
    return overlaid([bars, rules, names], theme, scale, height)


def rank_dots(names: Sequence[str], ranks: np.ndarray, baseline: np.ndarray, chosen: int | None,
              titles: Mapping[str, str], most: int, theme: str, scale: float, height: int) -> alt.LayerChart:
    """The ranks of some analogies on a logarithmic axis from 1 to `most`: a filled point with the arithmetic, a hollow
    one without, and a line between.

    titles: of the "axis", of the "full" and of the "hollow" points. A click is the altair selection "picked" of its
    field "place".
    """
    frame = pd.DataFrame({"place": range(len(names)), "name": list(names), "rank": ranks, "baseline": baseline,
                          "chosen": [k == chosen for k in range(len(names))]})
    ink, text, muted = colour("value", theme, "ink"), colour("text", theme), colour("muted", theme)
    x = alt.X("rank:Q", title=titles["axis"], scale=alt.Scale(type="log", domain=[0.9, most], nice=False),
              axis=alt.Axis(values=[10 ** k for k in range(int(math.log10(most)) + 1)], format=",d", grid=True))
    base = alt.Chart(frame).encode(y=alt.Y("place:O", axis=None))
    lines = base.mark_rule(color=muted, strokeWidth=1).encode(x=x, x2=alt.X2("baseline:Q"))
    hollow = base.mark_point(filled=True, size=50 * scale, opacity=1, fill=colour("page", theme), stroke=muted,
                             strokeWidth=1.4).encode(x=alt.X("baseline:Q", title=titles["axis"]))
    full = base.mark_point(filled=True, size=65 * scale, opacity=1, color=ink).encode(x=x)
    labels = base.mark_text(align="right", dx=-8, limit=172 * scale,
                            fontSize=min(11 * scale, 0.8 * (height - 45) / max(len(names), 1))).encode(
        x=alt.XValue(0), text=alt.Text("name:N"), color=kinds(alt.Color, "chosen", {False: text, True: ink}))
    rows = _rows(base, -180 * scale, tips(name=" ", rank=titles["full"], baseline=titles["hollow"]))
    return overlaid([lines, hollow, full, labels, rows], theme, scale, height)


# ---- planes ----------------------------------------------------------------------------------------------------------


def _place() -> list[alt.Tooltip]:
    """The tooltip of a place in a plane."""
    return [alt.Tooltip(f"{field}:Q", format=".4~g") for field in ("x", "y")]


def arrows(points: pd.DataFrame, segments: pd.DataFrame, axis_titles: tuple[str, str], theme: str, scale: float,
           height: int) -> alt.LayerChart:
    """Named points (x, y, name, mark: "", "expected" or "sum") and line segments between them (x, y, x2, y2, dashed) in
    a plane.
    """
    ink = colour("residual", theme, "ink")
    axes, room = {}, {"x": 0.256, "y": 0.16}      # on the right names need more
    for field, channel, title in zip("xy", (alt.X, alt.Y), axis_titles):
        low, high = points[field].min(), points[field].max()
        span = max(high - low, 1e-9)
        axes[field] = quantity(channel, field, title, [low - 0.16 * span, high + room[field] * span], tickCount=5)
    ways = alt.Chart(segments).mark_rule(strokeWidth=1.8, color=ink).encode(
        **axes, x2=alt.X2("x2:Q"), y2=alt.Y2("y2:Q"),
        strokeDash=kinds(alt.StrokeDash, "dashed", {False: [1, 0], True: [5, 4]}))
    tone = kinds(alt.Color, "mark", {"": colour("text", theme), "expected": colour("value", theme, "ink"), "sum": ink})
    base = alt.Chart(points).encode(**axes, color=tone)
    dots = base.mark_point(filled=True, opacity=1, size=90 * scale).encode(
        shape=kinds(alt.Shape, "mark", {"": "circle", "expected": "diamond", "sum": "cross"}),
        tooltip=[*tips(name=" "), *_place()])
    names = []
    for side, dy in (("datum.mark !== ''", -11), ("datum.mark === ''", 13)):
        names += haloed(base.transform_filter(side).encode(text=alt.Text("name:N")), theme, align="left", dx=7, dy=dy,
                        font=MONO, fontSize=13 * scale, limit=150 * scale)
    return overlaid([ways, dots, *names], theme, scale, height)


def two_paths(points: pd.DataFrame, axis_titles: tuple[str, str], theme: str, scale: float,
              height: int) -> alt.LayerChart:
    """Two paths in one plane, A solid and round, B dashed and square. points: x, y, path ("A" or "B"), depth, name of
    the depth, nearest, and label ("" for most points).

    The titles of the axes change with the texts. They are written from a table: a chart of which only the tables change
    is updated in place.
    """
    def by_path(channel: type, a: object, b: object):
        return kinds(channel, "path", {"A": a, "B": b})

    x = alt.X("x:Q", title=None, scale=alt.Scale(zero=False, padding=34), axis=alt.Axis(tickCount=6))
    y = alt.Y("y:Q", title=None, scale=alt.Scale(zero=False, padding=24),
              axis=alt.Axis(tickCount=5, minExtent=30 * scale))
    base = alt.Chart(points).encode(x=x, y=y, color=by_path(alt.Color, colour("residual", theme, "ink"),
                                                            colour("text", theme)))
    lines = base.mark_line(strokeWidth=2.4 * scale).encode(order=alt.Order("depth:Q"),
                                                           strokeDash=by_path(alt.StrokeDash, [1, 0], [6, 4]))
    dots = base.mark_point(filled=True, opacity=1, size=70 * scale).encode(
        shape=by_path(alt.Shape, "circle", "square"),
        tooltip=[*untitled("path", "name"), *tips(nearest="≈"), *_place()])
    labels = [mark for path, dy in (("A", -13), ("B", 15))
              for mark in haloed(base.transform_filter(f"datum.path === '{path}'").encode(text=alt.Text("label:N")),
                                 theme, dy=dy * scale, fontSize=12 * scale, fontWeight=600)]
    titles = alt.Chart(pd.DataFrame({"x_title": axis_titles[:1], "y_title": axis_titles[1:]}))
    look = dict(color=colour("muted", theme), fontSize=13 * scale, align="center")
    of_x = titles.mark_text(**look, baseline="top").encode(x=alt.XValue(alt.ExprRef("width / 2")),
                                                           y=alt.YValue(alt.ExprRef(f"height + {26 * scale}")),
                                                           text=alt.Text("x_title:N"))
    of_y = titles.mark_text(**look, baseline="bottom", angle=270).encode(
        x=alt.XValue(-44 * scale), y=alt.YValue(alt.ExprRef("height / 2")), text=alt.Text("y_title:N"))
    return overlaid([lines, dots, *labels, of_x, of_y], theme, scale, height)


def alike_by_depth(cosines: np.ndarray, names: Sequence[str], nearest: Mapping[str, Sequence[str]], axis_title: str,
                   theme: str, scale: float, height: int) -> alt.LayerChart:
    """The cosine, in [−1, 1], of two vectors A and B at every depth; in two rows below, with their titles, the tokens
    nearest to A and to B.

    Of many depths only some are written out, including the first and the last; the tooltip has all.
    """
    n, low = len(cosines), min(0.0, float(np.nanmin(cosines)) - 0.1)
    # larger type has room for half as many tokens and numbers beside each other, and none beside the rows' titles
    written, few = thinned(n, MOST_WRITTEN), thinned(n, MOST_WRITTEN // 2 if scale > 1 else MOST_WRITTEN)
    tokens = few[1:] if scale > 1 else few
    (title_a, near_a), (title_b, near_b) = ((title, list(row)) for title, row in nearest.items())
    frame = pd.DataFrame({"depth": range(n), "cosine": np.asarray(cosines, float), "name": list(names),
                          "shown": [readable(value, 2) for value in cosines],
                          "exact": [readable(value, 6) for value in cosines], "near_a": near_a, "near_b": near_b,
                          "y_a": low - 0.22, "y_b": low - 0.42, "written": np.isin(range(n), few),
                          "token": np.isin(range(n), tokens)})
    x = alt.X("depth:O", title=None, scale=alt.Scale(padding=max(0.5, n / 16)),
              axis=alt.Axis(values=written, labelExpr=by_index(names), labelAngle=0, labelFontWeight=600, orient="top"))
    ink, base = colour("residual", theme, "ink"), alt.Chart(frame).encode(x=x)
    of_cosines = base.encode(y=quantity(alt.Y, "cosine", axis_title, [low - 0.5, 1.18], values=[0, 0.5, 1], grid=True))
    line = of_cosines.mark_line(color=ink, strokeWidth=2.4 * scale)
    dots = of_cosines.mark_point(filled=True, opacity=1, size=50 * scale, color=ink).encode(
        tooltip=tips(name=" ", exact=axis_title, near_a=title_a, near_b=title_b))
    numbers = (of_cosines.transform_filter("datum.written").encode(text=alt.Text("shown:N"))
               .mark_text(dy=-11 * scale, fontSize=12 * scale, color=colour("text", theme)))
    rows = []
    for which, title, tone in (("a", title_a, ink), ("b", title_b, colour("text", theme))):
        rows.append(base.transform_filter("datum.token")
                    .mark_text(font=MONO, fontSize=11.5 * scale, color=tone, limit=60 * scale)
                    .encode(y=alt.Y(f"y_{which}:Q", title=axis_title), text=f"near_{which}:N"))
        name = alt.Chart(pd.DataFrame({"name": [title], "y": [frame[f"y_{which}"][0]]}))
        rows.append(name.mark_text(align="right", dx=-4, fontSize=12 * scale, fontWeight=600, color=tone)
                    .encode(x=alt.XValue(0), y=alt.Y("y:Q", title=axis_title), text=alt.Text("name:N")))
    return overlaid([line, dots, numbers, *rows], theme, scale, height)


# ---- the map ---------------------------------------------------------------------------------------------------------


def vocabulary_map(coordinates: np.ndarray, ids: Sequence[int], tokens: Sequence[str], kinds: Sequence[str],
                   named: Sequence[int], picked: int | None, axis_titles: Sequence[str],
                   theme: str, scale: float, height: int) -> go.Figure:
    """n tokens as points, coordinates (n, 2 or 3), in a trace for each kind, since points with one common look are
    drawn faster; in a plane as SVG, since Plotly's WebGL of a plane is compiled in the browser, which the app's policy
    for scripts forbids, and many a school's machine has no WebGL. The tooltip has the token and its id, which is also
    the customdata. An axis without a title has no numbers.

    named: rows with a name on the map; picked: the row with a framed name, None if it is not on the map.
    """
    import plotly.graph_objects as go  # takes half a second, which only readers of the map pay

    # plotly's validation of each colour and symbol, done twice, takes most of the time of a rerun; the tests validate
    unchecked = dict(_validate=False)
    solid, of_kind, ids = coordinates.shape[1] == 3, np.array(kinds), np.asarray(ids)
    tokens = [html.escape(token, quote=False) for token in tokens]      # plotly reads text as HTML
    hover = np.array([f"{token}<br>{i}" for i, token in zip(ids, tokens)])
    trace, traces = go.Scatter3d if solid else go.Scatter, []
    for kind in (kind for kind in KINDS if kind in kinds):
        rows = of_kind == kind
        marker = dict(color=colour(_MEANINGS[kind], theme, "ink"), symbol=_SYMBOLS[kind], opacity=0.55,
                      size=(1.4 if solid else 5) * scale)
        traces.append(trace(**dict(zip("xyz", coordinates[rows].T)), mode="markers", marker=marker,
                            text=hover[rows].tolist(), hovertemplate="%{text}<extra></extra>", customdata=ids[rows],
                            **unchecked))
    labelled = [*named] if picked is None else [picked, *named]
    names = [_name_on_map(coordinates[i], tokens[i], offset, i == picked, theme, scale)
             for i, offset in zip(labelled, _ring(coordinates[labelled, :2], scale))]
    axes = {f"{axis}axis": dict(title=dict(text=title), showticklabels=bool(title), showgrid=bool(title))
            for axis, title in zip("xyz", axis_titles)}
    figure = go.Figure(traces, **unchecked).update_layout(
        template=template(theme, scale), height=height, margin=dict(l=0, r=0, t=4, b=0),
        dragmode="orbit" if solid else "pan", showlegend=False, hovermode="closest", font=dict(family=FONT))
    if not solid:
        return figure.update_layout(annotations=names, **axes)
    look = dict(showbackground=False, gridcolor=colour("grid", theme), color=colour("muted", theme), showspikes=False)
    return figure.update_layout(scene={name: look | axis for name, axis in axes.items()}
                                      | {"annotations": names, "aspectmode": "data", "camera": CAMERA})


def _ring(places: np.ndarray, scale: float) -> list[tuple[float, float]]:
    """The offsets in pixels, to the right and down, of the names of some near points (n, 2): evenly spread on a ring,
    in the order of the points' angles.
    """
    if not len(places):
        return []
    spread = (places - places.mean(0)) / np.maximum(places.std(0), 1e-9)
    order = np.argsort(np.argsort(np.arctan2(spread[:, 1], spread[:, 0]), kind="stable"), kind="stable")
    angles = -np.pi + 2 * np.pi * (order + 0.5) / len(places)
    return [(105 * scale * math.cos(angle), -80 * scale * math.sin(angle)) for angle in angles]


def _name_on_map(place: np.ndarray, token: str, offset: tuple[float, float], picked: bool, theme: str,
                 scale: float) -> dict:
    """A plotly annotation: the name at the end of a thin line from its point."""
    text = colour("text", theme)
    return dict(zip("xyz", place.tolist()), text=token, showarrow=True, arrowhead=6, arrowsize=0.9, arrowwidth=1.2,
                arrowcolor=text, ax=offset[0], ay=offset[1], bgcolor=colour("page", theme), borderpad=2,
                borderwidth=2 if picked else 1, bordercolor=text if picked else colour("grid", theme),
                captureevents=False, font=dict(family=MONO, size=(14 if picked else 12) * scale, color=text))
