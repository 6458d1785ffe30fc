"""The look of every picture: one colour a meaning, one sequential and one diverging scale, one plotly template,
one altair theme.

This is the only file with colour literals. Two themes, "light" and "dark". Each meaning has a *fill* (areas, bars;
Okabe and Ito's colour-blind-safe set) and an *ink* of the same hue for lines and text, which reaches 4.5:1 (WCAG AA)
against the page and against the panel. A fill that does not reach 3:1 against the page by itself is drawn with its
ink as outline.
"""
from __future__ import annotations

import functools
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from core.figures.numbers import DOT, power_of_ten

if TYPE_CHECKING:
    import plotly.graph_objects as go

THEMES = ("light", "dark")
ROLES = ("fill", "ink")

FONT = '"Source Sans", "Source Sans Pro", system-ui, sans-serif'
MONO = '"Source Code Pro", ui-monospace, Menlo, Consolas, monospace'

# Labels (labelExpr) of a logarithmic altair axis: 10³, and nothing between two powers; or 3 · 10²⁰ for any value.
_POWERS = json.dumps([power_of_ten(exponent) for exponent in range(-99, 100)], ensure_ascii=False)
POWER_OF_TEN = (f"abs(log(datum.value) / LN10 - round(log(datum.value) / LN10)) < 0.01 ? "
                f"{_POWERS}[round(log(datum.value) / LN10) + 99] : ''")
_EXPONENT = "floor(log(datum.value) / LN10 + 1e-9)"
_MANTISSA = f"format(datum.value / pow(10, {_EXPONENT}), '.2~g')"
TIMES_POWER_OF_TEN = (f"datum.value == 0 ? '0' : ({_MANTISSA} == '1' ? '' : {_MANTISSA} + '{DOT}') + "
                      f"{_POWERS}[{_EXPONENT} + 99]")

# meaning: (light fill, light ink, dark fill, dark ink)
_MEANINGS = {
    "query": ("#0072B2", "#0071B1", "#2174A6", "#62B5EA"),
    "key": ("#D55E00", "#AD4C00", "#E8711A", "#FF9A55"),
    "value": ("#009E73", "#007353", "#1DB389", "#40D4AB"),
    "residual": ("#5E4FA2", "#5B4C9F", "#8779CC", "#9A91CD"),
    "attention": ("#CC79A7", "#A04C79", "#B87298", "#C994B1"),
    "mlp": ("#E69F00", "#855C00", "#E69F00", "#F0B840"),
    "position": ("#56B4E9", "#2A678C", "#56B4E9", "#83CBF4"),
    "kept": ("#334E68", "#334E68", "#7F9DBA", "#A6BFD6"),
    "excluded": ("#B4B9BF", "#636A72", "#5F6873", "#9AA4AF"),
    "drawn": ("#F0E442", "#6B6400", "#F0E442", "#F4EC7C"),
    "page": ("#FFFFFF", "#FFFFFF", "#11161D", "#11161D"),
    "panel": ("#F4F6F8", "#F4F6F8", "#1A212B", "#1A212B"),
    "text": ("#1B2733", "#1B2733", "#E6EBF0", "#E6EBF0"),
    "muted": ("#5B6672", "#5B6672", "#9BA7B4", "#9BA7B4"),
    "grid": ("#E1E5EA", "#8A939D", "#2B3440", "#6B7683"),
    "accent": ("#334E68", "#334E68", "#A6BFD6", "#A6BFD6"),
}
MEANINGS = tuple(_MEANINGS)
CATEGORIES = ("query", "key", "value", "residual", "attention", "mlp", "position", "kept")

# Scale ends beyond the page's own colour: (middle, deep) for amounts and positive values, and for negative values.
_DEEP = {"light": ("#5F8FB8", "#0C2A47"), "dark": ("#3F7098", "#D6EAFB")}
_DEEP_NEGATIVE = {"light": ("#C98A5A", "#5A2A08"), "dark": ("#9A6238", "#FFE0C4")}
_N_STOPS = 9


