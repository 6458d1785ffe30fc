"""Line charts: their axes, the rows of their lines, and the places of the names at their ends."""
import math

import pandas as pd
import pytest

from core.figures import lines as figures
from core.figures.style import POWER_OF_TEN, TIMES_POWER_OF_TEN


def test_the_rows_of_lines_are_their_points_their_names_and_what_is_picked():
    """A logarithmic axis leaves out what has no logarithm.

    The two lines end in the same place: their names stand a tenth of two powers of ten apart about it.
    """
    frame = pd.DataFrame({"name": ["tanh", "LSTM"] * 3, "x": [0, 0, 2, 2, 1, 1],
                          "y": [1.0, 100.0, 10.0, 10.0, 0.0, 30.0]})
    rows = figures.line_rows(frame, figures.Axis("y", log=True), 0.1, picked=1)
    told = [tuple(row) for row in rows[["role", "name", "x", "y"]].itertuples(index=False)]
    assert told == [("line", "tanh", 0, 1), ("line", "LSTM", 0, 100), ("line", "tanh", 2, 10), ("line", "LSTM", 2, 10),
                    ("line", "LSTM", 1, 30), ("end", "tanh", 2, 10), ("end", "LSTM", 2, 10), ("picked", "LSTM", 1, 30)]
    assert rows["at"].tolist() == pytest.approx([1, 100, 10, 10, 30, 10 ** 0.9, 10 ** 1.1, 30])


def test_each_line_has_its_name_at_its_end():
    look, x, y = figures.Look("light"), figures.Axis("steps"), figures.Axis("loss")
    end = figures.Lines({"tanh": look.ink("query"), "LSTM": look.ink("key")}, x, y, look).names()
    assert end["transform"] == [{"filter": "datum.role == 'end'"}]
    assert end["mark"]["type"] == "text" and end["encoding"]["text"] == {"field": "name"}
    assert end["encoding"]["y"]["field"] == "at" and end["encoding"]["color"]["scale"]["domain"] == ["tanh", "LSTM"]


def test_the_line_names_stand_apart():
    placed = figures.spread([1.0, 1.0, 1.0, 9.0], gap=0.5)
    assert sorted(placed.tolist()) == pytest.approx([0.5, 1.0, 1.5, 9.0])


def test_a_value_that_is_no_number_stays_in_the_rows_so_that_its_line_breaks_there():
    frame = pd.DataFrame({"name": ["a"] * 4, "x": [0, 1, 2, 3], "y": [1.0, math.nan, 10.0, math.nan]})
    rows = figures.line_rows(frame, figures.Axis("y", (1, 100), log=True), 0.1)
    assert rows["role"].tolist() == ["line"] * 4 + ["end"] and rows["y"].isna().sum() == 2
    assert (rows["x"].iloc[-1], rows["at"].iloc[-1]) == (2, pytest.approx(10)), "the name stands at the last number"


@pytest.mark.parametrize("axis, labels", [
    (figures.Axis("y", (0, 4)), {"format": ",~r"}), (figures.Axis("y", (0, 1e-4)), {"labelExpr": TIMES_POWER_OF_TEN}),
    (figures.Axis("y", log=True), {"labelExpr": POWER_OF_TEN}),
    (figures.Axis("y", log=True, labels={"values": [32, 64]}), {"values": [32, 64]})])
def test_an_axis_has_the_labels_of_its_kind_unless_it_is_given_others(axis, labels):
    assert axis.encoding("y")["axis"] == {"tickCount": 5, "grid": False} | labels


def test_an_axis_without_a_domain_ends_at_round_values_if_it_has_a_grid():
    nice = [figures.Axis("y", domain).encoding("y", True)["scale"]["nice"] for domain in (None, (0, 1))]
    assert nice == [True, False] and not figures.Axis("x").encoding("x")["scale"]["nice"]
