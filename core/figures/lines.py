"""The grammar of line charts: axes, lines with their names at their ends, and rules across.

A chart is a table, by `line_rows` or a lesson's own rule, and a Vega-Lite spec, `Look.spec` of some layers. The spec
does not change while a training runs or a slider moves, so a chart with a `key` is updated in place. (The specs are
dicts: altair takes 80 ms to check one, and some are drawn every second.)
"""
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from core.figures.style import POWER_OF_TEN, TIMES_POWER_OF_TEN, altair_theme, colour

# a dash pattern for each line, so that colour is not their only difference
DASHES = ((1, 0), (7, 4), (2, 3), (9, 3, 2, 3), (4, 2), (14, 2))
NAME_HEIGHT = 15         # px that the name of a line takes
SMALL = 1e-3             # an axis that ends below it has powers of ten


@dataclass(frozen=True)
class Look:
    """The reader's theme, "light" or "dark", and the scale of the type."""

    theme: str
    scale: float = 1.0

    def ink(self, meaning: str) -> str:
        """The colour of lines and text of this meaning."""
        return colour(meaning, self.theme, "ink")

    def words(self, size: float, meaning: str, **more) -> dict:
        """A text mark of `size` px."""
        return {"type": "text", "fontSize": size * self.scale, "color": self.ink(meaning), **more}

    def spec(self, layers: Sequence[dict], height: int, right: float | None = 5) -> dict:
        """The spec of these layers. right: padding in px; None leaves all padding to Streamlit."""
        padding = {} if right is None else {"padding": {"left": 5, "right": right, "top": 5, "bottom": 5}}
        return {"layer": layers, "height": height, "config": altair_theme(self.theme, self.scale), **padding}


@dataclass(frozen=True)
class Axis:
    """One axis: its title, its domain (None: the range of the data), and whether it is logarithmic.

    format: the d3 format of the labels. labels, scale: Vega-Lite's options, in place of the usual labels and beside the
    usual scale. tip: the d3 format of a value under the pointer.
    """

    title: str
    domain: tuple[float, float] | None = None
    log: bool = False
    format: str = ",~r"       # of "g" Vega keeps one digit where ticks are 20 apart, and writes 2e+1
    ticks: int | None = 5
    labels: Mapping[str, object] | None = None
    scale: Mapping[str, object] = field(default_factory=dict)
    tip: str = ""

    def encoding(self, name: str, grid: bool = False) -> dict:
        """The axis in Vega-Lite, of the field `name`."""
        domain = {} if self.domain is None else {"domain": list(self.domain)}
        ticks = {} if self.ticks is None else {"tickCount": self.ticks}
        scale = {"type": "log" if self.log else "linear", "nice": grid and self.domain is None, **domain, **self.scale}
        return channel(name, title=self.title or None, scale=scale, axis={**ticks, "grid": grid, **self._labels()})

    def _labels(self) -> Mapping[str, object]:
        if self.labels is not None:
            return self.labels
        if self.log:
            return {"labelExpr": POWER_OF_TEN}
        if self.domain is not None and abs(self.domain[1]) < SMALL:
            return {"labelExpr": TIMES_POWER_OF_TEN}
        return {"format": self.format} if self.format else {}


@dataclass(frozen=True)
class Lines:
    """The layers of some lines, over a table with the columns name, role, x, y and at.

    inks: the colours, by name. dashes: their patterns, in the same order. clip: a line that leaves an axis' domain
    leaves the picture, so that no point stands where it is not.
    """

    inks: Mapping[str, str]
    x: Axis
    y: Axis
    look: Look
    dashes: Sequence[Sequence[int]] = DASHES
    clip: bool = True

    def strokes(self, width: float, legend: dict | None = None, **mark) -> dict:
        """The lines themselves, `width` px."""
        return self.layer("line", {"type": "line", "strokeWidth": width * self.look.scale} | mark,
                          color=self.colours(legend), strokeDash=dashed(self.inks, self.dashes, legend))

    def points(self, size: float, opacity: float = 1, role: str = "line", **encoding) -> dict:
        """A point of `size` px² at each value; one of opacity 0 has no look and is there for the pointer."""
        return self.layer(role, {"type": "point", "filled": True, "size": size, "opacity": opacity}, **encoding)

    def names(self, size: float = 12, dx: float = 6, text: str = "name", x: dict | None = None, **mark) -> dict:
        """Each line's name at its end, at the height `at`."""
        look = {"type": "text", "align": "left", "dx": dx, "fontSize": size * self.look.scale, "fontWeight": 600}
        return of_role("end", look | mark, x=x or self.x.encoding("x"), y=self.y.encoding("y", True) | {"field": "at"},
                       color=self.colours(), text={"field": text})

    def layer(self, role: str, mark: dict, **encoding: dict) -> dict:
        """A layer of the rows of one role, at their x and y."""
        return of_role(role, mark | ({"clip": True} if self.clip else {}), x=self.x.encoding("x"),
                       y=self.y.encoding("y", True), **encoding)

    def colours(self, legend: dict | None = None) -> dict:
        """The encoding of the lines' colours."""
        return by_name(self.inks, self.inks.values(), legend)


