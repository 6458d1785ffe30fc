"""How charts come on the page: their tables are named by their place, and their specs do not change with their values.
"""
from __future__ import annotations

import json

import altair as alt
import numpy as np
import pandas as pd

from core.app.parts import charts
from core.figures.style import altair_theme, framed
from pages.embeddings import charts as embeddings


def layered() -> alt.LayerChart:
    names = ["the", "cat", "sat"]
    return embeddings.alike_by_depth(np.array([0.1, -0.5, 0.9]), names, {"A": names, "B": names}, "cosine", "light",
                                     1.0, 300)


def test_a_table_is_named_by_its_place_and_written_once():
    chart, before = layered(), [layer.data for layer in layered().layer]
    tables = charts.take_tables(chart)
    names = [layer.data["name"] for layer in chart.layer]
    assert sorted(set(names)) == list(tables) == [f"table_{i}" for i in range(3)] and len(names) == 7
    assert all(tables[name].equals(table) for name, table in zip(names, before)) and names.count("table_0") == 5


def test_a_chart_whose_values_change_keeps_its_spec():
    """So that the browser moves its marks and does not build it anew; what altair gives has the values in it, or a name
    that comes from them.
    """
    specs = []
    for tokens in (["the", "cat", "sat"], ["the", "dog", "sat"]):
        chart = embeddings.ranked_bars(tokens, np.array([1.0, 0.5, -0.2]), range(3), [""] * 3, "cosine",
                                       "light", 1.0, 300)
        (table,) = charts.take_tables(chart).values()
        assert table["token"].tolist() == tokens
        specs.append(json.dumps(charts.spec_of(chart)))
    assert specs[0] == specs[1]


def test_a_layer_that_can_be_picked_keeps_its_name_when_its_values_change():
    def names(values):
        base = alt.Chart(pd.DataFrame({"a": values})).mark_bar().encode(x=alt.X("a:Q"))
        chart = alt.layer(base.add_params(alt.selection_point(name="picked", fields=["a"])), base.mark_rule())
        framed(chart, "light", 1.0)
        charts.take_tables(chart)
        spec = charts.spec_of(chart)
        return [layer.get("name") for layer in spec["layer"]], spec["params"][0]["views"]

    assert names([1]) == names([2]) == (["view_0", None], ["view_0"])


def test_a_chart_keeps_the_look_of_its_figure_and_none_of_altair():
    chart = embeddings.ranked_bars(["the"], np.array([1.0]), range(1), [""], "cosine", "dark", 1.5, 300)
    charts.take_tables(chart)
    assert charts.spec_of(chart)["config"] == altair_theme("dark", 1.5)
