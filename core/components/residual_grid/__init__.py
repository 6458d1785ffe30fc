"""A grid of numbers, layers × tokens, on one canvas: hover reads a cell, a click or the arrow keys pick one.

See residual_grid.js.
"""
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from core.components import declare
from core.components.lib.bytes import pack

_HERE = Path(__file__).parent
GRID_HTML = ('<div class="grid"><div class="scroller" tabindex="0" role="img"><div '
             'class="spacer"><canvas></canvas></div></div></div>'
             '<div class="tip" hidden></div><div class="spoken" aria-live="polite"></div>')
GRID_CSS = _HERE / "residual_grid.css"
_component = declare("residual_grid", _HERE / "residual_grid.js", styles=(GRID_CSS,),
                     html=f'<div class="component residual-grid">{GRID_HTML}</div>')


@dataclass(frozen=True)
class Grid:
    """A grid of `values` (rows, columns); NaN is an empty, hatched cell.

    texts: (rows, columns) of str, written in the cells above the number; marks: bool, a tick in the cell; peak: a cell
    with a dashed ring; mine: the column that the reader guessed, and its name.
    reading: the text on hover, with {row}, {column}, {index}, {text} and {value}. limits: the values at the two ends of
    the colour scale (signed: symmetric about zero; logarithmic: both above zero). fit: pixels of the screen that
    everything else takes; the grid takes the rest, between height and most_height. Cells are at least least_column
    wide, and scroll sideways inside the grid if they do not fit. column_band, row_band: a frame around the picked
    column, row. numbered: the column labels are numbers, written upright as far as they have room.
    percent: the values are probabilities, written in percent. rows_scroll: rows that do not fit, each at least
    least_row high, scroll inside the grid; otherwise the grid grows.

    Raises ValueError if labels and values do not fit.
    """

    values: np.ndarray
    row_labels: Sequence[str]
    column_labels: Sequence[str]
    legend: str
    reading: str
    twin: str
    theme: str
    picked: tuple[int, int] | None
    limits: tuple[float, float]
    signed: bool = False
    logarithmic: bool = False
    texts: np.ndarray | None = None
    marks: np.ndarray | None = None
    peak: tuple[int, ...] | None = None
    mine: tuple[int, str] | None = None
    least_column: int = 4
    least_row: int = 16
    height: int = 300
    most_height: int = 460
    fit: int = 0
    column_band: bool = True
    row_band: bool = False
    numbered: bool = False
    rows_scroll: bool = False
    present: bool = False
    percent: bool = False

    def __post_init__(self) -> None:
        if self.values.shape != (len(self.row_labels), len(self.column_labels)):
            raise ValueError(f"{self.values.shape} values, but {len(self.row_labels)} row labels and "
                             f"{len(self.column_labels)} column labels.")

    def message(self) -> tuple[dict, dict[str, np.ndarray]]:
        """Header and arrays."""
        vocabulary, indices = ([], None) if self.texts is None else np.unique(self.texts, return_inverse=True)
        header = {name: value for name, value in vars(self).items() if name not in TRANSLATED} | {
            "rows": len(self.row_labels), "columns": len(self.column_labels), "low": float(self.limits[0]),
            "high": float(self.limits[1]), "scale": "div" if self.signed else "seq",
            "type": 1.6 if self.present else 1.0, "vocabulary": [str(text) for text in vocabulary]}
        arrays = {"values": np.ascontiguousarray(self.values, dtype=np.float32)}
        if indices is not None:
            arrays["texts"] = indices.astype(np.int32)
        if self.marks is not None:
            arrays["marks"] = np.asarray(self.marks, dtype=np.int32)
        return header, arrays


TRANSLATED = ("values", "limits", "signed", "texts", "marks", "present")      # fields that go under other names


def residual_grid(grid: Grid, *, key: str, on_pick: Callable[[int, int], None]) -> None:
    """Draw a grid, and call on_pick(row, column) when the reader picks a cell."""
    mount(_component, pack(*grid.message()), key, on_pick)


def mount(component: Callable, data: bytes, key: str, on_pick: Callable[[int, int], None]) -> None:
    """Put a component that picks cells on the page."""
    component(data=data, key=key, height="content",
              events={"picked": lambda cell: on_pick(cell["row"], cell["column"])})
