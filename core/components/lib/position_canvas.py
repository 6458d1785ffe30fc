"""What all position components share: how each is registered and fed, the style, and in position_canvas.js the script."""
from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from core.components import declare

_FOLDER = Path(__file__).parent


def instrument(face: Path) -> Callable:
    """Register the component that is named after `face`, its Python file: the .js beside it and, after the shared style, its .css."""
    return declare(face.stem, face.with_suffix(".js"), html='<div class="instrument"></div>',
                   styles=(_FOLDER / "position_canvas.css", face.with_suffix(".css")))


def pack(header: Mapping, *arrays: np.ndarray) -> bytes:
    """A JSON header and float32 arrays as one byte string, the form that `unpack` of position_canvas.js reads."""
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 4)
    return len(text).to_bytes(4, "little") + text + b"".join(np.ascontiguousarray(a, dtype="<f4").tobytes() for a in arrays)
