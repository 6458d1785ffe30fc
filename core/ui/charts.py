"""How an altair chart comes on the page: over the whole width, in the look that its figure gave it, and without a second check of what tests have checked.

What a chart says is checked against the schema of Vega-Lite where pages are tested. In the app that would take as long as all the rest of drawing it, and `st.altair_chart` writes
out the charts of one reader at a time. Nor are charts copied and written out as altair does it: it goes through all the two hundred properties that a part does not have, and it
copies every layer five times; most of the time of a chart went there.
"""
from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence

import altair as alt
import numpy as np
import pandas as pd
import streamlit as st
from altair.expr.core import OperatorMixin
from altair.utils import Undefined, parse_shorthand, schemapi

from core.ui import prerender
from core.ui.components.message import pack

WRITTEN_AS = "written_as"       # the signal of a chart's view that says what it is but for its tables; drawn_ahead.js reads it

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


def show(chart: alt.Chart | alt.LayerChart, key: str, own: bool = False, **options) -> None:
    """An altair chart with these options of `st.vega_lite_chart`, updated in place as long as its spec is the same, in a container of this key that downloads and tests find by its class.
    Its own key is `<key>_chart`. own: it shows what this session alone has, which nobody can draw ahead of it.

    The chart is this function's from here on. It is drawn as SVG, whose marks the keys read (components.chart_keys): of more than 2,000 Streamlit would make a canvas.
    """
    chart.usermeta = {"embedOptions": {"renderer": "svg"}}
    tables = take_tables(chart)
    show_written(written(chart), tables, key, own, **options)


def show_written(spec: Mapping, tables: Mapping[str, pd.DataFrame], key: str, own: bool = False, **options) -> None:
    """The same of what is written already, which calls its tables by these names. Where a page is drawn ahead, what the browser gives to the chart that stands."""
    written_as = hashlib.sha256(json.dumps(spec).encode()).hexdigest()[:16]
    if prerender.running():
        prerender.reached(key, pack({"written_as": written_as, "tables": {name: _columns(table) for name, table in tables.items()}}, {}))
        return
    params = [*spec.get("params", ()), {"name": WRITTEN_AS, "value": None if own else written_as}]
    with st.container(key=key):
        st.vega_lite_chart(spec={**spec, "params": params, "datasets": tables}, theme=None, width="stretch", key=f"{key}_chart", **options)


def _columns(table: pd.DataFrame) -> dict[str, list]:
    """By its name each column, as what Streamlit's page makes of it: what is not a number is none at all."""
    return {name: [None if value != value else value for value in column.tolist()] for name, column in table.items()}


def take_tables(chart: alt.Chart | alt.LayerChart) -> dict[str, pd.DataFrame]:
    """Takes the tables from a chart and from its layers and leaves their names there; gives them by these. What several layers read is one table.

    `st.altair_chart` names a table after what it holds: of a chart whose values change the spec would change with them, and the browser would build it anew.
    """
    tables: dict[str, pd.DataFrame] = {}
    for part in (chart, *getattr(chart, "layer", ())):
        if part.data is not Undefined:
            name = next((name for name, table in tables.items() if table is part.data), f"table_{len(tables)}")
            tables[name], part.data = part.data, {"name": name}
    return tables


def written(part: object) -> object:
    """What `part.to_dict()` of a part of a chart gives, without what altair adds at the top: its own look and the version of the grammar. Fields say their type, tables are named."""
    if isinstance(part, OperatorMixin):
        return part.to_dict()       # an expression or a parameter in one
    if isinstance(part, schemapi.SchemaBase):
        return written(part._args[0]) if part._args else _written(part._kwds)
    if isinstance(part, dict):
        return {name: written(value) for name, value in part.items() if value is not Undefined}
    if isinstance(part, (list, tuple)):
        return [written(value) for value in part]
    return part.item() if isinstance(part, np.generic) else part


def _written(properties: dict) -> dict:
    spec = {name: written(value) for name, value in properties.items() if value is not Undefined and name not in ("shorthand", "_cached_hash")}
    if (shorthand := properties.get("shorthand", Undefined)) is not Undefined:
        parsed = _parsed(shorthand)
        spec |= parsed if "type" in properties else {"field": parsed["field"]}      # where a second field has no type, altair leaves it out
    if isinstance(spec.get("mark"), str):
        spec["mark"] = {"type": spec["mark"]}
    return spec


@functools.cache
def _parsed(shorthand: str) -> dict:
    return parse_shorthand(shorthand)
