"""Registration and style of all instruments; instrument.js has the script."""
from collections.abc import Callable
from pathlib import Path

from core.components import declare

_FOLDER = Path(__file__).parent


def instrument(name: str, module: str, *styles: Path) -> Callable:
    """Register the component `name`, which the Python file `module` draws, and return the function that draws it.

    It is made of the .js beside that file. Its style is instrument.css, then `styles`, then the .css beside that file.
    """
    own = Path(module)
    return declare(name, own.with_suffix(".js"), html='<div class="component instrument"></div>',
                   styles=(_FOLDER / "instrument.css", *styles, own.with_suffix(".css")))
