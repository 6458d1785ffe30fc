"""The lesson's own charts: lines over distance, length or steps, rows of answers, and an alignment.

Each picture is a table and a Vega-Lite spec, which does not change with the table.
"""
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from core.figures.lines import Axis, Lines, Look, channel, of_role, ruled, tooltip
from core.figures.style import altair_theme, colour, sequential


def lines(inks: Mapping[str, str], x: Axis, y: Axis, look: Look, height: int, *,
          level: tuple[float, str] | None = None, points: bool = False, named: bool = True) -> dict:
    """The spec of one line for each network over `line_rows`. inks: the networks' colours, by name.

    level: the value and the name of a horizontal line. points: draw each measurement as a point. named: write each
    line's name at its end.
    """
    drawn = Lines(inks, x, y, look, clip=x.domain is not None or y.domain is not None)
    picked = {"type": "rule", "color": look.ink("grid"), "strokeDash": [2, 2]}
    size, opacity = (30, 1) if points else (60, 0)
    layers = [drawn.strokes(2.5),
              drawn.points(size * look.scale, opacity, color=drawn.colours(), tooltip=tooltip(x, y)),
              of_role("picked", picked, x=x.encoding("x")),
              drawn.points(70 * look.scale, role="picked", color=drawn.colours())]
    layers += [drawn.names()] * named
    if level is not None:
        below = y.domain is not None and level[0] < sum(y.domain) / 2
        layers += ruled([level], {"y": channel("value")}, {"x": {"value": 0}},
                        {"color": look.ink("excluded"), "strokeDash": [3, 3]},
                        look.words(12, "muted", align="left", baseline="top" if below else "bottom", dx=4,
                                   dy=4 if below else -3))
    # the names at the ends need no padding: a chart that is fitted to its place keeps room for them
    return look.spec(layers, height, 5 if named else 12)


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
    fill, stroke = (channel("kind", "nominal", legend=None, scale={"domain": list(looks), "range": list(colours)})
                    for colours in zip(*looks.values()))
    encoding = {"x": channel("place", "ordinal", axis=None, scale={"paddingInner": 0.12}),
                "y": channel("name", "nominal", sort=list(order), title=None, scale={"paddingInner": 0.18},
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
    x = channel("column", "ordinal", title=x_title, axis=title_at | {"orient": "top"})
    y = channel("row", "ordinal", title=y_title, axis=title_at)
    shade = channel("weight", legend=None, scale={"domain": [0, 1], "range": [stop for _, stop in sequential(theme)],
                                                  "interpolate": "rgb"})
    tooltip = [{"field": "output", "title": y_title}, {"field": "source", "title": x_title},
               channel("weight", title="α", format=".4f")]
    symbol, edge = {"type": "text", "font": "monospace", "fontSize": 12 * scale}, {"value": 0}
    return {"height": height, "config": altair_theme(theme, scale), "layer": [
        {"mark": "rect", "encoding": {"x": x, "y": y, "color": shade, "tooltip": tooltip}},
        {"transform": [{"filter": "datum.weight >= 0.05"}], "mark": {"type": "text", "fontSize": 11 * scale},
         "encoding": {"x": x, "y": y, "text": channel("weight", format=".2f" if scale == 1 else ".1f"),
                      "color": _inverted("datum.weight > 0.5", theme)}},
        {"transform": [{"filter": "datum.row == 0"}], "mark": symbol | {"dy": -9, "color": colour("key", theme, "ink")},
         "encoding": {"x": x, "y": edge, "text": {"field": "source"}}},
        {"transform": [{"filter": "datum.column == 0"}],
         "mark": symbol | {"dx": -9, "color": colour("query", theme, "ink")},
         "encoding": {"x": edge, "y": y, "text": {"field": "output"}}}]}
