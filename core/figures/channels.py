"""Channels of an altair chart, as `encode` takes them: quantities, kinds that look different, and tooltips.

Layers that share an axis give it the same title: Vega-Lite would write two different titles one after the other.
"""
import json
from collections.abc import Mapping, Sequence

import altair as alt


def quantity(channel: type, field: str, title: str | None, domain: Sequence[float] | None = None, **axis):
    """A channel (alt.X, alt.Y) of numbers over exactly `domain`, or over the range of the data; axis: options of
    alt.Axis.
    """
    scale = {} if domain is None else {"scale": alt.Scale(domain=list(domain), nice=False)}
    return channel(f"{field}:Q", title=title, axis=alt.Axis(**axis), **scale)


def kinds(channel: type, field: str, looks: Mapping, **options):
    """A channel (alt.Color, alt.Shape …) that gives each value of a field its look, by default without a legend.

    A scale rather than conditions: altair takes some 20 ms to wrap a single condition.
    """
    return channel(f"{field}:N", scale=alt.Scale(domain=list(looks), range=list(looks.values())),
                   **{"legend": None, **options})


def tips(**titles: str) -> list[alt.Tooltip]:
    """Tooltips: the fields as the table has them, under these titles."""
    return [alt.Tooltip(f"{field}:N", title=title) for field, title in titles.items()]


def by_index(labels: Sequence[str]) -> str:
    """A Vega expression that writes labels[value] on an axis of whole numbers."""
    return f"{json.dumps(list(labels), ensure_ascii=False)}[datum.value]"
