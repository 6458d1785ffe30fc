"""What small pictures made of tokens share: chips, trees of merges, a slider, and how a component is fed and answers."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import streamlit as st

from core.ui.components import declare
from core.ui.components.message import MESSAGE_JS, pack

_HERE = Path(__file__).parent


def token_view(name: str, *shared: str) -> Callable[..., None]:
    """Registers the component `name`, made of the shared script and style, those of `shared`, each a folder or a file in one without its ending, and its own; returns the function that draws it.

    draw(header, key=…, on_settings=…, arrays=…): header is a dict for JSON, arrays by name as `message.pack` takes them; on_settings(values) is called with
    what the reader has picked.
    """
    read = [_HERE.parent / f"{part if '/' in part else f'{part}/{part}'}.{{}}" for part in (_HERE.name, *shared, name)]
    script, rules = ("\n".join(path.read_text(encoding="utf-8") for path in (Path(str(path).format(kind)) for path in read) if path.exists()) for kind in ("js", "css"))
    component = declare(name, html=f'<div class="tokens-view {name}"></div>', css=rules, js=MESSAGE_JS + script)

    def draw(header: dict, *, key: str, on_settings: Callable[[dict], None], arrays: Mapping[str, np.ndarray] | None = None) -> None:
        component(key=key, data=pack(header, dict(arrays or {})), on_settings_change=lambda: on_settings(dict(st.session_state[key].settings or {})))

    return draw
