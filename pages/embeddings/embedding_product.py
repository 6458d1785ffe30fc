"""A one-hot matrix times E: a row for each token of the prompt, the row of E that the picked one selects, and the product."""
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
    "embedding_product", HERE / "embedding_product.js",
    html='<div class="product"><div class="scroll"><div class="stage" tabindex="0" role="listbox"><canvas></canvas></div></div><div class="tip" hidden></div>'
         '<div class="spoken" aria-live="polite"></div></div>',
    styles=(PATTERN_CSS, HERE / "embedding_product.css"),
)


def embedding_product(token_ids: Sequence[int], tokens: Sequence[str], window: np.ndarray, window_ids: Sequence[int], window_tokens: Sequence[str], product: np.ndarray, *,
                      vocab_size: int, picked: int, text: dict[str, str], key: str, on_pick: Callable[[int], None], height: tuple[int, int], foot: int = 0,
                      scale: float = 1.0, theme: str = "light") -> None:
    """Draw one-hot (N, |V|) × E = X (N, d). window: the rows window_ids of E that are drawn. product: (N, d). picked: the token's position.

    on_pick(position) is called on a click or an arrow key. text: "one_hot", "matrix", "result", "column", "entry", "keys". height: least and most pixels; foot: those below it that stay
    free on the first screen.
    """
    header = {"n": len(tokens), "d": product.shape[1], "vocab_size": vocab_size, "ids": list(map(int, token_ids)), "tokens": list(tokens), "window_ids": list(map(int, window_ids)),
              "window_tokens": list(window_tokens), "picked": picked, "text": text, "least": height[0], "most": height[1], "foot": foot, "scale": scale, "theme": theme}
    arrays = {"window": window.astype(np.float32), "product": product.astype(np.float32)}
    _component(key=key, data=pack(header, arrays), on_picked_change=lambda: on_pick(int(st.session_state[key].picked)))
