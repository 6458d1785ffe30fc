"""The canvas helpers and the style that all position components share, put before each one's own script and style."""
from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from core.ui.components import declare
from core.ui.components.message import BY_KEYS_JS, LIVE_JS, STYLED_JS

_FOLDER = Path(__file__).parent


def instrument(name: str, *scripts: str) -> Callable:
    """Register component `name`, made of the shared helpers and `scripts` of its own folder (default: <name>.js) and <name>.css."""
    folder = _FOLDER.parent / name
    own = [folder / script for script in scripts or (f"{name}.js",)]
    read = [path.read_text(encoding="utf-8") for path in (_FOLDER / "position_canvas.js", *own)]
    css = "\n".join(path.read_text(encoding="utf-8") for path in (_FOLDER / "position_canvas.css", folder / f"{name}.css"))
    return declare(name, html='<div class="instrument"></div>', css=css, js="\n".join([STYLED_JS, BY_KEYS_JS, LIVE_JS, *read]))


def pack(header: Mapping, *arrays: np.ndarray) -> bytes:
    """A JSON header and float32 arrays as one byte string, the form that `unpack` of position_canvas.js reads."""
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 4)
    return len(text).to_bytes(4, "little") + text + b"".join(np.ascontiguousarray(a, dtype="<f4").tobytes() for a in arrays)
