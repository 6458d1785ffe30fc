"""How an altair chart comes on the page: over the whole width, in the look that its figure gave it, and without a second check of what tests have checked.

What a chart says is checked against the schema of Vega-Lite where figures are tested. In the app that would take as long as all the rest of drawing it, and Streamlit writes
out the charts of one reader at a time. Nor are charts copied as altair copies them: it makes each part of a copy anew, with all the two hundred properties that the part does not have,
and it copies every layer five times; half of the time of a chart went there.
"""
from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence

import altair as alt
import streamlit as st
from altair.utils import Undefined, schemapi

schemapi.disable_debug_mode()       # which checks every part of a chart when it is made


def copied(part: schemapi.SchemaBase, deep: bool | Iterable[str] = True, ignore: Sequence[str] = ()) -> schemapi.SchemaBase:
    """What `part.copy(deep, ignore)` gives, an equal part that shares nothing that can be changed with this one: of properties alone that it has, and without its class's checks.

    deep: False for the part alone, names for those of its properties that are copied with it. ignore: names of properties that both will share.
    """
    if deep is True:
        return _deep_copy(part, frozenset(ignore or ()))
    copy = _like(part, part._args, dict(part._kwds))
    for name in deep or ():
        copy[name] = _shallow_copy(copy._get(name))
    return copy


def _like(part: schemapi.SchemaBase, args: tuple, properties: dict) -> schemapi.SchemaBase:
    copy = object.__new__(type(part))
    object.__setattr__(copy, "_args", args)         # as its own __init__ does: an assignment would be a property
    object.__setattr__(copy, "_kwds", properties)
    return copy


def _deep_copy(value: object, by_reference: frozenset[str]) -> object:
    if isinstance(value, schemapi.SchemaBase):
        return _like(value, tuple(_deep_copy(arg, by_reference) for arg in value._args), _deep_copy(value._kwds, by_reference))
    if isinstance(value, list):
        return [_deep_copy(entry, by_reference) for entry in value]
    if isinstance(value, dict):
        return {name: entry if entry is Undefined or name in by_reference else _deep_copy(entry, by_reference) for name, entry in value.items()}
    return value


def _shallow_copy(value: object) -> object:
    return value.copy(deep=False) if isinstance(value, schemapi.SchemaBase) else value.copy() if isinstance(value, (list, dict)) else value


schemapi.SchemaBase.copy = copied
# The name that altair gives to a layer, before its place among the layers. Its own is a hash of the layer with its table, written out: that takes longer than all else, and a chart
# that gets a new name with new values is built anew in the browser.
alt.Chart._compute_hash = lambda self: "view"


def show(chart: alt.TopLevelMixin, **options) -> None:
    """st.altair_chart with these options. The chart is this function's from here on."""
    share_data(chart)
    object.__setattr__(chart, "to_dict", functools.partial(chart.to_dict, validate=False))       # a plain assignment would be a property of the chart
    st.altair_chart(chart, theme=None, width="stretch", **options)


def share_data(chart: alt.TopLevelMixin) -> None:
    """Gives a layered chart the table that most of its layers read, and takes it from these: a table is written out once for each part that has it."""
    if not isinstance(chart, alt.LayerChart) or chart.data is not Undefined:
        return
    tables = [layer.data for layer in chart.layer if layer.data is not Undefined]
    shared = max(tables, key=lambda table: sum(other is table for other in tables), default=Undefined)
    chart.data = shared
    for layer in chart.layer:
        if layer.data is shared:
            layer.data = Undefined
