"""A grid of numbers, layers × tokens, on one canvas: hover reads a cell, a click or the arrow keys pick one. See residual_grid.js."""
from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import streamlit as st

_HERE = Path(__file__).parent
_HTML = ('<div class="residual-grid"><div class="scroller" tabindex="0" role="img"><div class="spacer"><canvas></canvas></div></div>'
         '<div class="tip" hidden></div><div class="spoken" aria-live="polite"></div></div>')
_component = st.components.v2.component("residual_grid", html=_HTML, css=(_HERE / "residual_grid.css").read_text(encoding="utf-8"),
                                        js=(_HERE / "residual_grid.js").read_text(encoding="utf-8"))


def _pack(header: dict, arrays: list[np.ndarray]) -> bytes:
    """The header as JSON, its length before it (uint32, little endian) and spaces after it to a multiple of 4 bytes; then each 4-byte array."""
    text = json.dumps(header, ensure_ascii=False).encode()
    text += b" " * (-len(text) % 4)
    return len(text).to_bytes(4, "little") + text + b"".join(np.ascontiguousarray(values).tobytes() for values in arrays)


def residual_grid(values: np.ndarray, *, row_labels: Sequence[str], column_labels: Sequence[str], legend: str, reading: str, twin: str,
                  theme: str, key: str, on_pick: Callable[[int, int], None], picked: tuple[int, int] | None, limits: tuple[float, float],
                  signed: bool = False, logarithmic: bool = False, texts: np.ndarray | None = None, marks: np.ndarray | None = None,
                  peak: tuple[int, int] | None = None, least_column: int = 4, least_row: int = 16,
                  height: int = 300, most_height: int = 460, fit: int = 0, column_band: bool = True, row_band: bool = False, numbered: bool = False,
                  present: bool = False) -> None:
    """Draw `values` (rows, columns) with NaN as an empty, hatched cell, and call on_pick(row, column) when the reader picks a cell.

    texts: (rows, columns) of str, written in the cells above the number; marks: bool, a tick in the cell; peak: a cell ringed by a dashed line.
    reading: what hover says, with {row}, {column}, {index}, {text} and {value}. limits: the values at the two ends of the colour scale
    (signed: symmetric about zero; logarithmic: both above it). fit: pixels of the screen that everything else takes; the grid takes the rest, between height and
    most_height. Cells are at least least_column wide, and scroll sideways inside the grid where they do not fit. column_band, row_band:
    a frame around the picked column, row. numbered: the column labels are numbers, written upright as far as they have room.
    """
    values = np.ascontiguousarray(values, dtype=np.float32)
    if values.shape != (len(row_labels), len(column_labels)):
        raise ValueError(f"{values.shape} values, but {len(row_labels)} row labels and {len(column_labels)} column labels.")
    vocabulary, indices = ([], None) if texts is None else np.unique(texts, return_inverse=True)
    header = {
        "rows": values.shape[0], "columns": values.shape[1], "row_labels": list(row_labels),
        "column_labels": list(column_labels), "low": float(limits[0]), "high": float(limits[1]), "scale": "div" if signed else "seq",
        "legend": legend, "reading": reading, "twin": twin, "theme": theme, "type": 1.25 if present else 1.0, "picked": picked,
        "peak": peak, "least_column": least_column, "least_row": least_row, "height": height, "most_height": most_height, "fit": fit,
        "logarithmic": logarithmic, "column_band": column_band, "row_band": row_band, "numbered": numbered, "vocabulary": [str(text) for text in vocabulary],
    }
    arrays = [values]
    if indices is not None:
        arrays.append(indices.astype(np.int32))
    if marks is not None:
        arrays.append(np.asarray(marks, dtype=np.int32))
    header |= {"has_texts": indices is not None, "has_marks": marks is not None}

    def pick() -> None:
        cell = st.session_state[key].picked
        if cell:
            on_pick(int(cell["row"]), int(cell["column"]))

    _component(data=_pack(header, arrays), key=key, on_picked_change=pick, height="content")
