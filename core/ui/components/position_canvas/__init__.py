"""The canvas helpers and the style that all position components share, put before each one's own script and style."""
from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import streamlit as st

_FOLDER = Path(__file__).parent


def instrument(name: str, *scripts: str) -> Callable:
    """Register component `name`, made of the shared helpers and `scripts` of its own folder (default: <name>.js) and <name>.css."""
    folder = _FOLDER.parent / name
    own = [folder / script for script in scripts or (f"{name}.js",)]
    read = [path.read_text(encoding="utf-8") for path in (_FOLDER / "position_canvas.js", *own)]
    css = "\n".join(path.read_text(encoding="utf-8") for path in (_FOLDER / "position_canvas.css", folder / f"{name}.css"))
    return st.components.v2.component(name, html='<div class="instrument"></div>', css=css, js="\n".join(read))