def colour(meaning: str, theme: str, role: str = "fill") -> str:
    """The colour, as #RRGGBB, of one of MEANINGS in a theme; role "fill" for areas, "ink" for lines, outlines and text.
    """
    if meaning not in _MEANINGS:
        raise ValueError(f"A colour has one of the meanings {', '.join(MEANINGS)}, not {meaning!r}.")
    if theme not in THEMES or role not in ROLES:
        raise ValueError(f"The theme is light or dark and the role fill or ink, not {theme!r} and {role!r}.")
    return _MEANINGS[meaning][2 * THEMES.index(theme) + ROLES.index(role)]


def sequential(theme: str) -> list[list]:
    """Nine stops [[0.0, page], ..., [1.0, deep]] for amounts from zero up (attention, probability), even
    steps in lightness.
    """
    return _stops(colour("page", theme), *_DEEP[theme])


def diverging(theme: str) -> list[list]:
    """Nine stops for signed values, the page's colour in the middle: draw with a range that is symmetric about zero."""
    middle, deep = _DEEP_NEGATIVE[theme]
    return _stops(deep, middle, colour("page", theme), *_DEEP[theme])


def css_variables(theme: str) -> dict[str, str]:
    """Custom properties for components: --tx-<meaning>, --tx-<meaning>-ink, --tx-seq-0…8, --tx-div-0…8,
    --tx-font, --tx-mono.
    """
    names = {}
    for meaning in MEANINGS:
        names[f"--tx-{meaning}"] = colour(meaning, theme)
        names[f"--tx-{meaning}-ink"] = colour(meaning, theme, "ink")
    for short, scale in (("seq", sequential(theme)), ("div", diverging(theme))):
        names |= {f"--tx-{short}-{i}": stop for i, (_, stop) in enumerate(scale)}
    return names | {"--tx-font": FONT, "--tx-mono": MONO}


def template(theme: str, scale: float) -> go.layout.Template:
    """The plotly template: the page's own background, no grid, our type and colours.

    `scale` multiplies the type sizes (reader.scale() is above 1 in present mode).
    """
    import plotly.graph_objects as go  # takes half a second: only a page that draws with it pays

    text, muted, grid = (colour(name, theme) for name in ("text", "muted", "grid"))
    normal = 13 * scale
    axis = dict(showgrid=False, zeroline=False, showline=False, ticks="", automargin=True, gridcolor=grid,
                title=dict(font=dict(size=normal, color=muted), standoff=8),
                tickfont=dict(size=12 * scale, color=muted))
    return go.layout.Template(layout=go.Layout(
        font=dict(family=FONT, size=normal, color=text), paper_bgcolor="rgba(0,0,0,0)", plot_bgcolor="rgba(0,0,0,0)",
        xaxis=axis, yaxis=axis, hoverlabel=dict(bgcolor=colour("panel", theme), bordercolor=grid,
                                                font=dict(family=MONO, size=normal, color=text))))


def altair_theme(theme: str, scale: float = 1.0) -> dict:
    """The altair config of the same look; `framed` puts it on a chart.

    A dict and not a registered theme, because altair's registry is global and two readers may have different themes.
    """
    text, muted, grid = (colour(name, theme) for name in ("text", "muted", "grid"))
    small, normal, large = (size * scale for size in (12, 13, 16))
    ramp = [stop for _, stop in sequential(theme)]
    return {
        "background": "transparent",
        "font": FONT,
        "locale": {"number": {"decimal": ".", "thousands": ",", "grouping": [3], "currency": ["", ""],
                              "percent": "\u00a0%", "minus": "−"}},
        "view": {"stroke": None},
        "title": {"anchor": "start", "color": text, "fontSize": large, "fontWeight": 600,
                  "subtitleColor": muted, "subtitleFontSize": normal},
        "axis": {"labelColor": muted, "titleColor": muted, "labelFontSize": small, "titleFontSize": normal,
                 "titleFontWeight": "normal", "domain": False, "ticks": False, "grid": False, "gridColor": grid,
                 "labelPadding": 6, "titlePadding": 8},
        "legend": {"labelColor": muted, "titleColor": muted, "labelFontSize": small, "titleFontSize": small,
                   "titleFontWeight": "normal"},
        "text": {"color": text, "fontSize": small},
        "rule": {"color": muted},
        "line": {"strokeWidth": 2},
        # a mark has the tooltips that its figure sets; Streamlit gives every other mark all of its data
        "mark": {"tooltip": None},
        "range": {"category": [colour(name, theme, "ink") for name in CATEGORIES],
                  "heatmap": ramp, "ramp": ramp, "diverging": [stop for _, stop in diverging(theme)]},
    }


