"""The map of one forward pass, from text to the next token: one row a token, left to right through the whole model, on one screen.

Hover reads a value, a click on a row picks its token, a click on a part opens its lesson, a click on a candidate appends it; playing walks the pass
stage by stage in the browser, without Python.
"""
from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import streamlit as st

from core.components import declare
from core.components.lib.bytes import pack

HERE = Path(__file__).parent
EVENTS = ("picked", "layer", "opened", "appended", "thrown", "undone")

_component = declare(
    "overview_map", HERE / "overview_map.js",
    html=(HERE / "overview_map.html").read_text(encoding="utf-8"),
    styles=(HERE / "overview_map.css",),
)


def overview_map(fields: dict, arrays: dict[str, np.ndarray], *, key: str, layer: int, text: dict[str, str], lessons: dict[str, str], can_undo: bool, scale: float, theme: str,
                 on: Callable[[str, int | str], None]) -> None:
    """Draw a pass, with the token at a position lit. Of many blocks those around `layer` are opened.

    fields, arrays: what `packing.pass_arrays` packed, and the prompt's "tokens" and "ids", its "position", the "candidates" (`packing.candidates`) and the array "logits" (|V|,) after it; "draw":
    `packing.throw`, None where the picked position is not the last, or nothing is drawn; "here": whether what is predicted at a position is the token that stands there, as an encoder
    does it; "blanks": positions where none does. text: every string the map shows, by name, with {places} for numbers. lessons: part of the map -> lesson id it opens.
    scale: of type, above 1 in present mode. on(event, value): called in a callback with one of EVENTS: picked (position), layer (a block), opened (lesson id),
    appended (token id), thrown and undone (no value).
    """
    header = {**fields, "layer": layer, "text": text, "lessons": lessons, "canUndo": can_undo, "scale": scale, "theme": theme}

    def handler(event: str) -> Callable[[], None]:
        return lambda: on(event, getattr(st.session_state[key], event))

    callbacks = {f"on_{event}_change": handler(event) for event in EVENTS}
    _component(key=key, data=pack(header, arrays), **callbacks)
