"""How charts come on the page: the quicker copies are altair's own, and their tables are named by their place (what is written of them is held to altair's own by test_tables)."""
from __future__ import annotations

import json

import altair as alt
import numpy as np
import pytest
from altair.utils import Undefined, schemapi

from core.figures import embeddings
from core.ui import charts

OWN_COPY = schemapi._deep_copy         # what `copy` called before core.ui.charts had its own


def layered() -> alt.LayerChart:
    names = ["the", "cat", "sat"]
    return embeddings.alike_by_depth(np.array([0.1, -0.5, 0.9]), names, [names, names], "cosine", "light", 1.0, 300)


@pytest.mark.parametrize("deep", [True, False, ["layer"]])
def test_a_copy_is_equal_and_shares_only_what_was_asked(deep):
    chart = layered()
    copy, own = chart.copy(deep=deep), OWN_COPY(chart, set())
    assert copy.to_dict() == own.to_dict() == chart.to_dict() and type(copy) is type(chart)
    copy.height = 77
    copy.layer.append(copy.layer[0])
    assert chart.height == 300 and (len(chart.layer) == len(own.layer)) is (deep is not False)


def test_what_is_named_is_shared():
    chart = layered()
    assert chart.copy(ignore=["layer"]).layer is chart.layer and chart.copy().layer is not chart.layer
    assert chart.copy().layer[0].encoding.x is not chart.layer[0].encoding.x and chart.copy().layer[0].data is chart.layer[0].data


def test_a_table_is_named_by_its_place_and_written_once():
    chart, before = layered(), [layer.data for layer in layered().layer]
    tables = charts.take_tables(chart)
    names = [layer.data["name"] for layer in chart.layer]
    assert sorted(set(names)) == list(tables) == ["table_0", "table_1", "table_2"] and len(names) == 7
    assert all(tables[name].equals(table) for name, table in zip(names, before)) and names.count("table_0") == 5


def test_a_chart_whose_values_change_keeps_its_spec():
    """So that the browser moves its marks and does not build it anew; what altair gives has the values in it, or a name that comes from them."""
    specs = []
    for tokens in (["the", "cat", "sat"], ["the", "dog", "sat"]):
        chart = embeddings.ranked_bars(tokens, np.array([1.0, 0.5, -0.2]), range(3), [""] * 3, "cosine", "light", 1.0, 300)
        (table,) = charts.take_tables(chart).values()
        assert table["token"].tolist() == tokens
        specs.append(json.dumps(charts.written(chart)))
    assert specs[0] == specs[1]


def test_a_layer_that_can_be_picked_keeps_its_name_when_its_values_change():
    def name(values):
        base = alt.Chart(alt.Data(values=values)).mark_bar().encode(x=alt.X("a:Q"))
        return [layer.name for layer in alt.layer(base.add_params(alt.selection_point(name="picked", fields=["a"])), base.mark_rule()).layer]

    assert name([{"a": 1}]) == name([{"a": 2}]) == ["view_0", Undefined]
