"""Registration and style of small pictures made of tokens: chips, trees of merges, a slider."""
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from core.components import declare
from core.components.lib.bytes import pack

_HERE = Path(__file__).parent
PLAYER_CSS = _HERE / "player.css"      # the style of the bar that player.js builds


def token_view(name: str, module: str, *styles: Path) -> Callable[..., None]:
    """Register the component `name`, which the Python file `module` draws, and return the function that draws it.

    It is made of the .js beside that file. Its style is token_view.css, then `styles`, then the .css beside that file.

    draw(header, key=…, on_settings=…, arrays=…): header is a dict for JSON, arrays are by name, as for `pack` of
    bytes.py; on_settings(values) is called with the reader's picks.
    """
    own = Path(module)
    component = declare(name, own.with_suffix(".js"), html=f'<div class="component tokens-view {name}"></div>',
                        styles=[_HERE / "token_view.css", *styles, own.with_suffix(".css")])

    def draw(header: dict, *, key: str, on_settings: Callable[[dict], None],
             arrays: Mapping[str, np.ndarray] | None = None) -> None:
        component(key=key, data=pack(header, dict(arrays or {})), on_settings=on_settings)

    return draw
