"""A text that the reader's browser keeps, and brings back in another visit. Draws nothing."""
from collections.abc import Callable
from pathlib import Path

from core.components import declare

_component = declare("kept_text", Path(__file__).with_name("kept_text.js"))


def kept_text(name: str, text: str | None, found: Callable[[str], None], key: str) -> None:
    """Keep `text` under `name`; if it is None, call `found`, as a callback, with the text that is kept, if any."""
    _component(key=key, data={"name": name, "text": text}, events={"found": found})
