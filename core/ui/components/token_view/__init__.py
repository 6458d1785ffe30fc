"""What small pictures made of tokens share: chips, trees of merges, a slider, and how a component is fed and answers."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import streamlit as st

from core.ui.components import declare
from core.ui.components.message import pack

_HERE = Path(__file__).parent
COMPONENTS = _HERE.parent


def token_view(name: str, *styles: str) -> Callable[..., None]:
    """Register the component `name`, made of <name>.js in its folder, and return the function that draws it.

    Its style is token_view.css, then `styles`, files below the folder of all components, then <name>.css.

    draw(header, key=…, on_settings=…, arrays=…): header is a dict for JSON, arrays by name as `message.pack` takes them;
    on_settings(values) is called with what the reader has picked.
    """
    own = COMPONENTS / name / name
    rules = [_HERE / "token_view.css", *(COMPONENTS / style for style in styles), own.with_suffix(".css")]
    component = declare(name, own.with_suffix(".js"), html=f'<div class="tokens-view {name}"></div>', styles=rules)

    def draw(header: dict, *, key: str, on_settings: Callable[[dict], None], arrays: Mapping[str, np.ndarray] | None = None) -> None:
        component(key=key, data=pack(header, dict(arrays or {})), on_settings_change=lambda: on_settings(dict(st.session_state[key].settings or {})))

    return draw