def channel(name: str, kind: str = "quantitative", **more) -> dict:
    """A field of the data in the form of a Vega-Lite encoding."""
    return {"field": name, "type": kind, **more}


def by_name(names: Iterable[str], values: Iterable, legend: dict | None = None) -> dict:
    """A value for each line, such as its colour."""
    return channel("name", "nominal", scale={"domain": list(names), "range": list(values)}, legend=legend)


def dashed(names: Collection[str], dashes: Sequence[Sequence[int]] = DASHES, legend: dict | None = None) -> dict:
    """A dash pattern for each line, the first solid."""
    return by_name(names, map(list, dashes[:len(names)]), legend)


def tooltip(x: Axis, y: Axis, shown: str = "") -> list[dict]:
    """The tooltip of a point: its line and both values; y as the column `shown` has it, if there is one."""
    value = channel(shown, "nominal") if shown else channel("y", format=y.tip or ".4~g")
    # the blank titles differ, since Vega-Lite drops duplicates
    return [{"field": "name", "title": " "}, channel("x", title=x.title or "  ", format=x.tip or ".6~g"),
            value | {"title": y.title or "   "}]


def of_role(role: str, mark: dict, **encoding: dict) -> dict:
    """A layer of the rows of one role."""
    return {"transform": [{"filter": f"datum.role == '{role}'"}], "mark": mark, "encoding": encoding}


def ruled(values: Iterable[tuple[float, str]], across: dict, beside: dict, rule: dict, words: dict) -> list[dict]:
    """Layers of straight lines at some values of one axis, each with its name. across: the encoding of that axis;
    beside: that of the name's position on the other axis.
    """
    if not (rows := [{"value": value, "name": name} for value, name in values]):
        return []
    return [{"data": {"values": rows}, "mark": {"type": "rule", **rule}, "encoding": across},
            {"data": {"values": rows}, "mark": words,
             "encoding": across | beside | {"text": {"field": "name", "type": "nominal"}}}]


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


def line_rows(frame: pd.DataFrame, y: Axis, room: float, picked: float | None = None) -> pd.DataFrame:
    """Return the rows that `Lines` draws, from a table with the columns name, x and y: the points; the last point of
    each line again, for the name; and the points at the x that the reader has picked, if any.

    room: the share of the height that a name takes.
    """
    # one table is built, at the end: for a few hundred rows, building tables takes most of the time
    name, x, values = (frame[column].to_numpy() for column in ("name", "x", "y"))
    points = np.flatnonzero(~(values <= 0)) if y.log else np.arange(len(frame))
    by_x = points[np.argsort(x[points], kind="stable")]
    known = by_x[np.isfinite(values[by_x].astype(float))]
    ends = known[sorted({name[row]: place for place, row in enumerate(known)}.values())]
    marked = points[x[points] == picked]
    rows = np.concatenate([points, ends, marked])
    at = values[rows].astype(float)
    if len(ends):
        to, back = (np.log10, lambda v: 10.0 ** v) if y.log else (np.asarray, np.asarray)
        low, high = y.domain or (values[known].min(), values[known].max())
        gap = room * max(float(to(high)) - float(to(low)), 1e-9)
        at[len(points):len(points) + len(ends)] = back(spread(to(values[ends].clip(low, high)), gap))
    return pd.DataFrame({column: frame[column].to_numpy()[rows] for column in frame}
                        | {"role": np.repeat(["line", "end", "picked"], [len(points), len(ends), len(marked)]),
                           "at": at})
