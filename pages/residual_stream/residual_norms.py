"""The stream's lengths as a grid, layers × tokens, and beside it the picked token's lines: both follow one hover. See profile.js."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from core.components import declare
from core.components.lib.bytes import pack
from core.components.residual_grid import GRID_CSS, GRID_HTML, grid_data, mount

_HERE = Path(__file__).parent
_component = declare(
    "residual_norms", _HERE / "profile.js",
    html=f'<div class="residual-norms">{GRID_HTML}<canvas class="profile"></canvas></div>',
    styles=(GRID_CSS, _HERE / "residual_norms.css"))


def residual_norms(data: bytes, *, key: str, on_pick: Callable[[int, int], None]) -> None:
    """Draw what `norms_data` describes, and call on_pick(row, column) when the reader picks a cell."""
    mount(_component, data, key, on_pick)


def norms_data(values: np.ndarray, *, lines: dict[str, np.ndarray], names: dict[str, str], faint: str, depths: Sequence[str], depth_title: str,
               length_title: str, **description) -> bytes:
    """The grid of `values`, described as `grid_data` has it, beside the lines of one token.

    lines: "residual" (L + 1, N), "attention" and "mlp" (L, N), lengths; what block l adds stands at the depth it leads to, l + 1. names: their
    labels. faint: the one of them that is drawn for every token. depths: L + 1 short names of the axis. A logarithmic grid has logarithmic lines.
    """
    if lines["residual"].shape != (len(depths), len(description["column_labels"])):
        raise ValueError(f"The stream's lengths are {lines['residual'].shape}, but there are {len(depths)} depths and {len(description['column_labels'])} tokens.")
    header, arrays = grid_data(values, **description)
    everything = np.concatenate([line.reshape(-1) for line in lines.values()])
    header |= {"kinds": list(lines), "names": names, "faint": faint, "depths": list(depths), "depth_title": depth_title, "length_title": length_title,
               "lengths": [float(everything[everything > 0].min()), float(everything.max())], "log_lengths": header["logarithmic"]}
    return pack(header, arrays | {kind: line.astype(np.float32) for kind, line in lines.items()})
