"""How charts come on the page: the quicker copies are altair's own, and a table that many layers read is written out once."""
from __future__ import annotations

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


def test_the_table_that_most_layers_read_stands_above_them():
    chart, before = layered(), layered().to_dict()
    most = chart.layer[0].data
    charts.share_data(chart)
    assert chart.data is most and sum(layer.data is Undefined for layer in chart.layer) == 5 and len(chart.layer) == 7
    after = chart.to_dict()
    read = [[spec["datasets"][layer.get("data", spec.get("data"))["name"]] for layer in spec["layer"]] for spec in (before, after)]
    assert read[0] == read[1]


def test_a_layer_that_can_be_picked_keeps_its_name_when_its_values_change():
    def name(values):
        base = alt.Chart(alt.Data(values=values)).mark_bar().encode(x=alt.X("a:Q"))
        return [layer.name for layer in alt.layer(base.add_params(alt.selection_point(name="picked", fields=["a"])), base.mark_rule()).layer]

    assert name([{"a": 1}]) == name([{"a": 2}]) == ["view_0", Undefined]
