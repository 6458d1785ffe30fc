"""What all position components share: how each is registered and fed, the style, and in position_canvas.js the script."""
from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from core.components import declare

_FOLDER = Path(__file__).parent


def instrument(face: Path) -> Callable:
    """Register the component that is named after `face`, its Python file: the .js beside it and, after the shared style, its .css."""
    return declare(face.stem, face.with_suffix(".js"), html='<div class="instrument"></div>',
                   styles=(_FOLDER / "position_canvas.css", face.with_suffix(".css")))