def framed(chart, theme: str, scale: float, **properties):
    """Set our theme and properties such as height and width on the altair chart, and return it.

    `chart.properties` would copy it and check each property against a schema, which takes longer than the chart.
    """
    for name, value in {**properties, "config": altair_theme(theme, scale)}.items():
        setattr(chart, name, value)
    return chart


def layered(*layers):
    """The altair charts over each other. Data that they share is given once: if each chart brings it along, altair
    writes out the whole table to name the layers, which takes longer than the chart.
    """
    import altair as alt  # with the first chart: a start does not wait for it

    data = layers[0].data
    if any(layer.data is not data for layer in layers):
        return alt.layer(*layers)
    for layer in layers:
        layer.data = alt.Undefined
    return alt.layer(*layers, data=data)


def overlaid(layers: Sequence, theme: str, scale: float, height: int):
    """The altair charts over each other in our theme, over the whole width."""
    return framed(layered(*layers), theme, scale, height=height, width="container")


def haloed(chart, theme: str, **look) -> list:
    """Two layers: a halo in the page's colour, so that a line may run behind the text, and the text itself. look:
    options of `mark_text`.
    """
    return [chart.mark_text(stroke=colour("page", theme), strokeWidth=5, **look), chart.mark_text(**look)]


def untitled(*fields: str) -> list:
    """Altair tooltips without titles.

    Vega-Lite keeps only the first of several tooltips with the same title, so each title is a different number of
    spaces.
    """
    import altair as alt  # as above

    return [alt.Tooltip(f"{field}:N", title=" " * i) for i, field in enumerate(fields, 1)]


# ---- mixing colours in OKLab, where equal steps look equal (Björn Ottosson, "A perceptual color space for image
# processing", 2020) -----------------------------------------------------------------------------------------------

_RGB_TO_LMS = np.array([(0.4122214708, 0.5363325363, 0.0514459929), (0.2119034982, 0.6806995451, 0.1073969566),
                        (0.0883024619, 0.2817188376, 0.6299787005)])
_LMS_TO_LAB = np.array([(0.2104542553, 0.7936177850, -0.0040720468), (1.9779984951, -2.4285922050, 0.4505937099),
                        (0.0259040371, 0.7827717662, -0.8086757660)])


def linear_rgb(hex_colour: str) -> np.ndarray:
    """(3,) linear-light sRGB channels in [0, 1] (IEC 61966-2-1)."""
    channels = np.array([int(hex_colour[i:i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)


def oklab(linear: np.ndarray) -> np.ndarray:
    """(3,) lightness, green to red and blue to yellow of linear-light channels (3,)."""
    return _LMS_TO_LAB @ np.cbrt(_RGB_TO_LMS @ linear)


def hex_of(lab: np.ndarray) -> str:
    """The colour of OKLab coordinates (3,) as #RRGGBB, cut to what a screen can show."""
    lms = np.linalg.solve(_LMS_TO_LAB, lab) ** 3
    linear = np.linalg.solve(_RGB_TO_LMS, lms).clip(0, 1)
    encoded = np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)
    return "#" + bytes(np.rint(255 * encoded).astype(np.uint8)).hex().upper()


def _stops(*anchors: str) -> list[list]:
    return [[i / (_N_STOPS - 1), stop] for i, stop in enumerate(_mixed(anchors))]


@functools.cache
def _mixed(anchors: tuple[str, ...]) -> list[str]:
    """The anchors spread evenly over _N_STOPS stops."""
    labs = np.array([oklab(linear_rgb(anchor)) for anchor in anchors])
    places, at = np.linspace(0, 1, len(anchors)), np.linspace(0, 1, _N_STOPS)
    return [hex_of(lab) for lab in np.transpose([np.interp(at, places, axis) for axis in labs.T])]
