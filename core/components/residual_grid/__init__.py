"""A grid of numbers, layers × tokens, on one canvas: hover reads a cell, a click or the arrow keys pick one.

See residual_grid.js.
"""
from collections.abc import Callable, Sequence
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


def residual_grid(values: np.ndarray, *, key: str, on_pick: Callable[[int, int], None], **description) -> None:
    """Draw `values` (rows, columns), with the arguments of `grid_data` as description, and call on_pick(row, column)
    when the reader picks a cell.
    """
    header, arrays = grid_data(values, **description)
    mount(_component, pack(header, arrays), key, on_pick)


def mount(component: Callable, data: bytes, key: str, on_pick: Callable[[int, int], None]) -> None:
    """Put a component that picks cells on the page."""
    component(data=data, key=key, height="content",
              events={"picked": lambda cell: on_pick(cell["row"], cell["column"])})


def grid_data(values: np.ndarray, *, row_labels: Sequence[str], column_labels: Sequence[str], legend: str, reading: str,
              twin: str, theme: str, picked: tuple[int, int] | None, limits: tuple[float, float], signed: bool = False,
              logarithmic: bool = False, texts: np.ndarray | None = None, marks: np.ndarray | None = None,
              peak: tuple[int, int] | None = None, mine: tuple[int, str] | None = None,
              least_column: int = 4, least_row: int = 16, height: int = 300, most_height: int = 460, fit: int = 0,
              column_band: bool = True, row_band: bool = False, numbered: bool = False, rows_scroll: bool = False,
              present: bool = False, percent: bool = False) -> tuple[dict, dict[str, np.ndarray]]:
    """Header and arrays of a grid of `values` (rows, columns); NaN is an empty, hatched cell.

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
    values = np.ascontiguousarray(values, dtype=np.float32)
    if values.shape != (len(row_labels), len(column_labels)):
        raise ValueError(f"{values.shape} values, but {len(row_labels)} row labels and {len(column_labels)} "
                         f"column labels.")
    vocabulary, indices = ([], None) if texts is None else np.unique(texts, return_inverse=True)
    header = {
        "rows": values.shape[0], "columns": values.shape[1], "row_labels": list(row_labels),
        "column_labels": list(column_labels), "low": float(limits[0]), "high": float(limits[1]),
        "scale": "div" if signed else "seq", "legend": legend, "reading": reading, "twin": twin, "theme": theme,
        "type": 1.6 if present else 1.0, "picked": picked, "peak": peak, "mine": mine,
        "least_column": least_column, "least_row": least_row, "height": height, "most_height": most_height, "fit": fit,
        "logarithmic": logarithmic, "column_band": column_band, "row_band": row_band, "numbered": numbered,
        "rows_scroll": rows_scroll, "percent": percent, "vocabulary": [str(text) for text in vocabulary],
    }
    arrays = {"values": values}
    if indices is not None:
        arrays["texts"] = indices.astype(np.int32)
    if marks is not None:
        arrays["marks"] = np.asarray(marks, dtype=np.int32)
    return header, arrays
