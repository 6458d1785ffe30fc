"""Concatenate and W_O at one position: each head's piece of the concatenated vector, what W_O makes of it, and the sum."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import streamlit as st

from core.components import declare
from core.components.heads_wall import PATTERN_CSS
from core.components.lib.bytes import pack

HERE = Path(__file__).parent

_component = declare(
    "heads_sum", HERE / "heads_sum.js",
    html=(HERE / "heads_sum.html").read_text(encoding="utf-8"),
    styles=(PATTERN_CSS, HERE / "heads_sum.css"),
)


def heads_sum(outputs: np.ndarray, written: np.ndarray, bias: np.ndarray, total: np.ndarray, shares: np.ndarray, names: Sequence[str], *, key: str,
              text: dict[str, str], selected: int, height: tuple[int, int], foot: int = 0, scale: float = 1.0, theme: str = "light",
              on_pick: Callable[[int], None] = lambda head: None) -> None:
    """Draw head_out (h, d_v), head_contribution (h, d), b_O (d,) and attn_out (d,) at one position; `on_pick(head)` is called on a click or Enter.

    shares: (h + 1,) what each head and the bias add along attn_out, summing to 1. names: of the h heads. selected: the head that is marked.
    text: the strings "title", "concat", "product", "norm", "share", "bias", "sum". height: the least and the most pixels; foot: what is left free below. scale: how much larger type is drawn.
    """
    rows = np.vstack([written, bias, total]).astype(np.float32)
    header = {"heads": len(names), "d": rows.shape[1], "d_v": outputs.shape[1], "names": list(names), "text": text, "selected": selected,
              "least": height[0], "most": height[1], "foot": foot, "scale": scale, "theme": theme}
    arrays = {"outputs": outputs.astype(np.float32), "written": rows, "norms": np.linalg.norm(rows, axis=1).astype(np.float32),
              "shares": np.append(shares, shares.sum()).astype(np.float32)}

    def chosen() -> None:
        on_pick(int(st.session_state[key].picked))

    _component(key=key, data=pack(header, arrays), on_picked_change=chosen)
