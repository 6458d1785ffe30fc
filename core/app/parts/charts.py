"""Put an altair chart on the page: over the whole width, in the look that its figure gave it, with its tables by name.

Tests check a chart's spec against the schema of Vega-Lite; in the app that check would take as long as all the rest
of drawing it, and `st.altair_chart` writes out the charts of one reader at a time.
"""
import json
import re
from collections.abc import Callable, Mapping

import altair as alt
import pandas as pd
import streamlit as st
from altair.utils import schemapi

from core.app.state import reader
from core.figures.lines import Look

schemapi.disable_debug_mode()       # which checks every part of a chart when it is made

# altair names a layer in which something can be picked after a hash of its contents: the browser would rebuild a chart
# whenever its values change. The layer's place, which follows the hash, is enough of a name.
_HASHED_NAME = re.compile(r'"view_[0-9a-f]{16}')


def show(chart: alt.Chart | alt.LayerChart, key: str, **options) -> None:
    """Draw an altair chart with these options of `st.vega_lite_chart`, updated in place while its spec is the same.

    The chart stands in a container with this key, by whose class downloads and tests find it; its own key is
    `<key>_chart`. This function changes it. It is drawn as SVG, whose marks the keys read
    (components.chart_keys): with more than 2,000 marks Streamlit would draw a canvas.
    """
    chart.usermeta = {"embedOptions": {"renderer": "svg"}}
    tables = take_tables(chart)
    show_spec(spec_of(chart), tables, key, **options)


def show_spec(spec: Mapping, tables: Mapping[str, pd.DataFrame], key: str, **options) -> None:
    """Draw a Vega-Lite spec as `show` draws a chart; the spec calls its tables by these names."""
    with st.container(key=key):
        st.vega_lite_chart(spec={**spec, "datasets": tables}, theme=None, width="stretch",
                           key=f"{key}_chart", **options)


def take_tables(chart: alt.Chart | alt.LayerChart) -> dict[str, pd.DataFrame]:
    """Take the tables out of a chart and its layers, by name; the names stay in their place. Layers may share a table.

    `st.altair_chart` names a table after its contents: the spec would change with the values, and the browser would
    rebuild the chart.
    """
    tables: dict[str, pd.DataFrame] = {}
    for part in (chart, *getattr(chart, "layer", ())):
        if part.data is not alt.Undefined:
            name = next((name for name, table in tables.items() if table is part.data), f"table_{len(tables)}")
            tables[name], part.data = part.data, {"name": name}
    return tables


def spec_of(chart: alt.Chart | alt.LayerChart) -> dict:
    """The Vega-Lite spec of a chart, in its figure's look and not altair's. It does not change with the values.
    """
    spec = chart.to_dict(validate=False) | {"config": chart.config}
    del spec["$schema"]
    return json.loads(_HASHED_NAME.sub('"view', json.dumps(spec)))


def screen_taken(more: int = 0) -> int:
    """The height in pixels of the first screen that a picture cannot use: prompt, strip, title, two rows of controls,
    and `more`; present mode has larger type and a bar below.
    """
    return 312 + more + (75 if reader.present() else 0)


def look(height: int, presenting: int) -> dict:
    """Options of a chart for this reader: theme, scale of type, and height in pixels, `presenting` in present mode."""
    return {"theme": reader.theme(), "scale": reader.scale(), "height": presenting if reader.present() else height}


def reader_look() -> Look:
    """The reader's Look, for line charts."""
    return Look(reader.theme(), reader.scale())


def draw(prefix: str, chart: alt.TopLevelMixin, name: str, on_pick: Callable[[dict], None] | None = None) -> None:
    """Draw a lesson's chart with `show`. on_pick: called in a callback with the point of its selection "picked"."""
    key = f"{prefix}{name}"

    def pick() -> None:
        if points := st.session_state[f"{key}_chart"].selection.get("picked"):
            on_pick(points[0])

    show(chart, key, **({} if on_pick is None else {"on_select": pick, "selection_mode": "picked"}))


def draw_spec(prefix: str, name: str, rows: pd.DataFrame, spec: Mapping) -> None:
    """Draw a lesson's Vega-Lite spec over one table."""
    show_spec({**spec, "data": {"name": "rows"}}, {"rows": rows}, f"{prefix}{name}")
