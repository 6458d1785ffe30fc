"""Every table that a page offers: one that a browser can show as it stands, without a guess at what its columns are.

And every chart: what the grammar of Vega-Lite allows.
"""
from __future__ import annotations

import warnings

import pyarrow
import pytest

from core.app.lesson import lesson as frame
from core.app.parts import charts
from tests.browser.views import LESSONS, address
from tests.helpers.lessons import fine, open_at

pytestmark = pytest.mark.long

PLACES = [(lesson, address(lesson, name)) for lesson, views in LESSONS.items() for name in views]


@pytest.mark.parametrize(("lesson", "settings"), PLACES,
                         ids=[" ".join((lesson, *settings.values())) for lesson, settings in PLACES])
def test_every_table_is_one_that_the_browser_can_show_and_every_chart_keeps_to_the_grammar(
        lesson: str, settings: dict[str, str], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture):
    offered, drawn, take = {}, [], charts.take_tables
    monkeypatch.setattr(charts, "take_tables", lambda chart: drawn.append(chart) or take(chart))
    monkeypatch.setattr(frame.code_and_data, "draw", lambda _lesson, _title, _functions, data, *_: offered.update(data))
    assert fine(open_at(lesson, **settings))
    for chart in drawn:
        chart.to_dict()     # checks it against the grammar
    assert "Serialization of dataframe" not in caplog.text
    for name, table in offered.items():
        made = table()
        assert all(isinstance(column, str) for column in made.columns), name
        with warnings.catch_warnings(action="error"):
            assert len(pyarrow.Table.from_pandas(made, preserve_index=False)) == len(made), name
