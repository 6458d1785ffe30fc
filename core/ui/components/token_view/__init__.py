"""What the pictures of the lesson Tokens share: chips, trees of merges, a slider, and how a component is fed and answers."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import streamlit as st

from core.ui.components.message import MESSAGE_JS, pack

_HERE = Path(__file__).parent


def token_view(name: str) -> Callable[..., None]:
    """Registers the component `name`, made of the shared script and style and its own, and returns the function that draws it.

    draw(header, key=…, on_settings=…, arrays=…): header is a dict for JSON, arrays by name as `message.pack` takes them; on_settings(values) is called with
    what the reader has picked.
    """
    own = _HERE.parent / name
    read = [(folder / f"{stem}.{{}}") for folder, stem in ((_HERE, "token_view"), (own, name))]
    script, rules = ("\n".join(Path(str(path).format(kind)).read_text(encoding="utf-8") for path in read) for kind in ("js", "css"))
    component = st.components.v2.component(name, html=f'<div class="tokens-view {name}"></div>', css=rules, js=MESSAGE_JS + script)

    def draw(header: dict, *, key: str, on_settings: Callable[[dict], None], arrays: Mapping[str, np.ndarray] | None = None) -> None:
        component(key=key, data=pack(header, dict(arrays or {})), on_settings_change=lambda: on_settings(dict(st.session_state[key].settings or {})))

    return draw
