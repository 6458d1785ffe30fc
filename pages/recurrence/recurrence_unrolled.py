"""A recurrent network unrolled over a prompt: hidden states as strips of signed colour, the same weights at every step, and the path between two tokens."""
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
    "recurrence_unrolled", HERE / "recurrence_unrolled.js",
    html='<div class="unrolled"><div class="scroll"><div class="stage" tabindex="0" role="application"><canvas></canvas></div></div><div class="tip" hidden></div>'
         '<div class="spoken" aria-live="polite"></div></div>',
    styles=(PATTERN_CSS, HERE / "recurrence_unrolled.css"),
)


def recurrence_unrolled(states: np.ndarray, tokens: Sequence[str], *, picked: dict[str, int], source: int, text: dict[str, str], key: str,
                        on_pick: Callable[[dict], None], on_source: Callable[[int], None], height: tuple[int, int], foot: int = 0, scale: float = 1.0, theme: str = "light") -> None:
    """Draw states (L, directions, N, m), the first layer at the bottom over the N tokens, and the path from token `source` to the picked step.

    picked: "layer", "direction", "step", "unit". on_pick(picked) is called on a click on a strip or an arrow key, on_source(i) on a click on a token.
    text: "hidden", "input", "attention", "path", "none", "reading", "keys". height: least and most pixels; foot: those below it that stay free.
    """
    n_layers, n_directions, n, m = states.shape
    header = {"layers": n_layers, "directions": n_directions, "n": n, "m": m, "tokens": list(tokens), "picked": picked, "source": source, "text": text, "least": height[0], "most": height[1],
              "below": foot, "scale": scale, "theme": theme}

    def pick() -> None:
        if chosen := st.session_state[key].picked:
            on_pick({name: int(chosen[name]) for name in ("layer", "direction", "step", "unit")})

    _component(key=key, data=pack(header, {"states": states.astype(np.float32)}), on_picked_change=pick, on_source_change=lambda: on_source(int(st.session_state[key].source)))
