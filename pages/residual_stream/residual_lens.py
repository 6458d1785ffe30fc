"""The logit lens under the hand: the grid of best guesses with a slider over its depths, and beside it what else was considered there. Both follow the slider in the browser. See lens.js."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import streamlit as st

from core.components import declare
from core.components.lib.bytes import pack
from core.components.lib.hand import HAND_CSS, HAND_HTML
from core.components.residual_grid import GRID_CSS, GRID_HTML, grid_data

_HERE = Path(__file__).parent
_grid = declare(
    "residual_lens", _HERE / "lens.js",
    html=f'<div class="residual-grid residual-lens"><strong class="title"></strong>{HAND_HTML}{GRID_HTML}</div>',
    styles=(GRID_CSS, HAND_CSS, _HERE / "lens.css"))
_guesses = declare("lens_guesses", _HERE / "guesses.js", html='<ol class="guesses"></ol>',
                   styles=(_HERE / "guesses.css",))


def residual_lens(values: np.ndarray, *, slider: tuple[str, str], titles: tuple[str, str], key: str, on_depth: Callable[[int], None], on_pick: Callable[[int, int], None], **description) -> None:
    """Draw the grid of `values` (L + 1, N), described as `grid_data` has it with texts and picked, under a slider over its rows.

    slider: its label, and what is said of it on hover. titles: the sentence above for a row, and for the last one, with {where}, {guess}, {p}, {token}, {last} and {last_p}. on_depth(row) is called when the hand has let go
    of the slider, on_pick(row, column) when the reader picks a cell.
    """
    header, arrays = grid_data(values, **description)

    def picked() -> None:
        cell = st.session_state[key].picked
        on_pick(int(cell["row"]), int(cell["column"]))

    def moved() -> None:
        on_depth(int(st.session_state[key].depth))

    _grid(data=pack(header | {"slider": slider, "titles": titles}, arrays), key=key, on_picked_change=picked, on_depth_change=moved, height="content")


def lens_guesses(tokens: Sequence[Sequence[str]], probs: np.ndarray, marked: Sequence[Sequence[bool]], *, depth: int, label: str, key: str) -> None:
    """Draw the likeliest tokens of one position at each depth, (L + 1, K) visible forms and probabilities, of the depth under the hand; at first of `depth`. marked: the token asked about."""
    _guesses(data=pack({"tokens": [list(row) for row in tokens], "marked": [[int(one) for one in row] for row in marked], "depth": depth, "label": label}, {"probs": probs.astype(np.float32)}), key=key)
