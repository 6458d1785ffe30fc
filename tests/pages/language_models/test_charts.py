"""The names of the orders of a sentence's words: beside the falling row of points, never over it."""
from __future__ import annotations

import numpy as np
import pytest

from pages.language_models.charts import ranked_orders


@pytest.mark.parametrize(("rank", "align", "above"), [(2, "left", True), (15, "center", True), (28, "right", False)])
def test_the_picked_orders_name_stands_beside_the_points(rank: int, align: str, above: bool):
    texts = [f"order {i}" for i in range(30)]
    chart = ranked_orders(texts, -np.arange(30.0), rank - 1, ("rank", "ln p"), "light", 1.0, 150).to_dict()
    rows = {name: data for name, data in chart["datasets"].items()}
    [mark] = [layer["mark"] for layer in chart["layer"] if layer["mark"]["type"] == "text"
              and layer["mark"]["fontWeight"] == 700 and rows[layer["data"]["name"]]]
    assert mark["align"] == align and (mark["dy"] < 0) is above and mark["dy"] != 0
