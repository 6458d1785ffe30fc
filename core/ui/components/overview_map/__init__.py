"""The map of one forward pass, from text to the next token: one row a token, left to right through the whole model, on one screen.

Hover reads a value, a click on a row picks its token, a click on a part opens its lesson, a click on a candidate appends it; playing walks the pass
stage by stage in the browser, without Python.
"""
from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import streamlit as st

from core.ui.components.heads_wall import PATTERN_JS
from core.ui.components.message import pack

HERE = Path(__file__).parent
SCRIPTS = ("layout.js", "paint.js", "marks.js", "output.js", "print.js", "overview_map.js")
EVENTS = ("picked", "layer", "opened", "appended", "thrown", "undone")

_component = st.components.v2.component(
    "overview_map",
    html=(HERE / "overview_map.html").read_text(encoding="utf-8"),
    css=(HERE / "overview_map.css").read_text(encoding="utf-8"),
    js="\n".join([PATTERN_JS, *((HERE / name).read_text(encoding="utf-8") for name in SCRIPTS)]),
)


def overview_map(sizes: dict, arrays: dict[str, np.ndarray], *, key: str, logits: np.ndarray, tokens: list[str], token_ids: list[int], candidates: list,
                 position: int, layer: int, draw: dict | None, here: bool, blanks: list[int], text: dict[str, str], lessons: dict[str, str], can_undo: bool, scale: float, theme: str,
                 on: Callable[[str, int | str], None]) -> None:
    """Draw the pass that `packing.pass_arrays` packed, with the token at `position` lit, and its logits (|V|,). Of many blocks those around `layer` are opened.

    tokens, token_ids: the prompt's, visible forms and ids. candidates: `packing.candidates`. draw: `packing.throw`, None where the picked position
    is not the last, or nothing is drawn. here: whether what is predicted at a position is the token that stands there, as an encoder does it; blanks: positions where none does. text: every string the map shows, by name, with {places} for numbers. lessons: part of the map -> lesson id it opens.
    scale: of type, above 1 in present mode. on(event, value): called in a callback with one of EVENTS: picked (position), layer (a block), opened (lesson id),
    appended (token id), thrown and undone (no value).
    """
    header = {**sizes, "tokens": tokens, "ids": token_ids, "candidates": candidates, "position": position, "layer": layer, "draw": draw, "here": here, "blanks": blanks, "text": text,
              "lessons": lessons, "canUndo": can_undo, "scale": scale, "theme": theme}

    def handler(event: str) -> Callable[[], None]:
        return lambda: on(event, getattr(st.session_state[key], event))

    callbacks = {f"on_{event}_change": handler(event) for event in EVENTS}
    _component(key=key, data=pack(header, {**arrays, "logits": np.asarray(logits, dtype=np.float32)}), **callbacks)
